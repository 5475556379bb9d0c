// Package fakepeer is a scripted IPROTO peer, for what a real server does not do
// on demand: broken frames, lost, late and doubled replies, changes of role at
// a chosen moment. What it answers otherwise was recorded from real servers by
// the command record; by default it is a writable Tarantool 2.6.
package fakepeer

import (
	"fmt"
	"net"
	"sync"
	"testing"

	protocol "github.com/tarantool/go-iproto"

	"github.com/tntsql/tntsql/internal/fakepeer/transcript"
)

// UUID is the instance uuid in the greeting of a Peer.
const UUID = "11111111-2222-4333-8444-555555555555"

// Script answers a request on the session, or returns false to have it answered
// in the ordinary way.
type Script func(s *Session, r Request) bool

// Peer is a listening scripted server.
type Peer struct {
	Addr     string
	greeting string
	uuid     string
	recorded *transcript.Transcript
	granted  bool
	running  sync.WaitGroup
	closed   chan struct{}

	mu       sync.Mutex
	listener net.Listener // nil while it takes no connections
	sessions []*Session
	accepted int
	requests []Request
	scripts  map[protocol.Type]Script // type 0: of every request
	mute     bool
	stalled  chan struct{} // closed when it goes on; nil if it does not stall
	readOnly bool
	lsn      uint64 // of its only vclock component; 0 is as recorded

	events events
}

// Option changes a Peer before it starts.
type Option func(*Peer)

// Instance sets the version and the instance uuid in the greeting. The answers
// are those of the newest recorded version that is not newer, or of the oldest.
func Instance(version, uuid string) Option {
	return func(p *Peer) {
		p.recorded = ofVersion(version)
		p.greeting, p.uuid = greeting(version, uuid), uuid
	}
}

// Version makes it an instance of a recorded version: "2.6", "2.11" or "3.8".
func Version(series string) Option { return Instance(series+".0", UUID) }

// Greeting replaces the greeting, padded to its 128 bytes if it is shorter.
func Greeting(text string) Option { return func(p *Peer) { p.greeting = text } }

// ReadOnly makes it a read-only instance from the start.
func ReadOnly() Option { return func(p *Peer) { p.readOnly = true } }

// Granted lets every user call box.info.
func Granted() Option { return func(p *Peer) { p.granted = true } }

func greeting(version, uuid string) string {
	return fmt.Sprintf("%-63s\n%-63s\n", "Tarantool "+version+" (Binary) "+uuid, "QK2HoFZGXTXBq2vFj7soCsHqTo6PGTF575ssUBAJLAI=")
}

// Start starts a Peer on loopback that ends with the test. The script may be
// nil.
func Start(tb testing.TB, script Script, options ...Option) *Peer {
	tb.Helper()
	p, err := New(script, options...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(p.Close)
	return p
}

// New is Start outside of a test: the caller must Close the Peer.
func New(script Script, options ...Option) (*Peer, error) {
	p := &Peer{closed: make(chan struct{}), scripts: make(map[protocol.Type]Script)}
	for _, option := range append([]Option{Version("2.6")}, options...) {
		option(p)
	}
	p.On(0, script)
	p.Addr = "127.0.0.1:0"
	return p, p.Listen()
}

// On sets a script for requests of the type; 0 is for those that have no script
// of their own, and nil takes it back. It may be called at any time.
func (p *Peer) On(typ protocol.Type, script Script) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.scripts[typ] = script
}

// Listen makes it take connections, after Refuse at the same address.
func (p *Peer) Listen() error {
	listener, err := net.Listen("tcp", p.Addr)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.Addr, p.listener = listener.Addr().String(), listener
	p.running.Go(func() { p.accept(listener) })
	return nil
}

// Refuse makes it take no new connections.
func (p *Peer) Refuse() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listener != nil {
		_ = p.listener.Close()
		p.listener = nil
	}
}

// Cut closes every connection.
func (p *Peer) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.sessions {
		s.Close()
	}
}

// Close ends the peer and its connections.
func (p *Peer) Close() {
	p.mu.Lock()
	select {
	case <-p.closed:
	default:
		close(p.closed)
	}
	p.mu.Unlock()
	p.Refuse()
	p.Cut()
	p.running.Wait()
}

// Stall makes it read nothing, as a process that is stopped or a link that is
// down: new connections get no greeting.
func (p *Peer) Stall() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stalled == nil {
		p.stalled = make(chan struct{})
	}
}

// Resume ends a Stall: what has been sent meanwhile arrives now.
func (p *Peer) Resume() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stalled != nil {
		close(p.stalled)
		p.stalled = nil
	}
}

// flowing waits out a Stall.
func (p *Peer) flowing() {
	p.mu.Lock()
	stalled := p.stalled
	p.mu.Unlock()
	if stalled == nil {
		return
	}
	select {
	case <-stalled:
	case <-p.closed:
	}
}

func (p *Peer) accept(listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		s := &Session{Number: p.accepted, peer: p, conn: conn}
		p.accepted++
		p.sessions = append(p.sessions, s)
		p.mu.Unlock()
		p.running.Go(s.serve)
	}
}
