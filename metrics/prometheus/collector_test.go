package prometheus

import (
	"context"
	"database/sql"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tntsql/tntsql"
	"github.com/tntsql/tntsql/tarantooltest"
)

// open gives a handle on a replica set, and a registry with its collector.
func open(t *testing.T, dsn string) (*sql.DB, *tntsql.Connector, *prometheus.Registry) {
	t.Helper()
	cfg, err := tntsql.ParseDSN(dsn)
	require.NoError(t, err)
	connector, err := tntsql.NewConnector(cfg)
	require.NoError(t, err)
	db := sql.OpenDB(connector)
	t.Cleanup(func() { assert.NoError(t, db.Close()) })
	registry := prometheus.NewPedanticRegistry()
	require.NoError(t, registry.Register(NewCollector(connector)))
	return db, connector, registry
}

func TestMetricsOfARunningCluster(t *testing.T) {
	rs := tarantooltest.Start(t, tarantooltest.Instances(2))
	// The bound has the lag asked for.
	db, connector, registry := open(t, rs.DSN("max_lag=100ms", "read_mode=rw"))
	require.NoError(t, connector.WaitReady(t.Context(), tntsql.ModeRW))
	require.NoError(t, connector.WaitReady(t.Context(), tntsql.ModeRO))
	_, err := db.ExecContext(t.Context(), "CREATE TABLE t (id INTEGER PRIMARY KEY)")
	require.NoError(t, err)
	before := value(t, registry, "tntsql_requests_total", "rw")
	for range 3 {
		require.NoError(t, db.PingContext(t.Context()))
	}
	assert.InDelta(t, before+3, value(t, registry, "tntsql_requests_total", "rw"), 0)
	assert.InDelta(t, 0, value(t, registry, "tntsql_resent_requests_total", "lost"), 0)

	for i, role := range []string{"rw", "ro"} {
		address := rs.Addr(i)
		assert.InDelta(t, 1, value(t, registry, "tntsql_instance_role", address, role), 0)
		assert.InDelta(t, 0, value(t, registry, "tntsql_instance_role", address, "unknown"), 0)
		assert.InDelta(t, 1, value(t, registry, "tntsql_instance_status", address, "running"), 0)
		version, _, _ := strings.Cut(rs.Version(), "-")
		assert.InDelta(t, 1, value(t, registry, "tntsql_instance_info", address, rs.UUID(i), version), 0)
		assert.Positive(t, value(t, registry, "tntsql_instance_latency_seconds", address))
		assert.InDelta(t, float64(time.Now().Unix()), value(t, registry, "tntsql_instance_state_change_timestamp_seconds", address), 60)
		assert.Eventually(t, func() bool { return value(t, registry, "tntsql_instance_lag_seconds", address) >= 0 }, 20*time.Second, time.Millisecond)
	}
	if rs.AtLeast(2, 10, 0) {
		assert.Positive(t, value(t, registry, "tntsql_instance_schema_version", rs.Addr(0)))
	}

	problems, err := testutil.GatherAndLint(registry)
	require.NoError(t, err)
	assert.Empty(t, problems)
}

func TestMetricsOfAClusterWithoutAMaster(t *testing.T) {
	rs := tarantooltest.Start(t, tarantooltest.Instances(2))
	_, connector, registry := open(t, rs.DSN())
	require.NoError(t, connector.WaitReady(t.Context(), tntsql.ModeRW))
	require.NoError(t, connector.WaitReady(t.Context(), tntsql.ModeRO))
	rs.Kill(0)
	assert.Eventually(t, func() bool { return value(t, registry, "tntsql_instance_status", rs.Addr(0), "down") == 1 },
		20*time.Second, time.Millisecond)
	for i := range rs.Len() {
		assert.InDelta(t, 0, value(t, registry, "tntsql_instance_role", rs.Addr(i), "rw"), 0, "a sum over the instances is 0, not absent")
	}
	assert.InDelta(t, 1, value(t, registry, "tntsql_instance_role", rs.Addr(0), "unknown"), 0)
	assert.InDelta(t, -1, value(t, registry, "tntsql_instance_lag_seconds", rs.Addr(0)), 0)
	assert.InDelta(t, 1, value(t, registry, "tntsql_reconnects_total"), 0)
	assert.InDelta(t, -1, value(t, registry, "tntsql_instance_status", rs.Addr(0), "running"), 0, "the status before is gone")

	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, connector.WaitReady(ctx, tntsql.ModeRW), tntsql.ErrNoInstance)
}

func TestAScrapeOfAClosedConnectorHasNoMetrics(t *testing.T) {
	db, _, registry := open(t, "tarantool://127.0.0.1:1/")
	require.NoError(t, db.Close())
	n, err := testutil.GatherAndCount(registry)
	require.NoError(t, err)
	assert.Zero(t, n)
}

func TestAnAddressIsExportedOnce(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	require.NoError(t, registry.Register(fixed{tntsql.Topology{Instances: []tntsql.TopologyInstance{
		{Address: "h:3301", UUID: "new", Role: "rw", Status: "running", Lag: 1500 * time.Millisecond},
		{Address: "h:3301", UUID: "old", Role: "unknown", Status: "down", Lag: -1},
		{Address: "srv name", Role: "unknown", Status: "unresolved", Lag: -1},
	}}}))
	require.NoError(t, testutil.GatherAndCompare(registry, strings.NewReader(`
# HELP tntsql_instance_lag_seconds How far an instance is behind its master, at most. Absent if it is not known, or the instance cannot be used.
# TYPE tntsql_instance_lag_seconds gauge
tntsql_instance_lag_seconds{address="h:3301"} 1.5
# HELP tntsql_instance_status 1 for the status that an instance has: running, orphan, suspect, down, login refused and so on.
# TYPE tntsql_instance_status gauge
tntsql_instance_status{address="h:3301",status="running"} 1
tntsql_instance_status{address="srv name",status="unresolved"} 1
`), "tntsql_instance_lag_seconds", "tntsql_instance_status"))
}

// fixed exports one topology.
type fixed struct{ tntsql.Topology }

func (fixed) Describe(ch chan<- *prometheus.Desc)   { collector{}.Describe(ch) }
func (f fixed) Collect(ch chan<- prometheus.Metric) { collectTopology(ch, f.Topology) }

// value is that of the metric which has all these values of labels, -1 if there is none.
func value(t *testing.T, g prometheus.Gatherer, name string, labels ...string) float64 {
	t.Helper()
	families, err := g.Gather()
	require.NoError(t, err)
	for _, family := range families {
		for _, m := range family.GetMetric() {
			has := make(map[string]bool)
			for _, label := range m.GetLabel() {
				has[label.GetValue()] = true
			}
			all := family.GetName() == name
			for _, label := range labels {
				all = all && has[label]
			}
			if all {
				return m.GetGauge().GetValue() + m.GetCounter().GetValue()
			}
		}
	}
	return -1
}
