package wire_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	protocol "github.com/tarantool/go-iproto"

	"github.com/tntsql/tntsql/internal/fakepeer"
	"github.com/tntsql/tntsql/internal/iproto"
	"github.com/tntsql/tntsql/internal/wire"
)

func TestGreetingNamesTheInstance(t *testing.T) {
	c := dial(t, fakepeer.Start(t, nil))
	assert.Equal(t, fakepeer.UUID, c.Greeting().UUID)
	assert.Equal(t, iproto.Version{Major: 2, Minor: 6}, c.Greeting().Version)
}

func TestDoReturnsBodyOrCode(t *testing.T) {
	c := dial(t, fakepeer.Start(t, func(s *fakepeer.Session, r fakepeer.Request) bool {
		if r.Type == protocol.IPROTO_EVAL {
			s.Error(r.Sync, protocol.ER_PROC_LUA, "no")
			return true
		}
		return false
	}))
	reply, err := c.Do(t.Context(), protocol.IPROTO_VOTE, iproto.EmptyBody)
	require.NoError(t, err)
	assert.Zero(t, reply.Code)
	assert.Equal(t, fakepeer.Ballot(false), reply.Body)

	reply, err = c.Do(t.Context(), protocol.IPROTO_EVAL, iproto.EmptyBody)
	require.NoError(t, err)
	assert.EqualValues(t, protocol.ER_PROC_LUA, reply.Code)
}

func TestRequestOnAClosedConnectionIsNotSent(t *testing.T) {
	c := dial(t, fakepeer.Start(t, nil))
	c.Close()
	require.True(t, c.Ended())
	_, err := c.Do(t.Context(), protocol.IPROTO_PING, iproto.EmptyBody)
	var failure *wire.Error
	require.ErrorAs(t, err, &failure)
	assert.False(t, failure.Sent)
	assert.ErrorIs(t, err, wire.ErrClosed)
}

func TestRequestOfAnEndedContextIsNotSent(t *testing.T) {
	p := fakepeer.Start(t, nil)
	c := dial(t, p)
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("enough")
	cancel(reason)
	_, err := c.Do(ctx, protocol.IPROTO_EXECUTE, iproto.EmptyBody)
	var failure *wire.Error
	require.ErrorAs(t, err, &failure)
	assert.False(t, failure.Sent)
	assert.ErrorIs(t, err, reason)
	ping(t, c)
	assert.Empty(t, p.Requests(protocol.IPROTO_EXECUTE))
}

func TestConnectionLostAfterSendingKeepsItsCause(t *testing.T) {
	c := dial(t, fakepeer.Start(t, func(s *fakepeer.Session, r fakepeer.Request) bool {
		if r.Type == protocol.IPROTO_EXECUTE {
			s.Close()
			return true
		}
		return false
	}))
	_, err := c.Do(patience(t), protocol.IPROTO_EXECUTE, iproto.EmptyBody)
	var failure *wire.Error
	require.ErrorAs(t, err, &failure)
	assert.True(t, failure.Sent)
	assert.ErrorIs(t, err, io.EOF)
}

func TestContextEndReturnsAtOnceAndTheConnectionGoesOn(t *testing.T) {
	late := make(chan func(), 1)
	c := dial(t, fakepeer.Start(t, func(s *fakepeer.Session, r fakepeer.Request) bool {
		if r.Type == protocol.IPROTO_EXECUTE {
			late <- func() { s.Answer(r) }
			return true
		}
		return false
	}))
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		answer := <-late
		cancel()
		late <- answer
	}()
	_, err := c.Do(ctx, protocol.IPROTO_EXECUTE, iproto.EmptyBody)
	var failure *wire.Error
	require.ErrorAs(t, err, &failure)
	assert.True(t, failure.Sent)
	assert.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, 1, c.InFlight(), "the server still works on it")

	(<-late)()
	ping(t, c)
	assert.Zero(t, c.InFlight())
}

func TestHeldUpByAStatementButNotByACall(t *testing.T) {
	for typ, want := range map[protocol.Type]bool{
		protocol.IPROTO_EXECUTE: true,
		protocol.IPROTO_CALL:    false,
		protocol.IPROTO_EVAL:    false,
	} {
		t.Run(typ.String(), func(t *testing.T) {
			t.Parallel()
			held := make(chan func(), 1)
			c := dial(t, fakepeer.Start(t, func(s *fakepeer.Session, r fakepeer.Request) bool {
				if r.Type == typ {
					held <- func() { s.Answer(r) }
					return true
				}
				return false
			}))
			assert.False(t, c.HeldUp())
			done := make(chan error, 1)
			go func() {
				_, err := c.Do(patience(t), typ, iproto.EmptyBody)
				done <- err
			}()
			answer := <-held
			if want {
				assert.Eventually(t, c.HeldUp, 5*time.Second, time.Millisecond)
			} else {
				assert.Never(t, c.HeldUp, 150*time.Millisecond, 10*time.Millisecond)
			}
			answer()
			require.NoError(t, <-done)
			assert.False(t, c.HeldUp())
		})
	}
}

func TestOldestOfManyDecides(t *testing.T) {
	held := make(chan func(), 3)
	c := dial(t, fakepeer.Start(t, func(s *fakepeer.Session, r fakepeer.Request) bool {
		if r.Type == protocol.IPROTO_EXECUTE {
			held <- func() { s.Answer(r) }
			return true
		}
		return false
	}))
	done := make(chan error, 3)
	for range 3 {
		go func() {
			_, err := c.Do(patience(t), protocol.IPROTO_EXECUTE, iproto.EmptyBody)
			done <- err
		}()
	}
	answers := []func(){<-held, <-held, <-held}
	require.Eventually(t, c.HeldUp, 5*time.Second, time.Millisecond)
	for _, i := range []int{1, 0, 2} { // out of the middle, the head, the last
		require.Eventually(t, c.HeldUp, patienceFor, tick)
		answers[i]()
		require.NoError(t, <-done)
	}
	assert.False(t, c.HeldUp())
	assert.Zero(t, c.InFlight())
}
