package pool

import (
	"sync"
	"time"

	"github.com/tntsql/tntsql/discovery"
)

const (
	// keptVotes is how many of a writer's votes replicas are compared with.
	keptVotes = 64
	// mostKept is how many replica sets, and instances, are remembered.
	mostKept = 256
)

// covers work out how current each replica is. A vote of the writer sent at time
// s returned vclock V: what was acknowledged before s is in V. A replica whose
// vclock is at least V in every component but 0, which is local, has all of it:
// it covers s. Unlike the replication's own lag this does not freeze when the
// replication breaks.
type covers struct {
	mu      sync.Mutex
	writers map[string][]mark // by replica set, oldest first
	covers  map[string]int64  // by uuid
}

// mark is a vote of a writer.
type mark struct {
	sent   int64
	vclock map[uint32]uint64
}

const (
	// coverInterval is between two votes while reads wait for covers, and
	// coverDemand how long that goes on after the last of them.
	coverInterval = 50 * time.Millisecond
	coverDemand   = 500 * time.Millisecond
)

// held has the instances vote: a read's mark is not covered by a replica. toWriter
// tells that the read goes to a read-write instance for that.
func (s *selection) held(toWriter bool) {
	p := s.pool
	if toWriter {
		p.counts.marked.Add(1)
	}
	now, last := Now(), p.demand.Load()
	began := last == 0 || now-last > int64(coverDemand)
	if !began && now-last < int64(coverInterval)/2 || !p.demand.CompareAndSwap(last, now) || !began {
		return
	}
	for _, in := range p.current.Load().members {
		signal(in.asked)
	}
}

// coversWanted tells whether reads wait for covers.
func (p *Pool) coversWanted() bool {
	demand := p.demand.Load()
	return demand > 0 && Now()-demand < int64(coverDemand)
}

// forget is of an instance that was connected to anew: it may have lost what it had.
func (c *covers) forget(uuid string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.covers, uuid)
}

// epoch is where the clock of all pools begins: a session may use several.
var epoch = time.Now()

// Now is the pools' monotonic clock in nanoseconds, by which marks are.
func Now() int64 { return int64(time.Since(epoch)) }

// Moment is when the clock showed what it did; zero for 0.
func Moment(clock int64) time.Time {
	if clock == 0 {
		return time.Time{}
	}
	return epoch.Add(time.Duration(clock))
}

// voted takes a vote in and sets the instance's cover. Of several instances that can
// be written to, only the one that the writes go to is a writer.
func (c *covers) voted(in *discovery.Instance, writer bool, sent int64, vclock map[uint32]uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.covers == nil {
		c.covers = make(map[string]int64)
		c.writers = make(map[string][]mark)
	}
	if len(c.covers) > mostKept || len(c.writers) > mostKept { // of servers that are another each time
		clear(c.covers)
		clear(c.writers)
	}
	if writer {
		c.writers[in.ReplicaSet] = thinned(append(c.writers[in.ReplicaSet], mark{sent, vclock}))
		c.covers[in.UUID] = sent
	}
	for _, m := range c.writers[in.ReplicaSet] {
		if m.sent > c.covers[in.UUID] && atLeast(vclock, m.vclock) {
			c.covers[in.UUID] = m.sent
		}
	}
	in.Cover = c.covers[in.UUID]
}

// thinned keeps the votes few: the older, the further apart.
func thinned(marks []mark) []mark {
	if len(marks) < keptVotes {
		return marks
	}
	kept := marks[:0]
	for i, m := range marks {
		if i%2 == 1 || i > keptVotes/2 {
			kept = append(kept, m)
		}
	}
	return kept
}

func atLeast(v, w map[uint32]uint64) bool {
	for id, lsn := range w {
		if id != 0 && v[id] < lsn {
			return false
		}
	}
	return true
}
