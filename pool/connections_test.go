package pool_test

import (
	"context"
	"sync"
	"sync/atomic"
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

func TestSlowStatementHoldsUpNobodyElse(t *testing.T) {
	set := startSet(t, unwatched, 0)
	p := openReady(t, options(set...))
	arrived := make(chan *fakepeer.Session, 1)
	answer := make(chan struct{})
	set[0].onExecute(func(s *fakepeer.Session, r fakepeer.Request) bool {
		arrived <- s
		go func() {
			<-answer
			s.Answer(r)
		}()
		return true
	})
	done := make(chan error, 1)
	go func() {
		_, err := p.Do(t.Context(), request(discovery.ModeAny, verdict.Read))
		done <- err
	}()
	slow := <-arrived

	set[0].onExecute(func(s *fakepeer.Session, r fakepeer.Request) bool {
		arrived <- s
		return false
	})
	require.Eventually(t, func() bool {
		_, err := p.Do(t.Context(), request(discovery.ModeAny, verdict.Read))
		return assert.NoError(t, err) && <-arrived != slow
	}, patience, tick, "others go to another connection")
	close(answer)
	require.NoError(t, <-done)
}

func TestDataConnectionsAreFew(t *testing.T) {
	set := startSet(t, unwatched, 0)
	o := options(set...)
	o.ConnsPerInstance = 2
	var opened atomic.Int32
	o.Greet = func(context.Context, *wire.Conn) error { opened.Add(1); return nil }
	p := openReady(t, o)
	errs := make(chan error)
	const callers = 200
	for range callers {
		go func() {
			_, err := p.Do(t.Context(), request(discovery.ModeAny, verdict.Read))
			errs <- err
		}()
	}
	for range callers {
		require.NoError(t, <-errs)
	}
	assert.LessOrEqual(t, opened.Load(), int32(2))
}

func TestLostControlConnectionIsMadeAnew(t *testing.T) {
	set := startSet(t, unwatched, 0)
	p := openReady(t, options(set...))
	for range 3 {
		before := p.Snapshot().Instances[0].Since
		set[0].Cut()
		waitFor(t, p, func(s *discovery.Snapshot) bool {
			in := s.Instances[0]
			return in.Since != before && in.Status == discovery.StatusRunning
		})
	}
}

// freezing answers as a server does that stops reading a connection with two
// unfinished statements: the first two are slow, and what comes behind them on
// their connection waits for them.
type freezing struct {
	mu   sync.Mutex
	held map[int][]func() // by session
	slow int
}

func (f *freezing) execute(s *fakepeer.Session, r fakepeer.Request) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.held == nil {
		f.held = make(map[int][]func())
	}
	if f.slow < 2 {
		f.slow++
	} else if len(f.held[s.Number]) < 2 {
		return false
	}
	f.held[s.Number] = append(f.held[s.Number], func() { s.Answer(r) })
	return true
}

// begin has the first statements reach the server, which stops at them.
func (f *freezing) begin(t *testing.T, p *pool.Pool, s *server, first, second verdict.Kind) []<-chan outcome {
	t.Helper()
	s.onExecute(f.execute)
	slow := []<-chan outcome{
		begin(t.Context(), p, request(discovery.ModeRW, first)),
		begin(t.Context(), p, request(discovery.ModeRW, second)),
	}
	arrived(t, s, 1+2) // one has warmed the pool
	return slow
}

func (f *freezing) thaw() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, answers := range f.held {
		for _, answer := range answers {
			answer()
		}
	}
	f.held = nil
}

// A connection counts as held up after 50 ms; what is sent behind the two before
// that waits with them.
func TestTwoSlowStatementsOnOneConnectionDelayNoOther(t *testing.T) {
	const heldUp, most = 50 * time.Millisecond, 60 * time.Millisecond
	s := startServer(t, 0, watched)
	p := openReady(t, options(s))
	warm(t, p, discovery.ModeRW)
	var f freezing
	slow := f.begin(t, p, s, verdict.Write, verdict.Write)
	<-time.After(heldUp)
	for i := range 50 {
		kind := []verdict.Kind{verdict.Read, verdict.Write, verdict.Call}[i%3]
		other := <-beginTimed(t.Context(), p, request(discovery.ModeRW, kind))
		require.NoError(t, other.err)
		require.Less(t, other.took, most)
		require.Equal(t, 1, other.Attempts)
	}
	for _, w := range slow {
		require.Empty(t, w)
	}
	f.thaw()
	for _, w := range slow {
		require.NoError(t, (<-w).err)
	}
}
