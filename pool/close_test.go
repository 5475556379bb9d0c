package pool_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tntsql/tntsql/discovery"
	"github.com/tntsql/tntsql/internal/fakepeer"
	"github.com/tntsql/tntsql/internal/verdict"
	"github.com/tntsql/tntsql/pool"
)

func TestCloseWaitsForRequestsInFlight(t *testing.T) {
	set := startSet(t, unwatched, 0)
	p := pool.Open(options(set...))
	arrived := make(chan func(), 1)
	set[0].onExecute(func(s *fakepeer.Session, r fakepeer.Request) bool {
		arrived <- func() { s.Answer(r) }
		return true
	})
	done := make(chan error, 1)
	go func() {
		_, err := p.Do(t.Context(), request(discovery.ModeRW, verdict.Write))
		done <- err
	}()
	answer := <-arrived
	closed := make(chan struct{})
	go func() {
		p.Close()
		close(closed)
	}()
	require.Eventually(t, func() bool {
		_, err := p.Do(t.Context(), request(discovery.ModeRO, verdict.Read))
		return errors.Is(err, pool.ErrClosed)
	}, patience, tick, "new requests, and those that wait, are refused")
	answer()
	require.NoError(t, <-done)
	<-closed
}

func TestCloseIsBounded(t *testing.T) {
	set := startSet(t, unwatched, 0)
	o := options(set...)
	o.CloseTimeout = 50 * time.Millisecond
	p := pool.Open(o)
	arrived := make(chan struct{})
	set[0].onExecute(func(*fakepeer.Session, fakepeer.Request) bool { close(arrived); return true })
	done := make(chan error, 1)
	go func() {
		_, err := p.Do(context.Background(), request(discovery.ModeRW, verdict.Write))
		done <- err
	}()
	<-arrived
	p.Close()
	p.Close() // once more does no harm
	var unknown *pool.UnknownError
	assert.ErrorAs(t, <-done, &unknown)
}

func TestCloseLosesNoWriteInFlight(t *testing.T) {
	const writes = 100
	for _, version := range []string{unguarded, unwatched, watched} {
		s := startServer(t, 0, version)
		p := pool.Open(options(s))
		ready := make(chan struct{})
		s.onExecute(fakepeer.Late(ready))
		var inFlight []<-chan outcome
		for range writes {
			inFlight = append(inFlight, begin(context.Background(), p, request(discovery.ModeRW, verdict.Write)))
		}
		arrived(t, s, writes)
		closed := make(chan struct{})
		go func() {
			p.Close()
			close(closed)
		}()
		require.Eventually(t, func() bool {
			_, err := p.Do(t.Context(), request(discovery.ModeRO, verdict.Read))
			return errors.Is(err, pool.ErrClosed)
		}, patience, tick)
		close(ready)
		for _, write := range inFlight {
			require.NoError(t, (<-write).err)
		}
		<-closed
		require.Eventually(t, func() bool { return s.Sessions() == 0 }, patience, tick)
	}
}

func TestCloseEndsThoseWhoWaitAtOnce(t *testing.T) {
	s := startServer(t, 0, unwatched, fakepeer.ReadOnly())
	p := pool.Open(options(s))
	var waiting []<-chan outcome
	for range 20 {
		waiting = append(waiting, begin(t.Context(), p, request(discovery.ModeRW, verdict.Write)))
	}
	require.Eventually(t, func() bool { return s.votes() > 3 }, patience, tick)
	begun := time.Now()
	p.Close()
	assert.Less(t, time.Since(begun), time.Second, "that is close_timeout")
	for _, w := range waiting {
		assert.ErrorIs(t, (<-w).err, pool.ErrClosed)
	}
}

func TestCloseWaitsForNoServer(t *testing.T) {
	for name, tt := range map[string]struct{ stall, mute bool }{
		"that says nothing to a new connection": {stall: true},
		"that answers nothing":                  {mute: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startServer(t, 0, watched)
			if tt.stall {
				s.Stall()
			}
			s.Mute(tt.mute)
			o := options(s)
			o.ConnectTimeout, o.ProbeTimeout = time.Hour, time.Hour
			p := pool.Open(o)
			require.Eventually(t, func() bool { return s.Sessions() == 1 }, patience, tick)
			closed := make(chan struct{})
			go func() {
				p.Close()
				close(closed)
			}()
			select {
			case <-closed:
			case <-time.After(patience):
				t.Error("still open")
				s.Close()
				<-closed
			}
		})
	}
}
