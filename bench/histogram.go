package bench

import (
	"math/bits"
	"time"
)

// histogram counts durations in buckets that are 1/128 of what they hold wide, so
// that its size does not depend on how many there are. It counts up to a minute.
type histogram struct {
	counts [bucketCount]uint32
	total  int
}

const (
	subBits     = 7
	subBuckets  = 1 << subBits
	longestBits = 36
	bucketCount = (longestBits - subBits + 1) * subBuckets
)

func (h *histogram) add(d time.Duration) {
	h.counts[bucketOf(d)]++
	h.total++
}

func bucketOf(d time.Duration) int {
	ns := min(uint64(max(d, 0)), 1<<longestBits-1)
	shift := max(0, bits.Len64(ns)-subBits-1)
	return shift<<subBits + int(ns>>shift)
}

// middleOf is the middle of a bucket.
func middleOf(bucket int) time.Duration {
	shift := max(0, bucket>>subBits-1)
	return time.Duration((bucket-shift<<subBits)<<shift + 1<<shift>>1)
}

// merge adds what another one has counted.
func (h *histogram) merge(other *histogram) {
	for i, n := range other.counts {
		h.counts[i] += n
	}
	h.total += other.total
}

// percentile is the nearest rank, 0 of nothing.
func (h *histogram) percentile(p int) time.Duration {
	rank := (h.total*p + 99) / 100
	for i, n := range h.counts {
		rank -= int(n)
		if n > 0 && rank <= 0 {
			return middleOf(i)
		}
	}
	return 0
}
