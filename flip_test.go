package tntsql_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tntsql/tntsql"
	"github.com/tntsql/tntsql/tarantooltest"
)

// requireUnnoticed has the role of instance 0 taken away and given back under
// writers, none of whose statements may fail or be applied twice.
func requireUnnoticed(t *testing.T, rs *tarantooltest.ReplicaSet, flip string) {
	t.Helper()
	const writers, flips = 32, 3
	db, connector := openDSN(t, rs.DSN("seq_scan=true"))
	knowsAll(t, connector)
	name := table(t, rs, "ID INTEGER PRIMARY KEY, N INTEGER")
	for g := range writers {
		mustExec(t, db, "INSERT INTO "+name+" VALUES (?, 0)", g)
	}
	l := under(t, writers, func(g int) error {
		_, err := db.ExecContext(t.Context(), "UPDATE "+name+" SET N = N + 1 WHERE ID = ?", g)
		return err
	})
	for range flips {
		lua(t, rs, 0, flip)
		l.goesOn(t)
	}
	updates := l.end()
	assert.Equal(t, updates, valueOf[int64](t, withMode(t, tntsql.ModeRW), db, "SELECT SUM(N) FROM "+name), "each update once")
}

// As in a switchover that is taken back.
func TestWritersDoNotNoticeThatTheMasterIsReadOnlyForAWhile(t *testing.T) {
	requireUnnoticed(t, ownSet(t, 2), `
		box.cfg{read_only = true}
		require('fiber').sleep(0.3)
		box.cfg{read_only = false}`)
}

func TestWritersDoNotNoticeThatTheLeaderResignsAndIsElectedAgain(t *testing.T) {
	rs := ownSet(t, 2)
	if !rs.AtLeast(2, 10, 0) {
		t.Skipf("Tarantool %s: box.ctl.demote needs 2.10", rs.Version())
	}
	lua(t, rs, 0, `
		box.cfg{election_mode = 'manual', replication_synchro_quorum = 1}
		box.ctl.promote()
		box.ctl.wait_rw(5)`)
	requireUnnoticed(t, rs, `
		box.ctl.demote()
		require('fiber').sleep(0.3)
		box.ctl.promote()
		box.ctl.wait_rw(5)`)
}

// The replica has a control connection only. Reads that wait for a data connection
// there do not wait longer than those that were sent.
func TestReadsWaitForAStoppedReplicaUntilItIsSuspect(t *testing.T) {
	const probe = 300 * time.Millisecond
	rs := ownSet(t, 3)
	db, connector := openDSN(t, rs.DSN("read_mode=ro", "probe_timeout="+probe.String(), "connect_timeout=20s"))
	knowsAll(t, connector)
	require.NoError(t, rs.Stop(1))
	var mu sync.Mutex
	var longest time.Duration
	l := under(t, 32, func(int) error {
		begun := time.Now()
		_, err := firstValue(t.Context(), db, "SELECT 1")
		took := time.Since(begun)
		mu.Lock()
		defer mu.Unlock()
		longest = max(longest, took)
		return err
	})
	eventually(t, "suspicion", func() bool { return statusOf(connector, 1) == "suspect" })
	l.goesOn(t)
	l.end()
	t.Logf("the longest of the reads took %v", longest)
	assert.Less(t, longest, probe+time.Second)
	require.NoError(t, rs.Continue(1))
}
