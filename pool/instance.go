package pool

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/tntsql/tntsql/discovery"
	"github.com/tntsql/tntsql/internal/wire"
)

const (
	firstPause = 10 * time.Millisecond  // between two rounds while a statement waits
	longPause  = 100 * time.Millisecond // what that grows to
	maxBackoff = time.Second            // between two attempts to connect while none waits
)

// instance is one address of the cluster. Its goroutine, run, alone opens and
// closes connections there and decides what is known of it.
type instance struct {
	pool    *Pool
	index   int
	address string

	// Owned by run.
	control *wire.Conn
	noInfo  bool // the user may not call box.info
	state   discovery.Instance
	backoff time.Duration
	quick   time.Duration

	data  connections
	hurry chan struct{} // a statement began to wait for an instance
	lost  chan struct{} // a connection ended
	asked chan struct{} // somebody asked for a check
	asks  askers
}

func newInstance(p *Pool, index int, address string) *instance {
	return &instance{
		pool:    p,
		index:   index,
		address: address,
		state:   discovery.Instance{Address: address, Status: discovery.StatusDown},
		data:    newConnections(),
		hurry:   make(chan struct{}, 1),
		lost:    make(chan struct{}, 1),
		asked:   make(chan struct{}, 1),
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
	ctx := in.pool.ctx
	for ctx.Err() == nil {
		asks := in.asks.take()
		in.round(ctx)
		asks.send()
		in.rest(ctx, in.pause())
	}
	in.shut()
}

func (in *instance) round(ctx context.Context) {
	in.data.tidy()
	if in.control != nil && in.control.Ended() {
		in.lose(in.control.Err())
	}
	if in.control == nil && !in.connect(ctx) {
		return
	}
	in.check(ctx)
}

func (in *instance) connect(ctx context.Context) bool {
	conn, err := in.dial(ctx)
	if err != nil {
		if ctx.Err() == nil {
			in.down(err)
		}
		return false
	}
	if uuid := conn.Greeting().UUID; uuid != in.state.UUID {
		// Another instance has taken the address: nothing that is known
		// of the one before holds.
		in.data.closeAll()
		in.state = discovery.Instance{Address: in.address, UUID: uuid, Status: discovery.StatusDown}
	}
	in.state.Version = conn.Greeting().Version.String()
	in.control, in.noInfo = conn, false
	return true
}

func (in *instance) dial(ctx context.Context) (*wire.Conn, error) {
	timeout := in.pool.options.ConnectTimeout
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("no connection within connect_timeout (%v)", timeout))
	defer cancel()
	o := in.pool.options.Wire
	o.Closed = func() { signal(in.lost) }
	return wire.Dial(ctx, in.address, o)
}

// pause is how long to rest before the next round.
func (in *instance) pause() time.Duration {
	if in.pool.waiting.Load() > 0 {
		in.quick = min(max(in.quick*3/2, firstPause), longPause)
		return in.quick
	}
	in.quick = 0
	switch {
	case in.control == nil:
		in.backoff = min(max(in.backoff*2, firstPause), maxBackoff)
		return in.backoff
	case in.state.Status == discovery.StatusSuspect:
		return firstPause // the check itself has taken probe_timeout
	}
	in.backoff = 0
	return in.pool.options.RefreshInterval
}

// rest waits out the pause, less some jitter so that a thousand clients do not
// ask at once, and opens data connections meanwhile.
func (in *instance) rest(ctx context.Context, pause time.Duration) {
	timer := time.NewTimer(pause - rand.N(pause/5))
	defer timer.Stop()
	hurry := in.hurry
	if pause <= firstPause {
		hurry = nil
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			return
		case <-in.asked:
			return
		case <-in.lost:
			return
		case <-hurry:
			timer.Reset(firstPause)
			hurry = nil // once: those who come later must not put it off
		case <-in.data.wanted:
			in.openData(ctx)
		case d := <-in.data.dialed:
			in.data.add(d, in.state.UUID)
		}
	}
}

// openData dials in a goroutine of its own, so that a slow one delays no check.
func (in *instance) openData(ctx context.Context) {
	in.pool.running.Go(func() {
		conn, err := in.dial(ctx)
		if err == nil && in.pool.options.Greet != nil {
			if err = in.pool.options.Greet(ctx, conn); err != nil {
				conn.Close()
				conn = nil
			}
		}
		select {
		case in.data.dialed <- dialed{conn, err}:
		case <-ctx.Done():
			if conn != nil {
				conn.Close()
			}
		}
	})
}

// down publishes that there is no connection.
func (in *instance) down(err error) {
	in.state.Status = discovery.StatusDown
	in.state.Err = err
	in.publish()
}

// lose gives up the control connection. Data connections end by themselves if
// the instance is gone; if only this one broke, their requests go on.
func (in *instance) lose(err error) {
	in.control.Close()
	in.control = nil
	in.down(err)
}

func (in *instance) publish() {
	in.pool.publish(in.index, in.state)
}

func (in *instance) shut() {
	if in.control != nil {
		in.control.Close()
	}
	in.data.closeAll()
	in.asks.take().send()
}
