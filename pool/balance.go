package pool

import (
	"slices"
	"time"

	"github.com/tntsql/tntsql/discovery"
)

// Balancer chooses among instances that are as good as one another for a mode.
type Balancer uint8

const (
	RoundRobin    Balancer = iota
	LeastInFlight          // the one with the fewest unanswered requests
	Nearest                // the one with the lowest smoothed latency
)

// pick returns the index of an instance of the mode, or -1.
func (s *selection) pick(v *view) int {
	turn := s.pool.turns[s.mode].Add(1)
	if s.pool.options.Balancer == RoundRobin && s.pool.options.MaxLag == 0 {
		return v.Pick(s.mode, turn)
	}
	return s.choose(v, turn, nil)
}

// pickOther is pick without the instances that were tried, and those with the
// uuids.
func (s *selection) pickOther(v *view, uuids ...string) int {
	turn := s.pool.turns[s.mode].Add(1)
	return s.choose(v, turn, slices.Concat(s.missed, uuids))
}

// choose goes through the instances of the mode, best class first, each class by
// turns, and takes what the balancer prefers of the first class that has any.
func (s *selection) choose(v *view, turn uint64, tried []string) int {
	oldest := s.oldestCover()
	for _, class := range v.Classes(s.mode) {
		best := -1
		for n := range class {
			i := class[(turn+uint64(n))%uint64(len(class))]
			in := &v.Instances[i]
			if slices.Contains(tried, in.UUID) || in.Role == discovery.RoleRO && in.Cover < oldest {
				continue
			}
			if best < 0 || s.pool.options.Balancer.prefers(v, i, best) {
				best = i
			}
		}
		if best >= 0 {
			return best
		}
	}
	return -1
}

// oldestCover is how old a replica's cover may be: max_lag.
func (s *selection) oldestCover() int64 {
	if s.pool.options.MaxLag == 0 {
		return 0
	}
	return max(1, s.pool.now()-int64(s.pool.options.MaxLag))
}

func (b Balancer) prefers(v *view, i, to int) bool {
	switch b {
	case LeastInFlight:
		return v.instances[i].conns.budget.Used() < v.instances[to].conns.budget.Used()
	case Nearest:
		return latency(v, i) < latency(v, to)
	}
	return false
}

func latency(v *view, i int) time.Duration { return v.Instances[i].Latency }
