package failover

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Promise says what a result has broken of it, "" if nothing.
type Promise func(*Result) string

// standing are the promises of every scenario.
var standing = []Promise{nothingTwice, nothingFalse, nothingLostAtLast}

func nothingTwice(r *Result) string {
	return none(r.Driver.Twice(), "writes were applied twice")
}

// nothingFalse: an error that does not say "outcome unknown" says that the write
// was not applied.
func nothingFalse(r *Result) string {
	return none(max(r.Driver.AtFailover.False, r.Driver.AtLast.False), "writes were applied though their error says otherwise")
}

// nothingLostAtLast is of the replica set with all instances back, also those
// that had to leave writes of asynchronous spaces behind for a while.
func nothingLostAtLast(r *Result) string {
	return none(r.Driver.AtLast.Lost, "acknowledged writes are lost")
}

func nothingLost(r *Result) string {
	return none(r.Driver.AtFailover.Lost, "acknowledged writes were lost at the failover")
}

func readsWithoutError(r *Result) string {
	return noErrors("reads", r.Driver.ReadErrors, r)
}

// writesWithoutError allows no unknown outcome either.
func writesWithoutError(r *Result) string {
	if r.Driver.Unknown > 0 {
		return fmt.Sprintf("the outcome of %d writes is unknown", r.Driver.Unknown)
	}
	return noErrors("writes", r.Driver.WriteErrors, r)
}

// onlyUnknown allows writes no other error than an unknown outcome, but for the
// caller's own deadline.
func onlyUnknown(r *Result) string {
	others := maps.Clone(r.Driver.WriteErrors)
	delete(others, ownDeadline)
	return noErrors("writes", others, r)
}

// writableWithin bounds the median of the pauses of writes from when an instance
// became writable.
func writableWithin(most time.Duration) Promise {
	return func(r *Result) string {
		if len(r.Driver.AfterWritable) == 0 {
			return "no instance became writable"
		}
		return within("the median pause of writes after an instance became writable", Median(r.Driver.AfterWritable), r.slack(most))
	}
}

// readsWithinProbe bounds the p99 of reads: they move when probe_timeout is over.
func readsWithinProbe(r *Result) string {
	return within("the p99 of reads", r.Driver.ReadP99, r.Options.probe()+r.slack(50*time.Millisecond))
}

func readsP99(most time.Duration) Promise {
	return func(r *Result) string {
		return within("the p99 of reads", r.Driver.ReadP99, r.slack(most))
	}
}

func readsAtMost(most time.Duration) Promise {
	return func(r *Result) string {
		return within("the longest read", r.Driver.ReadMax, r.slack(most))
	}
}

func halfTheReads(r *Result) string {
	return r.half("reads", r.Driver.Before.Reads, r.Driver.During.Reads)
}

func halfTheWrites(r *Result) string {
	return r.half("writes", r.Driver.Before.Writes, r.Driver.During.Writes)
}

// suspectsAtMost bounds how many instances the driver takes for suspect.
func suspectsAtMost(most int) Promise {
	return func(r *Result) string {
		if r.Suspects > most {
			return fmt.Sprintf("%d instances were suspect, not %d at most", r.Suspects, most)
		}
		return ""
	}
}

func none(n int, what string) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%d %s", n, what)
}

func noErrors(who string, counts map[string]int, r *Result) string {
	if total(counts) == 0 {
		return ""
	}
	var kinds []string
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		kinds = append(kinds, fmt.Sprintf("%d × %s (%s)", counts[kind], kind, r.Driver.Examples[kind]))
	}
	return fmt.Sprintf("%s failed: %s", who, strings.Join(kinds, ", "))
}

func within(what string, d, most time.Duration) string {
	if d <= most {
		return ""
	}
	return fmt.Sprintf("%s is %s, not %s at most", what, Duration(d), Duration(most))
}

// half allows for slack: in the short disturbances of a test the first moments
// weigh more.
func (r *Result) half(what string, before, during float64) string {
	if during*r.Options.Slack >= before/2 {
		return ""
	}
	return fmt.Sprintf("%s went down from %.0f to %.0f a second", what, before, during)
}
