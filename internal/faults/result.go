package faults

import (
	"fmt"
	"time"

	"github.com/tntsql/tntsql/internal/failover"
)

// Result is what a run of a scenario brought.
type Result struct {
	Scenario Scenario
	Server   failover.Server
	Options  Options
	Date     string // YYYY-MM-DD
	Commit   string // of the driver, "" if it is not known
	Skipped  string // why it was not run; "" if it was
	Took     time.Duration

	// Operations are the requests that callers made, Faults what was done to them.
	Operations, Faults int
	// Unknown are the writes of unknown outcome, Errors the other errors of operations
	// that callers saw.
	Unknown, Errors int
	// Pause is the longest time without an acknowledged write, Pauses are those of faults.
	Pause  time.Duration
	Pauses map[string]time.Duration
	// OwnReads are those of sessions, OwnReadsOnOthers those of them that another instance
	// answered than the one that took the session's last write.
	OwnReads, OwnReadsOnOthers int
	// UnknownInserts are those of unknown outcome, AppliedInserts those of them that were
	// applied.
	UnknownInserts, AppliedInserts int
	// Broken is how often each promise did not hold, Violations tell of the first times.
	Broken     map[Promise]int
	Violations []string
	Notes      []string
	// Course is of the load of many callers.
	Course []Sample
}

// mostViolations is how many of them are told in words.
const mostViolations = 20

// OK tells that no promise is broken.
func (r *Result) OK() bool { return len(r.Broken) == 0 }

// broken is how often all promises together did not hold.
func (r *Result) broken() (n int) {
	for _, times := range r.Broken {
		n += times
	}
	return n
}

func (r *Result) violation(p Promise, format string, args ...any) {
	if r.Broken == nil {
		r.Broken = make(map[Promise]int)
	}
	r.Broken[p]++
	if len(r.Violations) < mostViolations {
		r.Violations = append(r.Violations, fmt.Sprintf(format, args...))
	}
}
