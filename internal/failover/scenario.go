package failover

import "time"

// Scenario is one way to disturb a replica set of three instances, and what its
// callers are promised.
type Scenario struct {
	// Name selects it on the command line, What says it in the report.
	Name string
	What string
	// Needs, if it is set, says why a server cannot show it; "" if it can.
	Needs func(Server) string
	// Upgrades tells that it needs a second, newer Tarantool binary.
	Upgrades bool
	// Cfg are options of box.cfg for all instances.
	Cfg map[string]any
	// Synchronous has each write wait for a quorum of the instances.
	Synchronous bool
	// Params are parameters of the DSN, each "name=value".
	Params []string
	// MaxOpenConns bounds the writers' sql.DB; the readers then have a handle
	// of their own.
	MaxOpenConns int
	// WriteTimeout is the deadline of each write; 0 is none.
	WriteTimeout time.Duration
	// Proxied puts a TCP proxy before each instance.
	Proxied bool
	// Beside has go-tarantool's pool work in the same run.
	Beside bool
	// Prepare, if it is set, is run before the load begins.
	Prepare func(*Trial) error
	// Disturb does what the scenario is about, under load.
	Disturb func(*Trial) error
	// Promises are checked beside those that hold in every scenario.
	Promises []Promise
}

// Scenarios are all of them, in the order of the report.
var Scenarios = []Scenario{
	switchover,
	masterKilled, masterKilledFewConns, masterKilledSynchronous,
	electionKilled, electionStopped,
	hung,
	rollingRestart, rollingUpgrade, allDown,
	cut, resets, latency, bigReply,
	busy, busyPatient,
}

// since is the Needs of a scenario that only newer servers can show.
func since(major, minor int, why string) func(Server) string {
	return func(s Server) string {
		if s.AtLeast(major, minor) {
			return ""
		}
		return why
	}
}
