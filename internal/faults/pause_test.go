package faults

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/tntsql/tntsql/internal/faults/history"
)

func TestGapsAreBetweenAcknowledgedOperations(t *testing.T) {
	ended := func(at time.Duration, o history.Outcome) history.Op { return history.Op{Ended: at, Outcome: o} }
	assert.Empty(t, gaps(nil))
	assert.Empty(t, gaps([]history.Op{ended(3, history.Done)}))
	assert.Equal(t, []history.Span{{From: 3, To: 5}, {From: 5, To: 9}}, gaps([]history.Op{
		ended(9, history.Done), ended(4, history.Failed), ended(3, history.Done), ended(7, history.Unknown), ended(5, history.Done),
	}))
}

func TestAPauseIsOfTheFaultsThatItHasMostInCommonWith(t *testing.T) {
	injected := []injection{{"kill", history.Span{From: 10, To: 20}}, {"stop", history.Span{From: 21, To: 30}}, {"kill", history.Span{From: 40, To: 50}}}
	for _, tt := range []struct {
		name string
		gaps []history.Span
		want map[string]time.Duration
		of   string
	}{
		{"no pause", nil, nil, ""},
		{"before all", []history.Span{{From: 1, To: 9}}, nil, ""},
		{"inside", []history.Span{{From: 11, To: 12}}, map[string]time.Duration{"kill": 1}, "kill"},
		{"into the next", []history.Span{{From: 12, To: 24}}, map[string]time.Duration{"kill": 12}, "kill"},
		{"from the one before", []history.Span{{From: 19, To: 25}}, map[string]time.Duration{"stop": 6}, "stop"},
		{"the longest of the same", []history.Span{{From: 11, To: 13}, {From: 41, To: 44}, {From: 45, To: 46}}, map[string]time.Duration{"kill": 3}, "kill"},
		{"the longest of all", []history.Span{{From: 11, To: 13}, {From: 22, To: 26}}, map[string]time.Duration{"kill": 2, "stop": 4}, "stop"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := &Result{}
			for _, gap := range tt.gaps {
				r.pause(gap, injected)
			}
			assert.Equal(t, tt.want, r.Pauses)
			assert.Equal(t, tt.of, r.paused())
		})
	}
	r := &Result{}
	r.pause(history.Span{From: 1, To: 4}, nil)
	assert.Equal(t, time.Duration(3), r.Pause)
	assert.Empty(t, r.Pauses)
}
