package tntsql_test

import (
	"database/sql"
	"database/sql/driver"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tntsql/tntsql"
)

func TestPingAsksAnInstanceOfTheMode(t *testing.T) {
	rs := sharedSet(t)
	for mode, role := range routes[read] {
		t.Run(mode.String(), func(t *testing.T) {
			ctx, info := tntsql.Capture(withMode(t, mode))
			require.NoError(t, open(t).PingContext(ctx))
			assert.Equal(t, tntsql.KindPing, info.Kind)
			if role != "any" {
				assert.Equal(t, role == "rw", info.Instance.UUID == rs.UUID(0))
			}
		})
	}
}

func TestAStatementIsOneRequestAndReuseOfASessionIsNone(t *testing.T) {
	rs := sharedSet(t)
	db := open(t, quiet)
	connectAll(t, rs, db)
	requireRequests(t, rs, 100, func() {
		for range 100 {
			assert.Equal(t, 1, value[int](t, db, "SELECT 1"))
		}
	})
	assert.Equal(t, 1, db.Stats().OpenConnections, "pooled sessions")
}

func TestSessionsAreOpenedPreparedAndClosedWithoutIO(t *testing.T) {
	rs := sharedSet(t)
	db := open(t, quiet)
	connectAll(t, rs, db)
	requireRequests(t, rs, 0, func() {
		conn, err := db.Conn(t.Context())
		require.NoError(t, err)
		stmt, err := conn.PrepareContext(t.Context(), "SELECT ?")
		require.NoError(t, err)
		assert.NoError(t, stmt.Close())
		assert.NoError(t, conn.Close())
	})
}

func TestAThousandSessionsShareAFewConnections(t *testing.T) {
	const perInstance = 2
	rs := sharedSet(t)
	before := settled(t, rs)
	db := open(t, quiet, fmt.Sprintf("conns_per_instance=%d", perInstance))

	var wg sync.WaitGroup
	held := make([]*sql.Conn, 1000)
	for i := range held {
		conn, err := db.Conn(t.Context())
		require.NoError(t, err)
		held[i] = conn
		wg.Go(func() {
			var n int
			assert.NoError(t, conn.QueryRowContext(t.Context(), "SELECT ?", i).Scan(&n))
			assert.Equal(t, i, n)
		})
	}
	wg.Wait()
	assert.Equal(t, len(held), db.Stats().InUse)
	assert.LessOrEqual(t, connections(t, rs)-before, int64(rs.Len()*(1+perInstance)))
	for _, conn := range held {
		require.NoError(t, conn.Close())
	}
}

func TestManyGoroutinesReadAndWriteAtOnce(t *testing.T) {
	const goroutines, rounds = 100, 10
	rs := sharedSet(t)
	db := open(t)
	name := table(t, rs, "ID INTEGER PRIMARY KEY AUTOINCREMENT, G INTEGER, W STRING")
	ctx := withMode(t, tntsql.ModeRW)
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			for range rounds {
				result, err := db.ExecContext(ctx, "INSERT INTO "+name+" (G, W) VALUES (?, WHO())", g)
				if !assert.NoError(t, err) {
					return
				}
				id, err := result.LastInsertId()
				assert.NoError(t, err)
				var got int
				assert.NoError(t, db.QueryRowContext(ctx, "SELECT G FROM "+name+" WHERE ID = ?", id).Scan(&got))
				assert.Equal(t, g, got)
				var n int
				assert.NoError(t, db.QueryRowContext(t.Context(), "SELECT ?", g).Scan(&n))
				assert.Equal(t, g, n)
			}
		})
	}
	wg.Wait()
	assert.Equal(t, goroutines*rounds, valueOf[int](t, ctx, db, "SELECT COUNT(*) FROM "+name))
}

func TestASessionThatWasClosedIsABadConnection(t *testing.T) {
	db := open(t)
	conn, err := db.Conn(t.Context())
	require.NoError(t, err)
	require.NoError(t, conn.Raw(func(dc any) error {
		c := dc.(*tntsql.Conn)
		assert.True(t, c.IsValid())
		assert.NoError(t, c.ResetSession(t.Context()))
		require.NoError(t, c.Close())
		assert.NoError(t, c.Close(), "again")

		assert.False(t, c.IsValid())
		assert.ErrorIs(t, c.ResetSession(t.Context()), driver.ErrBadConn)
		assert.ErrorIs(t, c.Ping(t.Context()), driver.ErrBadConn)
		_, err := c.PrepareContext(t.Context(), "SELECT 1")
		assert.ErrorIs(t, err, driver.ErrBadConn)
		_, err = c.QueryContext(t.Context(), "SELECT 1", nil)
		assert.ErrorIs(t, err, driver.ErrBadConn)
		_, err = c.Call(t.Context(), tntsql.ModeAny, "who")
		assert.ErrorIs(t, err, driver.ErrBadConn)
		return nil
	}))
	require.NoError(t, conn.Close())
	assert.Equal(t, 1, value[int](t, db, "SELECT 1"), "the handle opens another")
}
