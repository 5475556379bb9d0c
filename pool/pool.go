// Package pool keeps connections to the instances of a cluster, knows which of
// them may serve what, and sends each request to one of them.
//
// It is part of tntsql's inside: no compatibility is promised.
package pool

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tntsql/tntsql/discovery"
	"github.com/tntsql/tntsql/internal/wire"
)

// ErrClosed is returned once Close has been called.
var ErrClosed = errors.New("the pool is closed")

// Options are the pool's settings. All of them must be set.
type Options struct {
	// Addresses are "host:port", or absolute paths of Unix sockets.
	Addresses []string
	Wire      wire.Options
	// Greet, if it is set, is run on every new data connection before
	// anything else.
	Greet func(context.Context, *wire.Conn) error
	// ConnectTimeout is for one connection attempt.
	ConnectTimeout time.Duration
	// RefreshInterval is between two checks of an instance's role.
	RefreshInterval time.Duration
	// ProbeTimeout is how long a check may be unanswered before the instance
	// is suspect.
	ProbeTimeout time.Duration
	// DeadTimeout is how long an instance may send nothing on any of its
	// connections before they are closed.
	DeadTimeout time.Duration
	// CloseTimeout is how long Close waits for requests in flight.
	CloseTimeout time.Duration
	// ConnsPerInstance is how many data connections an instance gets at most.
	ConnsPerInstance int
	Logger           *slog.Logger
}

// Pool is the connections to all instances. One goroutine owns each instance;
// they share nothing but the snapshot that they publish.
type Pool struct {
	options   Options
	opened    time.Time
	instances []*instance
	ctx       context.Context // ends with the pool
	cancel    context.CancelFunc
	running   sync.WaitGroup

	current atomic.Pointer[view]
	turns   [discovery.ModePreferRO + 1]atomic.Uint64
	waiting atomic.Int64 // statements that wait for an instance

	publishing sync.Mutex // guards known, and the order of snapshots
	known      []discovery.Instance

	active   atomic.Int64 // requests being served
	closing  atomic.Bool
	stopping chan struct{} // closed when Close begins
	idle     chan struct{} // signalled when the last request ends during Close
	closed   chan struct{} // closed when Close has ended
}

// view is a snapshot, and a channel that is closed when the next one is there.
type view struct {
	*discovery.Snapshot
	next chan struct{}
}

// Open starts a pool. It returns at once: connections are made in the
// background, for as long as it takes.
func Open(o Options) *Pool {
	ctx, cancel := context.WithCancel(context.Background())
	p := &Pool{
		options:  o,
		opened:   time.Now(),
		ctx:      ctx,
		cancel:   cancel,
		known:    make([]discovery.Instance, len(o.Addresses)),
		stopping: make(chan struct{}),
		idle:     make(chan struct{}, 1),
		closed:   make(chan struct{}),
	}
	for i, address := range o.Addresses {
		p.known[i] = discovery.Instance{Address: address, Status: discovery.StatusDown, Since: p.opened}
		p.instances = append(p.instances, newInstance(p, i, address))
	}
	p.current.Store(&view{
		Snapshot: discovery.New(nil, append([]discovery.Instance(nil), p.known...)),
		next:     make(chan struct{}),
	})
	for _, in := range p.instances {
		p.running.Go(in.run)
	}
	return p
}

// Snapshot is the picture of the cluster as it is known now.
func (p *Pool) Snapshot() *discovery.Snapshot { return p.current.Load().Snapshot }

// publish makes the new state of an instance known to everybody.
func (p *Pool) publish(index int, in discovery.Instance) {
	p.publishing.Lock()
	defer p.publishing.Unlock()
	before := &p.known[index]
	same := in.Same(before)
	if same {
		in.Since = before.Since
	} else {
		in.Since = time.Now()
		p.log(before, &in)
	}
	p.known[index] = in
	old := p.current.Load()
	next := discovery.New(old.Snapshot, append([]discovery.Instance(nil), p.known...))
	if same && next.Settled == old.Settled {
		// Latency and the last error are there to be read; nobody who
		// waits for an instance gains by them.
		p.current.Store(&view{next, old.next})
		return
	}
	if len(next.Disputed) > len(old.Disputed) {
		p.options.Logger.Warn("more than one writable instance in a replica set; writes stay with one",
			"replica_set", next.Disputed[len(next.Disputed)-1])
	}
	p.current.Store(&view{next, make(chan struct{})})
	close(old.next)
}

func (p *Pool) log(before, now *discovery.Instance) {
	attributes := []any{"address", now.Address, "uuid", now.UUID, "role", now.Role, "status", now.Status,
		"was_role", before.Role, "was_status", before.Status}
	if now.Err != nil {
		attributes = append(attributes, "error", now.Err)
	}
	p.options.Logger.Info("instance changed", attributes...)
}

// enter counts a request in, unless the pool is being closed.
func (p *Pool) enter() error {
	p.active.Add(1)
	if p.closing.Load() {
		p.leave()
		return ErrClosed
	}
	return nil
}

func (p *Pool) leave() {
	if p.active.Add(-1) == 0 && p.closing.Load() {
		signal(p.idle)
	}
}

// Close refuses new requests and those that still wait for an instance, lets
// those in flight finish for up to CloseTimeout, then ends every connection and
// goroutine of the pool.
func (p *Pool) Close() {
	if p.closing.Swap(true) {
		<-p.closed
		return
	}
	close(p.stopping)
	p.drain()
	p.cancel()
	p.running.Wait()
	close(p.closed)
}

func (p *Pool) drain() {
	deadline := time.NewTimer(p.options.CloseTimeout)
	defer deadline.Stop()
	for p.active.Load() > 0 {
		select {
		case <-p.idle:
		case <-deadline.C:
			p.options.Logger.Warn("closed with requests in flight", "requests", p.active.Load())
			return
		}
	}
}
