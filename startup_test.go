package tntsql_test

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/tntsql/tntsql"
)

// A host that takes the connection and then fails must be left alone as long as
// one that refuses it.
func TestAHostThatFailsAfterTheDialIsTriedNowAndThen(t *testing.T) {
	for name, target := range map[string]string{
		"hung up":        listener(t, hangUp),
		"no IPROTO":      listener(t, func(conn net.Conn) { babble(conn); hangUp(conn) }),
		"wrong password": sharedSet(t).Addr(0),
	} {
		t.Run(name, func(t *testing.T) {
			cfg := mustParse(t, "tarantool://app:wrong@h/?selection_timeout=500ms")
			var dials atomic.Int32
			cfg.Dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
				dials.Add(1)
				return new(net.Dialer).DialContext(ctx, network, target)
			}
			db, _ := openConfig(t, cfg)
			assert.ErrorIs(t, db.PingContext(t.Context()), tntsql.ErrNoInstance)
			assert.LessOrEqual(t, dials.Load(), int32(20), "every 10 ms at first, then every 100 ms")
		})
	}
}

// An instance that answers on its control connection and on no other is not
// just "running": what keeps statements from it must be told.
func TestAnErrorOfDataConnectionsIsInTheError(t *testing.T) {
	db := open(t, "selection_timeout=100ms", "session.sql_default_engine=none")
	_, err := db.ExecContext(t.Context(), "SELECT 1")
	assert.ErrorIs(t, err, tntsql.ErrNoInstance)
	assert.ErrorContains(t, err, "sql_default_engine")
}

// The first read of a handle prefers as later ones do.
func TestThePreferenceHoldsFromTheFirstRead(t *testing.T) {
	rs := sharedSet(t)
	for range 30 {
		begun := time.Now()
		db, _ := openDSN(t, rs.DSN("read_mode=prefer_rw"))
		if by := served(t, t.Context(), db); time.Since(begun) < 400*time.Millisecond { // it settles in 500
			assert.Equal(t, rs.UUID(0), by)
		}
		assert.NoError(t, db.Close())
	}
}

// With selection_timeout=0 a handle is of use although it has just been opened.
func TestTheFirstStatementWithoutSelectionTimeout(t *testing.T) {
	db, _ := openDSN(t, sharedSet(t).DSN("selection_timeout=0"))
	assert.NoError(t, db.PingContext(t.Context()))
}
