package wire

import "time"

var epoch = time.Now()

// clock is the monotonic time in nanoseconds: cheaper to keep and to compare
// than a time.Time.
func clock() int64 {
	return int64(time.Since(epoch))
}
