// Package wire is the only place that touches go-tarantool: connections to one
// instance, and requests over them.
package wire

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	protocol "github.com/tarantool/go-iproto"
	"github.com/tarantool/go-tarantool/v2"

	"github.com/tntsql/tntsql/internal/iproto"
)

// heldUp is how long a request may be unanswered before its connection takes
// no new ones while another can be had: two unfinished EXECUTEs make the
// server stop reading a connection.
const heldUp = 50 * time.Millisecond

var (
	// ErrTooLarge is a reply beyond Options.MaxResponse.
	ErrTooLarge = errors.New("the reply is larger than max_response_size")
	// ErrClosed is the end of a connection by its owner.
	ErrClosed = errors.New("closed by this client")
)

// Error is the fate of a request that got no answer.
type Error struct {
	// Sent tells that the request may have reached the server.
	Sent bool
	Err  error
}

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// Reply is the answer to a request: a body, or the server's error if Code is
// not 0.
type Reply struct {
	Code uint32
	Body []byte
	// Unprepared tells of an EXECUTE by id that the server did not run, as it does
	// not know the id any more.
	Unprepared bool
}

// Conn is a connection to one instance, shared by any number of callers.
type Conn struct {
	tnt      *tarantool.Connection
	frames   *frameConn
	greeting iproto.Greeting
	watches  bool
	flight   flight
	stalled  atomic.Bool
	pinned   atomic.Bool

	statements *statements // nil if it keeps none
}

func newConn(budget *Budget) *Conn { return &Conn{flight: flight{budget: budget}} }

// Send sends a request without waiting for its answer. counted tells that the
// caller took room for it from the Budget, which is given back when the request
// is no longer in flight. The error is an *Error of a request that was not sent;
// the body may be reused when Send returns.
func (c *Conn) Send(typ protocol.Type, body []byte, counted bool) (Pending, error) {
	return c.post(nil, newRequest(typ, body, counted))
}

func (c *Conn) post(stream *tarantool.Stream, r *request) (Pending, error) {
	r.conn, r.streamed = c, stream != nil
	if !c.flight.add(r) {
		if r.counted {
			c.flight.budget.Give(1)
		}
		return Pending{}, &Error{Err: c.why(nil)}
	}
	p := Pending{conn: c, request: r}
	if stream != nil {
		p.future = stream.Do(r)
	} else {
		p.future = c.tnt.Do(r)
	}
	if p.Done() == neverQueued {
		c.flight.remove(r)
		if r.prepared != nil {
			c.statements.release(r.prepared)
		}
		return Pending{}, &Error{Err: c.why(p.future)}
	}
	return p, nil
}

// Do sends a request and waits for its answer, until ctx ends. An error is an
// *Error, but for ErrTooLarge.
func (c *Conn) Do(ctx context.Context, typ protocol.Type, body []byte) (Reply, error) {
	if ctx.Err() != nil {
		return Reply{}, &Error{Err: context.Cause(ctx)}
	}
	p, err := c.Send(typ, body, false)
	if err != nil {
		return Reply{}, err
	}
	if p.Wait(ctx, Alarms{}) == Left {
		// The request stays where it is: its answer may still come.
		return Reply{}, &Error{Sent: true, Err: context.Cause(ctx)}
	}
	return p.Reply()
}

// watch asks for the next event of a key. Servers send the first at once, and
// each later one only to a client that has asked again.
func (c *Conn) watch(key string) {
	c.frames.watches.Add(1)
	c.tnt.Do(&watch{key: key})
}

// Watches tells whether the server pushes what is watched: 2.10 and newer.
func (c *Conn) Watches() bool { return c.watches }

// Greeting is what the server said of itself.
func (c *Conn) Greeting() iproto.Greeting { return c.greeting }

// HeldUp tells whether new requests should go to another connection.
func (c *Conn) HeldUp() bool {
	since := c.flight.since.Load()
	return since != 0 && clock()-since > int64(heldUp) || c.pinned.Load() || c.Receiving()
}

// Receiving tells of a large reply that has been on its way for a while: others
// wait behind it.
func (c *Conn) Receiving() bool {
	since := c.frames.bulk.Load()
	return since != 0 && clock()-since > int64(heldUp)
}

// Waiting is for how long the oldest request that holds the connection up has
// been unanswered; 0 if there is none.
func (c *Conn) Waiting() time.Duration {
	since := c.flight.since.Load()
	if since == 0 {
		return 0
	}
	return time.Duration(clock() - since)
}

// Unanswered is for how long the oldest ping is unanswered. go-tarantool pings
// once a second by itself.
func (c *Conn) Unanswered() time.Duration { return c.frames.pings.oldest() }

// InFlight is the number of unanswered requests.
func (c *Conn) InFlight() int { return c.flight.len() }

// Silent is for how long nothing has come.
func (c *Conn) Silent() time.Duration { return time.Duration(clock() - c.frames.heard.Load()) }

// WaitingPair is for how long the two oldest requests that hold the connection
// up have both been unanswered; 0 if there are not two.
func (c *Conn) WaitingPair() time.Duration { return c.flight.waitingPair() }

// SetStalled tells all who wait for the connection whether to.
func (c *Conn) SetStalled(stalled bool) { c.alarm(&c.stalled, stalled) }

// SetPinned tells those behind the two oldest requests whether to wait: the server
// does not read a connection of which two requests are unfinished.
func (c *Conn) SetPinned(pinned bool) { c.alarm(&c.pinned, pinned) }

func (c *Conn) alarm(alarm *atomic.Bool, raised bool) {
	if alarm.Swap(raised) != raised && raised {
		c.flight.ring()
	}
}

// Ended tells whether the connection has ended.
func (c *Conn) Ended() bool { return c.frames.ended.Load() }

// Err is why the connection ended; nil while it has not.
func (c *Conn) Err() error {
	if cause := c.frames.cause.Load(); cause != nil {
		return *cause
	}
	return nil
}

// why is the reason of a failed future: the socket's own error, which can be
// told apart by its type, rather than go-tarantool's text about it.
func (c *Conn) why(future *tarantool.Future) error {
	if err := c.Err(); err != nil {
		return fmt.Errorf("connection lost: %w", err)
	}
	if future == nil {
		return ErrClosed
	}
	_, err := future.GetResponse()
	return err
}

// Close ends the connection at once; unanswered requests fail.
func (c *Conn) Close() { c.CloseWith(ErrClosed) }

// CloseWith is Close, for a reason that those who wait for an answer are told.
func (c *Conn) CloseWith(reason error) {
	c.frames.cause.CompareAndSwap(nil, &reason)
	_ = c.tnt.Close() // its error is the socket's, and says nothing of use here
}
