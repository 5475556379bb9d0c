package faults

import (
	"cmp"
	"slices"
	"time"

	"github.com/tntsql/tntsql/internal/faults/history"
)

// injection is when faults were injected at the same time.
type injection struct {
	faults string
	history.Span
}

// gaps are the times between two acknowledged operations.
func gaps(ops []history.Op) (all []history.Span) {
	var ends []time.Duration
	for _, op := range ops {
		if op.Outcome == history.Done {
			ends = append(ends, op.Ended)
		}
	}
	slices.Sort(ends)
	for i := 1; i < len(ends); i++ {
		all = append(all, history.Span{From: ends[i-1], To: ends[i]})
	}
	return all
}

// pause takes a time without an acknowledged write into the longest ones: of all, and of
// the faults with which it has most in common.
func (r *Result) pause(gap history.Span, injected []injection) {
	length := gap.To - gap.From
	r.Pause = max(r.Pause, length)
	common := func(in injection) time.Duration { return min(gap.To, in.To) - max(gap.From, in.From) }
	if len(injected) == 0 {
		return
	}
	of := slices.MaxFunc(injected, func(a, b injection) int { return cmp.Compare(common(a), common(b)) })
	if common(of) <= 0 {
		return
	}
	if r.Pauses == nil {
		r.Pauses = make(map[string]time.Duration)
	}
	r.Pauses[of.faults] = max(r.Pauses[of.faults], length)
}

// paused are the faults with the longest pause, "" if it was in none.
func (r *Result) paused() string {
	for faults, length := range r.Pauses {
		if length == r.Pause {
			return faults
		}
	}
	return ""
}
