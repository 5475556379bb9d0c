package bench

import (
	"fmt"
	"math"
	"time"

	"github.com/tntsql/tntsql/internal/layout"
)

// thousands writes a number without a fraction, with commas.
func thousands(f float64) string { return layout.Thousands(int(math.RoundToEven(f))) }

// duration writes seconds in the unit that suits them.
func duration(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	switch {
	case d < 10*time.Microsecond:
		return fmt.Sprintf("%.1f µs", seconds*1e6)
	case d < time.Millisecond:
		return fmt.Sprintf("%.0f µs", seconds*1e6)
	case d < 100*time.Millisecond:
		return fmt.Sprintf("%.1f ms", seconds*1e3)
	case d < time.Second:
		return fmt.Sprintf("%.0f ms", seconds*1e3)
	}
	return fmt.Sprintf("%.1f s", seconds)
}
