package itest

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"net"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/miekg/dns"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tntsql/tntsql"
	"github.com/tntsql/tntsql/discovery"
	"github.com/tntsql/tntsql/internal/wire"
	"github.com/tntsql/tntsql/pool"
)

const (
	patience = 10 * time.Second
	tick     = 5 * time.Millisecond
)

// dnsServer is a DNS server on loopback whose records can be changed.
type dnsServer struct {
	addr string

	mu      sync.Mutex
	records []dns.RR
	queries int
}

func startDNS(t *testing.T) *dnsServer {
	socket, err := net.ListenPacket("udp", "127.0.0.1:0")
	require.NoError(t, err)
	s := &dnsServer{addr: socket.LocalAddr().String()}
	server := &dns.Server{PacketConn: socket, Handler: dns.HandlerFunc(s.answer)}
	done := make(chan error, 1)
	go func() { done <- server.ActivateAndServe() }()
	t.Cleanup(func() {
		assert.NoError(t, server.Shutdown())
		assert.NoError(t, <-done)
	})
	return s
}

func (s *dnsServer) answer(w dns.ResponseWriter, query *dns.Msg) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queries++
	reply := new(dns.Msg).SetReply(query)
	reply.Authoritative = true
	known := false
	for _, record := range s.records {
		if record.Header().Name == query.Question[0].Name {
			known = true
			if record.Header().Rrtype == query.Question[0].Qtype {
				reply.Answer = append(reply.Answer, record)
			}
		}
	}
	if !known {
		reply.Rcode = dns.RcodeNameError
	}
	_ = w.WriteMsg(reply) // the client may have left
}

// set replaces all records, each in the form of a zone file.
func (s *dnsServer) set(t *testing.T, records ...string) {
	var parsed []dns.RR
	for _, text := range records {
		record, err := dns.NewRR(text)
		require.NoError(t, err)
		parsed = append(parsed, record)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.records = parsed
}

// asked waits until there have been so many more queries.
func (s *dnsServer) asked(t *testing.T, more int) {
	count := func() int {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.queries
	}
	before := count()
	require.Eventually(t, func() bool { return count() >= before+more }, patience, tick)
}

func (s *dnsServer) resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", s.addr)
	}}
}

// srv is the SRV record of db.example for a server, and the address of its target.
func srv(priority, server int) []string {
	host, port, _ := net.SplitHostPort(servers.Addr(server))
	target := "db" + strconv.Itoa(server) + ".example."
	return []string{
		"_tarantool._tcp.db.example. 1 IN SRV " + strconv.Itoa(priority) + " 1 " + port + " " + target,
		target + " 1 IN A " + host,
	}
}

// routes dials made-up addresses, as those of hosts with one port are.
type routes struct {
	mu sync.Mutex
	to map[string]string
}

func (r *routes) set(to map[string]string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.to = to
}

func (r *routes) dial(ctx context.Context, network, address string) (net.Conn, error) {
	r.mu.Lock()
	to, ok := r.to[address]
	r.mu.Unlock()
	if !ok {
		return nil, errors.New("no route to " + address)
	}
	return new(net.Dialer).DialContext(ctx, network, to)
}

// connector makes a handle from a DSN, with all names looked up by the server.
func (s *dnsServer) connector(t *testing.T, dsn string, change func(*tntsql.Config)) (*tntsql.Connector, *sql.DB) {
	cfg, err := tntsql.ParseDSN(dsn)
	require.NoError(t, err)
	cfg.Resolver = s.resolver()
	if change != nil {
		change(cfg)
	}
	c, err := tntsql.NewConnector(cfg)
	require.NoError(t, err)
	db := sql.OpenDB(c)
	closeAfter(t, db)
	return c, db
}

// topology waits until these instances run, in this order.
func topology(t *testing.T, c *tntsql.Connector, addresses ...string) {
	t.Helper()
	known := func() (list []string) {
		for _, in := range c.Topology().Instances {
			if in.Status == "running" {
				list = append(list, in.Address)
			}
		}
		return list
	}
	if !assert.Eventually(t, func() bool { return assert.ObjectsAreEqual(addresses, known()) }, patience, tick) {
		require.Equal(t, addresses, known(), c.Topology())
	}
}

func TestHostsComeFromSRV(t *testing.T) {
	names := startDNS(t)
	var records []string
	for i := range servers.Len() {
		records = append(records, srv(9-i, i)...)
	}
	names.set(t, records...)
	c, db := names.connector(t, "tarantool+srv://app:secret@db.example/?read_mode=ro", nil)
	require.NoError(t, db.PingContext(t.Context()))
	var want []string
	for i := servers.Len() - 1; i >= 0; i-- {
		_, port, _ := net.SplitHostPort(servers.Addr(i))
		want = append(want, "db"+strconv.Itoa(i)+".example:"+port)
	}
	topology(t, c, want...)
}

func TestMissingSRVIsNamed(t *testing.T) {
	names := startDNS(t)
	_, db := names.connector(t, "tarantool+srv://app:secret@db.example/?selection_timeout=200ms", nil)
	err := db.PingContext(t.Context())
	require.ErrorIs(t, err, tntsql.ErrNoInstance)
	assert.ErrorContains(t, err, "srv db.example: unresolved (lookup _tarantool._tcp.db.example on ")
	assert.ErrorContains(t, err, ": no such host)")

	names.set(t, srv(1, 0)...)
	require.Eventually(t, func() bool { return db.PingContext(t.Context()) == nil }, patience, tick)
}

func TestNameWithOneAddressIsDialedWithTheResolver(t *testing.T) {
	names := startDNS(t)
	host, port, _ := net.SplitHostPort(servers.Addr(0))
	names.set(t, "db.example. 1 IN A "+host)
	c, db := names.connector(t, "tarantool://app:secret@db.example:"+port+"/", nil)
	require.NoError(t, db.PingContext(t.Context()))
	topology(t, c, "db.example:"+port)
}

func TestNameWithSeveralAddressesIsSeveralInstances(t *testing.T) {
	names := startDNS(t)
	var routes routes
	routes.set(map[string]string{"10.0.0.1:3301": servers.Addr(0), "10.0.0.2:3301": servers.Addr(1), "[fd00::3]:3301": servers.Addr(2)})
	names.set(t, "db.example. 1 IN A 10.0.0.2", "db.example. 1 IN A 10.0.0.1", "db.example. 1 IN AAAA fd00::3")
	c, _ := names.connector(t, "tarantool://app:secret@db.example/", func(cfg *tntsql.Config) { cfg.Dial = routes.dial })
	topology(t, c, "10.0.0.1:3301", "10.0.0.2:3301", "[fd00::3]:3301")
}

func TestNamesAreLookedUpAtOnceWhileAllIsDown(t *testing.T) {
	names := startDNS(t)
	var routes routes
	routes.set(map[string]string{"10.0.0.3:3301": servers.Addr(0), "10.0.0.4:3301": servers.Addr(1)})
	names.set(t, "db.example. 1 IN A 10.0.0.1", "db.example. 1 IN A 10.0.0.2")
	c, db := names.connector(t, "tarantool://app:secret@db.example/", func(cfg *tntsql.Config) { cfg.Dial = routes.dial })
	pinged := make(chan error, 1)
	go func() { pinged <- db.PingContext(t.Context()) }()
	require.Eventually(t, func() bool {
		known := c.Topology().Instances
		return len(known) == 2 && known[0].Err != nil && known[1].Err != nil
	}, patience, tick)
	begun := time.Now()
	names.set(t, "db.example. 1 IN A 10.0.0.3", "db.example. 1 IN A 10.0.0.4")
	require.NoError(t, <-pinged)
	assert.Less(t, time.Since(begun), 5*time.Second)
}

// TestChangedRecordsArePickedUp goes to the pool, whose interval can be shortened.
func TestChangedRecordsArePickedUp(t *testing.T) {
	names := startDNS(t)
	names.set(t, append(srv(1, 0), srv(2, 1)...)...)
	quiet := slog.New(slog.DiscardHandler)
	p := pool.Open(pool.Options{
		SRV:             "db.example",
		Resolver:        names.resolver(),
		ResolveInterval: 20 * time.Millisecond,
		Wire: wire.Options{
			Dial:        (&net.Dialer{Resolver: names.resolver()}).DialContext,
			Credentials: func(context.Context, string) (string, string, error) { return "app", "secret", nil },
			MaxResponse: 1 << 20,
			Logger:      quiet,
		},
		ConnectTimeout:   time.Second,
		RefreshInterval:  time.Second,
		ProbeTimeout:     time.Second,
		DeadTimeout:      time.Minute,
		CloseTimeout:     time.Second,
		ConnsPerInstance: 1,
		MaxInFlight:      1,
		Logger:           quiet,
	})
	defer p.Close()
	serves := func(want ...string) {
		t.Helper()
		require.Eventually(t, func() bool {
			var uuids []string
			for _, in := range p.Snapshot().Known() {
				if in.Status == discovery.StatusRunning {
					uuids = append(uuids, in.UUID)
				}
			}
			return assert.ObjectsAreEqual(want, uuids)
		}, patience, tick)
	}
	serves(servers.UUID(0), servers.UUID(1))
	names.set(t, append(srv(1, 2), srv(2, 1)...)...)
	serves(servers.UUID(2), servers.UUID(1))
	names.set(t)
	names.asked(t, 10)
	serves(servers.UUID(2), servers.UUID(1))
	names.set(t, srv(1, 0)...)
	serves(servers.UUID(0))
}
