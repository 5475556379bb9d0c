package tntsql

import (
	"context"
	"database/sql/driver"

	"github.com/tntsql/tntsql/internal/sqltext"
)

// stmt is a text whose parameters have been counted. It works on whatever instance
// serves it: what a server keeps of it belongs to a connection, as with any text
// that is used again.
type stmt struct {
	conn  *Conn
	query string
	text  *sqltext.Statement
}

var (
	_ driver.Stmt              = (*stmt)(nil)
	_ driver.StmtQueryContext  = (*stmt)(nil)
	_ driver.StmtExecContext   = (*stmt)(nil)
	_ driver.NamedValueChecker = (*stmt)(nil)
)

func (s *stmt) Close() error { return nil }

// NumInput is -1, not known, for a text with names: one argument may stand for
// :a and for @a.
func (s *stmt) NumInput() int {
	if s.text.Style == sqltext.Named {
		return -1
	}
	return s.text.Params
}

func (s *stmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	return s.conn.QueryContext(ctx, s.query, args)
}

func (s *stmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	return s.conn.ExecContext(ctx, s.query, args)
}

func (s *stmt) CheckNamedValue(nv *driver.NamedValue) error { return s.conn.CheckNamedValue(nv) }

// Exec is ExecContext without a context.
func (s *stmt) Exec(args []driver.Value) (driver.Result, error) {
	return s.ExecContext(context.Background(), ordinals(args))
}

// Query is QueryContext without a context.
func (s *stmt) Query(args []driver.Value) (driver.Rows, error) {
	return s.QueryContext(context.Background(), ordinals(args))
}

func ordinals(args []driver.Value) []driver.NamedValue {
	named := make([]driver.NamedValue, len(args))
	for i, v := range args {
		named[i] = driver.NamedValue{Ordinal: i + 1, Value: v}
	}
	return named
}
