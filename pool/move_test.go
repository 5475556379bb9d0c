package pool_test

import (
	"context"
	"math/rand/v2"
	"sync"
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

// probe is a short probe_timeout; suspects is how long tests give an instance to
// become one.
const probe = 200 * time.Millisecond

func probing(servers ...*server) pool.Options {
	o := options(servers...)
	o.ProbeTimeout = probe
	return o
}

// timed is an outcome, and how long it took.
type timed struct {
	outcome
	took time.Duration
}

func beginTimed(ctx context.Context, p *pool.Pool, req *pool.Request) <-chan timed {
	done := make(chan timed, 1)
	begun := time.Now()
	go func() { done <- timed{<-begin(ctx, p, req), time.Since(begun)} }()
	return done
}

func arrived(t *testing.T, s *server, statements int) {
	t.Helper()
	require.Eventually(t, func() bool { return s.executed() == statements }, patience, tick)
}

// There is a data connection to each server, so that none must be opened while
// the test takes times.
func warm(t *testing.T, p *pool.Pool, modes ...discovery.Mode) {
	for _, m := range modes {
		_, err := p.Do(t.Context(), request(m, verdict.Read))
		require.NoError(t, err)
	}
}

func TestReadsMoveFromASuspectInstance(t *testing.T) {
	t.Parallel()
	const others = 8
	set := startSet(t, watched, 1)
	p := openReady(t, probing(set...))
	warm(t, p, discovery.ModeRW, discovery.ModeRO)
	silent, other := set[0], set[1]
	silent.Mute(true)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()

	oldest := beginTimed(t.Context(), p, request(discovery.ModePreferRW, verdict.Read))
	arrived(t, silent, 2)
	var reads []<-chan timed
	for range others {
		reads = append(reads, beginTimed(t.Context(), p, request(discovery.ModePreferRW, verdict.Read)))
	}
	write := begin(ctx, p, request(discovery.ModeRW, verdict.Write))
	call := begin(ctx, p, request(discovery.ModePreferRW, verdict.Call))
	for _, r := range reads {
		read := <-r
		require.NoError(t, read.err)
		assert.Equal(t, other.uuid, read.Served.UUID)
		assert.Equal(t, 2, read.Attempts)
		assert.Greater(t, read.took, probe/2)
		assert.Less(t, read.took, 5*probe, "at probe_timeout")
	}
	assert.Empty(t, oldest, "what probably holds the server up would hold up the next")
	read := <-oldest
	require.NoError(t, read.err)
	assert.Equal(t, other.uuid, read.Served.UUID)
	assert.GreaterOrEqual(t, read.took, 5*probe)
	assert.Equal(t, 2+others, other.executed())
	assert.EqualValues(t, 1+others, p.Counts().Moved)

	assert.Empty(t, write, "a write waits")
	assert.Empty(t, call, "a call waits")
	cancel()
	for _, waiting := range []<-chan outcome{write, call} {
		o := <-waiting
		assert.ErrorIs(t, o.err, context.Canceled)
		assert.ErrorAs(t, o.err, new(*pool.UnknownError))
		assert.Equal(t, 1, o.Attempts)
	}
}

func TestReadsNeverMoveToASuspectInstance(t *testing.T) {
	t.Parallel()
	set := startSet(t, watched, 1)
	p := openReady(t, probing(set...))
	warm(t, p, discovery.ModeRW, discovery.ModeRO)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	set[1].Mute(true)
	begin(ctx, p, request(discovery.ModeRO, verdict.Read)) // by which it is found out
	waitFor(t, p, statusOf(1, discovery.StatusSuspect))
	set[0].Mute(true)
	reads := []<-chan outcome{begin(t.Context(), p, request(discovery.ModePreferRW, verdict.Read))}
	arrived(t, set[0], 2)
	reads = append(reads, begin(t.Context(), p, request(discovery.ModePreferRW, verdict.Read)))
	arrived(t, set[0], 3)
	waitFor(t, p, statusOf(0, discovery.StatusSuspect))
	assert.Never(t, func() bool { return set[1].executed() > 2 }, 6*probe, tick)

	set[1].Mute(false)
	for _, read := range reads {
		o := <-read
		require.NoError(t, o.err)
		assert.Equal(t, set[1].uuid, o.Served.UUID)
		assert.Equal(t, 2, o.Attempts)
	}
}

// lateOf answers everything late, as a server does that is busy.
func lateOf(s *server) (answer func()) {
	ready := make(chan struct{})
	s.On(0, fakepeer.Late(ready))
	return sync.OnceFunc(func() { close(ready) })
}

func TestFirstAnswerOfTwoCounts(t *testing.T) {
	t.Parallel()
	set := startSet(t, watched, 1)
	p := openReady(t, probing(set...))
	warm(t, p, discovery.ModeRW, discovery.ModeRO)
	answerFirst, answerSecond := lateOf(set[0]), make(chan struct{})
	set[1].onExecute(fakepeer.Late(answerSecond))
	defer close(answerSecond)
	read := begin(t.Context(), p, request(discovery.ModePreferRW, verdict.Read))
	arrived(t, set[1], 2)
	answerFirst()
	o := <-read
	require.NoError(t, o.err)
	assert.Equal(t, set[0].uuid, o.Served.UUID)
	assert.Equal(t, 2, o.Attempts)
}

// The one that is left of two counts when the other's connection is lost.
func TestLostConnectionIsNoAnswer(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ first bool }{"of the first": {true}, "of the second": {false}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set := startSet(t, watched, 1)
			p := openReady(t, probing(set...))
			warm(t, p, discovery.ModeRW, discovery.ModeRO)
			answerFirst, answerSecond := lateOf(set[0]), make(chan struct{})
			set[1].onExecute(fakepeer.Late(answerSecond))
			read := begin(t.Context(), p, request(discovery.ModePreferRW, verdict.Read))
			arrived(t, set[1], 2)
			if tt.first {
				set[0].Cut()
				close(answerSecond)
			} else {
				set[1].Cut()
				answerFirst()
				close(answerSecond)
			}
			o := <-read
			require.NoError(t, o.err)
			assert.Equal(t, 2, o.Attempts)
		})
	}
}

func TestReadThatHasMovedMovesNoMore(t *testing.T) {
	t.Parallel()
	set := startSet(t, watched, 2)
	p := openReady(t, probing(set...))
	warm(t, p, discovery.ModeRW, discovery.ModeRO, discovery.ModeRO)
	ctx, cancel := context.WithCancel(t.Context())
	for _, s := range set {
		s.onExecute(func(*fakepeer.Session, fakepeer.Request) bool {
			s.Mute(true) // chokes on it
			return true
		})
	}
	read := begin(ctx, p, request(discovery.ModePreferRW, verdict.Read))
	sent := func() (n int) {
		for _, s := range set {
			n += s.executed()
		}
		return n
	}
	require.Eventually(t, func() bool { return sent() == 3+2 }, patience, tick)
	suspects := func(s *discovery.Snapshot) bool {
		n := 0
		for _, in := range s.Instances {
			if in.Status == discovery.StatusSuspect {
				n++
			}
		}
		return n == 2
	}
	waitFor(t, p, suspects)
	assert.Never(t, func() bool { return sent() > 3+2 || !suspects(p.Snapshot()) }, 6*probe, tick,
		"a heavy read occupies two instances at most")
	cancel()
	o := <-read
	assert.ErrorIs(t, o.err, context.Canceled)
	assert.Equal(t, 2, o.Attempts)
}

func TestEndOfTheContextEndsAMoveAtOnce(t *testing.T) {
	t.Parallel()
	s := startServer(t, 0, watched)
	p := openReady(t, probing(s))
	warm(t, p, discovery.ModeRW)
	s.Mute(true)
	ctx, cancel := context.WithCancel(t.Context())
	reads := []<-chan outcome{begin(ctx, p, request(discovery.ModeAny, verdict.Read))} // waits for its own time
	arrived(t, s, 2)
	reads = append(reads, begin(ctx, p, request(discovery.ModeAny, verdict.Read))) // waits for another instance
	arrived(t, s, 3)
	waitFor(t, p, statusOf(0, discovery.StatusSuspect))
	cancel()
	ended := time.Now()
	for _, read := range reads {
		o := <-read
		assert.ErrorIs(t, o.err, context.Canceled)
		assert.Equal(t, 1, o.Attempts)
	}
	assert.Less(t, time.Since(ended), 5*probe)
}

// deaf makes the first session that sends a statement answer nothing from there
// on, while the others of the server do.
func deaf(s *server) {
	var session atomic.Int64
	session.Store(-1)
	s.On(0, func(_ *fakepeer.Session, r fakepeer.Request) bool { return session.Load() == int64(r.Session) })
	s.onExecute(func(_ *fakepeer.Session, r fakepeer.Request) bool {
		session.CompareAndSwap(-1, int64(r.Session))
		return session.Load() == int64(r.Session)
	})
	s.On(protocol.IPROTO_PING, func(_ *fakepeer.Session, r fakepeer.Request) bool { return session.Load() == int64(r.Session) })
}

func TestReadsMoveToAnotherConnectionOfTheirInstanceFirst(t *testing.T) {
	t.Parallel()
	for name, replicas := range map[string]int{"alone": 0, "with a replica": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set := startSet(t, watched, replicas)
			p := openReady(t, probing(set...))
			warm(t, p, discovery.ModeRW)
			s := set[0]
			deaf(s)
			oldest := beginTimed(t.Context(), p, request(discovery.ModePreferRW, verdict.Read))
			arrived(t, s, 2)
			read := beginTimed(t.Context(), p, request(discovery.ModePreferRW, verdict.Read))
			arrived(t, s, 3)
			for i, r := range []<-chan timed{read, oldest} {
				select {
				case o := <-r:
					require.NoError(t, o.err)
					assert.Equal(t, s.uuid, o.Served.UUID)
					assert.Equal(t, 2, o.Attempts)
					assert.GreaterOrEqual(t, o.took, []time.Duration{probe / 2, 5 * probe}[i], "once the oldest has waited for a probe_timeout")
				case <-time.After(patience):
					t.Fatal("the read has not moved")
				}
			}
			assert.Equal(t, discovery.StatusRunning, p.Snapshot().Instances[0].Status, "the instance answers")
			assert.Equal(t, 2, s.sessions(protocol.IPROTO_EXECUTE))
		})
	}
}

// What waits for room elsewhere is answered all the same when the first answer
// comes.
func TestFirstAnswerCountsWhileTheSecondWaitsForRoom(t *testing.T) {
	t.Parallel()
	set := startSet(t, watched, 1)
	o := probing(set...)
	o.MaxInFlight = 2
	p := openReady(t, o)
	warm(t, p, discovery.ModeRW, discovery.ModeRO)
	ready, full := make(chan struct{}), make(chan struct{})
	set[0].On(0, fakepeer.Lose)
	set[0].onExecute(fakepeer.Late(ready))
	set[1].onExecute(fakepeer.Late(full))
	for range 2 {
		begin(t.Context(), p, request(discovery.ModeRO, verdict.Call))
	}
	arrived(t, set[1], 1+2)
	reads := []<-chan outcome{begin(t.Context(), p, request(discovery.ModePreferRW, verdict.Read))}
	arrived(t, set[0], 2)
	reads = append(reads, begin(t.Context(), p, request(discovery.ModePreferRW, verdict.Read)))
	arrived(t, set[0], 3)
	waitFor(t, p, statusOf(0, discovery.StatusSuspect))
	assert.Never(t, func() bool { return len(reads[1]) > 0 }, probe, tick)
	close(ready)
	for _, read := range reads {
		select {
		case o := <-read:
			require.NoError(t, o.err)
			assert.Equal(t, set[0].uuid, o.Served.UUID)
			assert.Equal(t, 1, o.Attempts)
		case <-time.After(patience / 2):
			t.Error("an answer that came is not taken")
		}
	}
	close(full)
}

// One that looks for another place may be answered, and be another request, before all
// that was begun for it has ended.
func TestReadsThatLookForAnotherPlaceAreUsedAgain(t *testing.T) {
	t.Parallel()
	s := startServer(t, 0, watched)
	o := probing(s)
	o.ProbeTimeout, o.ConnsPerInstance = 20*time.Millisecond, 1
	p := openReady(t, o)
	warm(t, p, discovery.ModeRW)
	var readers sync.WaitGroup
	over := time.Now().Add(time.Second)
	for range 32 {
		readers.Go(func() {
			for time.Now().Before(over) {
				ctx, cancel := context.WithTimeout(t.Context(), rand.N(1500*time.Microsecond))
				_, _ = p.Do(ctx, request(discovery.ModeAny, verdict.Read))
				cancel()
			}
		})
	}
	for time.Now().Before(over) {
		ready := make(chan struct{})
		s.On(0, fakepeer.Late(ready))
		<-time.After(40 * time.Millisecond)
		s.On(0, nil)
		close(ready)
		<-time.After(15 * time.Millisecond)
	}
	readers.Wait()
	do(t, p, request(discovery.ModeAny, verdict.Read))
}
