package pool_test

import (
	"context"
	"sync/atomic"
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

// It answers each vote within probe_timeout, however long a write may take.
func TestServerThatAnswersSlowlyIsNotSuspect(t *testing.T) {
	t.Parallel()
	const timeout, answers = time.Second, 600 * time.Millisecond
	s := startServer(t, 0, watched)
	o := options(s)
	o.ProbeTimeout = timeout
	var suspected atomic.Bool
	o.Changed = func(s *discovery.Snapshot) {
		if len(s.Instances) > 0 && s.Instances[0].Status == discovery.StatusSuspect {
			suspected.Store(true)
		}
	}
	p := openReady(t, o)
	warm(t, p, discovery.ModeRW)
	s.On(protocol.IPROTO_VOTE, after(answers))
	s.onExecute(fakepeer.Lose)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	votes := s.votes()
	begin(ctx, p, request(discovery.ModeRW, verdict.Write))
	require.Eventually(t, func() bool { return suspected.Load() || s.votes() == votes+3 }, patience, tick)
	assert.False(t, suspected.Load())
}

// The connections of a server that shuts down are kept while something is in
// flight there, but not for longer than those of any other that says nothing.
func TestServerThatHangsInItsShutdownIsGivenUp(t *testing.T) {
	t.Parallel()
	s := startServer(t, 0, watched)
	o := probing(s)
	o.DeadTimeout = 3 * probe
	p := openReady(t, o)
	warm(t, p, discovery.ModeRW)
	s.onExecute(fakepeer.Lose)
	write := beginTimed(t.Context(), p, request(discovery.ModeRW, verdict.Write))
	arrived(t, s, 2)
	s.Shutdown()
	waitFor(t, p, statusOf(0, "shutdown"))
	s.Mute(true)
	lost := <-write
	require.ErrorAs(t, lost.err, new(*pool.UnknownError))
	assert.NotErrorIs(t, lost.err, context.DeadlineExceeded)
	assert.Less(t, lost.took, patience)
	waitFor(t, p, statusOf(0, discovery.StatusDown))
}

// Asked for once more, it would take the link twice.
func TestLargeReplyThatKeepsArrivingIsAskedForOnce(t *testing.T) {
	t.Parallel()
	const timeout = 300 * time.Millisecond
	set := startSet(t, watched, 1)
	o := options(set...)
	o.ProbeTimeout, o.Wire.MaxResponse = timeout, 4<<20
	p := openReady(t, o)
	warm(t, p, discovery.ModeRW, discovery.ModeRO)
	for _, s := range set {
		s.onExecute(trickling(60, timeout/11)) // in all, more than the oldest read waits
	}
	read := <-beginTimed(t.Context(), p, request(discovery.ModePreferRW, verdict.Read))
	require.NoError(t, read.err)
	assert.Greater(t, read.took, 5*timeout)
	assert.Equal(t, 1, read.Attempts)
	assert.Equal(t, []int{1 + 1, 1}, served(set))
	assert.Zero(t, p.Counts().Moved)
}
