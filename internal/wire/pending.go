package wire

import (
	"bytes"
	"context"
	"time"

	"github.com/tarantool/go-tarantool/v2"
)

// Pending is a request on its way.
type Pending struct {
	conn    *Conn
	request *request
	future  *tarantool.Future
}

// neverQueued is the channel of every future that go-tarantool refused to
// queue: it has one for all of them.
var neverQueued = (&tarantool.Future{}).WaitChan()

// Done is closed when there is an answer, or will be none.
func (p Pending) Done() <-chan struct{} { return p.future.WaitChan() }

// Event is what has ended a wait for an answer.
type Event uint8

const (
	Answered Event = iota // there is an answer, or will be none
	Left                  // the context has ended
	Expired               // the timeout is over
	Stalled               // nobody should wait for the connection
	Pinned                // those behind its two oldest requests should not
)

// Alarms are what a wait ends for, beside the answer and its context.
type Alarms struct {
	Stalled, Pinned bool
	Timeout         time.Duration // since the request was sent; 0 is none
}

// Wait waits until there is an answer, or will be none, until ctx ends, or for an
// alarm. A request has a bell of its own for all of that: a select of channels that
// all requests share would have them wait for each other, and the connection has one
// timer for the timeouts of all.
func (p Pending) Wait(ctx context.Context, a Alarms) Event {
	r := p.request
	if !r.holdsUp() { // and is not in the list of those whose bells are rung
		return p.waitAlone(ctx, a.Timeout)
	}
	left, deadline := ctx.Done(), p.deadline(a.Timeout)
	if deadline != 0 {
		p.conn.flight.expect(r, deadline)
	}
	for {
		switch {
		case r.over.Load() || p.conn.Ended():
			return Answered
		case a.Pinned && p.conn.pinned.Load():
			return Pinned
		case a.Stalled && p.conn.stalled.Load():
			return Stalled
		case deadline != 0 && clock() >= deadline:
			return Expired
		}
		if left == nil {
			<-r.bell
			continue
		}
		select {
		case <-r.bell:
		case <-left:
			return Left
		}
	}
}

func (p Pending) deadline(timeout time.Duration) int64 {
	if timeout <= 0 {
		return 0
	}
	return p.request.sent + int64(timeout)
}

func (p Pending) waitAlone(ctx context.Context, timeout time.Duration) Event {
	var over <-chan time.Time
	if deadline := p.deadline(timeout); deadline != 0 {
		timer := time.NewTimer(time.Duration(deadline - clock()))
		defer timer.Stop()
		over = timer.C
	}
	select {
	case <-p.Done():
		return Answered
	case <-ctx.Done():
		return Left
	case <-over:
		return Expired
	}
}

// Reply is the answer, once Done is closed or Wait has told of it. It may be asked
// for once. An error is an *Error, but for ErrTooLarge.
func (p Pending) Reply() (Reply, error) {
	r := p.request
	if !r.over.Load() {
		if _, err := p.future.GetResponse(); err != nil {
			return Reply{}, &Error{Sent: true, Err: p.conn.why(p.future)}
		}
	}
	reply := r.reply
	r.recycle()
	if reply.Code == codeTooLarge && bytes.Equal(reply.Body, tooLargeBody) {
		return Reply{}, ErrTooLarge
	}
	return reply, nil
}

// Age is how long ago the request was sent.
func (p Pending) Age() time.Duration { return time.Duration(clock() - p.request.sent) }

// Oldest tells whether of all that holds up its connection this is the oldest.
func (p Pending) Oldest() bool { return p.conn.flight.isOldest(p.request) }

// Behind tells whether two others that hold up its connection are older.
func (p Pending) Behind() bool { return p.conn.flight.isBehind(p.request) }

// Yield gives the request's room in the Budget to the caller, if it has any.
func (p Pending) Yield() bool { return p.conn.flight.yield(p.request) }
