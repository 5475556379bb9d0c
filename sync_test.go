package tntsql_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tntsql/tntsql"
)

// Each write that waits for its quorum holds up the connection that it is on.
func TestWritesThatWaitForAQuorumDoNotStopReads(t *testing.T) {
	rs := ownSet(t, 2)
	if !rs.AtLeast(2, 10, 0) {
		t.Skipf("Tarantool %s: synchronous spaces in a replica set of tarantooltest need 2.10", rs.Version())
	}
	name := table(t, rs, "id INTEGER PRIMARY KEY, pad STRING")
	lua(t, rs, 0, `
		box.cfg{replication_synchro_quorum = 2, replication_synchro_timeout = 1000}
		box.ctl.promote()
		box.space[...]:alter({is_sync = true})`, name)
	db, connector := openDSN(t, rs.DSN("read_mode=rw"))
	require.NoError(t, connector.WaitReady(within(t, 10*time.Second), tntsql.ModeRW))
	pad := strings.Repeat("x", 16<<10) // fills the server's input buffers
	mustExec(t, db, "INSERT INTO "+name+" VALUES (0, ?)", pad)
	require.NoError(t, rs.Stop(1)) // and with it the quorum

	// In waves, further apart than the 50 ms after which a connection that waits
	// takes no new requests while there is another.
	const waves, each = 8, 4
	const writers = waves * each
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, writers)
	apart := time.NewTicker(60 * time.Millisecond)
	defer apart.Stop()
	for i := range writers {
		if i%each == 0 {
			<-apart.C
		}
		go func() {
			_, err := db.ExecContext(ctx, "INSERT INTO "+name+" VALUES (?, ?)", i+1, pad)
			failed <- err
		}()
	}
	eventually(t, "writes in flight", func() bool { return connector.Topology().Instances[0].InFlight == writers })
	requirePrompt(t, 0, 3*time.Second, func() { // those on a connection that stops move at probe_timeout
		for range 200 {
			assert.EqualValues(t, 1, value[int64](t, db, "SELECT 1"))
		}
	})
	assert.Equal(t, "running", connector.Topology().Instances[0].Status)
	cancel()
	for range writers {
		assert.ErrorIs(t, <-failed, tntsql.ErrOutcomeUnknown)
	}
	require.NoError(t, rs.Continue(1))
}
