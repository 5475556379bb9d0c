package pool_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	protocol "github.com/tarantool/go-iproto"

	"github.com/tntsql/tntsql/discovery"
	"github.com/tntsql/tntsql/internal/fakepeer"
	"github.com/tntsql/tntsql/internal/verdict"
	"github.com/tntsql/tntsql/pool"
)

// served counts the statements that each server has got.
func served(set []*server) (counts []int) {
	for _, s := range set {
		counts = append(counts, s.executed())
	}
	return counts
}

func TestRoundRobinSpreadsEvenly(t *testing.T) {
	for name, callers := range map[string]int{"one caller": 1, "many callers": 20} {
		for _, mode := range []discovery.Mode{discovery.ModeRO, discovery.ModePreferRO} {
			t.Run(fmt.Sprintf("%s, mode %d", name, mode), func(t *testing.T) {
				t.Parallel()
				const reads = 100
				set := startSet(t, watched, 3)
				p := openReady(t, options(set...))
				var running sync.WaitGroup
				for range callers {
					running.Go(func() {
						for range reads / callers {
							_, err := p.Do(t.Context(), request(mode, verdict.Read))
							assert.NoError(t, err)
						}
					})
				}
				running.Wait()
				counts := served(set)
				assert.Zero(t, counts[0])
				assert.LessOrEqual(t, slices.Max(counts[1:])-slices.Min(counts[1:]), 1, counts)
			})
		}
	}
}

func TestLeastInFlightAvoidsTheBusyOne(t *testing.T) {
	set := startSet(t, watched, 3)
	o := options(set...)
	o.Balancer = pool.LeastInFlight
	p := openReady(t, o)
	var c counter
	for _, s := range set[1:] {
		s.onExecute(c.hold)
	}
	done := make(chan error, 9)
	read := func() {
		_, err := p.Do(t.Context(), request(discovery.ModeRO, verdict.Read))
		done <- err
	}
	for n := range 9 { // all unanswered, so each goes where the fewest are
		go read()
		require.Eventually(t, func() bool { return c.unanswered() == n+1 }, patience, tick)
	}
	assert.Equal(t, []int{0, 3, 3, 3}, served(set))
	c.release(9)
	for range 9 {
		require.NoError(t, <-done)
	}

	go read()
	require.Eventually(t, func() bool { return c.unanswered() == 1 }, patience, tick)
	busy := slices.Index(served(set), 4)
	for _, s := range set {
		s.onExecute(nil)
	}
	for range 20 {
		_, err := p.Do(t.Context(), request(discovery.ModeRO, verdict.Read))
		require.NoError(t, err)
	}
	assert.Equal(t, 4, set[busy].executed())
	c.release(1)
	require.NoError(t, <-done)
}

func TestNearestTakesTheLowestLatency(t *testing.T) {
	set := startSet(t, watched, 3)
	for i, s := range set[1:] {
		s.On(protocol.IPROTO_VOTE, func(session *fakepeer.Session, r fakepeer.Request) bool {
			time.Sleep([]time.Duration{40, 0, 20}[i] * time.Millisecond) // the way there
			return false
		})
	}
	o := options(set...)
	o.Balancer = pool.Nearest
	p := openReady(t, o)
	for range 20 {
		_, err := p.Do(t.Context(), request(discovery.ModeRO, verdict.Read))
		require.NoError(t, err)
	}
	assert.Equal(t, []int{0, 0, 20, 0}, served(set))
	for _, in := range p.Snapshot().Instances {
		assert.Positive(t, in.Latency)
	}
}

func TestPickAllocatesNothing(t *testing.T) {
	set := startSet(t, unwatched, 2)
	p := openReady(t, options(set...))
	assert.Zero(t, testing.AllocsPerRun(1000, func() {
		if err := p.Wait(t.Context(), discovery.ModeRO, 0); err != nil {
			t.Error(err)
		}
	}))
}

// BenchmarkPick is what it costs to find an instance that is there.
func BenchmarkPick(b *testing.B) {
	set := startSet(b, unwatched, 2)
	p := openReady(b, options(set...))
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := p.Wait(context.Background(), discovery.ModePreferRO, 0); err != nil {
				b.Error(err)
				return
			}
		}
	})
}
