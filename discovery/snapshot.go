package discovery

import "slices"

// Snapshot is an immutable picture of all instances, with the choice for each
// mode already made as far as it can be.
type Snapshot struct {
	// Instances are the instances, each once, at the address that is in use.
	Instances []Instance
	// Sources are, for each of Instances, its index in what New was given.
	Sources []int
	// Unresolved are names, in place of the instances that may be behind
	// them.
	Unresolved []Instance
	// ReplicaSets are the replica sets of Instances, as far as they are known.
	ReplicaSets []string
	// Settled tells that each address has been reached, or has been tried in
	// vain, at least once, and each name been looked up.
	Settled bool
	// Refused tells that every instance refuses the user or password, and that
	// waiting for one will not help.
	Refused bool
	// Disputed are the replica sets with more than one writable instance.
	Disputed []string

	writers map[string]string // replica set → uuid of the one that writes go to
	choices [modes]choice
}

// choice is the instances that may serve a mode, by index, in classes, best
// first. An instance is in the first class that it fits.
type choice [][]int

// New makes the snapshot that follows prev, which may be nil, of what is known
// at each address, and of names without one.
func New(prev *Snapshot, known []Instance, unresolved ...Instance) *Snapshot {
	if prev == nil {
		prev = &Snapshot{}
	}
	s := &Snapshot{Unresolved: unresolved}
	s.fold(known, prev)
	all := s.Known()
	s.Settled = !slices.ContainsFunc(all, is(StatusConnecting))
	s.Refused = len(all) > 0 && !slices.ContainsFunc(all, func(in Instance) bool { return in.Status != StatusRefused })
	s.chooseWriters(prev.writers)

	var members [classes][]int
	for i := range s.Instances {
		in := &s.Instances[i]
		if in.ReplicaSet != "" && !slices.Contains(s.ReplicaSets, in.ReplicaSet) {
			s.ReplicaSets = append(s.ReplicaSets, in.ReplicaSet)
		}
		if in.UUID == "" || !in.Connected() {
			continue
		}
		for c, is := range in.in(s.Writes(in.ReplicaSet, in.UUID)) {
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

// fold takes an instance that is known at several addresses once: at one that
// works, and among those at the one that is in use.
func (s *Snapshot) fold(known []Instance, prev *Snapshot) {
	at := make(map[string]int, len(known))
	inUse := make(map[string]string, len(prev.Instances))
	for _, in := range prev.Instances {
		inUse[in.UUID] = in.Address
	}
	for i, in := range known {
		n, again := at[in.UUID]
		if !again || in.UUID == "" {
			at[in.UUID] = len(s.Instances)
			s.Instances, s.Sources = append(s.Instances, in), append(s.Sources, i)
			continue
		}
		other := &s.Instances[n]
		given := in.Given || other.Given
		if in.works() > other.works() || in.works() == other.works() && in.Address == inUse[in.UUID] {
			s.Instances[n], s.Sources[n] = in, i
		}
		other.Given = given
	}
}

// Known are Instances and Unresolved, for people to read.
func (s *Snapshot) Known() []Instance { return slices.Concat(s.Instances, s.Unresolved) }

func is(status string) func(Instance) bool {
	return func(in Instance) bool { return in.Status == status }
}

func choose(order []class, members [classes][]int) choice {
	var (
		c     choice
		taken []int
	)
	for _, class := range order {
		var fresh []int
		for _, i := range members[class] {
			if !slices.Contains(taken, i) {
				fresh = append(fresh, i)
			}
		}
		if len(fresh) > 0 {
			c = append(c, fresh)
			taken = append(taken, fresh...)
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

// Writer is the address of the instance that a replica set's writes go to; empty if
// there is none.
func (s *Snapshot) Writer(set string) string {
	for i := range s.Instances {
		if s.Writes(set, s.Instances[i].UUID) {
			return s.Instances[i].Address
		}
	}
	return ""
}

// Writes tells whether the writes of a replica set go to the instance.
func (s *Snapshot) Writes(set, uuid string) bool { return uuid != "" && s.writers[set] == uuid }

// Writable are the addresses of a replica set's instances that take writes.
func (s *Snapshot) Writable(set string) (addresses []string) {
	for _, in := range s.Instances {
		if in.ReplicaSet == set && in.Role == RoleRW && in.Connected() {
			addresses = append(addresses, in.Address)
		}
	}
	return addresses
}

// Pick returns the index of an instance for the mode, or -1 if there is none.
// turn is what the caller counts up to take the best ones by turns.
func (s *Snapshot) Pick(mode Mode, turn uint64) int {
	c := s.choices[mode]
	if len(c) == 0 {
		return -1
	}
	return c[0][turn%uint64(len(c[0]))]
}

// Classes are the instances that the mode may pick, by index: all of the first
// class before any of the second.
func (s *Snapshot) Classes(mode Mode) [][]int { return s.choices[mode] }

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
	return slices.ContainsFunc(s.choices[mode], func(class []int) bool { return slices.Contains(class, i) })
}
