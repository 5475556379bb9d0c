package pool_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tntsql/tntsql/discovery"
	"github.com/tntsql/tntsql/internal/verdict"
	"github.com/tntsql/tntsql/pool"
)

// resolver is a DNS of one's own.
type resolver struct {
	mu      sync.Mutex
	ips     map[string][]netip.Addr
	srv     []*net.SRV
	err     error
	lookups int
	blocked chan struct{} // lookups wait for it, if it is set
}

func (r *resolver) set(name string, ips ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ips == nil {
		r.ips = make(map[string][]netip.Addr)
	}
	r.ips[name] = nil
	for _, ip := range ips {
		r.ips[name] = append(r.ips[name], netip.MustParseAddr(ip))
	}
}

func (r *resolver) setSRV(records ...*net.SRV) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.srv = records
}

func (r *resolver) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = err
}

func (r *resolver) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lookups
}

func (r *resolver) begin(ctx context.Context) error {
	if r.blocked != nil {
		select {
		case <-r.blocked:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lookups++
	return r.err
}

func (r *resolver) LookupNetIP(ctx context.Context, _, host string) ([]netip.Addr, error) {
	if err := r.begin(ctx); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.ips[host]) == 0 {
		return nil, errors.New("lookup " + host + ": no such host")
	}
	return append([]netip.Addr(nil), r.ips[host]...), nil
}

func (r *resolver) LookupSRV(ctx context.Context, service, proto, name string) (string, []*net.SRV, error) {
	full := "_" + service + "._" + proto + "." + name
	if err := r.begin(ctx); err != nil {
		return "", nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.srv) == 0 || full != "_tarantool._tcp.db.example" {
		return "", nil, errors.New("lookup " + full + ": no such host")
	}
	return full, append([]*net.SRV(nil), r.srv...), nil
}

// addresses waits for the pool to know exactly these.
func addresses(t *testing.T, p *pool.Pool, want ...string) {
	t.Helper()
	known := func() (got []string) {
		for _, in := range p.Snapshot().Known() {
			got = append(got, in.Address)
		}
		return got
	}
	if !assert.Eventually(t, func() bool { return slices.Equal(want, known()) }, patience, tick) {
		require.Equal(t, want, known())
	}
}

func TestNameWithSeveralAddressesIsSeveralInstances(t *testing.T) {
	var (
		n   network
		dns resolver
		set = startSet(t, unwatched, 2)
	)
	dns.set("db.example", "10.0.0.2", "10.0.0.1", "::ffff:10.0.0.1")
	for i, address := range []string{"10.0.0.1:3301", "10.0.0.2:3301", "10.0.0.3:3301"} {
		n.route(address, set[i])
	}
	o := n.options("db.example:3301")
	o.Resolver, o.ResolveInterval = &dns, 10*time.Millisecond
	p := open(t, o)
	running(t, p, set[:2]...)
	addresses(t, p, "10.0.0.1:3301", "10.0.0.2:3301")

	dns.set("db.example", "10.0.0.1", "10.0.0.2", "10.0.0.3")
	running(t, p, set...)
	dns.set("db.example", "10.0.0.3")
	running(t, p, set[2])
	addresses(t, p, "10.0.0.3:3301")
	assert.Zero(t, n.dials("db.example:3301"))
	assert.Equal(t, 1, n.dials("10.0.0.3:3301"), "what stays is not connected to anew")
}

func TestCertificateOfASpreadNameIsThatOfTheName(t *testing.T) {
	var dns resolver
	dns.set("db.example", "10.0.0.1", "10.0.0.2")
	asked := make(chan string, 100)
	o := (&network{}).options("db.example:3301", "10.0.0.3:3301", "other.example:3301")
	dns.set("other.example", "10.0.0.4")
	o.Resolver = &dns
	o.Wire.TLS = &tls.Config{}
	o.Wire.Dial = func(_ context.Context, _, address string) (net.Conn, error) {
		client, server := net.Pipe()
		go func() {
			defer server.Close()
			_ = tls.Server(server, &tls.Config{GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
				asked <- address + " " + hello.ServerName
				return nil, errors.New("no certificate")
			}}).Handshake()
		}()
		return client, nil
	}
	open(t, o)
	want := map[string]bool{"10.0.0.1:3301 db.example": true, "10.0.0.2:3301 db.example": true, "10.0.0.3:3301 ": true, "other.example:3301 other.example": true}
	got := make(map[string]bool)
	for range 3 * len(want) {
		got[<-asked] = true
	}
	assert.Equal(t, want, got)
}

func TestNameWithOneAddressIsDialedByName(t *testing.T) {
	var (
		n   network
		dns resolver
		set = startSet(t, unwatched, 1)
	)
	dns.set("db.example", "10.0.0.1", "::1")
	n.route("db.example:3301", set[0])
	o := n.options("db.example:3301")
	o.Resolver, o.ResolveInterval = &dns, 10*time.Millisecond
	p := open(t, o)
	running(t, p, set[0])
	addresses(t, p, "db.example:3301")

	dns.set("db.example", "10.0.0.1")
	lookups := dns.count()
	require.Eventually(t, func() bool { return dns.count() > lookups+3 }, patience, tick)
	assert.Equal(t, 1, n.dials("db.example:3301"), "it is still the same host")

	n.route("db.example:3301", set[1])
	dns.set("db.example", "10.0.0.2")
	running(t, p, set[1])
}

func TestNamesAreLookedUpAtOnceWhenAllInstancesAreDown(t *testing.T) {
	var (
		n   network
		dns resolver
		set = startSet(t, unwatched, 3)
	)
	dns.set("db.example", "10.0.0.1", "10.0.0.2")
	for i, address := range []string{"10.0.0.1:3301", "10.0.0.2:3301", "10.0.0.3:3301", "10.0.0.4:3301"} {
		n.route(address, set[i])
	}
	o := n.options("db.example:3301")
	o.Resolver, o.ResolveInterval = &dns, time.Hour
	p := open(t, o)
	running(t, p, set[:2]...)
	lookups := dns.count()

	dns.set("db.example", "10.0.0.3", "10.0.0.4")
	set[0].Close()
	waitFor(t, p, func(s *discovery.Snapshot) bool { return !s.Instances[0].Connected() })
	assert.Equal(t, lookups, dns.count())
	set[1].Close()
	running(t, p, set[2:]...)
}

func TestFailedLookupKeepsWhatIsKnown(t *testing.T) {
	var (
		n      network
		dns    resolver
		logged log
		set    = startSet(t, unwatched, 1)
	)
	dns.set("db.example", "10.0.0.1", "10.0.0.2")
	n.route("10.0.0.1:3301", set[0])
	n.route("10.0.0.2:3301", set[1])
	o := n.options("db.example:3301")
	o.Resolver, o.ResolveInterval, o.Logger = &dns, 10*time.Millisecond, logged.logger()
	p := open(t, o)
	running(t, p, set...)

	dns.fail(errors.New("i/o timeout"))
	lookups := dns.count()
	require.Eventually(t, func() bool { return dns.count() > lookups+3 }, patience, tick)
	running(t, p, set...)
	assert.Equal(t, 1, logged.count("level=WARN"))
	assert.Equal(t, 1, logged.count("i/o timeout"))
	dns.fail(nil)
	dns.set("db.example", "10.0.0.1")
	running(t, p, set[0])
}

func TestNameThatCannotBeLookedUpIsLeftToTheDialer(t *testing.T) {
	var (
		n   network
		dns resolver
		set = startSet(t, unwatched, 0)
	)
	n.route("db.example:3301", set[0])
	o := n.options("db.example:3301")
	o.Resolver, o.ResolveInterval = &dns, 10*time.Millisecond
	p := open(t, o)
	running(t, p, set[0])
	dns.set("db.example", "10.0.0.1")
	lookups := dns.count()
	require.Eventually(t, func() bool { return dns.count() > lookups+3 }, patience, tick)
	assert.Equal(t, 1, n.dials("db.example:3301"))
}

func TestWithoutAResolverNamesAreDialed(t *testing.T) {
	var n network
	set := startSet(t, unwatched, 0)
	n.route("db.example:3301", set[0])
	running(t, open(t, n.options("db.example:3301")), set[0])
}

func TestSlowLookupDelaysNoOtherAddress(t *testing.T) {
	var (
		n   network
		dns = resolver{blocked: make(chan struct{})}
		set = startSet(t, unwatched, 2)
	)
	dns.set("db.example", "10.0.0.2", "10.0.0.3")
	n.route("10.0.0.1:3301", set[0])
	n.route("10.0.0.2:3301", set[1])
	n.route("10.0.0.3:3301", set[2])
	o := n.options("db.example:3301", "10.0.0.1:3301", "/x.sock")
	n.route("/x.sock", set[1])
	o.Resolver, o.ConnectTimeout = &dns, time.Hour
	p := open(t, o)
	addresses(t, p, "10.0.0.1:3301", "/x.sock", "db.example:3301")
	waitFor(t, p, func(s *discovery.Snapshot) bool { return s.Instances[0].Connected() && s.Instances[1].Connected() })

	req := request(discovery.ModeRO, verdict.Read)
	set[1].SetReadOnly(false)
	set[1].Cut()
	req.Selection = time.Nanosecond
	var none *pool.NoInstanceError
	require.Eventually(t, func() bool {
		_, err := p.Do(t.Context(), req)
		return errors.As(err, &none)
	}, patience, tick)
	require.Len(t, none.Instances, 3)
	assert.Equal(t, discovery.StatusConnecting, none.Instances[2].Status)
	assert.EqualError(t, none.Instances[2].Err, "being looked up")
	close(dns.blocked)
	running(t, p, set...)
}

func TestCloseDoesNotWaitForLookups(t *testing.T) {
	var n network
	o := n.options("db.example:3301")
	o.Resolver, o.ConnectTimeout, o.SRV = &resolver{blocked: make(chan struct{})}, time.Hour, "db.example"
	pool.Open(o).Close()
}

func TestHostsFromSRV(t *testing.T) {
	var (
		n      network
		dns    resolver
		logged log
		set    = startSet(t, unwatched, 3)
	)
	n.route("db1.example:3301", set[0])
	n.route("db2.example:3302", set[1])
	n.route("10.0.0.3:3303", set[2])
	n.route("10.0.0.4:3303", set[3])
	o := n.options()
	o.SRV, o.Resolver, o.ResolveInterval, o.Logger = "db.example", &dns, 10*time.Millisecond, logged.logger()
	p := open(t, o)

	req := request(discovery.ModeAny, verdict.Read)
	req.Selection = 50 * time.Millisecond
	_, err := p.Do(t.Context(), req)
	var none *pool.NoInstanceError
	require.ErrorAs(t, err, &none)
	require.Len(t, none.Instances, 1)
	assert.Equal(t, "srv db.example", none.Instances[0].Address)
	assert.EqualError(t, none.Instances[0].Err, "lookup _tarantool._tcp.db.example: no such host")
	assert.Equal(t, 1, logged.count("level=WARN"))

	dns.set("db1.example", "10.0.0.1")
	dns.set("db2.example", "10.0.0.2")
	second := &net.SRV{Target: "DB2.example.", Port: 3302, Priority: 2}
	dns.setSRV(second, &net.SRV{Target: "db1.example.", Port: 3301, Priority: 1}, &net.SRV{Target: "."})
	running(t, p, set[:2]...)
	addresses(t, p, "db1.example:3301", "db2.example:3302")

	dns.set("db3.example", "10.0.0.3", "10.0.0.4")
	dns.setSRV(second, &net.SRV{Target: "db3.example.", Port: 3303, Priority: 3})
	running(t, p, set[1:]...)
	addresses(t, p, "db2.example:3302", "10.0.0.3:3303", "10.0.0.4:3303")

	dns.setSRV()
	lookups := dns.count()
	require.Eventually(t, func() bool { return dns.count() > lookups+6 }, patience, tick)
	running(t, p, set[1:]...)
}
