package discovery_test

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/tntsql/tntsql/discovery"
)

func ips(addresses ...string) []netip.Addr {
	var list []netip.Addr
	for _, a := range addresses {
		list = append(list, netip.MustParseAddr(a))
	}
	return list
}

func TestSeveralHostsHaveMoreThanOneAddressOfAFamily(t *testing.T) {
	for _, tt := range []struct {
		ips  []netip.Addr
		want bool
	}{
		{nil, false},
		{ips("10.0.0.1"), false},
		{ips("::1"), false},
		{ips("127.0.0.1", "::1"), false},
		{ips("10.0.0.1", "10.0.0.2"), true},
		{ips("fd00::1", "fd00::2"), true},
		{ips("10.0.0.1", "fd00::1", "fd00::2"), true},
	} {
		assert.Equal(t, tt.want, discovery.Several(tt.ips), "%v", tt.ips)
	}
}

func TestSpreadKeepsPortAndName(t *testing.T) {
	assert.Equal(t, []discovery.Candidate{
		{Address: "10.0.0.1:3302", Host: "db.example"},
		{Address: "[fd00::1]:3302", Host: "db.example"},
	}, discovery.Spread("db.example:3302", ips("10.0.0.1", "fd00::1")))
	assert.Empty(t, discovery.Spread("db.example:3302", nil))
}

func TestJoinTakesEachAddressOnce(t *testing.T) {
	host, peer, other := discovery.Candidate{Address: "a:1"}, discovery.Candidate{Address: "a:1", UUID: "A"}, discovery.Candidate{Address: "b:1", UUID: "A"}
	assert.Equal(t, []discovery.Candidate{host, other}, discovery.Join([]discovery.Candidate{host, host}, []discovery.Candidate{peer, other}))
	assert.Empty(t, discovery.Join(nil, nil))
}

// member is an instance of the replica set rs, at the address of its name. Of its
// peers, those with an address are followed.
func member(uuid string, peers ...discovery.Peer) discovery.Instance {
	return discovery.Instance{Address: uuid + ":1", UUID: uuid, ReplicaSet: "rs", Status: discovery.StatusRunning, Peers: peers}
}

// given is a member at an address that was given.
func given(in discovery.Instance) discovery.Instance {
	in.Given = true
	return in
}

func of(set string, in discovery.Instance) discovery.Instance {
	in.ReplicaSet = set
	return in
}

func down(in discovery.Instance) discovery.Instance { return with(in, discovery.StatusDown) }

func followed(uuid string) discovery.Peer { return discovery.Peer{UUID: uuid, Address: uuid + ":1"} }
func listed(uuid string) discovery.Peer   { return discovery.Peer{UUID: uuid} }

func TestPeers(t *testing.T) {
	a, b, c, d := followed("a"), followed("b"), followed("c"), followed("d")
	selfA, selfB, selfC, selfD := listed("a"), listed("b"), listed("c"), listed("d")
	moved := discovery.Peer{UUID: "b", Address: "b:2"}
	for _, tt := range []struct {
		name   string
		before []string // uuids
		known  []discovery.Instance
		want   []string // addresses
	}{
		{"nothing is known", nil, nil, nil},
		{"an instance that may not tell", nil, []discovery.Instance{given(member("a"))}, nil},
		{
			"the peers of one instance", nil,
			[]discovery.Instance{given(member("a", selfA, b, c))},
			[]string{"b:1", "c:1"},
		},
		{
			"the peers of peers", nil,
			[]discovery.Instance{given(member("a", selfA, b, selfC)), member("b", selfA, selfB, c), member("c", selfC)},
			[]string{"b:1", "c:1"},
		},
		{
			"a member that nobody follows, or an old uuid", nil,
			[]discovery.Instance{given(member("a", selfA, b, selfC)), member("b", a, selfB, selfC)},
			[]string{"a:1", "b:1"},
		},
		{
			"one that left the lists", []string{"b", "c"},
			[]discovery.Instance{given(member("a", selfA, b)), member("b", a, selfB), member("c", a, b, selfC)},
			[]string{"a:1", "b:1"},
		},
		{
			"one that moved", []string{"b"},
			[]discovery.Instance{given(member("a", selfA, moved)), member("b", a, selfB)},
			[]string{"a:1", "b:2"},
		},
		{
			"one that is listed at two addresses", nil,
			[]discovery.Instance{given(member("a", selfA, moved, c)), member("c", selfA, b, selfC)},
			[]string{"b:1", "b:2", "c:1"},
		},
		{
			"one that is down is taken at its last word", []string{"b", "c"},
			[]discovery.Instance{given(member("a", selfA, b, selfC)), down(member("b", selfA, selfB, c)), member("c", selfA, selfB, selfC)},
			[]string{"b:1", "c:1"},
		},
		{
			"but not about one that the others do not list", []string{"b", "c"},
			[]discovery.Instance{down(given(member("a", selfA, b, c))), member("b", a, selfB), down(member("c", a, b, selfC))},
			[]string{"a:1", "b:1"},
		},
		{
			"all are down", []string{"b", "c"},
			[]discovery.Instance{down(given(member("a", selfA, b, c))), down(member("b", a, selfB, c)), down(member("c", a, b, selfC))},
			[]string{"a:1", "b:1", "c:1"},
		},
		{
			"the first to come back follows nobody yet", []string{"b", "c"},
			[]discovery.Instance{given(member("a", selfA, selfB, selfC)), down(member("b", a, selfB, c)), down(member("c", a, b, selfC))},
			[]string{"a:1", "b:1", "c:1"},
		},
		{
			"one that is not followed at the moment, but follows", []string{"b"},
			[]discovery.Instance{given(member("a", selfA, selfB)), member("b", a, selfB)},
			[]string{"a:1", "b:1"},
		},
		{
			"one that is not followed and follows nobody", []string{"b"},
			[]discovery.Instance{given(member("a", selfA, selfB)), member("b", selfA, selfB)},
			nil,
		},
		{
			"two that left together and follow each other", []string{"b", "c", "d"},
			[]discovery.Instance{given(member("a", selfA, b)), member("b", a, selfB), member("c", selfC, d), member("d", c, selfD)},
			[]string{"a:1", "b:1"},
		},
		{
			"all but those given have been replaced", []string{"c", "d"},
			[]discovery.Instance{down(given(member("a", selfA, b))), member("c", selfC, d), member("d", c, selfD)},
			[]string{"c:1", "d:1"},
		},
		{
			"another replica set says nothing about this one", []string{"b"},
			[]discovery.Instance{down(given(member("a", selfA, b))), down(member("b", a, selfB)), given(of("other", member("c", selfC, d))), of("other", member("d", c, selfD))},
			[]string{"a:1", "b:1", "c:1", "d:1"},
		},
		{
			"a suspect still counts", []string{"b"},
			[]discovery.Instance{given(with(member("a", selfA, b), discovery.StatusSuspect)), member("b", selfA, selfB)},
			[]string{"b:1"},
		},
		{
			"an instance of another replica set has the address that was given", []string{"b"},
			[]discovery.Instance{given(of("other", member("c", selfC))), member("b", a, selfB)},
			nil,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var before []discovery.Candidate
			for _, uuid := range tt.before {
				before = append(before, discovery.Candidate{Address: uuid + ":1", UUID: uuid})
			}
			var got []string
			for _, c := range discovery.Peers(before, tt.known) {
				assert.Equal(t, c.UUID, c.Address[:1], "the uuid that is expected there")
				assert.Empty(t, c.Host)
				got = append(got, c.Address)
			}
			assert.Equal(t, tt.want, got)
		})
	}
}
