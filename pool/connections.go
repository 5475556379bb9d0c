package pool

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tntsql/tntsql/internal/wire"
)

// connections are an instance's data connections: shared by all sessions,
// opened when they are needed. The instance's goroutine alone adds and removes.
type connections struct {
	budget *wire.Budget // of the requests on all of them
	list   atomic.Pointer[[]*wire.Conn]
	wanted chan struct{}
	dialed chan dialed

	mu      sync.Mutex
	dialing chan struct{} // closed when the dial on its way ends; nil without one
	err     error         // of the last dial
	failed  time.Time     // when that was
}

const (
	// dialPause is how long after a failed dial the connections that there are
	// must do, and retryPause how long if there are none.
	dialPause  = time.Second
	retryPause = 100 * time.Millisecond
	// openPatience is how long a request waits for a new connection though there
	// is one, held up by others.
	openPatience = 50 * time.Millisecond
	// pinnedAfter is how long two statements of a connection are unanswered
	// before reads behind them move.
	pinnedAfter = 40 * time.Millisecond
)

type dialed struct {
	conn *wire.Conn
	err  error
}

func newConnections(maxInFlight int) connections {
	return connections{
		budget: wire.NewBudget(maxInFlight),
		wanted: make(chan struct{}, 1),
		dialed: make(chan dialed),
	}
}

func (c *connections) all() []*wire.Conn {
	if list := c.list.Load(); list != nil {
		return *list
	}
	return nil
}

func (c *connections) first(most int) []*wire.Conn {
	all := c.all()
	return all[:min(most, len(all))]
}

// acquire returns a connection for one request: the first that nothing holds
// up, or a new one while there may be more, or the least busy. Its waiting is a
// part of the selection's. The last of several connections takes reads only:
// writes that wait for a quorum hold up every connection that they are on.
func (in *instance) acquire(ctx context.Context, s *selection, reads bool) (*wire.Conn, error) {
	c, most := &in.data, in.pool.options.ConnsPerInstance
	if !reads {
		most = max(1, most-1)
	}
	if conn := c.free(most); conn != nil {
		return conn, nil
	}
	if opening := c.open(most); opening != nil {
		begun := time.Now()
		err := in.await(ctx, opening, s.left())
		s.waited += time.Since(begun)
		if err != nil {
			return nil, err
		}
	}
	if conn := c.leastBusy(most); conn != nil {
		return conn, nil
	}
	return nil, c.lastError()
}

// await waits until the dial on its way ends, as long as there is nothing
// better to do.
func (in *instance) await(ctx context.Context, opening <-chan struct{}, left time.Duration) error {
	if len(in.data.all()) > 0 {
		left = min(left, openPatience)
	}
	over := time.NewTimer(left)
	defer over.Stop()
	select {
	case <-opening:
	case <-over.C:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-in.ctx.Done():
		return ErrClosed
	}
	return nil
}

// free is the first of the first most connections that nothing holds up.
func (c *connections) free(most int) *wire.Conn {
	for _, conn := range c.first(most) {
		if !conn.HeldUp() && !conn.Ended() {
			return conn
		}
	}
	return nil
}

// leastBusy prefers a connection that nothing holds up, then the one with the
// fewest requests.
func (c *connections) leastBusy(most int) *wire.Conn {
	if conn := c.free(most); conn != nil {
		return conn
	}
	var best *wire.Conn
	for _, conn := range c.first(most) {
		if !conn.Ended() && (best == nil || conn.InFlight() < best.InFlight()) {
			best = conn
		}
	}
	return best
}

// open asks for another connection, unless there are enough, and returns what
// tells that the attempt has ended. Callers share one attempt.
func (c *connections) open(most int) <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dialing != nil {
		return c.dialing
	}
	have, pause := len(c.all()), retryPause
	if have > 0 {
		pause = dialPause
	}
	if have >= most || time.Since(c.failed) < pause {
		return nil
	}
	c.dialing = make(chan struct{})
	signal(c.wanted)
	return c.dialing
}

// add takes the outcome of a dial in. The greeting tells which instance
// answered: it may be another one than the control connection's.
func (c *connections) add(d dialed, uuid string) {
	if d.err == nil && d.conn.Greeting().UUID != uuid {
		d.err = fmt.Errorf("instance %s answers there now", d.conn.Greeting().UUID)
		d.conn.Close()
	}
	if d.err == nil {
		c.set(append(slices.Clone(c.all()), d.conn))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err = d.err; c.err != nil {
		c.failed = time.Now()
	}
	close(c.dialing)
	c.dialing = nil
}

func (c *connections) lastError() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		return wire.ErrClosed // opened, and lost before it could be used
	}
	return c.err
}

// waiting is for how long the oldest statement in flight is unanswered.
func (c *connections) waiting() (longest time.Duration) {
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
// for longer than quickCheck, and since the time given.
func (c *connections) pairs(since time.Duration) bool {
	return slices.ContainsFunc(c.all(), func(conn *wire.Conn) bool {
		waiting := conn.WaitingPair()
		return waiting > quickCheck && waiting < since
	})
}

// trouble is why there is no data connection, though one was wanted.
func (c *connections) trouble() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.all()) > 0 {
		return nil
	}
	return c.err
}

// tidy drops the connections that have ended.
func (c *connections) tidy() {
	if slices.ContainsFunc(c.all(), (*wire.Conn).Ended) {
		c.set(slices.DeleteFunc(slices.Clone(c.all()), (*wire.Conn).Ended))
	}
}

func (c *connections) closeAll() {
	for _, conn := range c.all() {
		conn.Close()
	}
	c.set(nil)
}

func (c *connections) set(list []*wire.Conn) { c.list.Store(&list) }
