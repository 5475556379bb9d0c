package pool_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	protocol "github.com/tarantool/go-iproto"

	"github.com/tntsql/tntsql/discovery"
	"github.com/tntsql/tntsql/internal/fakepeer"
	"github.com/tntsql/tntsql/internal/iproto"
	"github.com/tntsql/tntsql/internal/verdict"
	"github.com/tntsql/tntsql/internal/wire"
	"github.com/tntsql/tntsql/pool"
)

func TestRequestsGoToInstancesOfTheirMode(t *testing.T) {
	set := startSet(t, unwatched, 2)
	p := openReady(t, options(set...))
	for range 10 {
		reply, err := p.Do(t.Context(), request(discovery.ModeRW, verdict.Write))
		require.NoError(t, err)
		assert.Equal(t, set[0].uuid, reply.Served.UUID)
		assert.Equal(t, 1, reply.Attempts)
		_, err = p.Do(t.Context(), request(discovery.ModeRO, verdict.Read))
		require.NoError(t, err)
	}
	assert.Equal(t, 10, set[0].executed())
	assert.Equal(t, 5, set[1].executed(), "replicas by turns")
	assert.Equal(t, 5, set[2].executed(), "replicas by turns")
}

func TestRefusedWriteGoesToTheNewMaster(t *testing.T) {
	set := startSet(t, unwatched, 1)
	p := openReady(t, options(set...))
	set[0].SetReadOnly(true)
	set[0].onExecute(refuse)
	set[1].SetReadOnly(false)
	reply, err := p.Do(t.Context(), request(discovery.ModeRW, verdict.Write))
	require.NoError(t, err)
	assert.Equal(t, set[1].uuid, reply.Served.UUID)
	assert.Equal(t, 2, reply.Attempts)
}

func TestRefusedWriteFailsIfTheRefuserIsStillWritable(t *testing.T) {
	set := startSet(t, unwatched, 1)
	p := openReady(t, options(set...))
	set[0].onExecute(refuse) // as a user's function may answer
	_, err := p.Do(t.Context(), request(discovery.ModeRW, verdict.Write))
	var server *iproto.ServerError
	require.ErrorAs(t, err, &server)
	assert.EqualValues(t, protocol.ER_READONLY, server.Code)
	assert.Equal(t, 1, set[0].executed())
	assert.Zero(t, set[1].executed())
}

func TestRefusedCallFailsAndTheRoleIsAskedFor(t *testing.T) {
	set := startSet(t, unwatched, 1)
	p := openReady(t, options(set...))
	set[0].SetReadOnly(true)
	set[0].onExecute(refuse)
	_, err := p.Do(t.Context(), request(discovery.ModeRW, verdict.Call))
	require.Error(t, err)
	assert.Equal(t, 1, set[0].executed())
	waitFor(t, p, func(s *discovery.Snapshot) bool { return s.Instances[0].Role == discovery.RoleRO })
}

func TestManyRefusalsShareChecks(t *testing.T) {
	const callers = 100
	set := startSet(t, unwatched, 1)
	p := openReady(t, options(set...))
	set[0].SetReadOnly(true)
	set[1].SetReadOnly(false)
	var arrived sync.WaitGroup
	arrived.Add(callers)
	set[0].onExecute(func(s *fakepeer.Session, r fakepeer.Request) bool {
		go func() { // all refusals at once
			arrived.Done()
			arrived.Wait()
			refuse(s, r)
		}()
		return true
	})
	votes := set[0].votes()
	errs := make(chan error)
	for range callers {
		go func() {
			_, err := p.Do(t.Context(), request(discovery.ModeRW, verdict.Write))
			errs <- err
		}()
	}
	for range callers {
		require.NoError(t, <-errs)
	}
	assert.Less(t, set[0].votes()-votes, callers/2)
}

func TestLostRequest(t *testing.T) {
	for name, loss := range map[string]fakepeer.Script{"without an answer": fakepeer.Cut, "within the answer": fakepeer.CutShort} {
		for kind, want := range map[verdict.Kind]fate{verdict.Read: elsewhere, verdict.Write: unknown, verdict.Call: unknown} {
			t.Run(fmt.Sprintf("%s, kind %d", name, kind), func(t *testing.T) {
				t.Parallel()
				set := startSet(t, unwatched, 1)
				p := openReady(t, options(set...))
				set[0].onExecute(loss)
				reply, err := p.Do(t.Context(), request(discovery.ModePreferRW, kind))
				assert.Equal(t, 1, set[0].executed())
				if want == elsewhere {
					require.NoError(t, err)
					assert.Equal(t, 2, reply.Attempts)
					assert.Equal(t, set[1].uuid, reply.Served.UUID)
					return
				}
				require.ErrorAs(t, err, new(*pool.UnknownError))
				assert.Equal(t, set[0].uuid, reply.Served.UUID)
				assert.Zero(t, set[1].executed())
			})
		}
	}
}

func TestReadIsSentTwiceAtMost(t *testing.T) {
	set := startSet(t, unwatched, 3)
	p := openReady(t, options(set...))
	for _, s := range set {
		s.onExecute(fakepeer.Cut)
	}
	reply, err := p.Do(t.Context(), request(discovery.ModeAny, verdict.Read))
	require.Error(t, err)
	assert.Equal(t, 2, reply.Attempts)
	var sent int
	for _, s := range set {
		sent += s.executed()
	}
	assert.Equal(t, 2, sent)
}

// ungreeted refuses data connections to a server.
func ungreeted(s *server, refusal error) func(context.Context, *wire.Conn) error {
	return func(_ context.Context, c *wire.Conn) error {
		if c.Greeting().UUID == s.uuid {
			return refusal
		}
		return nil
	}
}

func TestUnsentRequestGoesElsewhere(t *testing.T) {
	for _, kind := range []verdict.Kind{verdict.Read, verdict.Write, verdict.Call} {
		set := startSet(t, unwatched, 1)
		o := options(set...)
		o.Greet = ungreeted(set[0], errors.New("no data connection here"))
		p := openReady(t, o)
		reply, err := p.Do(t.Context(), request(discovery.ModePreferRW, kind))
		require.NoError(t, err)
		assert.Equal(t, set[1].uuid, reply.Served.UUID)
		assert.Equal(t, 1, reply.Attempts, "what was not sent does not count")
		assert.Equal(t, 1, set[1].executed())
		assert.EqualValues(t, 1, p.Counts().Unsent)
	}
}

// What is not sent takes no room, whatever it failed of.
func TestUnsentRequestsTakeNoRoom(t *testing.T) {
	t.Parallel()
	const limit = 4
	for name, refusal := range map[string]error{
		"another error":             errors.New("no data connection here"),
		"lost in the greeting":      &wire.Error{Sent: true, Err: io.EOF},
		"closed before it was used": &wire.Error{Err: wire.ErrClosed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startServer(t, 0, unwatched)
			o := options(s)
			o.MaxInFlight = limit
			var open atomic.Bool
			o.Greet = func(context.Context, *wire.Conn) error {
				if open.Load() {
					return nil
				}
				return refusal
			}
			p := openReady(t, o)
			for range 2 * limit {
				req := request(discovery.ModeRW, verdict.Write)
				req.Selection = 0
				_, err := p.Do(t.Context(), req)
				require.ErrorAs(t, err, new(*pool.NoInstanceError))
			}
			open.Store(true)
			for range 2 * limit {
				_, err := p.Do(t.Context(), request(discovery.ModeRW, verdict.Write))
				require.NoError(t, err)
			}
		})
	}
}

type broken struct{}

var errBroken = errors.New("a value that cannot be sent")

func (broken) Append([]byte, iproto.Version) ([]byte, error) { return nil, errBroken }

func TestBodyThatCannotBeEncodedFails(t *testing.T) {
	set := startSet(t, unwatched, 1)
	o := options(set...)
	o.MaxInFlight = 4
	p := openReady(t, o)
	for range 10 {
		req := request(discovery.ModePreferRW, verdict.Write)
		req.Body = broken{}
		reply, err := p.Do(t.Context(), req)
		require.ErrorIs(t, err, errBroken)
		require.NotErrorAs(t, err, new(*pool.UnknownError))
		require.Zero(t, reply.Attempts)
	}
	_, err := p.Do(t.Context(), request(discovery.ModeRW, verdict.Write))
	require.NoError(t, err)
	assert.Equal(t, 1, set[0].executed()+set[1].executed())
}

func TestTooLargeReplyIsNotAskedForAgain(t *testing.T) {
	for kind, want := range map[verdict.Kind]bool{verdict.Read: false, verdict.Write: true, verdict.Call: true} {
		set := startSet(t, unwatched, 1)
		o := options(set...)
		o.Wire.MaxResponse = 1 << 10
		p := openReady(t, o)
		for _, s := range set {
			s.onExecute(func(s *fakepeer.Session, r fakepeer.Request) bool {
				s.Reply(r.Sync, 0, make([]byte, 2<<10))
				return true
			})
		}
		_, err := p.Do(t.Context(), request(discovery.ModePreferRW, kind))
		require.ErrorIs(t, err, wire.ErrTooLarge)
		assert.Equal(t, want, errors.As(err, new(*pool.UnknownError)))
		assert.Equal(t, 1, set[0].executed()+set[1].executed())
	}
}

func TestEndOfTheContext(t *testing.T) {
	enough := errors.New("enough")
	for kind, want := range map[verdict.Kind]bool{verdict.Read: false, verdict.Write: true, verdict.Call: true} {
		s := startServer(t, 0, unwatched)
		p := openReady(t, options(s))
		s.onExecute(fakepeer.Lose)
		ctx, cancel := context.WithCancelCause(t.Context())
		done := begin(ctx, p, request(discovery.ModeRW, kind))
		require.Eventually(t, func() bool { return s.executed() == 1 }, patience, tick)
		cancel(enough)
		o := <-done
		require.ErrorIs(t, o.err, enough)
		assert.Equal(t, want, errors.As(o.err, new(*pool.UnknownError)), "it was sent")
		assert.Equal(t, 1, o.Attempts)

		reply, err := p.Do(ctx, request(discovery.ModeRW, kind))
		require.ErrorIs(t, err, enough)
		assert.NotErrorAs(t, err, new(*pool.UnknownError), "it was not sent")
		assert.Zero(t, reply.Attempts)
	}
}

func TestRequestTimeoutIsForContextsWithoutADeadline(t *testing.T) {
	s := startServer(t, 0, unwatched)
	p := openReady(t, options(s))
	ready := make(chan struct{})
	s.onExecute(fakepeer.Late(ready))
	req := request(discovery.ModeRW, verdict.Write)
	req.Timeout = 10 * time.Millisecond
	_, err := p.Do(t.Context(), req)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorAs(t, err, new(*pool.UnknownError))

	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	done := begin(ctx, p, req)
	require.Eventually(t, func() bool { return s.executed() == 2 }, patience, tick)
	assert.Never(t, func() bool { return len(done) > 0 }, 5*req.Timeout, tick)
	close(ready)
	require.NoError(t, (<-done).err)
}

// A first sending that was refused, and a second that never left.
func TestSendingsAgainAreCountedByTheirReason(t *testing.T) {
	set := startSet(t, unwatched, 2)
	o := options(set...)
	o.Greet = ungreeted(set[1], errors.New("no data connection here"))
	var reasons []pool.Reason
	o.Resending = func(_ context.Context, _ *discovery.Instance, reason pool.Reason, _ error) {
		reasons = append(reasons, reason)
	}
	p := openReady(t, o)
	set[0].onExecute(func(s *fakepeer.Session, r fakepeer.Request) bool {
		set[0].SetReadOnly(true)
		set[1].SetReadOnly(false)
		return refuse(s, r)
	})
	done := begin(t.Context(), p, request(discovery.ModeRW, verdict.Write))
	require.Eventually(t, func() bool { return p.Counts().Unsent > 0 }, patience, tick)
	switchOver(set[1], set[2])
	o2 := <-done
	require.NoError(t, o2.err)
	assert.Equal(t, set[2].uuid, o2.Served.UUID)
	c := p.Counts()
	assert.EqualValues(t, 1, c.Refused)
	assert.Zero(t, c.Lost)
	assert.Equal(t, pool.ReasonRefused, reasons[0])
	for _, reason := range reasons[1:] {
		assert.Equal(t, pool.ReasonUnsent, reason)
	}
}
