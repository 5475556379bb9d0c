package failover

import (
	"bytes"
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"
)

// stuckAfter is much longer than toxiproxy takes.
const stuckAfter = time.Second

// Proxy is the network before one instance. One thing at a time is done to it: each takes
// the place of the one before. Its methods may be called by several goroutines.
type Proxy struct {
	upstream, addr string
	stuck          time.Duration // after which toxiproxy is given up

	mu    sync.Mutex
	proxy *toxiproxy.Proxy
}

func init() { zerolog.SetGlobalLevel(zerolog.Disabled) }

// NewProxy starts one before an address. It must be closed.
func NewProxy(upstream string) (*Proxy, error) {
	p := &Proxy{upstream: upstream, addr: "127.0.0.1:0", stuck: stuckAfter}
	if err := p.start(); err != nil {
		return nil, err
	}
	p.addr = p.proxy.Listen
	return p, nil
}

func (p *Proxy) start() error {
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	p.proxy = toxiproxy.NewProxy(server, p.upstream, p.addr, p.upstream)
	return p.proxy.Start()
}

// Addr is where it listens.
func (p *Proxy) Addr() string { return p.addr }

// control changes toxics. If a client has left while data for it was on its way, that may
// never end (https://github.com/Shopify/toxiproxy/issues/558): another proxy takes the
// place then, and the connections of the old one stall for good.
func (p *Proxy) control(change func(*toxiproxy.ToxicCollection) error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	changed, old := make(chan error, 1), p.proxy
	go func() { changed <- change(old.Toxics) }()
	select {
	case err := <-changed:
		return err
	case <-time.After(p.stuck):
	}
	go old.Stop() // it closes its listener, and is stuck too
	for end := time.Now().Add(p.stuck); ; time.Sleep(time.Millisecond) {
		err := p.start()
		if err == nil {
			return change(p.proxy.Toxics)
		}
		if time.Now().After(end) {
			return err
		}
	}
}

// Stall keeps all that is sent, in both directions, until Heal. New connections
// are accepted and stall too.
func (p *Proxy) Stall() error { return p.Rate(0) }

// Rate bounds each direction of each connection, in kB a second.
func (p *Proxy) Rate(rate int) error {
	return p.add("bandwidth", map[string]int{"rate": rate}, "upstream", "downstream")
}

// Reset resets every connection at the next byte from the server.
func (p *Proxy) Reset() error {
	return p.add("reset_peer", map[string]int{"timeout": 0}, "downstream")
}

// Delay has each reply arrive so many milliseconds later.
func (p *Proxy) Delay(ms int) error {
	return p.add("latency", map[string]int{"latency": ms}, "downstream")
}

// Slice cuts what is sent in each direction into pieces of about so many bytes, with a
// pause of so many microseconds after each.
func (p *Proxy) Slice(size, pause int) error {
	attributes := map[string]int{"average_size": size, "size_variation": size / 2, "delay": pause}
	return p.add("slicer", attributes, "upstream", "downstream")
}

func (p *Proxy) add(toxic string, attributes map[string]int, directions ...string) error {
	return p.control(func(toxics *toxiproxy.ToxicCollection) error {
		toxics.ResetToxics(context.Background())
		for _, direction := range directions {
			text, err := json.Marshal(map[string]any{"type": toxic, "stream": direction, "attributes": attributes})
			if err != nil {
				return err
			}
			if _, err := toxics.AddToxicJson(bytes.NewReader(text)); err != nil {
				return err
			}
		}
		return nil
	})
}

// Heal ends what was done to the network.
func (p *Proxy) Heal() error {
	return p.control(func(toxics *toxiproxy.ToxicCollection) error {
		toxics.ResetToxics(context.Background())
		return nil
	})
}

// Close ends it and its connections.
func (p *Proxy) Close() error {
	err := p.Heal()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.proxy.Stop()
	return err
}
