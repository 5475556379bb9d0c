package failover

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"
)

// Proxy is the network before one instance.
type Proxy struct {
	proxy *toxiproxy.Proxy
}

func init() { zerolog.SetGlobalLevel(zerolog.Disabled) }

// NewProxy starts one before an address. It must be closed.
func NewProxy(upstream string) (*Proxy, error) {
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	p := &Proxy{toxiproxy.NewProxy(server, upstream, "127.0.0.1:0", upstream)}
	return p, p.proxy.Start()
}

// Addr is where it listens.
func (p *Proxy) Addr() string { return p.proxy.Listen }

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
	for _, direction := range directions {
		text, err := json.Marshal(map[string]any{"type": toxic, "stream": direction, "attributes": attributes})
		if err != nil {
			return err
		}
		if _, err := p.proxy.Toxics.AddToxicJson(bytes.NewReader(text)); err != nil {
			return err
		}
	}
	return nil
}

// Heal ends what was done to the network.
func (p *Proxy) Heal() { p.proxy.Toxics.ResetToxics(context.Background()) }

// Close ends it and its connections.
func (p *Proxy) Close() {
	p.Heal()
	p.proxy.Stop()
}
