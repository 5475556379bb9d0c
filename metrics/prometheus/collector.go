// Package prometheus exports what a tntsql.Connector counts, and what it knows of the
// cluster, to Prometheus:
//
//	connector, err := tntsql.NewConnector(cfg)
//	db := sql.OpenDB(connector)
//	registry.MustRegister(tntprom.NewCollector(connector))
//
// All metrics begin with "tntsql_". Of the pool of database/sql itself, such as how many
// statements wait for SetMaxOpenConns, collectors.NewDBStatsCollector of
// prometheus/client_golang tells.
package prometheus

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tntsql/tntsql"
)

// NewCollector returns a Collector of the Connector's Stats and Topology. A scrape does no
// I/O. It counts as the first use of the Connector, which then connects; of a closed one
// there are no metrics.
//
// The handles that Connector.With returns share their pool, and its counters: register one
// of them. For several clusters in one process, tell them apart by a label:
//
//	prometheus.WrapRegistererWith(prometheus.Labels{"cluster": "orders"}, registry).
//		MustRegister(tntprom.NewCollector(connector))
func NewCollector(c *tntsql.Connector) prometheus.Collector { return collector{c} }

type collector struct{ connector *tntsql.Connector }

func (collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range descs {
		ch <- d
	}
}

func (c collector) Collect(ch chan<- prometheus.Metric) {
	stats := c.connector.Stats()
	if stats.Picks == nil {
		return // it is closed
	}
	collectStats(ch, stats)
	collectTopology(ch, c.connector.Topology())
}

func collectStats(ch chan<- prometheus.Metric, s tntsql.Stats) {
	count := func(d *prometheus.Desc, value float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, value, labels...)
	}
	for mode, n := range s.Picks {
		count(requests, float64(n), mode.String())
	}
	count(resent, float64(s.Resent.Unsent), "unsent")
	count(resent, float64(s.Resent.Refused), "refused")
	count(resent, float64(s.Resent.Lost), "lost")
	count(resent, float64(s.Resent.Moved), "moved")
	count(rechecks, float64(s.Rechecks))
	count(reconnects, float64(s.Reconnects))
	count(marked, float64(s.Marked))
	count(waits, float64(s.Waits))
	count(waited, s.Waited.Seconds())
}

// roles are all that an instance can have: each is 0 or 1, so that a sum over the instances
// is there when it is 0.
var roles = []string{"rw", "ro", "unknown"}

func collectTopology(ch chan<- prometheus.Metric, t tntsql.Topology) {
	// An address where another instance has come up may be listed with the one that was
	// there before, for a while.
	seen := make(map[string]bool, len(t.Instances))
	for _, in := range t.Instances {
		if !seen[in.Address] {
			seen[in.Address] = true
			collectInstance(ch, in)
		}
	}
}

func collectInstance(ch chan<- prometheus.Metric, in tntsql.TopologyInstance) {
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, append([]string{in.Address}, labels...)...)
	}
	// Of an instance that is down, the topology has what was known last.
	connected := in.Status == "running" || in.Status == "orphan" || in.Status == "suspect"
	if !connected {
		in.Role = "unknown"
	}
	gauge(info, 1, in.UUID, in.ReplicaSet, in.Name, in.Version)
	for _, r := range roles {
		gauge(role, truth(in.Role == r), r)
	}
	gauge(status, 1, in.Status)
	gauge(since, seconds(in.Since))
	gauge(inFlight, float64(in.InFlight))
	if connected && in.Latency > 0 {
		gauge(latency, in.Latency.Seconds())
	}
	if connected && in.Lag >= 0 {
		gauge(lag, in.Lag.Seconds())
	}
	if in.Schema > 0 {
		gauge(schema, float64(in.Schema))
	}
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// seconds is a time as Prometheus has it.
func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }
