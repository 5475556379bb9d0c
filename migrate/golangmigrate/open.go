package golangmigrate

import (
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/golang-migrate/migrate/v4/database"

	"github.com/tntsql/tntsql"
)

// DefaultMigrationsTable is the table for the version.
const DefaultMigrationsTable = "schema_migrations"

// ErrNilConfig is returned by WithInstance without a Config.
var ErrNilConfig = errors.New("golangmigrate: no config")

func init() {
	database.Register("tarantool", &driver{})
	database.Register("tarantool+srv", &driver{})
}

// Config is what the URL says in parameters that begin with x-.
type Config struct {
	// MigrationsTable is the table for the version; empty for
	// DefaultMigrationsTable. The name is taken as it is, upper and lower case
	// too: in SQL it must be quoted. The lock is a row of the table of this name
	// with _lock behind it.
	MigrationsTable string
}

// WithInstance returns a driver for migrate.NewWithDatabaseInstance. It makes the
// table for the version if there is none. Close closes db.
func WithInstance(db *sql.DB, config *Config) (database.Driver, error) {
	if config == nil {
		return nil, ErrNilConfig
	}
	d := &driver{db: db, table: config.MigrationsTable, lockWait: lockWait}
	if d.table == "" {
		d.table = DefaultMigrationsTable
	}
	if err := d.createVersionTable(); err != nil {
		return nil, prefixed(err)
	}
	return d, nil
}

func (*driver) Open(rawURL string) (database.Driver, error) {
	dsn, config, err := parseURL(rawURL)
	if err != nil {
		return nil, prefixed(err)
	}
	db, err := sql.Open(tntsql.DriverName, dsn)
	if err != nil {
		return nil, prefixed(err)
	}
	d, err := WithInstance(db, config)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return d, nil
}

// parseURL takes the parameters that begin with x- out of the URL. It is not one
// of package net/url: it may name several hosts.
func parseURL(rawURL string) (dsn string, config *Config, err error) {
	config = &Config{}
	dsn, query, _ := strings.Cut(rawURL, "?")
	separator := "?"
	for param := range strings.SplitSeq(query, "&") {
		name, value, _ := strings.Cut(param, "=")
		switch {
		case name == "x-migrations-table":
			if config.MigrationsTable, err = url.PathUnescape(value); err != nil {
				return "", nil, fmt.Errorf("%s: not percent-encoded", name)
			}
		case strings.HasPrefix(name, "x-"):
			return "", nil, fmt.Errorf("unknown parameter %q: there is x-migrations-table", name)
		case param != "":
			dsn += separator + param
			separator = "&"
		}
	}
	return dsn, config, nil
}

// prefixed says which package the error is of.
func prefixed(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("golangmigrate: %w", err)
}
