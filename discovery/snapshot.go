package discovery

import "slices"

// Snapshot is an immutable picture of all instances, with the choice for each
// mode already made as far as it can be.
type Snapshot struct {
	Instances []Instance
	// Settled tells that each instance has been reached, or has been tried in
	// vain, at least once.
	Settled bool
	// Disputed are the replica sets with more than one writable instance.
	Disputed []string

	writers map[string]string // replica set → uuid of the one that writes go to
	choices [modes]choice
}

// choice is the instances that may serve a mode, by index, best class first.
type choice struct {
	all  []int
	best int // how many of them are of the best class
}

// New makes the snapshot that follows prev, which may be nil. Instances
// without a uuid have not been reached.
func New(prev *Snapshot, instances []Instance) *Snapshot {
	s := &Snapshot{Instances: instances, Settled: !slices.ContainsFunc(instances, untried)}
	var before map[string]string
	if prev != nil {
		before = prev.writers
	}
	s.chooseWriters(before)

	var members [classes][]int
	seen := make(map[string]bool, len(instances))
	for i := range instances {
		in := &instances[i]
		if in.UUID == "" || in.Status == StatusDown || seen[in.UUID] {
			continue // unreachable, or known by another of its addresses
		}
		seen[in.UUID] = true
		for c, is := range in.in(s.writers[in.ReplicaSet] == in.UUID) {
			if is {
				members[c] = append(members[c], i)
			}
		}
	}
	for mode := ModeAny; mode < modes; mode++ {
		s.choices[mode] = choose(preferences[mode], members)
	}
	return s
}

func untried(in Instance) bool { return in.Status == StatusDown && in.Err == nil }

func choose(order []class, members [classes][]int) choice {
	var c choice
	for _, class := range order {
		for _, i := range members[class] {
			if !slices.Contains(c.all, i) {
				c.all = append(c.all, i)
			}
		}
		if c.best == 0 {
			c.best = len(c.all)
		}
	}
	return c
}

// chooseWriters settles on one writable instance of each replica set: the one
// with the highest election term, else the one that answers, else the one that
// was it before, else the one with the lowest uuid. So two instances that both take writes, as in a
// switchover or a split, do not get them by turns.
func (s *Snapshot) chooseWriters(before map[string]string) {
	s.writers = make(map[string]string)
	chosen := make(map[string]*Instance)
	for i := range s.Instances {
		in := &s.Instances[i]
		if in.Role != RoleRW || in.UUID == "" || (in.Status != StatusRunning && in.Status != StatusSuspect) {
			continue
		}
		set := in.ReplicaSet
		rival := chosen[set]
		if rival != nil && rival.UUID != in.UUID {
			if !slices.Contains(s.Disputed, set) {
				s.Disputed = append(s.Disputed, set)
			}
			if !outranks(in, rival, before[set]) {
				continue
			}
		}
		chosen[set] = in
		s.writers[set] = in.UUID
	}
}

func outranks(in, rival *Instance, before string) bool {
	switch {
	case in.Term != rival.Term:
		return in.Term > rival.Term
	case in.Status != rival.Status:
		return in.Status == StatusRunning
	case in.UUID == before || rival.UUID == before:
		return in.UUID == before
	}
	return in.UUID < rival.UUID
}

// Pick returns the index of an instance for the mode, or -1 if there is none.
// turn is what the caller counts up to take the best ones by turns.
func (s *Snapshot) Pick(mode Mode, turn uint64) int {
	c := &s.choices[mode]
	if c.best == 0 {
		return -1
	}
	return c.all[turn%uint64(c.best)]
}

// PickOther is Pick without the instances in tried: a later class serves when
// the best one has been tried.
func (s *Snapshot) PickOther(mode Mode, turn uint64, tried []string) int {
	c := &s.choices[mode]
	for n := range c.all {
		at := n
		if n < c.best {
			at = int((turn + uint64(n)) % uint64(c.best))
		}
		if i := c.all[at]; !slices.Contains(tried, s.Instances[i].UUID) {
			return i
		}
	}
	return -1
}

// Fallback tells of an instance that the mode picks only for want of another
// role.
func (s *Snapshot) Fallback(mode Mode, i int) bool {
	switch mode {
	case ModePreferRW:
		return s.Instances[i].Role != RoleRW
	case ModePreferRO:
		return s.Instances[i].Role != RoleRO
	}
	return false
}

// Serves tells whether the mode may pick the instance.
func (s *Snapshot) Serves(mode Mode, i int) bool {
	return slices.Contains(s.choices[mode].all, i)
}
