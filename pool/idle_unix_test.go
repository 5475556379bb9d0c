//go:build unix

package pool_test

import (
	"context"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tntsql/tntsql/discovery"
	"github.com/tntsql/tntsql/internal/verdict"
	"github.com/tntsql/tntsql/pool"
)

// used is the CPU time of this process so far.
func used(t *testing.T) time.Duration {
	var u syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func TestWaitingCostsNothing(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector's own work would be measured")
	}
	const waiters, most = 50, 50 * time.Millisecond
	o := options()
	for range 3 {
		o.Candidates = append(o.Candidates, pool.Candidate{Address: closedPort(t)})
	}
	p := open(t, o)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	for range waiters {
		running.Go(func() {
			_, err := p.Do(ctx, request(discovery.ModeAny, verdict.Read))
			assert.ErrorAs(t, err, new(*pool.NoInstanceError))
		})
	}
	require.Eventually(t, func() bool { return p.Counts().Picks[discovery.ModeAny] == waiters }, patience, tick)
	before := used(t)
	<-time.After(time.Second)
	assert.Less(t, used(t)-before, most)
	cancel()
	running.Wait()
}
