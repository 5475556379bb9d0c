package tntsql_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tntsql/tntsql"
)

func TestRawRunsOnASessionThatGoesBack(t *testing.T) {
	rs := sharedSet(t)
	db := open(t)
	db.SetMaxOpenConns(1)
	errOwn := errors.New("own")
	for range 3 {
		err := tntsql.Raw(t.Context(), db, func(c *tntsql.Conn) error {
			reply, err := c.Call(t.Context(), tntsql.ModeRW, "who")
			require.NoError(t, err)
			assert.Equal(t, []any{rs.UUID(0)}, reply.Values())
			return errOwn
		})
		assert.Same(t, errOwn, err)
	}
	assert.Zero(t, db.Stats().InUse)
}

func TestRawFailsAsTheHandleDoes(t *testing.T) {
	db := open(t)
	unused := func(*tntsql.Conn) error { t.Error("called"); return nil }
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	assert.ErrorIs(t, tntsql.Raw(canceled, db, unused), context.Canceled)
	require.NoError(t, db.Close())
	assert.Error(t, tntsql.Raw(t.Context(), db, unused))
}

// wrapped is what drivers that observe others make of a session.
type wrapped struct{ driver.Conn }

func (w wrapped) Raw() driver.Conn { return w.Conn }

type wrappedConnector struct{ *tntsql.Connector }

func (c wrappedConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	return wrapped{wrapped{conn}}, err
}

func TestRawFindsTheSessionBeneathWrappers(t *testing.T) {
	_, connector := openDSN(t, sharedSet(t).DSN())
	db := sql.OpenDB(wrappedConnector{connector})
	defer db.Close()
	assert.NoError(t, tntsql.Raw(t.Context(), db, func(c *tntsql.Conn) error { return c.Ping(t.Context()) }))
}

// foreign is a driver of another database. It counts what it is made to run.
type foreign struct {
	takesAnything bool // it has a NamedValueChecker that refuses nothing
	fails         error
	ran           int
}

func (f *foreign) Connect(context.Context) (driver.Conn, error) {
	if f.takesAnything {
		return anyValueConn{foreignConn{f}}, nil
	}
	return foreignConn{f}, nil
}
func (f *foreign) Driver() driver.Driver { return nil }

type foreignConn struct{ *foreign }

func (foreignConn) Prepare(string) (driver.Stmt, error) { return nil, errors.New("not expected") }
func (foreignConn) Begin() (driver.Tx, error)           { return foreignTx{}, nil }
func (foreignConn) Close() error                        { return nil }

func (c foreignConn) ExecContext(context.Context, string, []driver.NamedValue) (driver.Result, error) {
	c.ran++
	return driver.ResultNoRows, c.fails
}

type foreignTx struct{}

func (foreignTx) Commit() error   { return nil }
func (foreignTx) Rollback() error { return nil }

type anyValueConn struct{ foreignConn }

func (anyValueConn) CheckNamedValue(*driver.NamedValue) error { return nil }

func TestAHandleOfAnotherDriverIsNotTarantool(t *testing.T) {
	for name, f := range map[string]*foreign{
		"which converts values": {},
		"which takes any value": {takesAnything: true},
	} {
		t.Run(name, func(t *testing.T) {
			db := sql.OpenDB(f)
			defer db.Close()
			conn, err := db.Conn(t.Context())
			require.NoError(t, err)
			defer conn.Close()
			tx, err := db.BeginTx(t.Context(), nil)
			require.NoError(t, err)
			defer tx.Rollback() //nolint:errcheck // nothing was done in it

			for _, on := range []tntsql.Execer{db, conn, tx} {
				reply, err := tntsql.Call(t.Context(), on, tntsql.ModeRW, "who")
				assert.ErrorIs(t, err, tntsql.ErrNotTarantool)
				assert.Nil(t, reply)
				_, err = tntsql.Eval(t.Context(), on, tntsql.ModeRW, "return 1")
				assert.ErrorIs(t, err, tntsql.ErrNotTarantool)
			}
			assert.ErrorIs(t, tntsql.Raw(t.Context(), db, func(*tntsql.Conn) error { return nil }), tntsql.ErrNotTarantool)
			if !f.takesAnything {
				assert.Zero(t, f.ran, "statements")
			}
		})
	}
}

func TestAnErrorOfAnotherDriverIsKept(t *testing.T) {
	broken := errors.New("broken")
	db := sql.OpenDB(&foreign{takesAnything: true, fails: broken})
	defer db.Close()
	_, err := tntsql.Call(t.Context(), db, tntsql.ModeRW, "who")
	assert.ErrorIs(t, err, broken)
	assert.ErrorIs(t, err, tntsql.ErrNotTarantool)
}
