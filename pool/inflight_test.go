package pool_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tntsql/tntsql/discovery"
	"github.com/tntsql/tntsql/internal/fakepeer"
	"github.com/tntsql/tntsql/internal/verdict"
	"github.com/tntsql/tntsql/pool"
)

// counter counts the statements that a server has not answered yet, and the most
// that there were at once.
type counter struct {
	mu       sync.Mutex
	now, top int
	waiting  []func()
}

func (c *counter) hold(s *fakepeer.Session, r fakepeer.Request) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now++
	c.top = max(c.top, c.now)
	c.waiting = append(c.waiting, func() { s.Answer(r) })
	return true
}

// release answers the oldest n statements.
func (c *counter) release(n int) {
	c.mu.Lock()
	answers := c.waiting[:n]
	c.waiting = c.waiting[n:]
	c.now -= n
	c.mu.Unlock()
	for _, answer := range answers {
		answer()
	}
}

func (c *counter) unanswered() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func TestNoMoreThanMaxInFlightAreUnanswered(t *testing.T) {
	const limit, callers = 8, 50
	s := startServer(t, 0, watched)
	o := options(s)
	o.MaxInFlight = limit
	p := openReady(t, o)
	var c counter
	s.onExecute(c.hold)
	done := make(chan error, callers)
	for range callers {
		go func() {
			_, err := p.Do(t.Context(), request(discovery.ModeRW, verdict.Write))
			done <- err
		}()
	}
	for answered := range callers {
		require.Eventually(t, func() bool { return c.unanswered() == min(limit, callers-answered) }, patience, tick)
		c.release(1)
		require.NoError(t, <-done)
	}
	assert.Equal(t, limit, c.top)
}

// go-tarantool cannot withdraw what is queued, so that much runs.
func TestStalledLinkRunsNoMoreThanMaxInFlightWhenItComesBack(t *testing.T) {
	const limit, callers = 16, 200
	s := startServer(t, 0, watched)
	o := options(s)
	o.MaxInFlight, o.ProbeTimeout = limit, time.Hour
	p := openReady(t, o)
	warm(t, p, discovery.ModeRW)
	s.Stall()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	var running sync.WaitGroup
	var sent atomic.Int64
	for range callers {
		running.Go(func() {
			reply, err := p.Do(ctx, request(discovery.ModeRW, verdict.Write))
			assert.ErrorIs(t, err, context.DeadlineExceeded)
			assert.Equal(t, reply.Attempts == 1, errors.As(err, new(*pool.UnknownError)), "what was sent may run")
			sent.Add(int64(reply.Attempts))
		})
	}
	running.Wait()
	assert.EqualValues(t, limit, sent.Load())
	s.Resume()
	_, err := p.Do(t.Context(), request(discovery.ModeRW, verdict.Write))
	require.NoError(t, err)
	arrived(t, s, 1+limit+1)
}

func TestSuspectInstanceGetsSixteen(t *testing.T) {
	t.Parallel()
	const callers = 100
	s := startServer(t, 0, watched)
	o := probing(s)
	o.MaxInFlight = 64
	p := openReady(t, o)
	warm(t, p, discovery.ModeRW)
	s.Mute(true)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	write := func() {
		running.Go(func() { _, _ = p.Do(ctx, request(discovery.ModeRW, verdict.Write)) })
	}
	write()
	waitFor(t, p, statusOf(0, discovery.StatusSuspect))
	for range callers {
		write()
	}
	arrived(t, s, 1+16)
	assert.Never(t, func() bool { return s.executed() > 1+16 }, probe, tick)
	s.Mute(false)
	waitFor(t, p, statusOf(0, discovery.StatusRunning))
	assert.Eventually(t, func() bool { return s.executed() == 1+1+callers }, patience, tick, "the rest is sent now")
	cancel()
	running.Wait()
}

func TestDeadInstanceThatComesBackGetsAllAgain(t *testing.T) {
	t.Parallel()
	const limit = 40
	s := startServer(t, 0, watched)
	o := probing(s)
	o.MaxInFlight, o.DeadTimeout = limit, 5*probe
	p := openReady(t, o)
	warm(t, p, discovery.ModeRW)
	s.Mute(true)
	begin(t.Context(), p, request(discovery.ModeRW, verdict.Write))
	waitFor(t, p, statusOf(0, discovery.StatusSuspect))
	waitFor(t, p, statusOf(0, discovery.StatusDown))
	s.Mute(false)
	waitFor(t, p, statusOf(0, discovery.StatusRunning))
	var c counter
	s.onExecute(c.hold)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	for range limit {
		running.Go(func() { _, _ = p.Do(ctx, request(discovery.ModeRW, verdict.Write)) })
	}
	assert.Eventually(t, func() bool { return c.unanswered() == limit }, patience, tick)
	cancel()
	running.Wait()
}

// What was not sent for want of room goes where the role went.
func TestRequestThatWaitsForRoomFollowsTheMaster(t *testing.T) {
	set := startSet(t, watched, 1)
	o := options(set...)
	o.MaxInFlight = 1
	p := openReady(t, o)
	ready := make(chan struct{})
	set[0].onExecute(fakepeer.Late(ready))
	sent := begin(t.Context(), p, request(discovery.ModeRW, verdict.Write))
	arrived(t, set[0], 1)
	var waiting []<-chan outcome
	for range 10 {
		waiting = append(waiting, begin(t.Context(), p, request(discovery.ModeRW, verdict.Write)))
	}
	require.Eventually(t, func() bool { return p.Counts().Picks[discovery.ModeRW] == 11 }, patience, tick)
	switchOver(set[0], set[1])
	for _, w := range waiting {
		o := <-w
		require.NoError(t, o.err)
		assert.Equal(t, set[1].uuid, o.Served.UUID)
		assert.Equal(t, 1, o.Attempts)
	}
	close(ready)
	require.NoError(t, (<-sent).err)
	assert.Equal(t, []int{1, 10}, served(set))
}

func TestRequestsGoToAnotherInstanceThatHasRoom(t *testing.T) {
	const limit = 4
	set := startSet(t, watched, 2)
	o := options(set...)
	o.MaxInFlight = limit
	p := openReady(t, o)
	ready := make(chan struct{})
	set[1].onExecute(fakepeer.Late(ready))
	var slow []<-chan outcome
	for range 2 * limit { // by turns: half of them answer at once
		slow = append(slow, begin(t.Context(), p, request(discovery.ModeRO, verdict.Call)))
	}
	require.Eventually(t, func() bool { return set[1].executed() == limit }, patience, tick)
	for range 100 {
		o := <-begin(t.Context(), p, request(discovery.ModeRO, verdict.Call))
		require.NoError(t, o.err)
		require.Equal(t, set[2].uuid, o.Served.UUID)
	}
	assert.Zero(t, p.Counts().Unsent)
	close(ready)
	for _, s := range slow {
		require.NoError(t, (<-s).err)
	}
}

func TestWaitingForRoomEndsWithSelectionTimeout(t *testing.T) {
	s := startServer(t, 0, watched)
	o := options(s)
	o.MaxInFlight = 1
	p := openReady(t, o)
	ready := make(chan struct{})
	s.onExecute(fakepeer.Late(ready))
	slow := begin(t.Context(), p, request(discovery.ModeRW, verdict.Write))
	arrived(t, s, 1)
	req := request(discovery.ModeRW, verdict.Write)
	req.Selection = 50 * time.Millisecond
	reply, err := p.Do(t.Context(), req)
	var none *pool.NoInstanceError
	require.ErrorAs(t, err, &none)
	assert.Contains(t, none.Instances[0].Err.Error(), "max_in_flight")
	assert.NoError(t, none.Err)
	assert.GreaterOrEqual(t, reply.Waited, req.Selection)
	assert.Zero(t, reply.Attempts)
	close(ready)
	require.NoError(t, (<-slow).err)
	_, err = p.Do(t.Context(), req)
	require.NoError(t, err, "its room was given back")
}
