package faults

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tntsql/tntsql/internal/faults/history"
)

// alone shows each fault by itself, and random ones sequences of them.
var (
	alone = Scenario{
		Name:     "alone",
		What:     "each fault by itself, on asynchronous spaces",
		Promises: []Promise{NeverTwice, KnownOutcome, NothingLost, OwnWrites, GoesOn},
		Run:      func(t *Trial) error { return each(t, false, false) },
	}

	aloneElections = Scenario{
		Name:     "alone-elections",
		What:     "each fault by itself, with automatic elections and strict fencing, on synchronous spaces",
		Promises: []Promise{NeverTwice, KnownOutcome, NothingLost, OneOrder, OwnWrites, GoesOn},
		Needs:    needsFencing,
		Run:      func(t *Trial) error { return each(t, true, true) },
	}

	random = Scenario{
		Name:     "random",
		What:     "random sequences of faults, on asynchronous spaces",
		Promises: []Promise{NeverTwice, KnownOutcome, NothingLost, OwnWrites, GoesOn},
		Run:      func(t *Trial) error { return sequences(t, false, false) },
	}

	randomElections = Scenario{
		Name:     "random-elections",
		What:     "random sequences of faults with automatic elections and strict fencing, on synchronous spaces",
		Promises: []Promise{NeverTwice, KnownOutcome, NothingLost, OneOrder, OwnWrites, GoesOn},
		Needs:    needsFencing,
		Run:      func(t *Trial) error { return sequences(t, true, true) },
	}
)

var needsFencing = since(2, 11, "elections with strict fencing, and LINEARIZABLE, came with 2.11")

const (
	// sequenceTime is how long the sequences of a scenario go on in the short form.
	sequenceTime = 20 * time.Second
	// mostEnded is how many replica sets may be given up, each of which the server itself
	// could not mend: what they had cannot be checked.
	mostEnded = 3
	// roundTime is how long one of them does, before its history is checked.
	roundTime = 20 * time.Second
)

// each injects all faults, each when the load has got over the one before.
func each(t *Trial, elects, synchronous bool) error {
	c, err := newCluster(t, elects, synchronous)
	if err != nil {
		return err
	}
	can, cannot := faultsFor(c)
	for _, why := range cannot {
		t.Note("not shown: %s", why)
	}
	return c.round(func() error {
		for _, f := range can {
			do := f.Do
			f.Do = func(c *Cluster) error { return errors.Join(do(c), c.load.goesOn()) }
			if err := c.inject(f); err != nil {
				return err
			}
		}
		return nil
	})
}

// sequences runs rounds of random faults.
func sequences(t *Trial, elects, synchronous bool) error {
	ended := 0
	for end := time.Now().Add(t.Options.scaled(sequenceTime)); time.Now().Before(end); {
		err := t.nested(func() error { return rounds(t, elects, synchronous, end) })
		if err == nil {
			continue
		}
		if ended++; ended > mostEnded {
			return err
		}
		reason, _, _ := strings.Cut(err.Error(), "\n")
		t.Note("a replica set could not be mended, and another was taken: %s", reason)
		t.Options.progress("%v", err)
	}
	return nil
}

// rounds runs them on one replica set.
func rounds(t *Trial, elects, synchronous bool, end time.Time) error {
	c, err := newCluster(t, elects, synchronous)
	if err != nil {
		return err
	}
	can, _ := faultsFor(c)
	for time.Now().Before(end) {
		stop := time.Now().Add(roundTime)
		if stop.After(end) {
			stop = end
		}
		if err := c.round(func() error { return c.sequence(can, stop) }); err != nil {
			return err
		}
	}
	return nil
}

// sequence injects random faults one after the other, beside some of them one of the
// network.
func (c *Cluster) sequence(faults []Fault, stop time.Time) error {
	if len(faults) == 0 {
		c.Rest(time.Until(stop))
		return nil
	}
	networks := slices.DeleteFunc(slices.Clone(faults), func(f Fault) bool { return !f.Network })
	for time.Now().Before(stop) {
		f := faults[c.Rand.IntN(len(faults))]
		var beside Fault
		if !f.Network && len(networks) > 0 && c.Rand.IntN(2) == 0 {
			beside = networks[c.Rand.IntN(len(networks))]
		}
		if err := c.inject(f, beside); err != nil {
			return err
		}
	}
	return nil
}

// inject does faults at the same time; one without a name is none. Each has randomness
// of its own, so that a seed gives the same sequence whatever takes how long.
func (c *Cluster) inject(faults ...Fault) error {
	var (
		names   []string
		running sync.WaitGroup
		errs    = make([]error, len(faults))
	)
	for i, f := range faults {
		own := *c
		own.Rand = rand.New(rand.NewPCG(c.Rand.Uint64(), 0))
		if f.Name == "" {
			continue
		}
		names = append(names, f.Name)
		c.trial.Count(0, 1)
		running.Go(func() { errs[i] = f.Do(&own) })
	}
	injected := injection{faults: strings.Join(names, ", and ")}
	c.trial.Options.progress("%s", injected.faults)
	injected.From = time.Since(c.load.began)
	running.Wait()
	injected.To = time.Since(c.load.began)
	c.load.injected = append(c.load.injected, injected)
	if err := errors.Join(errs...); err != nil {
		if errors.Is(err, errStuck) && c.Set.Master() >= 0 {
			c.trial.Violation(GoesOn, "%s: %v, though there is a master", injected.faults, err)
		}
		return fmt.Errorf("%s: %w", injected.faults, err)
	}
	return nil
}

// round runs a load while something is done to the cluster, and checks its history.
func (c *Cluster) round(disturb func() error) error {
	if err := c.OnMaster(roundLua); err != nil {
		return err
	}
	if err := c.inStep(); err != nil {
		return err
	}
	c.start()
	defer func() { _ = c.load.end() }() // when a fault fails
	if err := errors.Join(c.load.goesOn(), disturb()); err != nil {
		return err
	}
	c.trial.Options.progress("mending")
	if err := c.heal(); err != nil {
		return err
	}
	if err := errors.Join(c.load.goesOn(), c.allInUse()); err != nil {
		c.trial.Violation(GoesOn, "%v", err)
	}
	if err := c.load.end(); err != nil {
		c.trial.Violation(GoesOn, "%v", err)
		return nil // its workers still run: nothing can be counted
	}
	if err := c.trial.hasAllRoom(GoesOn, c.connector, c.Set.Len()*maxInFlight); err != nil {
		return err
	}
	if err := c.inStep(); err != nil {
		return err
	}
	c.trial.Options.progress("checking")
	breaches, err := c.checks(c.load)
	if err != nil {
		return err
	}
	c.report(breaches)
	c.values = c.load.values.Load()
	return nil
}

// report adds a round to the result.
func (c *Cluster) report(breaches []history.Breach) {
	l, r := c.load, c.trial.result
	kinds, replicas := make(map[string]int), 0
	for _, w := range l.workers {
		c.trial.Count(len(w.ops), 0)
		replicas += w.replicas
		for kind, n := range w.errors {
			kinds[kind] += n
		}
	}
	for kind, n := range kinds {
		if slices.Contains(ofPreparing, kind) {
			c.trial.Violation(GoesOn, "callers saw %d × %s: statements that the driver itself had prepared, and that are so no longer", n, kind)
		}
		if kind == "outcome unknown" {
			r.Unknown += n
		} else {
			r.Errors += n
		}
	}
	others, reads := l.onOthers()
	r.OwnReads, r.OwnReadsOnOthers = r.OwnReads+reads, r.OwnReadsOnOthers+others
	for _, gap := range gaps(l.history()[logged]) {
		r.pause(gap, l.injected)
	}
	var texts []string
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		texts = append(texts, fmt.Sprintf("%d × %s", kinds[kind], kind))
	}
	c.trial.Options.progress("replicas served %d of the sessions' reads", replicas)
	if len(texts) > 0 {
		c.trial.Options.progress("callers saw %s", strings.Join(texts, ", "))
	}
	for _, b := range breaches {
		c.trial.Violation(breached[b.Promise], "%v", b)
	}
}

// ofPreparing are the errors of statements that are executed by an id. No caller prepares
// any, and no statement of the load has them otherwise.
var ofPreparing = []string{"ER_WRONG_QUERY_ID", "ER_SQL_EXECUTE"}

// breached are the promises of this package by those of a history.
var breached = map[string]Promise{
	history.Twice:       NeverTwice,
	history.Invented:    NeverTwice,
	history.False:       KnownOutcome,
	history.Lost:        NothingLost,
	history.StaleRead:   OwnWrites,
	history.NotInOrder:  OneOrder,
	history.Undecidable: OneOrder,
}
