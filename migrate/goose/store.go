package tntgoose

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/pressly/goose/v3/database"

	"github.com/tntsql/tntsql"
	"github.com/tntsql/tntsql/migrate/internal/ident"
)

// NewStore returns a Store for goose.WithStore that keeps the versions in a table
// of the given name. The name is taken as it is, upper and lower case too: in SQL
// it must be quoted. A provider with it needs goose.WithIsolateDDL(true) as well;
// NewProvider has both.
func NewStore(table string) database.StoreExtender { return &store{name: table} }

// store has a row for each migration that is applied, in the order in which they
// were. No statement of it scans the table, which servers from 3.0 on refuse.
type store struct{ name string }

func (s *store) Tablename() string { return s.name }

func (s *store) table() string { return ident.Quote(s.name) }

func (s *store) TableExists(ctx context.Context, db database.DBTxConn) (bool, error) {
	var tables int
	err := queryRow(ctx, db, `SELECT COUNT(*) FROM "_vspace" WHERE "name" = ?`, []any{s.name}, &tables)
	if err != nil || tables == 0 {
		return false, err
	}
	// A process that ended between the table and its first row has left half of
	// what goose makes. It makes the other half if it is told that there is none.
	_, err = s.GetMigration(ctx, db, 0)
	if errors.Is(err, database.ErrVersionNotFound) {
		return false, nil
	}
	return err == nil, err
}

func (s *store) CreateVersionTable(ctx context.Context, db database.DBTxConn) error {
	if _, ok := db.(*sql.Tx); ok {
		return errors.New("tntgoose: Tarantool has no DDL in transactions: " +
			"add goose.WithIsolateDDL(true) to the options of the provider, or use tntgoose.NewProvider")
	}
	return exec(ctx, db, "CREATE TABLE IF NOT EXISTS "+s.table()+` (
		"id" INTEGER PRIMARY KEY AUTOINCREMENT,
		"version_id" INTEGER NOT NULL UNIQUE,
		"is_applied" BOOLEAN NOT NULL,
		"tstamp" INTEGER NOT NULL)`) // in microseconds since 1970: 2.6 has no type for times
}

func (s *store) Insert(ctx context.Context, db database.DBTxConn, req database.InsertRequest) error {
	return exec(ctx, db, "INSERT INTO "+s.table()+` ("version_id", "is_applied", "tstamp") VALUES (?, true, ?)`,
		req.Version, time.Now().UnixMicro())
}

func (s *store) Delete(ctx context.Context, db database.DBTxConn, version int64) error {
	return exec(ctx, db, "DELETE FROM "+s.table()+` WHERE "version_id" = ?`, version)
}

func (s *store) GetMigration(ctx context.Context, db database.DBTxConn, version int64) (*database.GetMigrationResult, error) {
	var result database.GetMigrationResult
	var micros int64
	err := queryRow(ctx, db, `SELECT "is_applied", "tstamp" FROM `+s.table()+` WHERE "version_id" = ?`,
		[]any{version}, &result.IsApplied, &micros)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("%w: %d", database.ErrVersionNotFound, version)
	}
	if err != nil {
		return nil, err
	}
	result.Timestamp = time.UnixMicro(micros)
	return &result, nil
}

func (s *store) GetLatestVersion(ctx context.Context, db database.DBTxConn) (int64, error) {
	var version sql.Null[int64]
	if err := queryRow(ctx, db, `SELECT MAX("version_id") FROM `+s.table(), nil, &version); err != nil {
		return 0, err
	}
	if !version.Valid {
		return 0, fmt.Errorf("%w: no migration is recorded", database.ErrVersionNotFound)
	}
	return version.V, nil
}

func (s *store) ListMigrations(ctx context.Context, db database.DBTxConn) (_ []*database.ListMigrationsResult, err error) {
	rows, err := db.QueryContext(master(ctx), `SELECT "version_id", "is_applied" FROM `+s.table()+` WHERE "id" > 0 ORDER BY "id" DESC`)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	list := []*database.ListMigrationsResult{}
	for rows.Next() {
		var m database.ListMigrationsResult
		if err := rows.Scan(&m.Version, &m.IsApplied); err != nil {
			return nil, err
		}
		list = append(list, &m)
	}
	return list, rows.Err()
}

// A replica that lags would have a migration run twice.
func master(ctx context.Context) context.Context {
	return tntsql.WithMode(ctx, tntsql.ModeRW)
}

func exec(ctx context.Context, db database.DBTxConn, query string, args ...any) error {
	_, err := db.ExecContext(master(ctx), query, args...)
	return err
}

func queryRow(ctx context.Context, db database.DBTxConn, query string, args []any, dst ...any) error {
	return db.QueryRowContext(master(ctx), query, args...).Scan(dst...)
}
