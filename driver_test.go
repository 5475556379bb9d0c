package tntsql_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/tntsql/tntsql"
)

// suite stops the shared replica set before goroutines are counted.
type suite struct{ *testing.M }

func (s suite) Run() int {
	code := s.M.Run()
	if shared.set != nil {
		if err := shared.set.Close(); err != nil {
			fmt.Println(err)
			return 1
		}
	}
	return code
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(suite{m}) }

// open gives a handle on the shared replica set that knows all its instances.
func open(t testing.TB, params ...string) *sql.DB {
	t.Helper()
	db, connector := openDSN(t, sharedSet(t).DSN(params...))
	knowsAll(t, connector)
	return db
}

// knowsAll waits until a handle has reached every instance.
func knowsAll(t testing.TB, connector *tntsql.Connector) {
	t.Helper()
	eventually(t, "complete topology", func() bool {
		return !slices.ContainsFunc(connector.Topology().Instances, func(in tntsql.TopologyInstance) bool {
			var major, minor int
			_, err := fmt.Sscanf(in.Version, "%d.%d.", &major, &minor)
			pushes := err == nil && (major > 2 || major == 2 && minor >= 10) // the rest a moment after the role
			return in.Status != "running" || in.ReplicaSet == "" && pushes
		})
	})
}

// openDSN gives a handle that is closed with the test, and what is behind it.
func openDSN(t testing.TB, dsn string) (*sql.DB, *tntsql.Connector) {
	t.Helper()
	cfg, err := tntsql.ParseDSN(dsn)
	require.NoError(t, err)
	return openConfig(t, cfg)
}

func openConfig(t testing.TB, cfg *tntsql.Config) (*sql.DB, *tntsql.Connector) {
	t.Helper()
	connector, err := tntsql.NewConnector(cfg)
	require.NoError(t, err)
	db := sql.OpenDB(connector)
	t.Cleanup(func() { assert.NoError(t, db.Close()) })
	return db, connector
}

// dsnOf is the DSN of hosts as the replica set's users see them.
func dsnOf(hosts []string, params ...string) string {
	return "tarantool://app:secret@" + strings.Join(hosts, ",") + "/?" + strings.Join(params, "&")
}

// closedPort is an address at which nobody listens.
func closedPort(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	return l.Addr().String()
}

// quiet keeps a handle from asking instances for their role once it knows it.
const quiet = "refresh_interval=1h"

// eventually waits for a condition.
func eventually(t testing.TB, what string, condition func() bool) {
	t.Helper()
	deadline := time.After(20 * time.Second)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !condition() {
		select {
		case <-tick.C:
		case <-deadline:
			require.Fail(t, "no "+what+" in time")
		}
	}
}

// requirePrompt runs f, which must end after least and before most. Other work
// may hold it up, so it may run several times until it is prompt.
func requirePrompt(t testing.TB, least, most time.Duration, f func()) {
	t.Helper()
	var took time.Duration
	for range 10 {
		start := time.Now()
		f()
		took = time.Since(start)
		require.GreaterOrEqual(t, took, least)
		if took < most {
			return
		}
	}
	require.Less(t, took, most)
}

// within is the test's context with a timeout.
func within(t testing.TB, timeout time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	t.Cleanup(cancel)
	return ctx
}

func mustExec(t testing.TB, db tntsql.Execer, query string, args ...any) sql.Result {
	t.Helper()
	result, err := db.ExecContext(t.Context(), query, args...)
	require.NoError(t, err)
	return result
}

type queryer interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// value is the only value that a query gives.
func value[T any](t testing.TB, db queryer, query string, args ...any) T {
	t.Helper()
	return valueOf[T](t, t.Context(), db, query, args...)
}

func valueOf[T any](t testing.TB, ctx context.Context, db queryer, query string, args ...any) T {
	t.Helper()
	var v T
	require.NoError(t, db.QueryRowContext(ctx, query, args...).Scan(&v))
	return v
}

// served is the uuid of the instance that serves a read under the context, by
// its own account and by the driver's.
func served(t testing.TB, ctx context.Context, db queryer) string {
	t.Helper()
	ctx, info := tntsql.Capture(ctx)
	uuid := valueOf[string](t, ctx, db, "SELECT WHO()")
	require.Equal(t, uuid, info.Instance.UUID)
	return uuid
}

func TestOpenRefusesOnlyWhatCannotBeRight(t *testing.T) {
	_, err := sql.Open("tarantool", "tarantool://app:s3cr3t@h:port/")
	require.Error(t, err)
	assert.NotContains(t, err.Error(), "s3cr3t")

	db, err := sql.Open("tarantool", "tarantool://app:s3cr3t@no-such-host.invalid/")
	require.NoError(t, err)
	assert.IsType(t, &tntsql.Driver{}, db.Driver())
	require.NoError(t, db.Close())
}

func TestOpenWithoutUseStartsNothing(t *testing.T) {
	rs := sharedSet(t)
	before, connected := goleak.IgnoreCurrent(), settled(t, rs)

	connector, err := (&tntsql.Driver{}).OpenConnector(rs.DSN())
	require.NoError(t, err)
	assert.NoError(t, goleak.Find(before), "after OpenConnector")

	db := sql.OpenDB(connector)
	require.NoError(t, db.Close())
	assert.NoError(t, goleak.Find(before), "after Close")
	assert.Equal(t, connected, connections(t, rs))
}

// onlyDriver hides all of a driver but Open, as wrappers do.
type onlyDriver struct{ driver driver.Driver }

func (d onlyDriver) Open(dsn string) (driver.Conn, error) { return d.driver.Open(dsn) }

// dsnConnector is what database/sql makes of a driver without OpenConnector.
type dsnConnector struct {
	driver driver.Driver
	dsn    string
}

func (c dsnConnector) Connect(context.Context) (driver.Conn, error) { return c.driver.Open(c.dsn) }
func (c dsnConnector) Driver() driver.Driver                        { return c.driver }

func TestConnectionsOfDriverOpenShareAPoolUntilTheLastIsClosed(t *testing.T) {
	rs := sharedSet(t)
	before, connected := goleak.IgnoreCurrent(), settled(t, rs)
	db := sql.OpenDB(dsnConnector{onlyDriver{&tntsql.Driver{}}, rs.DSN("read_mode=rw", "conns_per_instance=1")})

	held := make([]*sql.Conn, 20)
	for i := range held {
		var err error
		held[i], err = db.Conn(t.Context())
		require.NoError(t, err)
		assert.Equal(t, rs.UUID(0), served(t, t.Context(), held[i]))
	}
	assert.LessOrEqual(t, connections(t, rs), connected+4, "a control connection each, a data connection for all sessions")

	for _, conn := range held[1:] {
		require.NoError(t, conn.Close())
	}
	assert.Equal(t, rs.UUID(0), served(t, t.Context(), held[0]), "the pool lives while one session does")
	require.NoError(t, held[0].Close())
	require.NoError(t, db.Close())
	assert.NoError(t, goleak.Find(before))
	settled(t, rs)
}

func TestDriverOpenRefusesABadDSN(t *testing.T) {
	_, err := (&tntsql.Driver{}).Open("tarantool://app:s3cr3t@/")
	require.Error(t, err)
	assert.NotContains(t, err.Error(), "s3cr3t")
}

func TestDriverOpenAndCloseAtTheSameTime(t *testing.T) {
	rs := sharedSet(t)
	before := goleak.IgnoreCurrent()
	dsn := rs.DSN("read_mode=ro")
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for range 20 {
				conn, err := (&tntsql.Driver{}).Open(dsn)
				if !assert.NoError(t, err) {
					return
				}
				assert.NoError(t, conn.(driver.Pinger).Ping(t.Context()))
				assert.NoError(t, conn.Close())
			}
		})
	}
	wg.Wait()
	assert.NoError(t, goleak.Find(before))
	settled(t, rs)
}
