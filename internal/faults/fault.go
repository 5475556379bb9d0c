package faults

import (
	"strings"

	"github.com/tntsql/tntsql/internal/failover"
)

// Fault breaks something, keeps it so for a moment, and mends it, while a load goes on.
type Fault struct {
	Name string
	// Needs, if it is set, says why a server cannot show it; "" if it can.
	Needs func(failover.Server) string
	// Elections tells that there must be automatic elections.
	Elections bool
	// Network tells that it concerns the network alone: in random sequences such faults
	// come beside others.
	Network bool
	// Do does it all.
	Do func(*Cluster) error
}

// Faults are all of them, in the order in which they are shown alone.
var Faults = []Fault{
	kill, killInPlace, stop, switchover, readOnly, resign, slowQuorum, laggard, restart, rollingRestart, allDown,
	stall, reset, halfClose, halfCloseByServer, latency, bandwidth, slicing,
	ddl, fullStatementCache, fewMessages, smallReadahead, outOfMemory,
	passwordChanged, grantsRevoked,
}

// faultsFor are the faults that are asked for and that a cluster can show, and why it cannot
// show the others.
func faultsFor(c *Cluster) (can []Fault, cannot []string) {
	for _, f := range Faults {
		switch {
		case !strings.Contains(f.Name, c.trial.Options.Fault):
		case f.Elections && !c.elects:
			cannot = append(cannot, f.Name+": it needs automatic elections")
		case f.Needs != nil && f.Needs(c.Server) != "":
			cannot = append(cannot, f.Name+": "+f.Needs(c.Server))
		default:
			can = append(can, f)
		}
	}
	return can, cannot
}
