package tntsql

import (
	"context"
	"net"
	"time"
)

// goneTimeout is how soon a host that is gone is found: by keep-alive when
// nothing is on its way to it, else by unacknowledged bytes.
const goneTimeout = 15 * time.Second

var keepAlive = net.KeepAliveConfig{Enable: true, Idle: goneTimeout / 3, Interval: goneTimeout / 3, Count: 2}

// dialer returns Dial, or what stands for it.
func (c *Config) dialer() func(ctx context.Context, network, address string) (net.Conn, error) {
	if c.Dial != nil {
		return c.Dial
	}
	return (&net.Dialer{Resolver: c.Resolver, KeepAliveConfig: keepAlive, Control: limitUnacknowledged}).DialContext
}
