package pool

import (
	"sync/atomic"
	"time"

	"github.com/tntsql/tntsql/discovery"
)

// counts are the pool's counters since it was opened.
type counts struct {
	picks      [discovery.ModePreferRO + 1]atomic.Uint64
	unsent     atomic.Uint64
	refused    atomic.Uint64
	lost       atomic.Uint64
	moved      atomic.Uint64
	rechecks   atomic.Uint64
	reconnects atomic.Uint64
	marked     atomic.Uint64
	byID       atomic.Uint64
	waits      atomic.Uint64
	waited     atomic.Int64
}

// Counts are what a pool has done since it was opened.
type Counts struct {
	Picks [discovery.ModePreferRO + 1]uint64 // by mode
	// Sendings again: of what was never sent, was refused, had its connection
	// lost, or waited for an instance or connection that did not answer.
	Unsent, Refused, Lost, Moved uint64
	Rechecks                     uint64 // of an instance's role, on an error
	Reconnects                   uint64 // control connections lost
	Marked                       uint64 // reads that a mark sent to a read-write instance
	ByID                         uint64 // statements sent by the id of a prepared one
	Prepared                     int    // statements that are kept prepared now
	Waits                        uint64 // statements that waited for an instance
	Waited                       time.Duration
}

// Counts returns the counters.
func (p *Pool) Counts() Counts {
	c := Counts{
		Unsent:     p.counts.unsent.Load(),
		Refused:    p.counts.refused.Load(),
		Lost:       p.counts.lost.Load(),
		Moved:      p.counts.moved.Load(),
		Rechecks:   p.counts.rechecks.Load(),
		Reconnects: p.counts.reconnects.Load(),
		Marked:     p.counts.marked.Load(),
		ByID:       p.counts.byID.Load(),
		Waits:      p.counts.waits.Load(),
		Waited:     time.Duration(p.counts.waited.Load()),
	}
	for mode := range c.Picks {
		c.Picks[mode] = p.counts.picks[mode].Load()
	}
	for _, in := range p.current.Load().members {
		c.Prepared += in.conns.prepared()
	}
	return c
}

func (c *counts) resent(r Reason) {
	switch r {
	case ReasonUnsent:
		c.unsent.Add(1)
	case ReasonRefused:
		c.refused.Add(1)
	case ReasonLost:
		c.lost.Add(1)
	case ReasonMoved:
		c.moved.Add(1)
	}
}

// Load is how many requests of this pool are in flight at the instance, and how
// far it is behind its writer at most, negative if that is not known.
func (p *Pool) Load(uuid string) (inFlight int, lag time.Duration) {
	v := p.current.Load()
	for i := range v.Instances {
		switch in := &v.Instances[i]; {
		case uuid == "" || in.UUID != uuid:
			continue
		case in.Role == discovery.RoleRW && in.Connected():
			return v.instances[i].conns.inFlight(), 0
		case in.Cover > 0:
			return v.instances[i].conns.inFlight(), time.Duration(Now() - in.Cover)
		default:
			return v.instances[i].conns.inFlight(), -1
		}
	}
	return 0, -1
}
