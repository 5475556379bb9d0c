package pool

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tntsql/tntsql/discovery"
)

// Resolver looks up names. A *net.Resolver is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
	LookupSRV(ctx context.Context, service, proto, name string) (string, []*net.SRV, error)
}

// Of SRV records: _tarantool._tcp.NAME.
const (
	srvService = "tarantool"
	srvProto   = "tcp"
)

// names is what the membership knows of names in addresses.
type names struct {
	pool     *Pool
	targets  []Candidate         // of SRV
	found    map[string]*ipGroup // by name
	failed   map[string]error    // by name: why the last lookup failed
	asked    map[string]bool     // those that are being looked up
	resolved chan resolution
	begun    time.Time   // when all were last looked up
	settled  []Candidate // of all addresses when there last was none of which nothing was known
}

// ipGroup is the IP addresses of a name.
type ipGroup struct {
	ips []netip.Addr
	// several tells that they are, or have been, those of several hosts. If not,
	// the name is dialled.
	several bool
	moves   int // to other addresses than all before
}

// next is what becomes of a name, of which nothing may be known yet, by a lookup.
func (g *ipGroup) next(ips []netip.Addr) *ipGroup {
	next := &ipGroup{ips: ips, several: discovery.Several(ips)}
	if g == nil {
		return next
	}
	next.several = next.several || g.several
	next.moves = g.moves
	stays := slices.ContainsFunc(ips, func(ip netip.Addr) bool { return slices.Contains(g.ips, ip) })
	if len(g.ips) > 0 && !stays {
		next.moves++
	}
	return next
}

// resolution is what a lookup has brought.
type resolution struct {
	name    string
	ips     []netip.Addr
	targets []Candidate // of the SRV name
	err     error
}

func newNames(p *Pool) names {
	return names{
		pool:     p,
		found:    make(map[string]*ipGroup),
		failed:   make(map[string]error),
		asked:    make(map[string]bool),
		resolved: make(chan resolution),
	}
}

var (
	errBeingLookedUp = errors.New("being looked up")
	errNoTargets     = errors.New("no SRV record names a host")
)

// hosts are the candidates of all given addresses as far as their names are
// known, and the names of which nothing is.
func (n *names) hosts() (known []Candidate, unknown []discovery.Instance) {
	if srv := n.srv(); srv != "" && len(n.targets) == 0 {
		unknown = append(unknown, n.unresolved(srv))
	}
	for _, c := range n.addresses() {
		name := n.name(c)
		switch group := n.found[name]; {
		case name != "" && group == nil:
			unknown = append(unknown, n.unresolved(c.Address))
		case name != "" && group.several:
			known = append(known, discovery.Spread(c.Address, group.ips)...)
		case name != "":
			c.Moves = group.moves
			known = append(known, c)
		default:
			known = append(known, c)
		}
	}
	if len(unknown) > 0 {
		return discovery.Join(known, n.settled), unknown
	}
	n.settled = known
	return known, nil
}

// unresolved stands for the instances behind a name that has been looked up in
// vain, or is being looked up for the first time.
func (n *names) unresolved(name string) discovery.Instance {
	in := discovery.Instance{Address: name, Status: discovery.StatusConnecting, Since: n.pool.started, Err: errBeingLookedUp}
	if err := n.failed[name]; err != nil {
		in.Status, in.Err = discovery.StatusUnresolved, err
	}
	return in
}

// srv is what the SRV name is called here; empty if there is none.
func (n *names) srv() string {
	if n.pool.options.SRV == "" {
		return ""
	}
	return "srv " + n.pool.options.SRV
}

func (n *names) addresses() []Candidate {
	return slices.Concat(n.pool.options.Candidates, n.targets)
}

// name is the name in an address that is to be looked up, or empty.
func (n *names) name(c Candidate) string {
	if n.pool.options.Resolver == nil || strings.HasPrefix(c.Address, "/") {
		return ""
	}
	host, _, err := net.SplitHostPort(c.Address)
	if err != nil {
		return ""
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return ""
	}
	return host
}

// all are the names to look up, but for SRV.
func (n *names) all() map[string]bool {
	all := make(map[string]bool)
	for _, c := range n.addresses() {
		if name := n.name(c); name != "" {
			all[name] = true
		}
	}
	return all
}

// lookUp begins to look up all names.
func (n *names) lookUp() {
	n.begun = time.Now()
	if srv := n.srv(); srv != "" {
		n.ask(srv, n.lookUpSRV)
	}
	for name := range n.all() {
		n.ask(name, n.lookUpHost)
	}
}

// ask looks a name up in a goroutine of its own: one that takes long delays no
// other.
func (n *names) ask(name string, how func(context.Context, string) resolution) {
	if n.asked[name] {
		return
	}
	n.asked[name] = true
	p := n.pool
	p.running.Go(func() {
		ctx, cancel := context.WithTimeout(p.ctx, p.options.ConnectTimeout)
		defer cancel()
		r := how(ctx, name)
		r.name = name
		select {
		case n.resolved <- r:
		case <-p.ctx.Done():
		}
	})
}

func (n *names) lookUpHost(ctx context.Context, name string) resolution {
	ips, err := n.pool.options.Resolver.LookupNetIP(ctx, "ip", name)
	for i := range ips {
		ips[i] = ips[i].Unmap()
	}
	slices.SortFunc(ips, netip.Addr.Compare)
	return resolution{ips: slices.Compact(ips), err: err}
}

func (n *names) lookUpSRV(ctx context.Context, _ string) resolution {
	_, records, err := n.pool.options.Resolver.LookupSRV(ctx, srvService, srvProto, n.pool.options.SRV)
	slices.SortFunc(records, func(a, b *net.SRV) int {
		return cmp.Or(cmp.Compare(a.Priority, b.Priority), cmp.Compare(b.Weight, a.Weight),
			strings.Compare(a.Target, b.Target), cmp.Compare(a.Port, b.Port))
	})
	var r resolution
	for _, record := range records {
		host := strings.ToLower(strings.TrimSuffix(record.Target, "."))
		if host != "" && record.Port != 0 {
			r.targets = append(r.targets, Candidate{Address: net.JoinHostPort(host, strconv.Itoa(int(record.Port)))})
		}
	}
	if len(r.targets) == 0 {
		r.err = cmp.Or(err, errNoTargets)
	}
	return r
}

// take takes a resolution in. A lookup that failed changes nothing that is known; a
// name of which nothing is known is left to whatever dials.
func (n *names) take(r resolution) {
	delete(n.asked, r.name)
	isSRV := r.name == n.srv()
	if r.err != nil {
		if n.failed[r.name] == nil {
			n.pool.options.Logger.Warn("name not resolved; what is known of it stays", "name", r.name, "error", r.err)
		}
		n.failed[r.name] = r.err
		if n.found[r.name] == nil && !isSRV {
			n.found[r.name] = &ipGroup{}
		}
		return
	}
	delete(n.failed, r.name)
	if !isSRV {
		n.found[r.name] = n.found[r.name].next(r.ips)
		return
	}
	n.targets = r.targets
	all := n.all()
	maps.DeleteFunc(n.found, func(name string, _ *ipGroup) bool { return !all[name] })
	maps.DeleteFunc(n.failed, func(name string, _ error) bool { return !all[name] })
	for name := range all {
		if n.found[name] == nil {
			n.ask(name, n.lookUpHost)
		}
	}
}
