package prometheus

import "github.com/prometheus/client_golang/prometheus"

// The counters of the pool.
var (
	requests = desc("requests_total",
		"Requests by the mode that they were routed by.", "mode")
	resent = desc("resent_requests_total",
		"Requests that were sent again. unsent: never left; refused: by a read-only instance; lost: reads whose connection ended; "+
			"moved: reads that waited for an answer in vain.", "reason")
	rechecks = desc("role_rechecks_total",
		"Times that an error had an instance asked for its role.")
	reconnects = desc("reconnects_total",
		"Control connections that were lost.")
	marked = desc("marked_reads_total",
		"Reads that went to a read-write instance since no replica was known to have what their session had written.")
	waits = desc("waits_total",
		"Times that a request waited for an instance of its mode, or for room there.")
	waited = desc("wait_seconds_total",
		"Time that requests waited for an instance of their mode, or for room there.")
)

// What is known of each instance. It has the label address.
var (
	info = desc("instance_info",
		"What identifies an instance: always 1.", "address", "uuid", "replica_set", "name", "version")
	role = desc("instance_role",
		"1 for the role that an instance has: rw, ro or, if it cannot be used, unknown; 0 for the others.", "address", "role")
	status = desc("instance_status",
		"1 for the status that an instance has: running, orphan, suspect, down, login refused and so on.", "address", "status")
	since = desc("instance_state_change_timestamp_seconds",
		"When the role or the status of an instance last changed, as this process saw it.", "address")
	inFlight = desc("instance_in_flight_requests",
		"Requests of this process that an instance has not answered.", "address")
	latency = desc("instance_latency_seconds",
		"Smoothed round trip to an instance. Absent if it cannot be used.", "address")
	lag = desc("instance_lag_seconds",
		"How far an instance is behind its master, at most. Absent if it is not known, or the instance cannot be used.", "address")
	schema = desc("instance_schema_version",
		"Number of changes of the schema that an instance has. Absent before Tarantool 2.10.", "address")
)

// descs are all of them.
var descs []*prometheus.Desc

func desc(name, help string, labels ...string) *prometheus.Desc {
	d := prometheus.NewDesc("tntsql_"+name, help, labels, nil)
	descs = append(descs, d)
	return d
}
