package discovery

// Mode is which instances may serve a request.
type Mode uint8

const (
	ModeAny Mode = iota + 1
	ModeRW
	ModeRO
	ModePreferRW
	ModePreferRO

	modes = ModePreferRO + 1
)

// preferences are, for each mode, the classes of instances in the order in
// which they are picked: the first class that has a member serves.
var preferences = [modes][]class{
	ModeAny:      {anyRunning, orphan, suspectRW, suspectRO},
	ModeRW:       {writer, suspectRW},
	ModeRO:       {runningRO, orphan, suspectRO},
	ModePreferRW: {writer, runningRO, orphan, suspectRW, suspectRO},
	ModePreferRO: {runningRO, anyRunning, orphan, suspectRO, suspectRW},
}

// class is a group of instances that are as good as one another for a mode.
type class uint8

const (
	writer     class = iota // the one that writes go to, of each replica set
	runningRO               // running, read-only
	anyRunning              // running, of either role
	orphan
	suspectRW
	suspectRO

	classes
)

// in tells which classes the instance belongs to; writes tells that it is its
// replica set's writer.
func (i *Instance) in(writes bool) (member [classes]bool) {
	switch {
	case i.Role == RoleUnknown:
	case i.Status == StatusRunning:
		member[anyRunning] = true
		member[runningRO] = i.Role == RoleRO
		member[writer] = writes
	case i.Status == StatusOrphan:
		member[orphan] = true
	case i.Status == StatusSuspect:
		member[suspectRO] = i.Role == RoleRO
		member[suspectRW] = writes
	}
	return member
}
