package gormtarantool

import (
	"database/sql"
	"fmt"

	"gorm.io/gorm"
	"gorm.io/gorm/callbacks"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"
	"gorm.io/gorm/migrator"
	"gorm.io/gorm/schema"

	"github.com/tntsql/tntsql"
)

// Config is what New makes a Dialector of. Either DSN or Conn is needed.
type Config struct {
	// DSN is the data source name of package tntsql. On Tarantool 3.x queries
	// without an index need seq_scan=true in it.
	DSN string
	// Conn is used in place of DSN: a *sql.DB of the driver "tarantool", or what
	// wraps one. GORM does not close it.
	Conn gorm.ConnPool
	// FoldNames says when GORM's names are written in upper case. The zero value,
	// FoldAuto, is right unless a schema has moved from 2.x to 3.x.
	FoldNames Folding
}

// Dialector is GORM's way to speak to Tarantool. Use Open or New, one for each
// gorm.Open.
type Dialector struct {
	*Config

	server server
	fold   bool

	conversions conversions
}

// Open returns a Dialector for a DSN of package tntsql. An error in it is one of
// gorm.Open.
func Open(dsn string) gorm.Dialector { return New(Config{DSN: dsn}) }

// New returns a Dialector.
func New(config Config) gorm.Dialector { return &Dialector{Config: &config} }

// Name is "tarantool".
func (*Dialector) Name() string { return "tarantool" }

// Initialize opens the DSN, learns what the server can do and registers GORM's
// callbacks. gorm.Open calls it.
func (d *Dialector) Initialize(db *gorm.DB) error {
	db.ConnPool = d.Conn
	if db.ConnPool == nil {
		opened, err := sql.Open(tntsql.DriverName, d.DSN)
		if err != nil {
			return err
		}
		db.ConnPool = opened
	}
	server, err := learn(db.ConnPool)
	if err != nil {
		return fmt.Errorf("gormtarantool: what the server can do: %w", err)
	}
	d.server = server
	d.fold = d.FoldNames.folds(server.version)
	if !server.transactions {
		db.SkipDefaultTransaction = true
	}
	callbacks.RegisterDefaultCallbacks(db, &callbacks.Config{
		// Nothing of the server's SQL comes after VALUES: create does the rest.
		CreateClauses: []string{"INSERT", "VALUES"},
	})
	if err := db.Callback().Create().Replace("gorm:create", create); err != nil {
		return err
	}
	for name, build := range clauseBuilders {
		db.ClauseBuilders[name] = build
	}
	return nil
}

// Migrator returns a Migrator whose statements all run under ModeRW.
func (d *Dialector) Migrator(db *gorm.DB) gorm.Migrator {
	db = onMaster(db)
	return Migrator{
		Migrator: migrator.Migrator{Config: migrator.Config{
			CreateIndexAfterCreateTable: true,
			DB:                          db,
			Dialector:                   d,
		}},
		dialector: d,
	}
}

// DefaultValueOf is what a batch has for a row that leaves a generated or default
// value to the server, which knows no DEFAULT in VALUES. From 3.0 on a NULL has the
// server insert the default; before, it is stored.
func (d *Dialector) DefaultValueOf(field *schema.Field) clause.Expression {
	if field.AutoIncrement || field.DefaultValueInterface != nil || field.DefaultValue == "" || field.DefaultValue == noDefault {
		return clause.Expr{SQL: "NULL"}
	}
	return clause.Expr{SQL: d.literal(field, field.DefaultValue)}
}

// BindVarTo writes a placeholder.
func (*Dialector) BindVarTo(writer clause.Writer, _ *gorm.Statement, _ any) {
	_ = writer.WriteByte('?')
}

// QuoteTo writes a name in double quotes, its parts between dots each. Where names are
// folded, it is in upper case, or without quotes if the server does the same to it.
func (d *Dialector) QuoteTo(writer clause.Writer, name string) {
	quoteTo(writer, name, d.fold, !d.server.version.atLeast(3, 0))
}

// Explain is a statement with its values in it, for logs and for DDL.
func (*Dialector) Explain(sql string, vars ...any) string {
	return logger.ExplainSQL(sql, nil, `'`, vars...)
}

// SavePoint sets a savepoint. A name that is in use moves to the new one.
func (d *Dialector) SavePoint(tx *gorm.DB, name string) error {
	return tx.Exec("SAVEPOINT ?", clause.Column{Name: name}).Error
}

// RollbackTo undoes what came after a savepoint.
func (d *Dialector) RollbackTo(tx *gorm.DB, name string) error {
	return tx.Exec("ROLLBACK TO SAVEPOINT ?", clause.Column{Name: name}).Error
}
