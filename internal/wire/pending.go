package wire

import (
	"bytes"
	"context"

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
	Stalled               // nobody should wait for the connection
	Pinned                // those behind its two oldest requests should not
)

// Alarms are the events of a connection that a wait ends for.
type Alarms struct{ Stalled, Pinned bool }

// Wait waits until there is an answer, or will be none, until ctx ends, or for an
// alarm. A request has a bell of its own for all of that: a select of channels that
// all requests share would have them wait for each other.
func (p Pending) Wait(ctx context.Context, a Alarms) Event {
	r, left := p.request, ctx.Done()
	if !r.holdsUp() { // and is not in the list of those that alarms reach
		select {
		case <-p.Done():
			return Answered
		case <-left:
			return Left
		}
	}
	for {
		switch {
		case r.over.Load() || p.conn.Ended():
			return Answered
		case a.Pinned && p.conn.pinned.Load():
			return Pinned
		case a.Stalled && p.conn.stalled.Load():
			return Stalled
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

// Oldest tells whether of all that holds up its connection this is the oldest.
func (p Pending) Oldest() bool { return p.conn.flight.isOldest(p.request) }

// Behind tells whether two others that hold up its connection are older.
func (p Pending) Behind() bool { return p.conn.flight.isBehind(p.request) }

// Yield gives the request's room in the Budget to the caller, if it has any.
func (p Pending) Yield() bool { return p.conn.flight.yield(p.request) }
