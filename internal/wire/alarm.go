package wire

import "sync/atomic"

// alarm wakes those who wait for a connection, as long as it is raised.
type alarm struct {
	bell atomic.Pointer[chan struct{}]
	on   atomic.Bool
}

func (a *alarm) reset() {
	silent := make(chan struct{})
	a.bell.Store(&silent)
}

// raised is closed while the alarm is raised.
func (a *alarm) raised() <-chan struct{} { return *a.bell.Load() }

// set raises the alarm or ends it. It has one caller at a time.
func (a *alarm) set(raise bool) {
	switch was := a.on.Swap(raise); {
	case raise && !was:
		close(*a.bell.Load())
	case was && !raise:
		a.reset()
	}
}
