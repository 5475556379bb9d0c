package pool_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tntsql/tntsql/discovery"
	"github.com/tntsql/tntsql/internal/fakepeer"
	"github.com/tntsql/tntsql/internal/verdict"
	"github.com/tntsql/tntsql/internal/wire"
	"github.com/tntsql/tntsql/pool"
)

func TestWaitingRequestWakesWhenAnInstanceIsPromoted(t *testing.T) {
	set := startSet(t, unwatched, 1)
	set[0].SetReadOnly(true)
	p := openReady(t, options(set...))
	done := make(chan error, 1)
	go func() {
		reply, err := p.Do(t.Context(), request(discovery.ModeRW, verdict.Write))
		if err == nil && (reply.Served.UUID != set[1].uuid || reply.Waited == 0) {
			err = fmt.Errorf("served by %s after %v", reply.Served.UUID, reply.Waited)
		}
		done <- err
	}()
	votes := set[1].votes()
	require.Eventually(t, func() bool { return set[1].votes() > votes+2 }, patience, tick,
		"while a request waits, roles are asked for")
	set[1].SetReadOnly(false)
	require.NoError(t, <-done)
}

func TestNobodyIsPolledWhileNobodyWaits(t *testing.T) {
	set := startSet(t, unwatched, 0)
	p := openReady(t, options(set...).Unhurried())
	votes := set[0].votes()
	for range 100 {
		_, err := p.Do(t.Context(), request(discovery.ModeAny, verdict.Read))
		require.NoError(t, err)
	}
	assert.Equal(t, votes, set[0].votes())
}

func TestNoInstanceErrorListsAll(t *testing.T) {
	set := startSet(t, unwatched, 1)
	set[0].SetReadOnly(true)
	o := options(set...)
	o.Candidates = append(o.Candidates, pool.Candidate{Address: closedPort(t)})
	p := open(t, o)
	req := request(discovery.ModeRW, verdict.Write)
	req.Selection = 100 * time.Millisecond
	_, err := p.Do(t.Context(), req)
	var none *pool.NoInstanceError
	require.ErrorAs(t, err, &none)
	assert.GreaterOrEqual(t, none.Waited, req.Selection)
	require.Len(t, none.Instances, 3)
	assert.Equal(t, discovery.RoleRO, none.Instances[0].Role)
	assert.Equal(t, discovery.StatusDown, none.Instances[2].Status)
	assert.ErrorContains(t, none.Instances[2].Err, "refused")

	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err = p.Do(ctx, request(discovery.ModeRW, verdict.Write))
	require.ErrorAs(t, err, &none)
	assert.ErrorIs(t, err, context.DeadlineExceeded)
}

func closedPort(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	return l.Addr().String()
}

func TestWaitReturnsWhenAnInstanceIsThere(t *testing.T) {
	set := startSet(t, unwatched, 0)
	p := open(t, options(set...))
	require.NoError(t, p.Wait(t.Context(), discovery.ModeRW, patience))
	var none *pool.NoInstanceError
	assert.ErrorAs(t, p.Wait(t.Context(), discovery.ModeRO, 0), &none)
}

// One poll serves all who wait: every 10 ms at first, then every 100 ms.
func TestRolesArePolledForFasterWhileSomebodyWaits(t *testing.T) {
	t.Parallel()
	const waiters = 50
	s := startServer(t, 0, unwatched, fakepeer.ReadOnly())
	p := openReady(t, options(s))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	votes, begun := s.votes(), time.Now()
	var waiting []<-chan outcome
	for range waiters {
		waiting = append(waiting, begin(ctx, p, request(discovery.ModeRW, verdict.Write)))
	}
	require.Eventually(t, func() bool { return s.votes() >= votes+4 }, patience, tick)
	assert.Less(t, time.Since(begun), time.Second, "10 ms, 15 ms, …")
	require.Eventually(t, func() bool { return time.Since(begun) > time.Second/2 }, patience, tick)
	assert.Less(t, s.votes()-votes, 20, "no more than it takes")
	s.SetReadOnly(false)
	for _, w := range waiting {
		o := <-w
		require.NoError(t, o.err)
		assert.Positive(t, o.Waited)
	}
	assert.EqualValues(t, waiters, p.Counts().Waits)
	assert.Greater(t, p.Counts().Waited, waiters*time.Second/2)
}

func TestPushWakesThoseWhoWaitAndNobodyPolls(t *testing.T) {
	const waiters = 50
	set := startSet(t, watched, 1)
	p := openReady(t, options(set...).Unhurried())
	set[0].SetReadOnly(true)
	waitFor(t, p, roleOf(0, discovery.RoleRO))
	votes := set[0].votes() + set[1].votes()
	var waiting []<-chan outcome
	for range waiters {
		waiting = append(waiting, begin(t.Context(), p, request(discovery.ModeRW, verdict.Write)))
	}
	require.Eventually(t, func() bool { return p.Counts().Picks[discovery.ModeRW] == waiters }, patience, tick)
	set[1].SetReadOnly(false)
	promoted := time.Now()
	for _, w := range waiting {
		require.NoError(t, (<-w).err)
	}
	assert.Less(t, time.Since(promoted), time.Second, "at once")
	assert.Equal(t, votes, set[0].votes()+set[1].votes())
	assert.Equal(t, []int{0, waiters}, served(set))
}

// However often an instance is found and cannot be reached.
func TestSelectionTimeoutIsForAllItsWaitsTogether(t *testing.T) {
	t.Parallel()
	s := startServer(t, 0, watched)
	o := options(s)
	o.Greet = func(context.Context, *wire.Conn) error { return errors.New("no data connection here") }
	p := openReady(t, o)
	req := request(discovery.ModeRW, verdict.Write)
	req.Selection = 300 * time.Millisecond
	begun := time.Now()
	_, err := p.Do(t.Context(), req)
	var none *pool.NoInstanceError
	require.ErrorAs(t, err, &none)
	assert.GreaterOrEqual(t, none.Waited, req.Selection)
	assert.Less(t, time.Since(begun), 5*req.Selection)
	assert.Zero(t, s.executed())
}
