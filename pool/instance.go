package pool

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/tntsql/tntsql/discovery"
	"github.com/tntsql/tntsql/internal/iproto"
	"github.com/tntsql/tntsql/internal/wire"
)

const (
	firstPause = 10 * time.Millisecond  // between two rounds while a statement waits
	longPause  = 100 * time.Millisecond // what that grows to
	maxBackoff = time.Second            // between two attempts to connect while none waits

	// controlReply is the longest reply on a control connection, whatever the
	// limit for data: more than box.info of a large replica set, and no more than
	// can be kept of each instance.
	controlReply = 1 << 20
	// watchedPolls is how much rarer a server with watchers is asked for what
	// it pushes by itself.
	watchedPolls = 10
)

// Candidate is an address where an instance may be.
type Candidate = discovery.Candidate

// instance is one address of the cluster. Its goroutine, run, alone opens and
// closes connections there and decides what is known of it.
type instance struct {
	pool      *Pool
	candidate Candidate
	ctx       context.Context // ends when it is dropped, or with the pool
	drop      context.CancelFunc

	// Owned by run.
	control   *wire.Conn
	relist    bool // its peers should be asked for
	parked    bool // its instance is in use at another address
	state     discovery.Instance
	status    string    // what the server last said
	checked   time.Time // when it was last asked
	answered  time.Time // when it was last asked what it answered
	listed    time.Time // when it was last asked for its peers
	looked    time.Time // when a standby was last asked which instance it is
	connected time.Time // when the control connection was made
	backoff   time.Duration
	quick     time.Duration
	idle      int   // looks without work
	due       bool  // somebody asked for a check
	ending    quiet // of a server that shuts down
	spare     quiet // of an address whose instance is in use at another one

	conns connections
	busy  atomic.Bool   // data connections are being looked at
	stir  chan struct{} // they should be
	hurry chan struct{} // a statement began to wait for an instance
	lost  chan struct{} // a connection ended
	asked chan struct{} // somebody asked for a check
	asks  askers
	mail  mailbox
}

func newInstance(p *Pool, c Candidate) *instance {
	in := &instance{
		pool:      p,
		candidate: c,
		state:     unreached(c, c.UUID),
		conns:     newConnections(p.options),
		stir:      make(chan struct{}, 1),
		hurry:     make(chan struct{}, 1),
		lost:      make(chan struct{}, 1),
		asked:     make(chan struct{}, 1),
		mail:      newMailbox(),
	}
	in.ctx, in.drop = context.WithCancel(p.ctx)
	return in
}

// unreached is the state of an instance of which nothing is known but its uuid.
func unreached(c Candidate, uuid string) discovery.Instance {
	return discovery.Instance{
		Address: c.Address,
		UUID:    uuid,
		Given:   c.UUID == "",
		Status:  discovery.StatusConnecting,
		Since:   time.Now(),
	}
}

// signal sets a channel of capacity 1, unless it is set.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// run is the life of the instance: connect, check, rest, and again.
func (in *instance) run() {
	for in.ctx.Err() == nil {
		asks := in.asks.take()
		due := in.due || len(asks) > 0
		in.due = false
		in.round(due)
		asks.send()
		in.rest(in.pause())
	}
	in.shut()
}

// round brings what is known of the instance up to date. asked tells that
// somebody wants its word, not only what was pushed.
func (in *instance) round(asked bool) {
	in.conns.tidy()
	if in.control != nil && in.control.Ended() {
		in.lose(in.control.Err())
		if in.backoff > 0 {
			return
		}
	}
	if in.standBy() {
		return
	}
	switch {
	case in.control == nil:
		if in.connect() {
			in.check()
		}
	case in.state.Status == discovery.StatusShutdown:
		in.finish()
	case asked || in.wantsPeers() || !in.pushed() || in.conns.waiting() > in.pool.options.quickCheck:
		in.check()
	}
	in.standBy()
}

// pushed tells whether the server itself keeps what is known of it up to date.
func (in *instance) pushed() bool {
	o := in.pool.options
	return in.control.Watches() && in.state.Status != discovery.StatusSuspect &&
		o.MaxLag == 0 && !in.votesForCovers() && time.Since(in.checked) < watchedPolls*o.RefreshInterval &&
		in.control.Unanswered() < o.ProbeTimeout
}

// votesForCovers tells whether reads wait for covers, and the last vote is not of
// just now.
func (in *instance) votesForCovers() bool {
	return in.pool.coversWanted() && time.Since(in.checked) >= coverInterval*4/5
}

func (in *instance) connect() bool {
	in.mail.take() // what the last connection said
	conn, err := in.dialControl()
	if err != nil {
		if in.ctx.Err() == nil {
			in.down(err)
		}
		return false
	}
	uuid := conn.Greeting().UUID
	if want := in.candidate.UUID; want != "" && uuid != want {
		conn.Close()
		in.down(fmt.Errorf("instance %s answers there, not %s", uuid, want))
		return false
	}
	in.pool.covers.forget(uuid)
	in.state.Cover = 0
	if uuid != in.state.UUID {
		// Another instance has taken the address: nothing that is known
		// of the one before holds.
		in.conns.closeAll(fmt.Errorf("instance %s is there now", uuid))
		in.state = unreached(in.candidate, uuid)
	}
	in.state.Version = conn.Greeting().Version.String()
	if acceptsWritesReadOnly(conn.Greeting().Version) {
		in.pool.oldServers.Do(func() {
			in.pool.options.Logger.Warn("the server accepts writes on a read-only instance (tarantool#5231); a vote goes in front of each write",
				"address", in.candidate.Address, "version", in.state.Version)
		})
	}
	in.control, in.connected, in.status, in.state.Denied = conn, time.Now(), discovery.StatusRunning, false
	in.relist = in.pool.options.Peers
	return true
}

// dialControl looks after the data connections meanwhile, which may still be
// there.
func (in *instance) dialControl() (conn *wire.Conn, err error) {
	done := make(chan struct{})
	in.pool.running.Go(func() {
		defer close(done)
		conn, err = in.dial([]string{iproto.StatusKey, iproto.IDKey, iproto.ElectionKey, iproto.SchemaKey, iproto.ShutdownKey}, false, nil)
	})
	in.attend(events{done: done})
	<-done // at once, also when the pool is closed meanwhile
	return conn, err
}

func (in *instance) dial(watch []string, ordered bool, greet func(context.Context, *wire.Conn) error) (*wire.Conn, error) {
	timeout := in.pool.options.ConnectTimeout
	ctx, cancel := context.WithTimeoutCause(in.ctx, timeout, fmt.Errorf("no connection within connect_timeout (%v)", timeout))
	defer cancel()
	o := in.pool.options.Wire
	o.ServerName = in.candidate.Host
	o.Budget, o.Schema = in.conns.budget, in.conns.schema
	o.Closed = func() { signal(in.lost) }
	o.Watch, o.Event = watch, in.event
	o.Ordered = func(v iproto.Version) bool { return ordered || acceptsWritesReadOnly(v) }
	if greet == nil {
		o.MaxResponse = controlReply
	}
	conn, err := wire.Dial(ctx, in.candidate.Address, o)
	if err != nil || greet == nil {
		return conn, err
	}
	if err := greet(ctx, conn); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// open dials in a goroutine of its own, so that a slow one delays no check.
func (in *instance) open(g *group) {
	in.stirred()
	in.pool.running.Go(func() {
		conn, err := in.dial([]string{iproto.StatusKey}, g.ordered, in.pool.options.Greet)
		select {
		case g.dialed <- dialed{conn, err}:
		case <-in.ctx.Done():
			if conn != nil {
				conn.Close()
			}
		}
	})
}

// down publishes that there is no connection.
func (in *instance) down(err error) {
	in.state.Status = discovery.StatusDown
	if errors.As(err, new(*wire.LoginError)) {
		in.state.Status = discovery.StatusRefused
	}
	in.state.Err = err
	in.publish()
}

// lose gives up the control connection. Data connections end by themselves if
// the instance is gone; if only this one broke, their requests go on. One that has
// lasted is made anew at once; a server that ends each is not asked faster than one
// that takes none.
func (in *instance) lose(err error) {
	in.control.Close()
	in.control = nil
	if time.Since(in.connected) >= maxBackoff {
		in.backoff = 0
	} else {
		in.lengthen()
	}
	in.down(err)
	in.pool.counts.reconnects.Add(1)
}

var errShutdown = errors.New("the server was shut down")

// lastRequests is how long after the last request of a server that shuts down, or
// is no longer a member, its connections are closed: one that was picked before
// that was known may only now be on its way.
const lastRequests = 50 * time.Millisecond

// quiet tells when connections that are no longer picked may be closed.
type quiet struct{ since time.Time }

// lasted tells whether nothing has been in flight for long enough. Each time
// begins with the first question after a reset.
func (q *quiet) lasted(inFlight int) bool {
	if inFlight > 0 || q.since.IsZero() {
		q.since = time.Now()
	}
	return time.Since(q.since) >= lastRequests
}

func (q *quiet) reset() { q.since = time.Time{} }

func (q *quiet) begun() bool { return !q.since.IsZero() }

// finish closes all connections once nothing is in flight: until then, and for
// 3 s at most, a server that shuts down waits for those who watch box.shutdown.
func (in *instance) finish() {
	switch {
	case in.silent() > in.pool.options.DeadTimeout:
		in.ending.reset()
		in.dead()
	case in.ending.lasted(in.conns.inUse()):
		in.ending.reset()
		in.conns.closeAll(errShutdown)
		in.lose(errShutdown)
	}
}

// leave ends the instance once nothing is in flight there. It is no longer
// picked.
func (in *instance) leave() {
	in.pool.running.Go(func() {
		ticker := time.NewTicker(firstPause)
		defer ticker.Stop()
		var q quiet
		for !q.lasted(in.conns.inUse()) && in.ctx.Err() == nil {
			select {
			case <-ticker.C:
			case <-in.ctx.Done():
			}
		}
		in.drop()
	})
}

func (in *instance) publish() { in.pool.publish(in, in.state) }

func (in *instance) shut() {
	if in.control != nil {
		in.control.Close()
	}
	in.conns.closeAll(wire.ErrClosed)
	in.asks.take().send()
}
