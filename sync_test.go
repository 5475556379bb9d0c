package tntsql_test

import (
	"context"
	"database/sql"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tntsql/tntsql"
	"github.com/tntsql/tntsql/tarantooltest"
)

// quorumless is a master of synchronous spaces whose replica has stopped: writes
// into the table wait for ever.
func quorumless(t *testing.T) (rs *tarantooltest.ReplicaSet, db *sql.DB, connector *tntsql.Connector, name string) {
	rs = ownSet(t, 2)
	if !rs.AtLeast(2, 10, 0) {
		t.Skipf("Tarantool %s: synchronous spaces in a replica set of tarantooltest need 2.10", rs.Version())
	}
	name = table(t, rs, "id INTEGER PRIMARY KEY, pad STRING")
	lua(t, rs, 0, `
		box.cfg{replication_synchro_quorum = 2, replication_synchro_timeout = 1000}
		box.ctl.promote()
		box.space[...]:alter({is_sync = true})`, name)
	db, connector = openDSN(t, rs.DSN("read_mode=rw"))
	require.NoError(t, connector.WaitReady(within(t, 10*time.Second), tntsql.ModeRW))
	mustExec(t, db, "INSERT INTO "+name+" VALUES (0, '')")
	require.NoError(t, rs.Stop(1)) // and with it the quorum
	t.Cleanup(func() { assert.NoError(t, rs.Continue(1)) })
	return rs, db, connector, name
}

// pad fills the server's input buffers.
var pad = strings.Repeat("x", 16<<10)

// Each write that waits for its quorum holds up the connection that it is on.
func TestWritesThatWaitForAQuorumDoNotStopReads(t *testing.T) {
	_, db, connector, name := quorumless(t)
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
	requirePrompt(t, 0, 500*time.Millisecond, func() { // half of probe_timeout
		for range 200 {
			assert.EqualValues(t, 1, value[int64](t, db, "SELECT 1"))
		}
	})
	assert.Equal(t, "running", connector.Topology().Instances[0].Status)
	cancel()
	for range writers {
		assert.ErrorIs(t, <-failed, tntsql.ErrOutcomeUnknown)
	}
}

// Reads that were sent on the connection of two such writes, before it was known
// that they wait, do not wait with them.
func TestReadsRightBehindWritesThatWaitForAQuorum(t *testing.T) {
	const writers, readers = 4, 50
	_, db, connector, name := quorumless(t)
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, writers)
	for i := range writers {
		go func() {
			_, err := db.ExecContext(ctx, "INSERT INTO "+name+" VALUES (?, ?)", i+1, pad)
			failed <- err
		}()
	}
	eventually(t, "writes in flight", func() bool { return connector.Topology().Instances[0].InFlight == writers })
	took := make(chan time.Duration, readers)
	for range readers {
		go func() {
			begun := time.Now()
			assert.EqualValues(t, len(pad), value[int64](t, db, "SELECT LENGTH(?)", pad))
			took <- time.Since(begun)
		}()
	}
	var longest time.Duration
	for range readers {
		longest = max(longest, <-took)
	}
	t.Logf("the longest of %d reads took %v; %d moved", readers, longest, connector.Stats().Resent.Moved)
	assert.Less(t, longest, 250*time.Millisecond, "of which 40 ms tell that the connection is not read")
	cancel()
	for range writers {
		assert.ErrorIs(t, <-failed, tntsql.ErrOutcomeUnknown)
	}
}
