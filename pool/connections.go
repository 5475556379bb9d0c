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
	list   atomic.Pointer[[]*wire.Conn]
	wanted chan struct{}
	dialed chan dialed

	mu      sync.Mutex
	dialing chan struct{} // closed when the dial on its way ends; nil without one
	err     error         // of the last dial
	failed  time.Time     // when that was
}

// dialPause is how long after a failed dial the connections that there are
// must do.
const dialPause = time.Second

type dialed struct {
	conn *wire.Conn
	err  error
}

func newConnections() connections {
	return connections{wanted: make(chan struct{}, 1), dialed: make(chan dialed)}
}

func (c *connections) all() []*wire.Conn {
	if list := c.list.Load(); list != nil {
		return *list
	}
	return nil
}

// acquire returns a connection for one request: the first that nothing holds
// up, or a new one while there may be more, or the least busy.
func (in *instance) acquire(ctx context.Context) (*wire.Conn, error) {
	c := &in.data
	if conn := c.free(); conn != nil {
		return conn, nil
	}
	if opening := c.open(in.pool.options.ConnsPerInstance); opening != nil {
		select {
		case <-opening:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-in.pool.ctx.Done():
			return nil, ErrClosed
		}
	}
	if conn := c.leastBusy(); conn != nil {
		return conn, nil
	}
	return nil, c.lastError()
}

func (c *connections) free() *wire.Conn {
	for _, conn := range c.all() {
		if !conn.HeldUp() && !conn.Ended() {
			return conn
		}
	}
	return nil
}

// leastBusy prefers a connection that nothing holds up, then the one with the
// fewest requests.
func (c *connections) leastBusy() *wire.Conn {
	if conn := c.free(); conn != nil {
		return conn
	}
	var best *wire.Conn
	for _, conn := range c.all() {
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
	have := len(c.all())
	if have >= most || have > 0 && time.Since(c.failed) < dialPause {
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
