package pool

import (
	"time"

	"github.com/tntsql/tntsql/discovery"
)

const (
	// lookInterval is how often data connections with requests in flight are
	// looked at.
	lookInterval = 10 * time.Millisecond
	// quickCheck is how long a statement is unanswered before its instance is
	// asked whether it still answers, and again at most each checkSpacing.
	quickCheck   = 20 * time.Millisecond
	checkSpacing = 100 * time.Millisecond
	// idleLooks is how many looks without work end the looking.
	idleLooks = 100
	// suspectInFlight is how many requests a suspect instance gets at most.
	suspectInFlight = 16
)

// startLooking starts the looks if requests are in flight.
func (in *instance) startLooking() (<-chan time.Time, func()) {
	if !in.busy.Load() {
		return nil, func() {}
	}
	ticker := time.NewTicker(lookInterval)
	return ticker.C, ticker.Stop
}

// stirred makes run look after the data connections, which costs an idle
// handle nothing.
func (in *instance) stirred() {
	if !in.busy.Load() && in.busy.CompareAndSwap(false, true) {
		signal(in.stir)
	}
}

// look moves those who wait for a connection that answers nothing, and tells
// whether the instance should be asked if it still answers at all.
func (in *instance) look() bool {
	if in.hasWork() {
		in.idle = 0
	} else if in.idle++; in.idle > idleLooks {
		in.idle = 0
		in.busy.Store(false)
		if in.hasWork() { // sent just now, by one who saw that it was busy
			in.busy.Store(true)
		}
	}
	in.conns.markStalled(in.pool.options.ProbeTimeout, false)
	in.conns.markPinned(time.Since(in.answered))
	if in.control == nil || in.control.Ended() {
		return false
	}
	quick, checked := in.pool.options.quickCheck, time.Since(in.checked)
	return in.conns.waiting() > quick && checked > checkSpacing || in.conns.pairs(quick, checked)
}

func (in *instance) hasWork() bool { return in.conns.inFlight() > 0 || in.conns.waiting() > 0 }

// suspect publishes that the instance does not answer. It may be busy: SQL does
// not yield, so a long SELECT stops the answers of a healthy server. What waits
// for it moves, and little more is sent to it.
func (in *instance) suspect(err error) {
	in.state.Status, in.state.Err = discovery.StatusSuspect, err
	in.conns.budget.SetLimit(min(suspectInFlight, in.pool.options.MaxInFlight))
	in.publish()
	in.conns.markStalled(in.pool.options.ProbeTimeout, true)
}

// trust takes that back, also of one that was connected to anew.
func (in *instance) trust() {
	if in.state.Status != discovery.StatusRunning {
		in.conns.budget.SetLimit(in.pool.options.MaxInFlight)
		in.conns.markStalled(in.pool.options.ProbeTimeout, false)
	}
}
