package discovery

import (
	"net"
	"net/netip"
	"slices"
	"strings"
)

// Candidate is an address where an instance may be.
type Candidate struct {
	// Address is "host:port", or the absolute path of a Unix socket.
	Address string
	// Host is the name that its TLS certificate must have; empty is Address's.
	Host string
	// UUID is the instance that is expected there; empty is any.
	UUID string
	// Moves is how often the name in Address has come to stand for another
	// host.
	Moves int
}

// Several tells whether the IP addresses of a name are those of several hosts.
// One of each family are one host's.
func Several(ips []netip.Addr) bool {
	v4 := 0
	for _, ip := range ips {
		if ip.Is4() {
			v4++
		}
	}
	return v4 > 1 || len(ips)-v4 > 1
}

// Spread returns a candidate for each IP address of the name in an address.
func Spread(address string, ips []netip.Addr) []Candidate {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil
	}
	spread := make([]Candidate, len(ips))
	for i, ip := range ips {
		spread[i] = Candidate{Address: net.JoinHostPort(ip.String(), port), Host: host}
	}
	return spread
}

// Join puts lists of candidates together, each address once: the first counts.
func Join(lists ...[]Candidate) []Candidate {
	var all []Candidate
	seen := make(map[string]bool)
	for _, list := range lists {
		for _, c := range list {
			if !seen[c.Address] {
				seen[c.Address] = true
				all = append(all, c)
			}
		}
	}
	return all
}

// Peer is a member of a replica set, as another member lists it.
type Peer struct {
	UUID    string
	Address string // where that one follows it; empty if it does not
}

// Peers returns where the members of the replica sets are of which instances are
// known, as they list each other, ordered by uuid. before is what it returned the
// last time.
//
// An instance that does not answer is taken at its last word about those whom the
// others of its replica set still list. One that answers and follows others stays
// though nobody follows it, as while they restart, unless they list it no longer.
func Peers(before []Candidate, known []Instance) []Candidate {
	var peers []Candidate
	members := reachable(known)
	for _, in := range members {
		for _, p := range in.Peers {
			if p.Address != "" && in.vouches(known, p.UUID) {
				peers = append(peers, Candidate{Address: p.Address, UUID: p.UUID})
			}
		}
	}
	for _, c := range before {
		listed := slices.ContainsFunc(peers, func(p Candidate) bool { return p.UUID == c.UUID })
		there := slices.ContainsFunc(members, func(in *Instance) bool {
			return in.UUID == c.UUID && in.Address == c.Address && in.tells()
		})
		if there && !listed {
			peers = append(peers, c)
		}
	}
	peers = Join(peers)
	slices.SortFunc(peers, func(a, b Candidate) int {
		if a.UUID != b.UUID {
			return strings.Compare(a.UUID, b.UUID)
		}
		return strings.Compare(a.Address, b.Address)
	})
	return peers
}

// reachable are the instances to which a chain of members leads that replicate
// with one another. It begins at the instances that were given, and anywhere in
// their replica set if none of them answers.
func reachable(known []Instance) []*Instance {
	silent := make(map[string]bool) // replica sets
	for i := range known {
		if in := &known[i]; in.Given {
			before, seen := silent[in.ReplicaSet]
			silent[in.ReplicaSet] = !in.tells() && (before || !seen)
		}
	}
	var reached, left []*Instance
	for i := range known {
		if in := &known[i]; in.Given || silent[in.ReplicaSet] {
			reached = append(reached, in)
		} else {
			left = append(left, in)
		}
	}
	for n := 0; n < len(reached); n++ {
		from := reached[n]
		left = slices.DeleteFunc(left, func(in *Instance) bool {
			leads := from.leadsTo(known, in)
			if leads {
				reached = append(reached, in)
			}
			return leads
		})
	}
	return reached
}

// leadsTo tells whether the instance and another one replicate with each other,
// one way or both.
func (i *Instance) leadsTo(known []Instance, o *Instance) bool {
	p := i.peer(o.UUID)
	return p != nil && (p.Address != "" || o.follows(i.UUID)) && i.vouches(known, o.UUID)
}

// vouches tells whether the instance's word about a member of its replica set
// counts: its latest, or an earlier one that no other instance contradicts.
func (i *Instance) vouches(known []Instance, uuid string) bool {
	if i.tells() {
		return true
	}
	asked := false
	for n := range known {
		o := &known[n]
		if o.UUID == uuid || o.ReplicaSet != i.ReplicaSet || !o.tells() {
			continue
		}
		if o.peer(uuid) != nil {
			return true
		}
		asked = true
	}
	return !asked
}

// tells is whether what the instance lists is up to date.
func (i *Instance) tells() bool { return len(i.Peers) > 0 && i.Connected() }

func (i *Instance) peer(uuid string) *Peer {
	n := slices.IndexFunc(i.Peers, func(p Peer) bool { return p.UUID == uuid })
	if n < 0 {
		return nil
	}
	return &i.Peers[n]
}

func (i *Instance) follows(uuid string) bool {
	p := i.peer(uuid)
	return p != nil && p.Address != ""
}
