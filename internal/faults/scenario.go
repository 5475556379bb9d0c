package faults

import (
	"github.com/tntsql/tntsql/internal/failover"
)

// Scenario is a test of promises.
type Scenario struct {
	// Name selects it on the command line, What says it in the report.
	Name string
	What string
	// Promises are what it tests.
	Promises []Promise
	// Needs, if it is set, says why a server cannot show it; "" if it can.
	Needs func(failover.Server) string
	// Run does it. Its error is of the run itself: what is broken it tells the Trial.
	Run func(*Trial) error
}

// Scenarios are all of them, in the order in which they are run. The canary comes last:
// it looks through what the others have made the driver say.
var Scenarios = []Scenario{
	alone, aloneElections, random, randomElections, survivors,
	cancellation, openAndClose, manyCallers, heldConns,
	hostileServer,
	encrypted, parameters, canaryScenario,
}

// since is the Needs of what only newer servers can do.
func since(major, minor int, why string) func(failover.Server) string {
	return func(s failover.Server) string {
		if s.AtLeast(major, minor) {
			return ""
		}
		return why
	}
}
