package pool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tntsql/tntsql/internal/wire"
)

// group is connections of one kind to an instance: shared by all sessions, opened
// when they are needed. The instance's goroutine alone adds and removes.
type group struct {
	most    int  // connections
	ordered bool // requests on one keep their order
	list    atomic.Pointer[[]*wire.Conn]
	wanted  chan struct{}
	dialed  chan dialed

	mu      sync.Mutex
	dialing chan struct{} // closed when the dial on its way ends; nil without one
	begun   time.Time     // when that began
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
)

type dialed struct {
	conn *wire.Conn
	err  error
}

func newGroup(most int, ordered bool) group {
	return group{
		most:    most,
		ordered: ordered,
		wanted:  make(chan struct{}, 1),
		dialed:  make(chan dialed),
	}
}

func (g *group) all() []*wire.Conn {
	if list := g.list.Load(); list != nil {
		return *list
	}
	return nil
}

// first are the connections that a request may use. The last of several takes
// reads only: writes that wait for a quorum hold up every connection that they
// are on.
func (g *group) first(reads bool) []*wire.Conn {
	all := g.all()
	return all[:min(g.limit(reads), len(all))]
}

func (g *group) limit(reads bool) int {
	if reads {
		return g.most
	}
	return max(1, g.most-1)
}

// acquire returns a connection of the instance for one request: the first that
// nothing holds up, or a new one while there may be more, or the least busy. Its
// waiting is a part of the selection's.
func (to target) acquire(ctx context.Context, s *selection, g *group, reads bool) (*wire.Conn, error) {
	if conn := g.free(reads); conn != nil {
		return conn, nil
	}
	if opening := g.open(reads); opening != nil {
		begun := time.Now()
		err := to.await(ctx, s, g, opening)
		s.waited += time.Since(begun)
		if err != nil {
			return nil, err
		}
	}
	if conn := g.leastBusy(reads); conn != nil {
		return conn, nil
	}
	return nil, g.lastError()
}

// await waits until the dial on its way ends, as long as there is nothing
// better to do: an instance that hangs takes connect_timeout to fail.
func (to target) await(ctx context.Context, s *selection, g *group, opening <-chan struct{}) error {
	left := s.left()
	if len(g.all()) > 0 {
		left = min(left, openPatience)
	}
	over := time.NewTimer(left)
	defer over.Stop()
	for v := to.view; ; v = s.pool.current.Load() {
		if s.betterThan(v, v.index(to.in)) {
			return errNotAnswering
		}
		select {
		case <-v.next:
		case <-opening:
			return nil
		case <-over.C:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-to.in.ctx.Done():
			return ErrClosed
		}
	}
}

var errNotAnswering = errors.New("it does not answer, and another instance does")

// free is the first connection that nothing holds up.
func (g *group) free(reads bool) *wire.Conn {
	for _, conn := range g.first(reads) {
		if !conn.HeldUp() && !conn.Ended() {
			return conn
		}
	}
	return nil
}

// leastBusy prefers a connection that nothing holds up, then the one with the
// fewest requests.
func (g *group) leastBusy(reads bool) *wire.Conn {
	if conn := g.free(reads); conn != nil {
		return conn
	}
	var best *wire.Conn
	for _, conn := range g.first(reads) {
		if !conn.Ended() && (best == nil || conn.InFlight() < best.InFlight()) {
			best = conn
		}
	}
	return best
}

// open asks for another connection, unless there are enough, and returns what
// tells that the attempt has ended. Callers share one attempt.
func (g *group) open(reads bool) <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.dialing != nil {
		return g.dialing
	}
	have, pause := len(g.all()), retryPause
	if have > 0 {
		pause = dialPause
	}
	if have >= g.limit(reads) || time.Since(g.failed) < pause {
		return nil
	}
	g.dialing, g.begun = make(chan struct{}), time.Now()
	signal(g.wanted)
	return g.dialing
}

// add takes the outcome of a dial in. The greeting tells which instance
// answered: it may be another one than the control connection's.
func (g *group) add(d dialed, uuid string) {
	if d.err == nil && d.conn.Greeting().UUID != uuid {
		d.err = fmt.Errorf("instance %s answers there now", d.conn.Greeting().UUID)
		d.conn.Close()
	}
	if d.err == nil {
		g.set(append(slices.Clone(g.all()), d.conn))
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.err = d.err; g.err != nil {
		g.failed = time.Now()
	}
	close(g.dialing)
	g.dialing = nil
}

// opening is for how long a dial has been on its way; 0 if there is none.
func (g *group) opening() time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.dialing == nil {
		return 0
	}
	return time.Since(g.begun)
}

func (g *group) lastError() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.err == nil {
		return wire.ErrClosed // opened, and lost before it could be used
	}
	return g.err
}

// trouble is why there is no connection, though one was wanted.
func (g *group) trouble() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.all()) > 0 {
		return nil
	}
	return g.err
}

// tidy drops the connections that have ended.
func (g *group) tidy() {
	if slices.ContainsFunc(g.all(), (*wire.Conn).Ended) {
		g.set(slices.DeleteFunc(slices.Clone(g.all()), (*wire.Conn).Ended))
	}
}

func (g *group) closeAll(reason error) {
	for _, conn := range g.all() {
		conn.CloseWith(reason)
	}
	g.set(nil)
}

func (g *group) set(list []*wire.Conn) { g.list.Store(&list) }
