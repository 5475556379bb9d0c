package bench

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"
)

// Options are those of a run.
type Options struct {
	Rounds   int
	Slice    time.Duration  // of each contender in each round
	Run      *regexp.Regexp // of the names of cases, with "/" and the goroutines; nil is all
	Progress func(what string)
}

// load is a case at a number of goroutines, with those that take part.
type load struct {
	Case       Case
	Goroutines int
	server     *server
	contenders []contender
}

// name is what Options.Run is matched with.
func (l *load) name() string { return fmt.Sprintf("%s/%d", l.Case.Name, l.Goroutines) }

// loads are those that the servers can do.
func loads(plain, mvcc *site, run *regexp.Regexp) (all []*load) {
	for _, c := range Cases {
		on := plain
		if c.mvcc {
			on = mvcc
		}
		if c.streams && !on.server.streams() {
			continue
		}
		for _, n := range c.Goroutines {
			l := &load{c, n, on.server, contenders(on.clients, c)}
			if run == nil || run.MatchString(l.name()) {
				all = append(all, l)
			}
		}
	}
	return all
}

// Run starts servers and runs all cases on them. Their binary is $TARANTOOL, else
// tarantool in PATH.
func Run(ctx context.Context, o Options) (report *Report, err error) {
	plain, mvcc, err := openSites(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, closeSites(plain, mvcc)) }()
	report = &Report{Version: plain.server.version(), Rounds: o.Rounds, Slice: o.Slice}
	if o.Run == nil || o.Run.MatchString(selection) {
		o.Progress(selection + " in the snapshot")
		if report.Selections, err = measureSelections(o.Slice); err != nil {
			return nil, err
		}
	}
	todo := loads(plain, mvcc, o.Run)
	clock := newCountdown(todo, o.Rounds)
	for i, l := range todo {
		o.Progress(fmt.Sprintf("%2d/%d  %s, goroutines: %d, contenders: %d, %s", i+1, len(todo),
			l.Case.Name, l.Goroutines, len(l.contenders), clock.left()))
		m, err := l.measure(ctx, o)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", l.name(), err)
		}
		report.Measurements = append(report.Measurements, m)
		clock.done(l)
	}
	return report, nil
}

// measure has the contenders of a load take turns.
func (l *load) measure(ctx context.Context, o Options) (*Measurement, error) {
	m := &Measurement{Case: l.Case, Goroutines: l.Goroutines, Contenders: make([]Contender, len(l.contenders))}
	for i, c := range l.contenders {
		m.Contenders[i].Name = c.name
	}
	for round := -1; round < o.Rounds; round++ { // the one before the first warms up
		for turn := range l.contenders {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			i := (turn + max(round, 0)) % len(l.contenders)
			length := o.Slice
			if round < 0 {
				length /= 5
			}
			s, err := take(l.contenders[i], l.Goroutines, length, max(round, 0)*rowCount/max(o.Rounds, 1))
			if err == nil && l.Case.inserts {
				err = l.server.clean()
			}
			if err != nil {
				return nil, fmt.Errorf("%s: %w", m.Contenders[i].Name, err)
			}
			if round >= 0 {
				m.Contenders[i].Samples = append(m.Contenders[i].Samples, s)
			}
		}
	}
	return m, nil
}

// countdown estimates what is left of a run by what has passed of it.
type countdown struct {
	begun          time.Time
	slices, passed int
	rounds         int
}

func newCountdown(loads []*load, rounds int) *countdown {
	c := &countdown{begun: time.Now(), rounds: rounds}
	for _, l := range loads {
		c.slices += c.of(l)
	}
	return c
}

func (c *countdown) of(l *load) int { return c.rounds * len(l.contenders) }

func (c *countdown) done(l *load) { c.passed += c.of(l) }

func (c *countdown) left() string {
	if c.passed == 0 {
		return fmt.Sprintf("%d slices left", c.slices)
	}
	left := time.Since(c.begun) / time.Duration(c.passed) * time.Duration(c.slices-c.passed)
	return left.Round(time.Second).String() + " left"
}
