package pool

import (
	"sync"
	"time"

	"github.com/tntsql/tntsql/discovery"
)

// keptVotes is how many of a writer's latest votes replicas are compared with.
const keptVotes = 16

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

// now is the pool's monotonic time in nanoseconds.
func (p *Pool) now() int64 { return int64(time.Since(p.started)) }

// voted takes a vote in and sets the instance's cover.
func (c *covers) voted(in *discovery.Instance, sent int64, vclock map[uint32]uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.covers == nil {
		c.covers = make(map[string]int64)
		c.writers = make(map[string][]mark)
	}
	if in.Role == discovery.RoleRW {
		marks := append(c.writers[in.ReplicaSet], mark{sent, vclock})
		c.writers[in.ReplicaSet] = marks[max(0, len(marks)-keptVotes):]
		c.covers[in.UUID] = sent
	}
	for _, m := range c.writers[in.ReplicaSet] {
		if m.sent > c.covers[in.UUID] && atLeast(vclock, m.vclock) {
			c.covers[in.UUID] = m.sent
		}
	}
	in.Cover = c.covers[in.UUID]
}

func atLeast(v, w map[uint32]uint64) bool {
	for id, lsn := range w {
		if id != 0 && v[id] < lsn {
			return false
		}
	}
	return true
}
