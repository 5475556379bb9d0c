package golangmigrate

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/golang-migrate/migrate/v4/database"

	"github.com/tntsql/tntsql"
	"github.com/tntsql/tntsql/migrate/internal/ident"
	"github.com/tntsql/tntsql/migrate/internal/lease"
	"github.com/tntsql/tntsql/migrate/internal/script"
)

const (
	// lockTerm is how long a process that has died holds up the others.
	lockTerm = 10 * time.Second
	// lockWait is longer than that, and shorter than migrate.DefaultLockTimeout:
	// a Lock that went on behind it would take a lock that nobody releases.
	lockWait = 13 * time.Second
)

// driver keeps the version in a table of one row, which is replaced as a whole:
// there are no transactions to rely on.
type driver struct {
	db       *sql.DB
	table    string
	lockWait time.Duration

	mu   sync.Mutex
	held *lease.Lease
}

// master is the context of every statement. A replica that lags would have a
// migration run twice.
func master() context.Context {
	return tntsql.WithMode(context.Background(), tntsql.ModeRW)
}

func (d *driver) exec(query string, args ...any) error {
	_, err := d.db.ExecContext(master(), query, args...)
	return err
}

func (d *driver) createVersionTable() error {
	return d.exec("CREATE TABLE IF NOT EXISTS " + ident.Quote(d.table) +
		` ("id" INTEGER PRIMARY KEY, "version" INTEGER NOT NULL, "dirty" BOOLEAN NOT NULL)`)
}

func (d *driver) lockTable() string { return d.table + "_lock" }

// Lock waits for a lock that another process holds, for 13 seconds: after 10, one
// that has been killed has lost it.
func (d *driver) Lock() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.held != nil {
		return database.ErrLocked
	}
	ctx, cancel := context.WithTimeout(context.Background(), d.lockWait)
	defer cancel()
	held, err := lease.Acquire(ctx, d.db, d.lockTable(), lockTerm)
	if errors.As(err, new(*lease.HeldError)) {
		err = fmt.Errorf("%w: %w", database.ErrLocked, err)
	}
	if err != nil {
		return prefixed(err)
	}
	d.held = held
	return nil
}

func (d *driver) Unlock() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.held == nil {
		return database.ErrNotLocked
	}
	held := d.held
	d.held = nil
	return prefixed(held.Release(context.Background()))
}

// Close releases the lock, if it is held, and closes the handle.
func (d *driver) Close() error {
	err := d.Unlock()
	if errors.Is(err, database.ErrNotLocked) {
		err = nil
	}
	return errors.Join(err, d.db.Close())
}

// Run reads all of the file before it sends the first statement.
func (d *driver) Run(migration io.Reader) error {
	file, err := io.ReadAll(migration)
	if err != nil {
		return prefixed(err)
	}
	statements, err := script.Parse(string(file))
	if err != nil {
		return prefixed(err)
	}
	for i, s := range statements {
		if err := d.exec(s.Text); err != nil {
			return fmt.Errorf("golangmigrate: line %d, statement %d of %d, of which those before it stay applied: %w",
				s.Line, i+1, len(statements), err)
		}
	}
	return nil
}

func (d *driver) SetVersion(version int, dirty bool) error {
	return prefixed(d.exec("REPLACE INTO "+ident.Quote(d.table)+" VALUES (1, ?, ?)", version, dirty))
}

func (d *driver) Version() (version int, dirty bool, err error) {
	err = d.db.QueryRowContext(master(), `SELECT "version", "dirty" FROM `+ident.Quote(d.table)+` WHERE "id" = 1`).
		Scan(&version, &dirty)
	if errors.Is(err, sql.ErrNoRows) {
		return database.NilVersion, false, nil
	}
	if err != nil {
		return database.NilVersion, false, prefixed(err)
	}
	return version, dirty, nil
}
