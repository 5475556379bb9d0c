package pool

import (
	"time"

	"github.com/tntsql/tntsql/discovery"
)

// Unhurried are options of a pool that asks no instance because a request is
// unanswered: on a slow machine that is so at any time.
func (o Options) Unhurried() Options {
	o.quickCheck = time.Hour
	return o
}

// Room is how much of max_in_flight is taken at each instance.
func (p *Pool) Room() (taken []int) {
	for _, in := range p.current.Load().members {
		taken = append(taken, in.conns.budget.Used())
	}
	return taken
}

// Pick is the choice of an instance for a read with a mark.
func (p *Pool) Pick(mode discovery.Mode, after int64) int {
	s := selection{pool: p, mode: mode, after: after}
	return s.pick(p.current.Load())
}

// MarkedSets is how many replica sets have votes of writers that are kept.
func (p *Pool) MarkedSets() int {
	p.covers.mu.Lock()
	defer p.covers.mu.Unlock()
	return len(p.covers.writers)
}
