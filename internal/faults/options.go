package faults

import (
	"fmt"
	"time"
)

// Options are how scenarios are run.
type Options struct {
	// Scale is what the durations of the sequences and the load are multiplied with,
	// and the sizes that take long: 1 for the short form.
	Scale float64
	// Load, if it is not 0, is how long the load of many callers lasts.
	Load time.Duration
	// Seed is that of everything random.
	Seed uint64
	// Fault has only those faults injected whose names contain it.
	Fault string
	// Heard has everything that the driver says go through the search for passwords.
	Heard *Heard `json:"-"`
	// Progress, if it is set, is told what is being done.
	Progress func(what string) `json:"-"`
}

func (o *Options) scaled(d time.Duration) time.Duration {
	return time.Duration(float64(d) * o.Scale)
}

func (o *Options) progress(format string, args ...any) {
	if o.Progress != nil {
		o.Progress(fmt.Sprintf(format, args...))
	}
}
