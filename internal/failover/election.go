package failover

import (
	"errors"
	"fmt"
	"time"
)

// electionPatience is how long an election may take.
const electionPatience = time.Minute

// elections is what has the instances choose their master themselves.
var elections = map[string]any{
	"election_mode":               "candidate",
	"election_fencing_mode":       "strict",
	"replication_synchro_quorum":  2,
	"replication_synchro_timeout": 1,
}

var needsElections = since(3, 0, "elections are shown on 3.x")

var electionKilled = Scenario{
	Name:        "election-killed",
	What:        "automatic election: kill -9 of the leader, three times; synchronous space",
	Needs:       needsElections,
	Synchronous: true,
	Cfg:         elections,
	Prepare:     settle,
	Disturb: func(t *Trial) error {
		for range t.Times(3) {
			leader := t.Set.Master()
			err := t.During(fmt.Sprintf("kill -9 of leader %d", leader), func() error {
				t.Set.Kill(leader)
				return t.elected(leader)
			})
			if err := errors.Join(err, t.Set.Restart(leader)); err != nil {
				return err
			}
			t.Rest(time.Second)
		}
		return nil
	},
	Promises: []Promise{readsWithoutError, onlyUnknown, nothingLost},
}

var electionStopped = Scenario{
	Name:         "election-stopped",
	What:         "automatic election: SIGSTOP of the leader until there is another; synchronous space, writes with a deadline of 2 s",
	Needs:        needsElections,
	Synchronous:  true,
	Cfg:          elections,
	Prepare:      settle,
	WriteTimeout: 2 * time.Second,
	Disturb: func(t *Trial) error {
		leader := t.Set.Master()
		err := t.During(fmt.Sprintf("SIGSTOP of leader %d", leader), func() error {
			if err := t.Set.Stop(leader); err != nil {
				return err
			}
			err := t.elected(leader)
			t.Rest(2 * time.Second)
			return errors.Join(err, t.Set.Continue(leader))
		})
		t.Rest(2 * time.Second)
		return err
	},
	Promises: []Promise{readsWithoutError, onlyUnknown, nothingLost, readsWithinProbe},
}

// settle waits for a leader that stays: a new replica set may elect another
// within its first seconds.
func settle(t *Trial) error {
	const long = 2 * time.Second
	leader, since := -1, time.Now()
	for end := time.Now().Add(electionPatience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		switch now := t.Set.Master(); {
		case now != leader:
			leader, since = now, time.Now()
		case leader >= 0 && time.Since(since) > long:
			return nil
		}
	}
	return fmt.Errorf("no leader stays within %v", electionPatience)
}

// elected waits for another leader, and until the load has gone on.
func (t *Trial) elected(before int) error {
	for end := time.Now().Add(electionPatience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if leader := t.Set.Master(); leader >= 0 && leader != before {
			return t.load.goesOn()
		}
	}
	return fmt.Errorf("no leader after %v", electionPatience)
}
