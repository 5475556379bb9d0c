package faults

import (
	"net"
	"time"

	"github.com/tntsql/tntsql/internal/failover"
)

// toxic is a Fault of the network before one instance.
func toxic(name string, most time.Duration, do func(*failover.Proxy) error) Fault {
	return Fault{
		Name:    name,
		Network: true,
		Do: func(c *Cluster) error {
			p := c.Proxies[c.Any()]
			if err := do(p); err != nil {
				return err
			}
			c.Rest(most/2 + time.Duration(c.Rand.Int64N(int64(most/2))))
			return p.Heal()
		},
	}
}

var (
	stall     = toxic("TCP stall", 2*time.Second, (*failover.Proxy).Stall)
	reset     = toxic("TCP reset", 100*time.Millisecond, (*failover.Proxy).Reset)
	latency   = toxic("latency of 100 ms", time.Second, func(p *failover.Proxy) error { return p.Delay(100) })
	bandwidth = toxic("bandwidth of 20 kB/s", time.Second, func(p *failover.Proxy) error { return p.Rate(20) })
	slicing   = toxic("packets of 3 bytes", 500*time.Millisecond, func(p *failover.Proxy) error { return p.Slice(3, 10) })
)

// shut is a Fault that shuts one direction of all connections to an instance.
func shut(name string, do func(*net.TCPConn) error) Fault {
	return Fault{
		Name:    name,
		Network: true,
		Do: func(c *Cluster) error {
			c.dials.each(c.Proxies[c.Any()].Addr(), func(conn *net.TCPConn) { _ = do(conn) }) // which may be closed
			c.Rest(100 * time.Millisecond)
			return nil
		},
	}
}

var (
	halfClose         = shut("half-close by the client", (*net.TCPConn).CloseWrite)
	halfCloseByServer = shut("half-close by the server", (*net.TCPConn).CloseRead)
)
