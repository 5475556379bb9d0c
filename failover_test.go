package tntsql_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tntsql/tntsql"
	"github.com/tntsql/tntsql/tarantooltest"
)

// load runs a statement over and over, from several goroutines at once.
type load struct {
	running sync.WaitGroup
	stop    chan struct{}
	done    atomic.Int64
}

// under starts a load, none of whose statements may fail.
func under(t *testing.T, goroutines int, run func(goroutine int) error) *load {
	t.Helper()
	l := &load{stop: make(chan struct{})}
	for g := range goroutines {
		l.running.Go(func() {
			for {
				select {
				case <-l.stop:
					return
				default:
				}
				if !assert.NoError(t, run(g)) {
					return
				}
				l.done.Add(1)
			}
		})
	}
	l.goesOn(t)
	return l
}

// goesOn waits until some more statements are done.
func (l *load) goesOn(t *testing.T) {
	t.Helper()
	goal := l.done.Load() + 200
	eventually(t, "progress", func() bool { return t.Failed() || l.done.Load() >= goal })
}

func (l *load) end() int64 {
	close(l.stop)
	l.running.Wait()
	return l.done.Load()
}

// statusOf is what a handle knows of instance i.
func statusOf(connector *tntsql.Connector, i int) string {
	return connector.Topology().Instances[i].Status
}

// servers are the instances that serve reads under the context.
func servers(t testing.TB, ctx context.Context, rs *tarantooltest.ReplicaSet, db *sql.DB) map[int]bool {
	t.Helper()
	by := make(map[int]bool)
	for range 12 {
		by[number(t, rs, served(t, ctx, db))] = true
	}
	return by
}

func TestWritersDoNotNoticeThatTheMasterMoves(t *testing.T) {
	const writers = 16
	rs := ownSet(t, 3)
	db, _ := openDSN(t, rs.DSN("seq_scan=true"))
	name := table(t, rs, "ID INTEGER PRIMARY KEY, N INTEGER")
	for g := range writers {
		mustExec(t, db, "INSERT INTO "+name+" VALUES (?, 0)", g)
	}
	l := under(t, writers, func(g int) error {
		_, err := db.ExecContext(t.Context(), "UPDATE "+name+" SET N = N + 1 WHERE ID = ?", g)
		return err
	})
	for _, master := range []int{1, 2, 0} {
		require.NoError(t, rs.Promote(master))
		l.goesOn(t)
	}
	updates := l.end()
	inStep(t, rs)
	assert.Equal(t, updates, valueOf[int64](t, withMode(t, tntsql.ModeRW), db, "SELECT SUM(N) FROM "+name), "each update once")
}

func TestTheNextWriteFindsTheNewMaster(t *testing.T) {
	rs := ownSet(t, 2)
	db, _ := openDSN(t, rs.DSN(quiet))
	name := table(t, rs, "ID INTEGER PRIMARY KEY, W STRING")
	mustExec(t, db, "INSERT INTO "+name+" VALUES (1, WHO())")
	inStep(t, rs)
	require.NoError(t, rs.Promote(1))
	ctx, info := tntsql.Capture(t.Context())
	_, err := db.ExecContext(ctx, "UPDATE "+name+" SET W = WHO() WHERE ID = 1")
	require.NoError(t, err)
	assert.Equal(t, rs.UUID(1), info.Instance.UUID)
	assert.LessOrEqual(t, info.Attempts, 2, "refused once at most")
	assert.Equal(t, rs.UUID(1), valueOf[string](t, withMode(t, tntsql.ModeRW), db, "SELECT W FROM "+name+" WHERE ID = 1"))
}

func TestReadsDoNotNoticeThatAReplicaIsKilled(t *testing.T) {
	rs := ownSet(t, 3)
	db, connector := openDSN(t, rs.DSN())
	knowsAll(t, connector)
	modes := []tntsql.Mode{tntsql.ModeAny, tntsql.ModeRO, tntsql.ModePreferRO, tntsql.ModePreferRW}
	l := under(t, 16, func(g int) error {
		_, err := firstValue(withMode(t, modes[g%len(modes)]), db, "SELECT 1")
		return err
	})
	rs.Kill(2)
	l.goesOn(t)
	eventually(t, "notice", func() bool { return statusOf(connector, 2) == "down" })
	assert.Equal(t, "unknown", connector.Topology().Instances[2].Role)
	assert.Equal(t, map[int]bool{1: true}, servers(t, withMode(t, tntsql.ModeRO), rs, db))
	require.NoError(t, rs.Restart(2))
	eventually(t, "return", func() bool { return statusOf(connector, 2) == "running" })
	eventually(t, "reads there", func() bool { return len(servers(t, withMode(t, tntsql.ModeRO), rs, db)) == 2 })
	l.goesOn(t)
	l.end()
}

func TestReadsGoOnWithoutAMaster(t *testing.T) {
	rs := ownSet(t, 3)
	db, connector := openDSN(t, rs.DSN("read_mode=prefer_rw"))
	knowsAll(t, connector)
	l := under(t, 8, func(int) error {
		_, err := firstValue(t.Context(), db, "SELECT 1")
		return err
	})
	rs.Kill(0)
	l.goesOn(t)
	l.end()
	_, err := db.ExecContext(within(t, 50*time.Millisecond), "DELETE FROM NO_SUCH_TABLE")
	assert.ErrorIs(t, err, tntsql.ErrNoInstance)
}

func TestTheMasterNeverStandsInForReplicas(t *testing.T) {
	rs := ownSet(t, 2)
	db, connector := openDSN(t, rs.DSN("selection_timeout=100ms"))
	knowsAll(t, connector)
	rs.Kill(1)
	for range 5 {
		_, err := firstValue(withMode(t, tntsql.ModeRO), db, "SELECT 1")
		assert.ErrorIs(t, err, tntsql.ErrNoInstance)
	}
	assert.Equal(t, map[int]bool{0: true}, servers(t, withMode(t, tntsql.ModePreferRO), rs, db))
}

func TestAStoppedReplicaIsAvoidedUntilItGoesOn(t *testing.T) {
	rs := ownSet(t, 3)
	db, connector := openDSN(t, rs.DSN("probe_timeout=100ms", "refresh_interval=50ms"))
	knowsAll(t, connector)
	require.NoError(t, rs.Stop(1))
	eventually(t, "suspicion", func() bool { return statusOf(connector, 1) == "suspect" })
	assert.ErrorContains(t, connector.Topology().Instances[1].Err, "probe_timeout (100ms)")
	for mode, want := range map[tntsql.Mode]map[int]bool{
		tntsql.ModeAny: {0: true, 2: true}, tntsql.ModeRO: {2: true}, tntsql.ModePreferRO: {2: true},
	} {
		assert.Equal(t, want, servers(t, withMode(t, mode), rs, db), mode)
	}
	require.NoError(t, rs.Continue(1))
	eventually(t, "return", func() bool { return statusOf(connector, 1) == "running" })
	assert.Equal(t, map[int]bool{1: true, 2: true}, servers(t, withMode(t, tntsql.ModeRO), rs, db))
}

func TestAReadOnAStoppedReplicaEndsWithItsContextOrWithTheStop(t *testing.T) {
	rs := ownSet(t, 2)
	db, connector := openDSN(t, rs.DSN("read_mode=ro", "probe_timeout=100ms"))
	knowsAll(t, connector)
	require.NoError(t, db.PingContext(t.Context()))
	require.NoError(t, rs.Stop(1))

	patient := make(chan error, 1)
	go func() { patient <- db.PingContext(t.Context()) }()
	assert.ErrorIs(t, db.PingContext(within(t, 100*time.Millisecond)), context.DeadlineExceeded)
	require.NoError(t, rs.Continue(1))
	assert.NoError(t, <-patient)
}

func TestARestartedInstanceIsPickedUp(t *testing.T) {
	rs := ownSet(t, 3)
	db, connector := openDSN(t, rs.DSN())
	knowsAll(t, connector)
	name := table(t, rs, "ID INTEGER PRIMARY KEY, W STRING")
	for i := range rs.Len() {
		require.NoError(t, rs.Restart(i))
		eventually(t, "return", func() bool {
			in := connector.Topology().Instances[i]
			return in.Status == "running" && (in.Role == "rw") == (i == 0)
		})
		mustExec(t, db, "INSERT INTO "+name+" VALUES (?, WHO())", i)
	}
	assert.Equal(t, map[int]bool{0: true, 1: true, 2: true}, servers(t, t.Context(), rs, db))
}

func TestAnInstanceLostUnderAReadIsReplacedByAnother(t *testing.T) {
	rs := ownSet(t, 2)
	db, connector := openDSN(t, rs.DSN("read_mode=prefer_ro"))
	knowsAll(t, connector)
	require.Equal(t, map[int]bool{1: true}, servers(t, t.Context(), rs, db))
	require.NoError(t, rs.Stop(1))
	ctx, info := tntsql.Capture(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- db.QueryRowContext(ctx, "SELECT 1").Scan(new(int)) }()
	eventually(t, "session in use", func() bool { return db.Stats().InUse == 1 })
	rs.Kill(1)
	require.NoError(t, <-ended)
	assert.Equal(t, rs.UUID(0), info.Instance.UUID)
}

// A write whose connection is lost may have been applied: that is for its
// caller to find out. All others succeed, and none is done twice.
func TestAKilledMasterCostsOnlyTheWritesInFlight(t *testing.T) {
	rs := ownSet(t, 3)
	db, connector := openDSN(t, rs.DSN("selection_timeout=1m"))
	knowsAll(t, connector)
	name := table(t, rs, "ID INTEGER PRIMARY KEY, G INTEGER")
	var next, unknown atomic.Int64
	l := under(t, 8, func(g int) error {
		_, err := db.ExecContext(t.Context(), "INSERT INTO "+name+" VALUES (?, ?)", next.Add(1), g)
		if errors.Is(err, tntsql.ErrOutcomeUnknown) {
			unknown.Add(1)
			return nil
		}
		if err != nil {
			return fmt.Errorf("after %d: %w", next.Load(), err)
		}
		return nil
	})
	rs.Kill(0)
	require.NoError(t, rs.Promote(1))
	l.goesOn(t)
	l.end()
	assert.LessOrEqual(t, unknown.Load(), int64(16), "one a writer, or two if another connection of the dead instance has not ended yet")
	assert.Equal(t, rs.UUID(1), served(t, withMode(t, tntsql.ModeRW), db))
}

func TestAnotherInstanceAtTheSameAddressIsAnotherInstance(t *testing.T) {
	rs := sharedSet(t)
	cfg := mustParse(t, "tarantool://app:secret@h/?"+quiet)
	var mu sync.Mutex
	var open []net.Conn
	behind := 1
	cfg.Dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
		mu.Lock()
		defer mu.Unlock()
		conn, err := new(net.Dialer).DialContext(ctx, network, rs.Addr(behind))
		if err == nil {
			open = append(open, conn)
		}
		return conn, err
	}
	db, connector := openConfig(t, cfg)
	for _, i := range []int{1, 0, 2} {
		mu.Lock()
		behind = i
		for _, conn := range open {
			_ = conn.Close()
		}
		mu.Unlock()
		eventually(t, "notice", func() bool {
			in := connector.Topology().Instances[0]
			return in.UUID == rs.UUID(i) && in.Status == "running" && (in.Role == "rw") == (i == 0)
		})
		assert.Equal(t, map[int]bool{i: true}, servers(t, t.Context(), rs, db))
	}
}
