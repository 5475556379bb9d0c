package failover

import (
	"log/slog"
	"time"
)

// Options are how scenarios are run.
type Options struct {
	// UpgradeTo is the binary that a rolling upgrade ends with; "" is none.
	UpgradeTo string
	// Scale is what durations and repetitions are multiplied with: 1 for the
	// report, less for a test.
	Scale float64
	// Slack is what limits on durations are multiplied with: 1 for the report,
	// more where the race detector runs.
	Slack float64
	// Pace is how long a worker rests between two requests.
	Pace time.Duration
	// Logger gets what the driver logs; nil is nobody.
	Logger *slog.Logger
	// Progress, if it is set, is told what is being done.
	Progress func(what string)
}

// scaled is a duration of the report, shortened for a test.
func (o *Options) scaled(d time.Duration) time.Duration {
	return time.Duration(float64(d) * o.Scale)
}

// probe is the probe_timeout of a run.
func (o *Options) probe() time.Duration {
	return max(o.scaled(time.Second), 500*time.Millisecond)
}
