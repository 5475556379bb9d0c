// Package wire is the only place that touches go-tarantool: connections to one
// instance, and requests over them.
package wire

import (
	"context"
	"errors"
	"fmt"
	"time"

	protocol "github.com/tarantool/go-iproto"
	"github.com/tarantool/go-tarantool/v2"

	"github.com/tntsql/tntsql/internal/iproto"
)

// heldUp is how long a request may be unanswered before its connection takes
// no new ones while another can be had: two unfinished EXECUTEs make the
// server stop reading a connection.
const heldUp = 50 * time.Millisecond

// ErrTooLarge is a reply beyond Options.MaxResponse.
var ErrTooLarge = errors.New("the reply is larger than max_response_size")

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
}

// Conn is a connection to one instance, shared by any number of callers.
type Conn struct {
	tnt      *tarantool.Connection
	frames   *frameConn
	greeting iproto.Greeting
	flying   flight
}

// neverQueued is the channel of every future that go-tarantool refused to
// queue: it has one for all of them.
var neverQueued = (&tarantool.Future{}).WaitChan()

// Do sends a request and waits for its answer, until ctx ends. An error is an
// *Error, but for ErrTooLarge.
func (c *Conn) Do(ctx context.Context, typ protocol.Type, body []byte) (Reply, error) {
	if err := ctx.Err(); err != nil {
		return Reply{}, &Error{Err: context.Cause(ctx)}
	}
	r := requests.Get().(*request)
	r.typ, r.body, r.conn = typ, body, c
	c.flying.add(r)
	future := c.tnt.Do(r)
	answered := future.WaitChan()
	if answered == neverQueued {
		c.flying.remove(r)
		release(r)
		return Reply{}, &Error{Err: c.why(future)}
	}
	if done := ctx.Done(); done == nil {
		<-answered
	} else {
		select {
		case <-answered:
		case <-done:
			// The request stays where it is: its answer may still come.
			return Reply{}, &Error{Sent: true, Err: context.Cause(ctx)}
		}
	}
	if _, err := future.GetResponse(); err != nil {
		return Reply{}, &Error{Sent: true, Err: c.why(future)}
	}
	reply := Reply{Code: r.code, Body: r.reply}
	release(r)
	if reply.Code == codeTooLarge {
		return Reply{}, ErrTooLarge
	}
	return reply, nil
}

func release(r *request) {
	*r = request{}
	requests.Put(r)
}

// Greeting is what the server said of itself.
func (c *Conn) Greeting() iproto.Greeting { return c.greeting }

// HeldUp tells whether new requests should go to another connection.
func (c *Conn) HeldUp() bool {
	since := c.flying.since.Load()
	return since != 0 && clock()-since > int64(heldUp)
}

// InFlight is the number of unanswered requests.
func (c *Conn) InFlight() int { return int(c.flying.count.Load()) }

// Silent is for how long no frame has come.
func (c *Conn) Silent() time.Duration { return time.Duration(clock() - c.frames.heard.Load()) }

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

// ErrClosed is the end of a connection by its owner.
var ErrClosed = errors.New("closed by this client")

// Close ends the connection at once; unanswered requests fail.
func (c *Conn) Close() {
	c.frames.cause.CompareAndSwap(nil, &ErrClosed)
	_ = c.tnt.Close() // its error is the socket's, and says nothing of use here
}
