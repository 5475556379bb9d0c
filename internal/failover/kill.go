package failover

import (
	"fmt"
	"time"
)

var masterKilled = Scenario{
	Name:     "master-killed",
	What:     "kill -9 of the master and promotion of a replica, three times; asynchronous spaces",
	Disturb:  killMasters,
	Promises: []Promise{readsWithoutError, onlyUnknown, printLost},
}

var masterKilledFewConns = Scenario{
	Name:         "master-killed-few-conns",
	What:         "the same with SetMaxOpenConns(16), and a second handle for reads",
	MaxOpenConns: 16,
	Disturb:      killMasters,
	Promises:     []Promise{readsWithoutError, onlyUnknown, printLost, halfTheReads},
}

var masterKilledSynchronous = Scenario{
	Name:        "master-killed-sync",
	What:        "the same with a synchronous space",
	Needs:       since(2, 10, "box.ctl.promote came with 2.10"),
	Synchronous: true,
	Cfg:         map[string]any{"replication_synchro_quorum": 2, "replication_synchro_timeout": 1},
	Disturb:     killMasters,
	Promises:    []Promise{readsWithoutError, onlyUnknown, nothingLost},
}

// killMasters leaves the last one that it killed down: what only that one has
// is lost to the others.
func killMasters(t *Trial) error {
	for n := range t.Times(3) {
		victim, successor := n%t.Set.Len(), (n+1)%t.Set.Len()
		if n > 0 {
			if err := t.Set.Restart((n - 1) % t.Set.Len()); err != nil {
				return err
			}
			if err := t.load.goesOn(); err != nil {
				return err
			}
		}
		err := t.During(fmt.Sprintf("kill -9 of instance %d", victim), func() error {
			t.Set.Kill(victim)
			t.Rest(300 * time.Millisecond) // until somebody has noticed
			if err := t.Set.Promote(successor); err != nil {
				return err
			}
			t.Rest(2 * time.Second)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// printLost is no promise: what asynchronous replication loses is the server's.
func printLost(r *Result) string {
	r.Notes = append(r.Notes, fmt.Sprintf("%d acknowledged writes were not on the survivors of the last kill; %d with all instances back",
		r.Driver.AtFailover.Lost, r.Driver.AtLast.Lost))
	return ""
}
