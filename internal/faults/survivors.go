package faults

import (
	"errors"
	"time"

	"github.com/tntsql/tntsql/internal/faults/history"
)

// survivorRuns is how often a leader is killed for good, in the short form.
const survivorRuns = 3

// cutOff is how long the leader goes on without its followers before it dies. It learns
// of that after replication_timeout at the earliest.
const cutOff = 150 * time.Millisecond

// survivors shows beside each other what an election loses of synchronous and of
// asynchronous spaces. Killed leaders do not come back: the server stops replication for
// good when a former leader has had asynchronous writes of its own (ER_SPLIT_BRAIN).
var survivors = Scenario{
	Name:     "survivors",
	What:     "the leader of an election is cut off from its followers for 150 ms, and killed for good: what they have of acknowledged writes, on synchronous spaces, and on asynchronous ones for comparison",
	Promises: []Promise{NeverTwice, KnownOutcome, NothingLost, OneOrder, OwnWrites, GoesOn},
	Needs:    needsFencing,
	Run: func(t *Trial) error {
		for _, synchronous := range []bool{true, false} {
			var lost, acknowledged int
			for range max(1, int(survivorRuns*t.Options.Scale)) {
				err := t.nested(func() error {
					c, err := newCluster(t, true, synchronous)
					if err != nil {
						return err
					}
					return c.survive(&lost, &acknowledged)
				})
				if err != nil {
					return err
				}
			}
			kind := "asynchronous"
			if synchronous {
				kind = "synchronous"
			}
			t.Note("%s spaces: %d of %d acknowledged writes were lost", kind, lost, acknowledged)
		}
		return nil
	},
}

// survive kills the leader under load, and adds to what was lost and acknowledged.
func (c *Cluster) survive(lost, acknowledged *int) error {
	c.start()
	defer func() { _ = c.load.end() }() // when something fails
	if err := c.load.goesOn(); err != nil {
		return err
	}
	c.Rest(300 * time.Millisecond)
	leader := c.Master()
	c.trial.Options.progress("kill -9 of leader %d", leader)
	c.trial.Count(0, 1)
	end := c.load.mayLose()
	for i := range c.Set.Len() {
		if i != leader {
			if _, err := c.Set.Lua(i, "rawset(_G, 'peers', box.cfg.replication) box.cfg{replication = {}}"); err != nil {
				return err
			}
		}
	}
	c.Rest(cutOff)
	c.Set.Kill(leader)
	for _, i := range c.running() {
		if _, err := c.Set.Lua(i, "box.cfg{replication = peers}"); err != nil {
			return err
		}
	}
	err := errors.Join(c.TakeOver(leader), c.load.goesOn())
	end()
	if err := errors.Join(err, c.load.end(), c.inStep()); err != nil {
		return err
	}
	breaches, err := c.checks(c.load)
	if err != nil {
		return err
	}
	var others []history.Breach
	for _, b := range breaches {
		if b.Promise != history.Lost {
			others = append(others, b)
		} else if *lost++; c.synchronous {
			others = append(others, b)
		}
	}
	*acknowledged += int(c.load.acknowledged[logged].Load())
	c.report(others)
	return nil
}
