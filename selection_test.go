package tntsql_test

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tntsql/tntsql"
)

// listener accepts connections, does what greet says with each, and keeps it
// open until the test is over.
func listener(t testing.TB, greet func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			defer conn.Close() // all of them, at the end
			greet(conn)
		}
	})
	t.Cleanup(func() { assert.NoError(t, l.Close()); wg.Wait() })
	return l.Addr().String()
}

func silent(net.Conn) {}

func hangUp(conn net.Conn) { _ = conn.Close() }

func babble(conn net.Conn) {
	_, _ = conn.Write(make([]byte, 1<<10))
}

func TestDeadHostsAtTheStartAreNoHindrance(t *testing.T) {
	rs := sharedSet(t)
	hosts := []string{
		closedPort(t), "no-such-host.invalid", "%2Fno%2Fsuch.sock",
		listener(t, silent), listener(t, hangUp), listener(t, babble),
		rs.Addr(0), closedPort(t), rs.Addr(1),
	}
	db, connector := openDSN(t, dsnOf(hosts))
	start := time.Now()
	assert.Equal(t, rs.UUID(0), served(t, withMode(t, tntsql.ModeRW), db))
	assert.Equal(t, rs.UUID(1), served(t, withMode(t, tntsql.ModeRO), db))
	require.NoError(t, connector.WaitReady(t.Context(), tntsql.ModeRO))
	assert.Less(t, time.Since(start), 4*time.Second, "nobody waits for connect_timeout of another host")

	by := make(map[int]bool)
	for range 20 {
		by[number(t, rs, served(t, t.Context(), db))] = true
	}
	assert.Equal(t, map[int]bool{0: true, 1: true}, by)

	start = time.Now()
	require.NoError(t, db.Close())
	assert.Less(t, time.Since(start), 4*time.Second, "nor does Close")
}

func TestNoInstanceErrorListsEachInstanceItsStateAndItsError(t *testing.T) {
	rs := sharedSet(t)
	hosts := []string{closedPort(t), listener(t, silent), listener(t, hangUp), listener(t, babble), rs.Addr(0)}
	db, connector := openDSN(t, dsnOf(hosts, "connect_timeout=50ms", "selection_timeout=200ms"))
	require.NoError(t, connector.WaitReady(within(t, 10*time.Second), tntsql.ModeRW))
	eventually(t, "errors", func() bool {
		return !slices.ContainsFunc(connector.Topology().Instances[:4], func(in tntsql.TopologyInstance) bool { return in.Err == nil })
	})

	err := db.PingContext(withMode(t, tntsql.ModeRO))
	var none *tntsql.NoInstanceError
	require.ErrorAs(t, err, &none)
	assert.ErrorIs(t, err, tntsql.ErrNoInstance)
	require.Len(t, none.Instances, len(hosts))
	for i, want := range []struct{ status, role, err string }{
		{"down", "unknown", "refused"},
		{"down", "unknown", "no connection within connect_timeout (50ms)"},
		{"down", "unknown", "EOF"},
		{"down", "unknown", "does not speak IPROTO"},
		{"running", "rw", ""},
	} {
		in := none.Instances[i]
		assert.Equal(t, hosts[i], in.Address)
		assert.Equal(t, want.status, in.Status, in.Address)
		assert.Equal(t, want.role, in.Role, in.Address)
		assert.Contains(t, err.Error(), in.Address+": "+in.Status)
		if want.err == "" {
			assert.NoError(t, in.Err)
			continue
		}
		require.Error(t, in.Err)
		assert.ErrorContains(t, in.Err, want.err)
		assert.Contains(t, err.Error(), in.Err.Error())
	}
	assert.NotContains(t, err.Error(), "secret")
}

func TestHowLongAStatementWaitsForAnInstance(t *testing.T) {
	rs := sharedSet(t)
	for _, c := range []struct {
		name, param string
		context     time.Duration
		least       time.Duration
		byContext   bool
	}{
		{"selection_timeout", "selection_timeout=100ms", time.Minute, 100 * time.Millisecond, false},
		{"not at all", "selection_timeout=0", time.Minute, 0, false},
		{"the context", "selection_timeout=1m", 100 * time.Millisecond, 100 * time.Millisecond, true},
		{"the context alone", "selection_timeout=none", 100 * time.Millisecond, 100 * time.Millisecond, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			db, connector := openDSN(t, dsnOf([]string{rs.Addr(0)}, c.param))
			knowsAll(t, connector)
			for kind, run := range map[string]func(ctx context.Context) error{
				"ping": db.PingContext,
				"read": func(ctx context.Context) error { _, err := firstValue(ctx, db, "SELECT 1"); return err },
				"write": func(ctx context.Context) error {
					_, err := db.ExecContext(ctx, "DELETE FROM NO_SUCH_TABLE")
					return err
				},
				"call": func(ctx context.Context) error {
					_, err := tntsql.Call(ctx, db, tntsql.ModeRO, "who")
					return err
				},
			} {
				requirePrompt(t, c.least, c.least+100*time.Millisecond, func() {
					err := run(tntsql.WithMode(within(t, c.context), tntsql.ModeRO))
					var none *tntsql.NoInstanceError
					require.ErrorAs(t, err, &none, kind)
					assert.ErrorIs(t, err, tntsql.ErrNoInstance, kind)
					assert.Equal(t, c.byContext, errors.Is(err, context.DeadlineExceeded), kind)
					assert.NotErrorIs(t, err, tntsql.ErrOutcomeUnknown, kind)
				})
			}
		})
	}
}

func TestAStatementWaitsForAnInstanceOfItsMode(t *testing.T) {
	rs := ownSet(t, 2)
	rs.Kill(1)
	db, _ := openDSN(t, rs.DSN())
	ctx, info := tntsql.Capture(withMode(t, tntsql.ModeRO))
	ended := make(chan error, 1)
	go func() { ended <- db.PingContext(ctx) }()
	require.NoError(t, rs.Restart(1))
	require.NoError(t, <-ended)
	assert.Equal(t, rs.UUID(1), info.Instance.UUID)
	assert.Positive(t, info.Wait)
}

func TestStatementsThatWaitForADeadClusterAreServedWhenItIsBack(t *testing.T) {
	rs := ownSet(t, 3)
	name := table(t, rs, "ID INTEGER PRIMARY KEY, W STRING")
	for i := range rs.Len() {
		rs.Kill(i)
	}
	db, _ := openDSN(t, rs.DSN("selection_timeout=1m"))
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			_, err := db.ExecContext(t.Context(), "INSERT INTO "+name+" VALUES (?, WHO())", i)
			assert.NoError(t, err)
		})
		wg.Go(func() { assert.NoError(t, db.PingContext(t.Context())) })
	}
	for i := range rs.Len() {
		require.NoError(t, rs.Restart(i))
	}
	wg.Wait()
	assert.EqualValues(t, 20, lua(t, rs, 0, "return box.space[...]:len()", name))
}

func TestWaitingForADeadHostTriesItNowAndThen(t *testing.T) {
	cfg, err := tntsql.ParseDSN(dsnOf([]string{"h"}, "selection_timeout=500ms"))
	require.NoError(t, err)
	var dials atomic.Int32
	refused := errors.New("refused")
	cfg.Dial = func(context.Context, string, string) (net.Conn, error) {
		dials.Add(1)
		return nil, refused
	}
	db, _ := openConfig(t, cfg)
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() { assert.ErrorIs(t, db.PingContext(t.Context()), tntsql.ErrNoInstance) })
	}
	wg.Wait()
	assert.GreaterOrEqual(t, dials.Load(), int32(2))
	assert.LessOrEqual(t, dials.Load(), int32(20), "every 10 ms at first, then every 100 ms")
}

func TestModeROWithoutAReplicaWaitsAndFails(t *testing.T) {
	rs := sharedSet(t)
	db, connector := openDSN(t, dsnOf([]string{rs.Addr(0)}, "selection_timeout=150ms"))
	knowsAll(t, connector)
	_, err := firstValue(withMode(t, tntsql.ModeRO), db, "SELECT 1")
	var none *tntsql.NoInstanceError
	require.ErrorAs(t, err, &none)
	assert.ErrorIs(t, err, tntsql.ErrNoInstance)
	assert.Equal(t, tntsql.ModeRO, none.Mode)
	require.Len(t, none.Instances, 1)
	assert.Equal(t, rs.UUID(0), none.Instances[0].UUID)
	assert.GreaterOrEqual(t, none.Waited, 150*time.Millisecond)
	assert.Equal(t, rs.UUID(0), served(t, withMode(t, tntsql.ModePreferRO), db), "preferring one is content without")
}
