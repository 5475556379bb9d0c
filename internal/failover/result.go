package failover

import (
	"fmt"
	"time"
)

// Result is what a run of a scenario brought.
type Result struct {
	Scenario Scenario
	Server   Server
	Skipped  string // why it was not run; "" if it was
	Options  Options

	Driver   Figures
	Pool     *Figures // go-tarantool's pool beside it, if it ran
	Events   []Event
	Suspects int // instances that the driver took for suspect
	Notes    []string
	// WaitingCPU is the CPU time a second that all workers took while no
	// instance was up, where that was measured.
	WaitingCPU time.Duration

	// Broken are the promises that did not hold.
	Broken []string
}

// OK tells that no promise is broken.
func (r *Result) OK() bool { return len(r.Broken) == 0 }

func (r *Result) broken(format string, args ...any) {
	r.Broken = append(r.Broken, fmt.Sprintf(format, args...))
}

// judge checks the promises.
func (r *Result) judge() {
	for _, p := range append(standing, r.Scenario.Promises...) {
		if what := p(r); what != "" {
			r.Broken = append(r.Broken, what)
		}
	}
}

// Errors is the number of errors but unknown outcomes.
func (f *Figures) Errors() int { return total(f.WriteErrors) + total(f.ReadErrors) }

func total(counts map[string]int) (n int) {
	for _, c := range counts {
		n += c
	}
	return n
}

// Twice is how many writes were applied twice.
func (f *Figures) Twice() int { return max(f.AtFailover.Twice, f.AtLast.Twice) }

// slack is a limit on a duration, for this run.
func (r *Result) slack(d time.Duration) time.Duration {
	return time.Duration(float64(d) * r.Options.Slack)
}
