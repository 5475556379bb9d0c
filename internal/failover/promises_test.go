package failover

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestPromises(t *testing.T) {
	const second = time.Second
	kept := func() *Result {
		return &Result{Options: Options{Scale: 1, Slack: 1}, Driver: Figures{Before: Rates{100, 100}, During: Rates{50, 50}}}
	}
	for name, tc := range map[string]struct {
		promise Promise
		spoil   func(*Result)
		want    string
	}{
		"twice":        {nothingTwice, func(r *Result) { r.Driver.AtLast.Twice = 2 }, "2 writes were applied twice"},
		"false":        {nothingFalse, func(r *Result) { r.Driver.AtFailover.False = 1 }, "1 writes were applied though their error says otherwise"},
		"lost":         {nothingLost, func(r *Result) { r.Driver.AtFailover.Lost = 3 }, "3 acknowledged writes were lost at the failover"},
		"lost at last": {nothingLostAtLast, func(r *Result) { r.Driver.AtLast.Lost = 3 }, "3 acknowledged writes are lost"},
		"read error": {readsWithoutError, func(r *Result) {
			r.Driver.ReadErrors = map[string]int{"other": 4}
			r.Driver.Examples = map[string]string{"other": "EOF"}
		}, "reads failed: 4 × other (EOF)"},
		"unknown": {writesWithoutError, func(r *Result) { r.Driver.Unknown = 1 }, "the outcome of 1 writes is unknown"},
		"write error": {onlyUnknown, func(r *Result) {
			r.Driver.Unknown = 5
			r.Driver.WriteErrors = map[string]int{"no instance": 1, ownDeadline: 7}
		}, "writes failed: 1 × no instance ()"},
		"pause": {writableWithin(20 * ms), func(r *Result) {
			r.Driver.AfterWritable = []time.Duration{21 * ms}
		}, "the median pause of writes after an instance became writable is 21 ms, not 20 ms at most"},
		"p99":             {readsWithinProbe, func(r *Result) { r.Driver.ReadP99 = second + 51*ms }, "the p99 of reads is 1.1 s, not 1.1 s at most"},
		"half the reads":  {halfTheReads, func(r *Result) { r.Driver.During.Reads = 49 }, "reads went down from 100 to 49 a second"},
		"half the writes": {halfTheWrites, func(r *Result) { r.Driver.During.Writes = 49 }, "writes went down from 100 to 49 a second"},
		"suspects":        {suspectsAtMost(1), func(r *Result) { r.Suspects = 2 }, "2 instances were suspect, not 1 at most"},
		"waiting":         {waitsIdly, func(r *Result) { r.WaitingCPU = 60 * ms }, "the CPU time a second while no instance was up is 60 ms, not 50 ms at most"},
	} {
		r := kept()
		if name == "pause" {
			r.Driver.AfterWritable = []time.Duration{20 * ms}
		}
		assert.Empty(t, tc.promise(r), name)
		tc.spoil(r)
		assert.Equal(t, tc.want, tc.promise(r), name)
	}
}

func TestOneReadOfEachReaderMayFailWhenAllInstancesDie(t *testing.T) {
	r := &Result{Driver: Figures{ReadErrors: map[string]int{"other": readerCount}}}
	assert.Empty(t, eachReaderOnce(r))
	r.Driver.ReadErrors["other"]++
	assert.NotEmpty(t, eachReaderOnce(r))
}

func TestASwitchoverWithoutANewMasterIsNone(t *testing.T) {
	assert.Equal(t, "no instance became writable", writableWithin(time.Hour)(&Result{}))
}

func TestJudgeCollectsWhatIsBroken(t *testing.T) {
	r := &Result{Scenario: Scenario{Promises: []Promise{suspectsAtMost(0)}}, Suspects: 1}
	r.Driver.AtLast.Lost = 1
	r.judge()
	assert.Equal(t, []string{"1 acknowledged writes are lost", "1 instances were suspect, not 0 at most"}, r.Broken)
	assert.False(t, r.OK())
}
