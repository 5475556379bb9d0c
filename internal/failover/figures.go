package failover

import (
	"cmp"
	"slices"
	"time"
)

// Figures are what the callers of one client saw.
type Figures struct {
	Writes, Reads int
	// Unknown is the writes whose outcome their callers do not know.
	Unknown int
	// WriteErrors and ReadErrors are the other errors, by kind, and Examples
	// one of each kind.
	WriteErrors, ReadErrors map[string]int
	Examples                map[string]string
	// AtFailover is the audit of the instances that were left, AtLast that of
	// all of them.
	AtFailover, AtLast Audit

	// Pauses are the longest pause of acknowledged writes at each disturbance,
	// and AfterWritable the part of it after an instance became writable.
	Pauses, AfterWritable []time.Duration
	// WriteMax and ReadMax are the longest requests since the disturbances
	// began, WriteP99 and ReadP99 are of the disturbances.
	WriteP99, WriteMax time.Duration
	ReadP99, ReadMax   time.Duration
	// Before and During are requests a second.
	Before, During Rates

	// Timeline is for the plot.
	Timeline Timeline
}

// Rates are requests a second.
type Rates struct{ Writes, Reads float64 }

// Timeline is the course of a load.
type Timeline struct {
	span
	Pauses []Event         // pauses of writes
	Reads  []time.Duration // the p99 of each tick
}

const (
	tick = 100 * time.Millisecond
	// shortPause is what a plot does not show.
	shortPause = 10 * time.Millisecond
	// lateAnswers is how long answers of the former master may still come when
	// the next one is writable: the pause of writes may begin that late.
	lateAnswers = 5 * time.Millisecond
)

// figures are worked out when the load has ended.
func (t *Trial) figures(l *load) Figures {
	offset := l.began.Sub(t.load.began) // events are in the time of t.load
	f := Figures{WriteErrors: map[string]int{}, ReadErrors: map[string]int{}, Examples: map[string]string{}}
	writes, reads := gather(l.writers), gather(l.readers)
	f.Writes, f.Reads = len(writes), len(reads)
	f.countErrors(l.writers, f.WriteErrors)
	f.countErrors(l.readers, f.ReadErrors)
	for _, r := range writes {
		if r.outcome == unknown {
			f.Unknown++
		}
	}

	before := t.before.shifted(-offset)
	f.Before = Rates{rate(writes, before), rate(reads, before)}
	var disturbed []span
	for _, e := range t.events {
		disturbed = append(disturbed, e.shifted(-offset))
	}
	f.During = Rates{rate(writes, disturbed...), rate(reads, disturbed...)}
	f.WriteP99, f.WriteMax = waits(writes, disturbed)
	f.ReadP99, f.ReadMax = waits(reads, disturbed)

	acknowledged := acknowledgements(writes)
	var writable []time.Duration
	for _, at := range t.writable {
		writable = append(writable, at.Sub(l.began))
	}
	for _, s := range disturbed {
		at, switched := latest(writable, s)
		if switched {
			s = span{at, at + lateAnswers}
		}
		pause := longestPause(acknowledged, s)
		f.Pauses = append(f.Pauses, pause.length())
		if switched {
			f.AfterWritable = append(f.AfterWritable, pause.to-at)
		}
	}
	f.Timeline = timeline(acknowledged, reads, span{before.from, l.lastEnd()}).shifted(offset)
	return f
}

func (s span) shifted(by time.Duration) span { return span{s.from + by, s.to + by} }

func (l *load) lastEnd() (last time.Duration) {
	for _, w := range append(slices.Clone(l.writers), l.readers...) {
		if n := len(w.requests); n > 0 {
			last = max(last, w.requests[n-1].ended)
		}
	}
	return last
}

// gather is the requests of all workers in the order of their ends.
func gather(workers []*worker) []request {
	var all []request
	for _, w := range workers {
		all = append(all, w.requests...)
	}
	slices.SortFunc(all, func(a, b request) int { return cmp.Compare(a.ended, b.ended) })
	return all
}

// countErrors leaves out unknown outcomes, which are no errors of the driver's.
func (f *Figures) countErrors(workers []*worker, counts map[string]int) {
	for _, w := range workers {
		for kind, n := range w.counts {
			counts[kind] += n
			f.Examples[kind] = w.errors[kind]
		}
	}
	delete(counts, unknownOutcome)
}

// rate is the requests a second that were served in the spans.
func rate(requests []request, spans ...span) float64 {
	var (
		served int
		length time.Duration
	)
	for _, s := range spans {
		length += s.length()
		for _, r := range requests {
			if r.outcome == done && r.ended > s.from && r.ended <= s.to {
				served++
			}
		}
	}
	if length == 0 {
		return 0
	}
	return float64(served) / length.Seconds()
}

// waits are the p99 of the requests that overlap one of the spans, and the
// longest of those that ended after the first of them began.
func waits(requests []request, spans []span) (p99, longest time.Duration) {
	if len(spans) == 0 {
		return 0, 0
	}
	var overlapping []time.Duration
	for _, r := range requests {
		if slices.ContainsFunc(spans, r.overlaps) {
			overlapping = append(overlapping, r.ended-r.begun)
		}
		if r.ended > spans[0].from {
			longest = max(longest, r.ended-r.begun)
		}
	}
	return percentile(overlapping, 99), longest
}

// percentile is the nearest rank; it sorts. 0 is that of nothing.
func percentile(d []time.Duration, p int) time.Duration {
	if len(d) == 0 {
		return 0
	}
	slices.Sort(d)
	return d[(len(d)*p+99)/100-1]
}

// Median is the middle one, 0 of nothing.
func Median(d []time.Duration) time.Duration { return percentile(slices.Clone(d), 50) }

// Longest is the longest one, 0 of nothing.
func Longest(d []time.Duration) time.Duration { return percentile(slices.Clone(d), 100) }

// acknowledgements are the times of successful writes, in order.
func acknowledgements(writes []request) (times []time.Duration) {
	for _, r := range writes {
		if r.outcome == done {
			times = append(times, r.ended)
		}
	}
	return times
}

// longestPause is the longest time between two successive ones that has a part
// in the span.
func longestPause(times []time.Duration, in span) (longest span) {
	for i := 1; i < len(times); i++ {
		pause := span{times[i-1], times[i]}
		if pause.to > in.from && pause.from < in.to && pause.length() > longest.length() {
			longest = pause
		}
	}
	return longest
}

// latest is the last of the times in the span.
func latest(times []time.Duration, in span) (last time.Duration, found bool) {
	for _, t := range times {
		if t >= in.from && t <= in.to && (!found || t > last) {
			last, found = t, true
		}
	}
	return last, found
}

func timeline(acknowledged []time.Duration, reads []request, in span) Timeline {
	l := Timeline{span: in}
	for i := 1; i < len(acknowledged); i++ {
		pause := span{acknowledged[i-1], acknowledged[i]}
		if pause.from >= in.from && pause.length() >= shortPause {
			l.Pauses = append(l.Pauses, Event{span: pause})
		}
	}
	var waits []time.Duration
	end := in.from + tick
	for _, r := range reads {
		if r.ended < in.from {
			continue
		}
		for r.ended > end {
			l.Reads = append(l.Reads, percentile(waits, 99))
			waits, end = nil, end+tick
		}
		waits = append(waits, r.ended-r.begun)
	}
	l.Reads = append(l.Reads, percentile(waits, 99))
	return l
}

func (l Timeline) shifted(by time.Duration) Timeline {
	l.span = l.span.shifted(by)
	for i := range l.Pauses {
		l.Pauses[i].span = l.Pauses[i].span.shifted(by)
	}
	return l
}
