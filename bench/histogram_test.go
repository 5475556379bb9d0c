package bench

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestBucketsAreNarrow(t *testing.T) {
	for d := time.Duration(1); d < time.Minute; d += d/3 + 1 {
		got := middleOf(bucketOf(d))
		assert.InEpsilon(t, float64(d), float64(got), 1.0/128, "%v", d)
	}
}

func TestBucketsHoldAnyDuration(t *testing.T) {
	for _, d := range []time.Duration{math.MinInt64, -1, 0, time.Hour, math.MaxInt64} {
		bucket := bucketOf(d)
		assert.GreaterOrEqual(t, bucket, 0, "%v", d)
		assert.Less(t, bucket, bucketCount, "%v", d)
	}
	assert.Equal(t, bucketCount-1, bucketOf(math.MaxInt64))
}

func TestPercentilesAreOfTheNearestRank(t *testing.T) {
	var a, b histogram
	for i := range 100 {
		h := &a
		if i%2 == 1 {
			h = &b
		}
		h.add(time.Duration(i + 1))
	}
	a.merge(&b)
	assert.Equal(t, time.Duration(50), a.percentile(50))
	assert.Equal(t, time.Duration(99), a.percentile(99))
	assert.Equal(t, time.Duration(100), a.percentile(100))

	var one, none histogram
	one.add(7)
	assert.Equal(t, time.Duration(7), one.percentile(50))
	assert.Zero(t, none.percentile(99))
}
