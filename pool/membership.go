package pool

import (
	"slices"
	"time"

	"github.com/tntsql/tntsql/discovery"
)

// resolveInterval is between two lookups of a name. While no instance can be
// reached it is maxBackoff.
const resolveInterval = 30 * time.Second

// membership works out the pool's candidates: from the addresses that were given,
// what DNS says of the names in them, and what instances say of their peers. Its
// goroutine, run, alone changes it.
type membership struct {
	pool  *Pool
	names names
	peers []Candidate

	candidates []Candidate          // of the pool
	unresolved []discovery.Instance // as it was last told
	denied     bool                 // the warning has been given
}

// start makes candidates of the addresses that need no lookup, and looks after
// the rest in the background.
func (m *membership) start() {
	m.update()
	if m.pool.options.Peers || m.resolves() {
		m.pool.running.Go(m.run)
	}
}

func (m *membership) run() {
	m.names.lookUp()
	timer := time.NewTimer(m.pause())
	defer timer.Stop()
	for {
		select {
		case <-m.pool.ctx.Done():
			return
		case <-m.pool.regrouped:
		case r := <-m.names.resolved:
			m.names.take(r)
		case <-timer.C:
			m.names.lookUp()
		}
		m.update()
		timer.Reset(m.pause())
	}
}

// resolves tells whether there are names to look up.
func (m *membership) resolves() bool { return m.names.srv() != "" || len(m.names.all()) > 0 }

// pause is how long to wait before the names are looked up again.
func (m *membership) pause() time.Duration {
	pause := m.pool.options.ResolveInterval
	if pause == 0 {
		pause = resolveInterval
	}
	if m.resolves() && !slices.ContainsFunc(m.pool.Snapshot().Instances, connected) {
		pause = min(pause, maxBackoff)
	}
	return time.Until(m.names.begun.Add(pause))
}

func connected(in discovery.Instance) bool { return in.Connected() }

// update tells the pool its candidates, if they have changed.
func (m *membership) update() {
	if m.pool.options.Peers {
		known := m.pool.Snapshot().Instances
		m.peers = discovery.Peers(m.peers, known)
		m.warnDenied(known)
	}
	hosts, unresolved := m.names.hosts()
	candidates := discovery.Join(hosts, m.peers)
	if slices.Equal(candidates, m.candidates) && slices.EqualFunc(unresolved, m.unresolved, sameName) {
		return
	}
	m.candidates, m.unresolved = candidates, unresolved
	m.pool.SetCandidates(candidates, unresolved)
}

func sameName(a, b discovery.Instance) bool {
	return a.Address == b.Address && a.Err.Error() == b.Err.Error()
}
