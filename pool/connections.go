package pool

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/tntsql/tntsql/internal/verdict"
	"github.com/tntsql/tntsql/internal/wire"
)

// connections are an instance's, but for the control connection: those that all
// statements share, and those of open transactions, on which requests keep their
// order.
type connections struct {
	budget  *wire.Budget   // of the requests on all of them
	schema  *atomic.Uint64 // the version that the server told last
	data    group
	streams group
	open    atomic.Int64 // transactions
}

// pinnedAfter is how long two statements of a connection are unanswered before
// reads behind them move.
const pinnedAfter = 40 * time.Millisecond

func newConnections(o Options) connections {
	return connections{
		budget:  wire.NewBudget(o.MaxInFlight),
		schema:  new(atomic.Uint64),
		data:    newGroup(o.ConnsPerInstance, false),
		streams: newGroup(o.ConnsPerInstance, true),
	}
}

// kind is the connections that the request goes over.
func (c *connections) kind(req *Request) *group {
	if req.Kind == verdict.Begin {
		return &c.streams
	}
	return &c.data
}

func (c *connections) all() []*wire.Conn { return slices.Concat(c.data.all(), c.streams.all()) }

// waiting is for how long the oldest statement in flight, or the dial that one
// waits for, is unanswered.
func (c *connections) waiting() time.Duration {
	longest := max(c.data.opening(), c.streams.opening())
	for _, conn := range c.all() {
		longest = max(longest, conn.Waiting())
	}
	return longest
}

func (c *connections) inFlight() (n int) {
	for _, conn := range c.all() {
		n += conn.InFlight()
	}
	return n
}

// inUse is the number of requests in flight and of open transactions.
func (c *connections) inUse() int { return c.inFlight() + int(c.open.Load()) }

// markStalled tells those who wait for a connection whether to: not if it owes
// an answer and nothing has come for the timeout, nor behind a large reply, nor
// if the whole instance is suspect.
func (c *connections) markStalled(timeout time.Duration, suspect bool) {
	for _, conn := range c.all() {
		conn.SetStalled(suspect || conn.Receiving() || conn.Waiting() >= timeout && conn.Silent() >= timeout)
	}
}

// markPinned tells those who wait behind two unfinished statements whether to:
// the server does not read a connection with two, though it answers others.
// answered is how long ago the instance was asked something that it answered.
func (c *connections) markPinned(answered time.Duration) {
	for _, conn := range c.all() {
		waiting := conn.WaitingPair()
		conn.SetPinned(waiting >= pinnedAfter && waiting > answered)
	}
}

// pairs tells whether a connection has two statements that have been unanswered
// for longer than least, and since the time given.
func (c *connections) pairs(least, since time.Duration) bool {
	return slices.ContainsFunc(c.all(), func(conn *wire.Conn) bool {
		waiting := conn.WaitingPair()
		return waiting > least && waiting < since
	})
}

// trouble is why there is no connection, though one was wanted.
func (c *connections) trouble() error {
	if err := c.data.trouble(); err != nil {
		return err
	}
	return c.streams.trouble()
}

func (c *connections) tidy() {
	c.data.tidy()
	c.streams.tidy()
}

func (c *connections) closeAll(reason error) {
	c.data.closeAll(reason)
	c.streams.closeAll(reason)
}
