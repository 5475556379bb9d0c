package lease

import (
	"context"
	"database/sql"
	"errors"

	protocol "github.com/tarantool/go-iproto"

	"github.com/tntsql/tntsql"
)

// table has at most one row: that of the holder.
type table struct {
	db   *sql.DB
	name string // quoted
}

// A row changes with each beat of its owner.
type row struct {
	owner string
	beat  int64
}

// All of it is done on the master: a replica's rows are old.
func master(ctx context.Context) context.Context {
	return tntsql.WithMode(ctx, tntsql.ModeRW)
}

func (t table) exec(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return t.db.ExecContext(master(ctx), query, args...)
}

func (t table) create(ctx context.Context) error {
	_, err := t.exec(ctx, "CREATE TABLE IF NOT EXISTS "+t.name+
		` ("id" INTEGER PRIMARY KEY, "owner" STRING NOT NULL, "beat" INTEGER NOT NULL)`)
	return err
}

// insert reports whether there was no row.
func (t table) insert(ctx context.Context, r row) (bool, error) {
	_, err := t.exec(ctx, "INSERT INTO "+t.name+" VALUES (1, ?, ?)", r.owner, r.beat)
	if tntsql.IsUniqueViolation(err) {
		return false, nil
	}
	return err == nil, err
}

// read returns the row, and a zero one if there is none.
func (t table) read(ctx context.Context) (row, error) {
	var r row
	err := t.db.QueryRowContext(master(ctx), `SELECT "owner", "beat" FROM `+t.name+` WHERE "id" = 1`).Scan(&r.owner, &r.beat)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return r, err
}

func (t table) beat(ctx context.Context, owner string) error {
	_, err := t.exec(ctx, "UPDATE "+t.name+` SET "beat" = "beat" + 1 WHERE "id" = 1 AND "owner" = ?`, owner)
	return err
}

// remove deletes the row if it is still r.
func (t table) remove(ctx context.Context, r row) error {
	_, err := t.exec(ctx, "DELETE FROM "+t.name+` WHERE "id" = 1 AND "owner" = ? AND "beat" = ?`, r.owner, r.beat)
	return err
}

// removeOf deletes the owner's row. ErrLost tells that there is none, unless
// there is no table any more.
func (t table) removeOf(ctx context.Context, owner string) error {
	var result sql.Result
	err := tntsql.Retry(ctx, func(ctx context.Context) (err error) {
		result, err = t.exec(ctx, "DELETE FROM "+t.name+` WHERE "id" = 1 AND "owner" = ?`, owner)
		return err
	})
	if e := (*tntsql.Error)(nil); errors.As(err, &e) && e.Code == uint32(protocol.ER_NO_SUCH_SPACE) {
		return nil
	}
	if err != nil {
		return err
	}
	n, err := result.RowsAffected()
	if err == nil && n == 0 {
		err = ErrLost
	}
	return err
}
