// Package pool keeps connections to the instances of a cluster, knows which of
// them may serve what, and sends each request to one of them.
//
// It is part of tntsql's inside: no compatibility is promised.
package pool

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tntsql/tntsql/discovery"
	"github.com/tntsql/tntsql/internal/wire"
)

// ErrClosed is returned once Close has been called.
var ErrClosed = errors.New("the pool is closed")

// Options are the pool's settings. All must be set but those that say what
// their zero value is.
type Options struct {
	// Candidates are the addresses that are given. They are used as long as the
	// pool is open.
	Candidates []Candidate
	// SRV, if it is set, is a name: the targets of its SRV records are used as
	// Candidates are.
	SRV string
	// Resolver looks up SRV and the names in addresses. Without one, names are
	// dialled as they are.
	Resolver Resolver
	// ResolveInterval is between two lookups of a name; 0 is 30 s.
	ResolveInterval time.Duration
	// Peers adds the instances that those at the given addresses replicate with.
	Peers bool
	Wire  wire.Options
	// Greet is run on every new data connection before anything else, within
	// ConnectTimeout.
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
	// MaxInFlight is how many unanswered requests an instance has at most.
	MaxInFlight int
	// MaxLag is how old the cover of a replica that serves reads may be; 0 is
	// no limit.
	MaxLag time.Duration
	// Balancer chooses among instances that are as good as one another.
	Balancer Balancer
	Logger   *slog.Logger
	// Changed, if it is set, is called after each new snapshot in which a role,
	// a status or the membership has changed. It must not block.
	Changed func(*discovery.Snapshot)
	// Resending, if it is set, is called before a request is sent again.
	Resending func(ctx context.Context, from *discovery.Instance, reason Reason, err error)

	quickCheck time.Duration // 0 is the constant
}

// Pool is the connections to all instances. One goroutine owns each instance;
// they share nothing but the snapshot that they publish.
type Pool struct {
	options Options
	started time.Time
	ctx     context.Context // ends with the pool
	cancel  context.CancelFunc
	running sync.WaitGroup
	covers  covers
	counts  counts

	oldServers sync.Once // has it said that there are some

	current atomic.Pointer[view]
	turns   [discovery.ModePreferRO + 1]atomic.Uint64
	waiting atomic.Int64 // statements that wait for an instance
	demand  atomic.Int64 // when a read last found that no replica covers its mark

	publishing sync.Mutex // guards what follows, and the order of snapshots
	members    []*instance
	known      []discovery.Instance // of members
	unresolved []discovery.Instance
	mixed      bool // there have been several replica sets

	regrouped chan struct{} // an instance's peers or status have changed

	active   atomic.Int64 // requests being served
	closing  atomic.Bool
	stopping chan struct{} // closed when Close begins
	idle     chan struct{} // signalled when the last request ends during Close
	closed   chan struct{} // closed when Close has ended
}

// view is a snapshot, the instances that it is of, all members, and a channel
// that is closed when the next one is there.
type view struct {
	*discovery.Snapshot
	instances []*instance
	members   []*instance
	next      chan struct{}
}

// Open starts a pool. It returns at once: connections are made in the
// background, for as long as it takes.
func Open(o Options) *Pool {
	if o.Greet == nil {
		o.Greet = func(context.Context, *wire.Conn) error { return nil }
	}
	o.quickCheck = cmp.Or(o.quickCheck, quickCheck)
	ctx, cancel := context.WithCancel(context.Background())
	p := &Pool{
		options:   o,
		started:   time.Now(),
		ctx:       ctx,
		cancel:    cancel,
		regrouped: make(chan struct{}, 1),
		stopping:  make(chan struct{}),
		idle:      make(chan struct{}, 1),
		closed:    make(chan struct{}),
	}
	p.current.Store(&view{Snapshot: discovery.New(nil, nil), next: make(chan struct{})})
	m := &membership{pool: p, names: newNames(p)}
	m.start()
	return p
}

// SetCandidates replaces the addresses where instances may be, and the names that
// have none. Instances whose address stays are not touched; those that go finish
// what is in flight.
func (p *Pool) SetCandidates(candidates []Candidate, unresolved []discovery.Instance) {
	p.publishing.Lock()
	defer p.publishing.Unlock()
	if p.closing.Load() {
		return
	}
	var (
		members []*instance
		known   []discovery.Instance
	)
	for _, c := range candidates {
		i := slices.IndexFunc(p.members, func(in *instance) bool { return in.candidate == c })
		if i >= 0 {
			members, known = append(members, p.members[i]), append(known, p.known[i])
			continue
		}
		p.options.Logger.Info("instance joined", "address", c.Address, "uuid", c.UUID)
		in := newInstance(p, c)
		members, known = append(members, in), append(known, in.state)
		p.running.Go(in.run)
	}
	for _, in := range p.members {
		if !slices.Contains(members, in) {
			p.options.Logger.Info("instance left", "address", in.candidate.Address, "uuid", in.candidate.UUID)
			in.leave()
		}
	}
	p.members, p.known, p.unresolved = members, known, unresolved
	p.renew(true, true)
}

// Snapshot is the picture of the cluster as it is known now.
func (p *Pool) Snapshot() *discovery.Snapshot { return p.current.Load().Snapshot }

// publish makes the new state of an instance known to everybody.
func (p *Pool) publish(in *instance, state discovery.Instance) {
	p.publishing.Lock()
	defer p.publishing.Unlock()
	i := slices.Index(p.members, in)
	if i < 0 {
		return // no longer a member
	}
	before := &p.known[i]
	same := state.Same(before)
	if same {
		state.Since = before.Since
	} else {
		state.Since = time.Now()
		p.log(before, &state)
	}
	regrouped := !same || !state.SamePeers(before)
	wake := !same || state.Cover > before.Cover && (p.options.MaxLag > 0 || p.waiting.Load() > 0)
	p.known[i] = state
	p.renew(wake, !same)
	if regrouped {
		signal(p.regrouped)
	}
}

// renew publishes a snapshot of what is known. Latency and the last error are
// there to be read: nobody who waits for an instance gains by them. changed tells of
// a role, a status or the membership.
func (p *Pool) renew(wake, changed bool) {
	old := p.current.Load()
	next := discovery.New(old.Snapshot, p.known, p.unresolved...)
	if len(next.ReplicaSets) > 1 && !p.mixed {
		p.mixed = true
		p.options.Logger.Warn("instances of different replica sets are used as one cluster", "replica_sets", next.ReplicaSets)
	}
	for _, set := range next.Disputed {
		if !slices.Contains(old.Disputed, set) {
			p.options.Logger.Warn("more than one writable instance in a replica set; writes stay with one until you make the others read-only",
				"replica_set", set, "writable", next.Writable(set), "used", next.Writer(set))
		}
	}
	v := &view{next, make([]*instance, len(next.Sources)), p.members, old.next}
	for i, source := range next.Sources {
		v.instances[i] = p.members[source]
	}
	if wake {
		v.next = make(chan struct{})
	}
	p.current.Store(v)
	p.wakeStandby(next)
	if !wake {
		return
	}
	close(old.next)
	if changed && p.options.Changed != nil {
		p.options.Changed(next)
	}
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

// spawn runs f in a goroutine that Close waits for, unless all connections are
// closed already.
func (p *Pool) spawn(f func()) {
	p.publishing.Lock()
	defer p.publishing.Unlock()
	if p.ctx.Err() == nil {
		p.running.Go(f)
	}
}

// Close refuses new requests and those that still wait for an instance, lets
// those in flight finish for up to CloseTimeout, then ends every connection and
// goroutine of the pool.
func (p *Pool) Close() {
	p.publishing.Lock() // no member joins from here on
	again := p.closing.Swap(true)
	p.publishing.Unlock()
	if again {
		<-p.closed
		return
	}
	close(p.stopping)
	p.drain()
	p.publishing.Lock()
	p.cancel()
	p.publishing.Unlock()
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
