package itest

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"math"
	"testing"

	"github.com/jmoiron/sqlx"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tntsql/tntsql"
)

// handles are what applications have in their hands, by name.
func handles(t *testing.T) map[string]tntsql.Execer {
	t.Helper()
	plain := openDB(t)
	bySQLX := openSQLX(t)
	traced, _ := openTraced(t)
	return map[string]tntsql.Execer{
		"sql.DB":                 plain,
		"sql.Conn":               hold(t, plain.Conn),
		"sqlx.DB":                bySQLX,
		"sqlx.Conn":              hold(t, bySQLX.Connx),
		"sql.DB of otelsql":      traced,
		"sql.Conn of otelsql":    hold(t, traced.Conn),
		"sqlx.DB over otelsql":   sqlx.NewDb(traced, tntsql.DriverName),
		"sqlx.Conn over otelsql": hold(t, sqlx.NewDb(traced, tntsql.DriverName).Connx),
	}
}

// hold takes a connection for the time of the test.
func hold[C interface{ Close() error }](t *testing.T, open func(context.Context) (C, error)) C {
	t.Helper()
	conn, err := open(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, conn.Close()) })
	return conn
}

func TestCallOnEveryHandle(t *testing.T) {
	for name, on := range handles(t) {
		t.Run(name, func(t *testing.T) {
			reply, err := tntsql.Call(t.Context(), on, tntsql.ModeRW, "served_by", 1, "two", uint64(math.MaxUint64), nil, true)
			require.NoError(t, err)
			assert.Equal(t, []any{masterUUID(), int64(1), "two", uint64(math.MaxUint64), nil, true}, reply.Values())
			assert.Equal(t, masterUUID(), reply.Instance().UUID)

			reply, err = tntsql.Call(t.Context(), on, tntsql.ModeRO, "served_by")
			require.NoError(t, err)
			assert.NotEqual(t, masterUUID(), reply.Values()[0])
			assert.Equal(t, reply.Values()[0], reply.Instance().UUID)
		})
	}
}

func TestEvalOnEveryHandle(t *testing.T) {
	type point struct {
		X int64 `msgpack:"x"`
		Y int64 `msgpack:"y"`
	}
	for name, on := range handles(t) {
		t.Run(name, func(t *testing.T) {
			reply, err := tntsql.Eval(t.Context(), on, tntsql.ModeRO,
				"local p = ... return box.info.ro, {x = p.y, y = p.x}", point{X: 1, Y: 2})
			require.NoError(t, err)
			var (
				readOnly bool
				swapped  point
			)
			require.NoError(t, reply.Decode(&readOnly, &swapped))
			assert.True(t, readOnly)
			assert.Equal(t, point{X: 2, Y: 1}, swapped)
		})
	}
}

func TestCallErrorsOnEveryHandle(t *testing.T) {
	for name, on := range handles(t) {
		t.Run(name, func(t *testing.T) {
			reply, err := tntsql.Call(t.Context(), on, tntsql.ModeRW, "broken")
			var answered *tntsql.Error
			require.ErrorAs(t, err, &answered)
			assert.Equal(t, "ER_PROC_LUA", answered.Name)
			assert.Contains(t, answered.Message, "no luck")
			assert.Equal(t, masterUUID(), answered.Instance.UUID)
			assert.Nil(t, reply)

			ended, cancel := context.WithCancel(t.Context())
			cancel()
			_, err = tntsql.Call(ended, on, tntsql.ModeRW, "served_by")
			require.ErrorIs(t, err, context.Canceled)
		})
	}
}

func TestRawOnEveryPool(t *testing.T) {
	traced, _ := openTraced(t)
	pools := map[string]interface {
		Conn(context.Context) (*sql.Conn, error)
	}{
		"sql.DB":               openDB(t),
		"sqlx.DB":              openSQLX(t),
		"sql.DB of otelsql":    traced,
		"sqlx.DB over otelsql": sqlx.NewDb(traced, tntsql.DriverName),
	}
	for name, db := range pools {
		t.Run(name, func(t *testing.T) {
			var served string
			err := tntsql.Raw(t.Context(), db, func(c *tntsql.Conn) error {
				reply, err := c.Call(t.Context(), tntsql.ModeRW, "served_by")
				if err != nil {
					return err
				}
				return reply.Decode(&served)
			})
			require.NoError(t, err)
			assert.Equal(t, masterUUID(), served)

			err = tntsql.Raw(t.Context(), db, func(*tntsql.Conn) error { return driver.ErrSkip })
			assert.Equal(t, driver.ErrSkip, err, "the function's own error, as it is")
		})
	}
}
