package tntsql_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/tntsql/tntsql"
)

func TestNothingIsLeftAfterClose(t *testing.T) {
	rs := sharedSet(t)
	before := goleak.IgnoreCurrent()
	db, err := sql.Open("tarantool", rs.DSN())
	require.NoError(t, err)
	connectAll(t, rs, db)
	require.NoError(t, db.Close())
	assert.NoError(t, goleak.Find(before))
	settled(t, rs)
}

// inFlight starts n calls that take some seconds, and waits until the server has them.
func inFlight(t *testing.T, db *sql.DB, n int, seconds float64) <-chan error {
	t.Helper()
	rs := sharedSet(t)
	before := pauses(t, rs)
	errs := make(chan error, n)
	for range n {
		go func() {
			_, err := tntsql.Call(t.Context(), db, tntsql.ModeRW, "pause", seconds)
			errs <- err
		}()
	}
	eventually(t, "requests in flight", func() bool { return pauses(t, rs) == before+int64(n) })
	return errs
}

func TestCloseWaitsForStatementsInFlight(t *testing.T) {
	const calls = 100
	db := open(t)
	errs := inFlight(t, db, calls, 0.5)
	require.NoError(t, db.Close())
	for range calls {
		assert.NoError(t, <-errs)
	}
}

func TestCloseRefusesNewStatementsWhileItWaits(t *testing.T) {
	db, connector := openDSN(t, sharedSet(t).DSN())
	conn, err := db.Conn(t.Context())
	require.NoError(t, err)
	errs := inFlight(t, db, 1, 0.5)
	closed := make(chan struct{})
	go func() { defer close(closed); _ = connector.Close() }()
	eventually(t, "refusal", func() bool { return errors.Is(conn.PingContext(t.Context()), tntsql.ErrClosed) })
	select {
	case <-closed:
		assert.Fail(t, "Close did not wait")
	default:
	}
	assert.NoError(t, <-errs)
	<-closed
	require.NoError(t, conn.Close())
}

func TestCloseWaitsNoLongerThanCloseTimeout(t *testing.T) {
	rs := sharedSet(t)
	cfg, log := logged(t, rs.DSN("close_timeout=100ms"))
	db, _ := openConfig(t, cfg)
	errs := inFlight(t, db, 3, 5)
	start := time.Now()
	require.NoError(t, db.Close())
	took := time.Since(start)
	assert.GreaterOrEqual(t, took, 100*time.Millisecond)
	assert.Less(t, took, 4*time.Second)
	for range 3 {
		requireOutcomeUnknown(t, <-errs, nil, rs.UUID(0))
	}
	assert.Contains(t, log.String(), "requests=3")
}

func TestCloseEndsTheWaitingForAnInstance(t *testing.T) {
	db, connector := openDSN(t, dsnOf([]string{closedPort(t)}, "selection_timeout=1m", "close_timeout=50ms"))
	ended := make(chan error, 1)
	go func() { ended <- connector.WaitReady(t.Context(), tntsql.ModeAny) }()
	waited := make(chan error, 1)
	go func() { waited <- db.PingContext(t.Context()) }()
	eventually(t, "session in use", func() bool { return db.Stats().InUse == 1 })
	require.NoError(t, connector.Close())
	assert.ErrorIs(t, <-waited, tntsql.ErrClosed)
	assert.ErrorIs(t, <-ended, tntsql.ErrClosed)
}

func TestUseAndCloseAtTheSameTime(t *testing.T) {
	rs := sharedSet(t)
	before := goleak.IgnoreCurrent()
	for range 20 {
		connector, err := tntsql.NewConnector(mustParse(t, rs.DSN()))
		require.NoError(t, err)
		db := sql.OpenDB(connector)
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for {
					if err := db.PingContext(t.Context()); err != nil {
						return
					}
				}
			})
			wg.Go(func() { connector.Topology() })
		}
		require.NoError(t, db.PingContext(t.Context()))
		for range 2 {
			wg.Go(func() { assert.NoError(t, connector.Close()) })
		}
		wg.Wait()
		require.NoError(t, db.Close())
	}
	assert.NoError(t, goleak.Find(before))
}

func mustParse(t testing.TB, dsn string) *tntsql.Config {
	t.Helper()
	cfg, err := tntsql.ParseDSN(dsn)
	require.NoError(t, err)
	return cfg
}

// openFiles is how many files and sockets this process has open.
func openFiles(t testing.TB) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("open files cannot be counted here:", err)
	}
	return len(entries)
}

func TestFailingConnectsLeakNothing(t *testing.T) {
	const hosts, attempts = 100, 1000
	rs := sharedSet(t)
	for name, target := range map[string]string{
		"refused":        closedPort(t),
		"hung up":        listener(t, hangUp),
		"no IPROTO":      listener(t, func(conn net.Conn) { babble(conn); hangUp(conn) }),
		"wrong password": rs.Addr(0),
	} {
		t.Run(name, func(t *testing.T) {
			before, files := goleak.IgnoreCurrent(), openFiles(t)
			cfg := mustParse(t, "tarantool://app:wrong@h/")
			cfg.Hosts = nil
			for i := range hosts {
				cfg.Hosts = append(cfg.Hosts, fmt.Sprintf("h%d", i))
			}
			var dials atomic.Int32
			cfg.Dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
				dials.Add(1)
				return new(net.Dialer).DialContext(ctx, network, target)
			}
			connector, err := tntsql.NewConnector(cfg)
			require.NoError(t, err)
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- connector.WaitReady(ctx, tntsql.ModeAny) }() // has hosts tried often
			eventually(t, "attempts", func() bool { return dials.Load() >= attempts })
			cancel()
			assert.ErrorIs(t, <-ended, tntsql.ErrNoInstance)
			require.NoError(t, connector.Close())
			assert.NoError(t, goleak.Find(before))
			eventually(t, "end of the sockets", func() bool { return openFiles(t) <= files })
		})
	}
}

func TestNewConnectorRefusesABadConfig(t *testing.T) {
	_, err := tntsql.NewConnector(&tntsql.Config{Password: "s3cr3t"})
	require.Error(t, err)
	assert.NotContains(t, err.Error(), "s3cr3t")
}

func TestAConnectorKeepsItsOwnConfig(t *testing.T) {
	rs := sharedSet(t)
	cfg := mustParse(t, rs.DSN())
	db, _ := openConfig(t, cfg)
	cfg.Hosts[0], cfg.Password = "no-such-host.invalid", "wrong"
	assert.Equal(t, rs.UUID(0), served(t, withMode(t, tntsql.ModeRW), db))
}

func TestAConnectorShowsNoPassword(t *testing.T) {
	cfg, err := tntsql.ParseDSN("tarantool://app:s3cr3t@127.0.0.1:1/")
	require.NoError(t, err)
	connector, err := tntsql.NewConnector(cfg)
	require.NoError(t, err)
	defer connector.Close()
	for _, value := range []any{connector, connector.With(tntsql.Defaults{ReadOnly: true}), struct{ c *tntsql.Connector }{connector}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x"} {
			text := fmt.Sprintf(verb, value)
			assert.NotContains(t, text, "s3cr3t", verb)
			assert.NotContains(t, text, "733363723374", verb)
		}
	}
}
