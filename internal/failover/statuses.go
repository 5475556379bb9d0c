package failover

import (
	"slices"
	"sync"

	"github.com/tntsql/tntsql"
)

// statuses are those that the driver has seen instances in, by status.
type statuses struct {
	mu        sync.Mutex
	addresses map[string][]string
}

// see is a function for tntsql.Trace.
func (s *statuses) see(t tntsql.Topology) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.addresses == nil {
		return
	}
	for _, in := range t.Instances {
		if !slices.Contains(s.addresses[in.Status], in.Address) {
			s.addresses[in.Status] = append(s.addresses[in.Status], in.Address)
		}
	}
}

// begin forgets what was seen before, which is how instances come up.
func (s *statuses) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.addresses = make(map[string][]string)
}

// suspects is how many instances have been suspect.
func (s *statuses) suspects() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.addresses["suspect"])
}
