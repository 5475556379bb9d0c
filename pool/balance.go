package pool

import (
	"slices"
	"time"
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
	if s.pool.options.Balancer == RoundRobin && s.pool.options.MaxLag == 0 && s.after == 0 {
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

// choose goes through the instances of the mode, best class first, and takes what
// the balancer prefers of the first class that has any, by turns.
func (s *selection) choose(v *view, turn uint64, tried []string) int {
	oldest := s.oldestCover()
	held, replicas := false, false
	for _, class := range v.Classes(s.mode) {
		var room [32]int // enough for most, without an allocation
		fit := room[:0]
		for _, i := range class {
			in := &v.Instances[i]
			switch {
			case slices.Contains(tried, in.UUID):
			case in.Cover < oldest && !v.Writes(in.ReplicaSet, in.UUID):
				held = held || s.after > 0 && in.Cover <= s.after
			default:
				replicas = replicas || !v.Writes(in.ReplicaSet, in.UUID)
				fit = append(fit, i)
			}
		}
		if len(fit) > 0 {
			if held {
				s.held(!replicas)
			}
			return s.pool.options.Balancer.best(v, fit, turn)
		}
	}
	if held {
		s.held(false)
	}
	if held && s.yields {
		s.after = 0
		return s.choose(v, turn, tried)
	}
	return -1
}

// best is the one that the balancer prefers, by turns among those that are as good
// as one another.
func (b Balancer) best(v *view, fit []int, turn uint64) int {
	best := fit[turn%uint64(len(fit))]
	for n := range fit {
		if i := fit[(turn+uint64(n))%uint64(len(fit))]; b.prefers(v, i, best) {
			best = i
		}
	}
	return best
}

// oldestCover is how old a replica's cover may be.
func (s *selection) oldestCover() int64 {
	oldest := s.oldestLag()
	if s.after > 0 {
		oldest = max(oldest, s.after+1)
	}
	return oldest
}

// oldestLag is how old it may be by max_lag.
func (s *selection) oldestLag() int64 {
	if s.pool.options.MaxLag == 0 {
		return 0
	}
	return max(1, Now()-int64(s.pool.options.MaxLag))
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
