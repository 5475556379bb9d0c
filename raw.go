package tntsql

import (
	"context"
	"database/sql"
	"database/sql/driver"
)

// Raw runs f on a session of db (*sql.DB, or what wraps it and has its Conn),
// which goes back to db when f returns. It finds the session beneath wrappers
// of drivers that have a method Raw() driver.Conn, as otelsql's has. A handle
// of another driver gets ErrNotTarantool. f's error is returned as it is.
//
// On a *sql.Conn with an open transaction, a panic of f, or driver.ErrBadConn from it,
// waits in database/sql until the transaction has ended. Call and Eval on the *sql.Tx do
// not.
func Raw(ctx context.Context, db interface {
	Conn(context.Context) (*sql.Conn, error)
}, f func(*Conn) error) error {
	held, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer held.Close() //nolint:errcheck // it gives the session back, which cannot fail in a way that matters
	return held.Raw(func(dc any) error {
		c := unwrap(dc)
		if c == nil {
			return ErrNotTarantool
		}
		return f(c)
	})
}

// unwrap finds the Conn beneath wrappers.
func unwrap(dc any) *Conn {
	for {
		switch v := dc.(type) {
		case *Conn:
			return v
		case interface{ Raw() driver.Conn }:
			dc = v.Raw()
		default:
			return nil
		}
	}
}
