package failover

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/tntsql/tntsql"
	"github.com/tntsql/tntsql/tarantooltest"
)

func TestTheSameDBIsUsableAfterAllHostsWereDown(t *testing.T) {
	set := tarantooltest.Start(t)
	others := goleak.IgnoreCurrent()
	db, err := sql.Open("tarantool", set.DSN("selection_timeout=200ms"))
	require.NoError(t, err)
	ping := func(m tntsql.Mode) error { return db.PingContext(tntsql.WithMode(context.Background(), m)) }
	eventually := func(m tntsql.Mode, err error) {
		t.Helper()
		require.EventuallyWithT(t, func(c *assert.CollectT) { assert.ErrorIs(c, ping(m), err) }, 20*time.Second, 10*time.Millisecond)
	}
	eventually(tntsql.ModeRW, nil)
	for i := range set.Len() {
		set.Kill(i)
	}
	eventually(tntsql.ModeAny, tntsql.ErrNoInstance)
	eventually(tntsql.ModeAny, tntsql.ErrNoInstance)
	for i := range set.Len() {
		require.NoError(t, set.Restart(i))
	}
	eventually(tntsql.ModeRW, nil)
	eventually(tntsql.ModeRO, nil)
	require.NoError(t, db.Close())
	for i := range set.Len() {
		set.Kill(i) // their goroutines are tarantooltest's
	}
	assert.NoError(t, goleak.Find(others))
}
