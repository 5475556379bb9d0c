package pool_test

import (
	"context"
	"errors"
	"net"
	"sync"

	"github.com/tntsql/tntsql/pool"
)

// network dials addresses that are made up.
type network struct {
	mu     sync.Mutex
	routes map[string]*server
	dialed []string
}

func (n *network) route(address string, to *server) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.routes == nil {
		n.routes = make(map[string]*server)
	}
	n.routes[address] = to
}

func (n *network) dial(ctx context.Context, _, address string) (net.Conn, error) {
	n.mu.Lock()
	n.dialed = append(n.dialed, address)
	to := n.routes[address]
	n.mu.Unlock()
	if to == nil {
		return nil, errors.New("no route to " + address)
	}
	return new(net.Dialer).DialContext(ctx, "tcp", to.Addr)
}

func (n *network) dials(address string) (count int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, d := range n.dialed {
		if d == address {
			count++
		}
	}
	return count
}

// options are those of a pool on the network.
func (n *network) options(addresses ...string) pool.Options {
	o := options()
	o.Wire.Dial = n.dial
	for _, a := range addresses {
		o.Candidates = append(o.Candidates, pool.Candidate{Address: a})
	}
	return o
}
