package failover

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tntsql/tntsql"
	"github.com/tntsql/tntsql/tarantooltest"
)

var sessionReads = flag.Int("session-reads", 40_000, "how many `reads` the tests of sessions make; a million takes over a minute")

const (
	sessions      = 64
	readsPerWrite = 1000
)

// registers are rows, each of that one session writes and reads.
type registers struct {
	db         *sql.DB
	first      int          // id of its rows
	violations atomic.Int64 // reads that did not see the session's own acknowledged write
	unknown    atomic.Int64
	byReplica  atomic.Int64
	reads      atomic.Int64
}

// run has 64 sessions write and read until each has made its reads.
func (r *registers) run(t *testing.T, session func(context.Context) context.Context) {
	var wg sync.WaitGroup
	for i := range sessions {
		id := r.first + i
		wg.Go(func() {
			ctx := session(t.Context())
			for n := 1; r.reads.Load() < int64(*sessionReads); n++ {
				_, err := r.db.ExecContext(ctx, "REPLACE INTO registers VALUES (?, ?)", id, n)
				if errors.Is(err, tntsql.ErrOutcomeUnknown) {
					r.unknown.Add(1)
					continue
				}
				if !assert.NoError(t, err) {
					return
				}
				if !r.read(t, ctx, id, n) {
					return
				}
			}
		})
	}
	wg.Wait()
}

func (r *registers) read(t *testing.T, ctx context.Context, id, least int) bool {
	for range readsPerWrite {
		ctx, info := tntsql.Capture(ctx)
		var n int
		err := r.db.QueryRowContext(ctx, "SELECT n FROM registers WHERE id = ?", id).Scan(&n)
		if errors.Is(err, sql.ErrNoRows) {
			err = nil
		}
		if !assert.NoError(t, err) {
			return false
		}
		r.reads.Add(1)
		if n < least {
			r.violations.Add(1)
		}
		if info.Instance.Role == "ro" {
			r.byReplica.Add(1)
		}
	}
	return true
}

func openRegisters(t *testing.T, rs *tarantooltest.ReplicaSet, params ...string) (*registers, *tntsql.Connector) {
	cfg, err := tntsql.ParseDSN(rs.DSN(params...))
	require.NoError(t, err)
	connector, err := tntsql.NewConnector(cfg)
	require.NoError(t, err)
	db := sql.OpenDB(connector)
	t.Cleanup(func() { assert.NoError(t, db.Close()) })
	return &registers{db: db}, connector
}

// delayed is a replica set of which replica 2 has everything 500 ms later.
func delayed(t *testing.T) *tarantooltest.ReplicaSet {
	rs := tarantooltest.Start(t)
	proxy, err := NewProxy(rs.Addr(0))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, proxy.Close()) })
	require.NoError(t, proxy.Delay(500))
	_, err = rs.Lua(2, "box.cfg{replication = 'replicator:replicator@' .. ...}", proxy.Addr())
	require.NoError(t, err)
	_, err = rs.Lua(0, `box.execute('CREATE TABLE registers (id INTEGER PRIMARY KEY, n INTEGER)')`)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		there, err := rs.Lua(2, "return (box.space.registers or box.space.REGISTERS) ~= nil")
		return err == nil && there[0] == true
	}, 10*time.Second, 10*time.Millisecond)
	return rs
}

// Without sessions the same load shows reads that do not see their session's write, so
// that the test of sessions can fail.
func TestSessionsReadTheirOwnWritesFromReplicas(t *testing.T) {
	rs := delayed(t)
	for i, param := range []string{"read_after_write=session", "read_after_write=off"} {
		keeps := i == 0
		r, connector := openRegisters(t, rs, "read_mode=any", param)
		r.first = i * sessions // rows that no replica has yet
		begun := time.Now()
		r.run(t, tntsql.WithSession)
		share := 100 * r.byReplica.Load() / r.reads.Load()
		t.Logf("%s: %d reads in %v, %d did not see the session's write, %d %% by replicas, %d sent to the master for their mark",
			param, r.reads.Load(), time.Since(begun).Round(time.Millisecond), r.violations.Load(), share, connector.Stats().Marked)
		assert.Equal(t, keeps, r.violations.Load() == 0)
		if keeps && *sessionReads >= 1_000_000 { // less do not outlast the first covers
			assert.GreaterOrEqual(t, share, int64(40))
		}
	}
}

// On synchronous spaces nothing that was acknowledged is lost, so a session's reads see
// its writes whatever happens to the masters.
func TestSessionsReadTheirOwnWritesThroughFailovers(t *testing.T) {
	if rs := tarantooltest.Start(t, tarantooltest.Instances(1)); !rs.AtLeast(2, 11, 0) {
		t.Skipf("Tarantool %s has no elections with strict fencing", rs.Version())
	}
	rs := tarantooltest.Start(t, tarantooltest.Cfg(map[string]any{
		"election_mode": "candidate", "election_fencing_mode": "strict", "election_timeout": 1,
		"replication_synchro_quorum": 2, "replication_timeout": 0.3, "replication_synchro_timeout": 5,
	}))
	_, err := rs.Lua(rs.Master(), `box.execute('CREATE TABLE registers (id INTEGER PRIMARY KEY, n INTEGER)');
		(box.space.registers or box.space.REGISTERS):alter({is_sync = true})`)
	require.NoError(t, err)
	r, connector := openRegisters(t, rs, "read_mode=any", "selection_timeout=30s")
	require.NoError(t, connector.WaitReady(t.Context(), tntsql.ModeRW))

	var wg sync.WaitGroup
	stop := make(chan struct{})
	wg.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			case <-time.After(time.Second):
			}
			master := rs.Master()
			if i%2 == 0 {
				_ = rs.Promote((master + 1) % rs.Len()) // unless another is elected meanwhile
				continue
			}
			rs.Kill(master)
			time.Sleep(time.Second)
			assert.NoError(t, rs.Restart(master))
		}
	})
	ended := time.AfterFunc(12*time.Second, func() { r.reads.Store(int64(*sessionReads)) })
	defer ended.Stop()
	*sessionReads *= 1000 // until the time is over
	defer func() { *sessionReads /= 1000 }()
	r.run(t, tntsql.WithSession)
	close(stop)
	wg.Wait()
	t.Logf("%d reads by replicas, %d unknown writes, %d did not see the session's write", r.byReplica.Load(), r.unknown.Load(), r.violations.Load())
	assert.Zero(t, r.violations.Load())
}
