package bench

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestMedian(t *testing.T) {
	for _, test := range []struct {
		of   []float64
		want float64
	}{
		{nil, 0},
		{[]float64{3}, 3},
		{[]float64{9, 1}, 5},
		{[]float64{9, 1, 2}, 2},
	} {
		assert.InDelta(t, test.want, median(test.of), 0, "%v", test.of)
	}
}

// inRounds is a contender with so many operations in each round of a second.
func inRounds(name string, operations ...int) Contender {
	c := Contender{Name: name}
	for _, n := range operations {
		c.Samples = append(c.Samples, Sample{
			Operations: n, Elapsed: time.Second, P50: time.Millisecond, P99: time.Second / time.Duration(n),
			Mallocs: 30 * uint64(n), Bytes: 2000 * uint64(n),
		})
	}
	return c
}

func TestARatioIsTheMedianOfTheRounds(t *testing.T) {
	// The ratio of the medians would be 2.
	ours, peer := inRounds("a", 100, 200, 300), inRounds("b", 100, 50, 1000)
	assert.InDelta(t, 1, ours.ratio(&peer, (*Sample).throughput), 1e-9)
	assert.InDelta(t, 200, ours.median((*Sample).throughput), 1e-9)
	assert.InDelta(t, 1, ours.ratio(&peer, (*Sample).took), 1e-9)
	assert.InDelta(t, 30, ours.median((*Sample).mallocs), 1e-9)
}
