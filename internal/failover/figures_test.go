package failover

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

const ms = time.Millisecond

func TestPercentile(t *testing.T) {
	for name, tc := range map[string]struct {
		of   []time.Duration
		p    int
		want time.Duration
	}{
		"nothing":         {nil, 99, 0},
		"one":             {[]time.Duration{5}, 50, 5},
		"odd":             {[]time.Duration{3, 1, 2}, 50, 2},
		"even":            {[]time.Duration{4, 3, 2, 1}, 50, 2},
		"the longest":     {[]time.Duration{1, 9, 3}, 100, 9},
		"99 of a hundred": {hundred(), 99, 99},
	} {
		assert.Equal(t, tc.want, percentile(tc.of, tc.p), name)
	}
}

// hundred are 100 to 1.
func hundred() (d []time.Duration) {
	for n := 100; n > 0; n-- {
		d = append(d, time.Duration(n))
	}
	return d
}

func TestMedianLeavesTheOrderAlone(t *testing.T) {
	d := []time.Duration{3, 1, 2}
	assert.EqualValues(t, 2, Median(d))
	assert.EqualValues(t, 3, Longest(d))
	assert.Equal(t, []time.Duration{3, 1, 2}, d)
}

func TestLongestPause(t *testing.T) {
	times := []time.Duration{0, 10, 40, 45, 100}
	for name, tc := range map[string]struct{ in, want span }{
		"within":           {span{5, 50}, span{45, 100}},
		"begins before":    {span{11, 12}, span{10, 40}},
		"of two":           {span{5, 44}, span{10, 40}},
		"none":             {span{200, 300}, span{}},
		"touches an end":   {span{40, 41}, span{40, 45}},
		"beyond the first": {span{-20, -10}, span{}},
	} {
		assert.Equal(t, tc.want, longestPause(times, tc.in), name)
	}
}

func TestRateCountsSuccessesInTheSpans(t *testing.T) {
	requests := []request{
		{0, 100 * ms, done},
		{0, 200 * ms, failed},
		{0, 300 * ms, done},
		{0, 900 * ms, done},
		{0, 950 * ms, unknown},
	}
	assert.InDelta(t, 4, rate(requests, span{0, 500 * ms}), 1e-9)
	assert.InDelta(t, 2, rate(requests, span{0, 200 * ms}, span{500 * ms, 1300 * ms}), 1e-9)
	assert.Zero(t, rate(requests))
}

func TestWaits(t *testing.T) {
	requests := []request{{0, 5, done}, {8, 12, done}, {20, 120, done}}
	p99, longest := waits(requests, []span{{10, 15}})
	assert.EqualValues(t, 4, p99, "of what overlaps")
	assert.EqualValues(t, 100, longest, "of all from then on")
	p99, longest = waits(requests, nil)
	assert.Zero(t, p99)
	assert.Zero(t, longest)
}

// trial is one whose writes stop at 1 s, where an instance is writable at 1.2 s and
// the first write is answered at 1.25 s.
func trial() *Trial {
	l := &load{began: time.Now()}
	t := &Trial{scenario: &Scenario{}, load: l, before: span{0, 1000 * ms}}
	w, r := newWorker(0), newWorker(0)
	for at := time.Duration(0); at <= 2000*ms; at += ms {
		if at <= 1000*ms || at >= 1250*ms {
			w.requests = append(w.requests, request{at - ms, at, done})
		}
		r.requests = append(r.requests, request{at - 2*ms, at, done})
	}
	w.requests[1500].outcome = unknown
	w.counts[unknownOutcome]++
	r.counts["other"]++
	l.writers, l.readers = []*worker{w}, []*worker{r}
	t.events = []Event{{"switchover", span{1000 * ms, 1500 * ms}}}
	t.writable = []time.Time{l.began.Add(1200 * ms)}
	return t
}

func TestFigures(t *testing.T) {
	tr := trial()
	f := tr.figures(tr.load)
	assert.Equal(t, []time.Duration{250 * ms}, f.Pauses)
	assert.Equal(t, []time.Duration{50 * ms}, f.AfterWritable)
	assert.Equal(t, 1, f.Unknown)
	assert.Empty(t, f.WriteErrors, "an unknown outcome is no error")
	assert.Equal(t, map[string]int{"other": 1}, f.ReadErrors)
	assert.Equal(t, 2*ms, f.ReadP99)
	assert.InDelta(t, 1000, f.Before.Writes, 1)
	assert.InDelta(t, 500, f.During.Writes, 5)
	assert.Equal(t, []Event{{span: span{1000 * ms, 1250 * ms}}}, f.Timeline.Pauses)
	assert.Len(t, f.Timeline.Reads, 20)
	assert.Equal(t, 2*ms, f.Timeline.Reads[7])
}

func TestFiguresOfALoadThatBeganEarlier(t *testing.T) {
	tr := trial()
	earlier := &load{began: tr.load.began.Add(-100 * ms), writers: tr.load.writers, readers: tr.load.readers}
	f := tr.figures(earlier)
	// Its own times are 100 ms ahead of the events'.
	assert.Equal(t, []Event{{span: span{900 * ms, 1150 * ms}}}, f.Timeline.Pauses)
}
