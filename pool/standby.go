package pool

import (
	"time"

	"github.com/tntsql/tntsql/discovery"
	"github.com/tntsql/tntsql/internal/wire"
)

// standbyLook is how often an address whose instance is in use at another one is
// asked which instance is there.
const standbyLook = 30 * time.Second

// standBy gives up the connections of an address while its instance is in use at
// another one, and tells whether it did.
func (in *instance) standBy() bool {
	if !in.hasStandIn() {
		in.spare.reset()
		in.parked = false
		return false
	}
	in.parked = in.park()
	return in.parked
}

// hasStandIn tells whether the instance is in use at another address, and
// answers there.
func (in *instance) hasStandIn() bool {
	v := in.pool.current.Load()
	for i := range v.Instances {
		if known := &v.Instances[i]; known.UUID != "" && known.UUID == in.state.UUID {
			return v.instances[i] != in && known.Answers()
		}
	}
	return false
}

func (in *instance) park() bool {
	if connected := in.control != nil || len(in.conns.all()) > 0; connected && !in.spare.lasted(in.conns.inUse()) {
		return false
	}
	in.spare.reset()
	if in.control == nil && in.candidate.UUID == "" && time.Since(in.looked) >= standbyLook {
		in.looked = time.Now() // it may be another instance by now
		return false
	}
	in.conns.closeAll(wire.ErrClosed)
	if in.control != nil {
		in.control.Close()
		in.control, in.looked = nil, time.Now()
	}
	if in.state.Status != discovery.StatusStandby {
		in.state.Status, in.state.Err = discovery.StatusStandby, nil
		in.publish()
	}
	return true
}

// wakeStandby has the other addresses tried of instances that do not answer at
// the one in use.
func (p *Pool) wakeStandby(s *discovery.Snapshot) {
	for i := range p.known {
		if p.known[i].Status != discovery.StatusStandby {
			continue
		}
		for n := range s.Instances {
			if s.Instances[n].UUID == p.known[i].UUID && !s.Instances[n].Answers() {
				signal(p.members[i].hurry)
			}
		}
	}
}
