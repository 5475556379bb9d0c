// Package fakepeer is a scripted IPROTO peer, for what a real server does not do
// on demand: broken frames, lost, late and doubled replies. It answers as a
// Tarantool 2.6 with one writable instance unless its script says otherwise.
package fakepeer

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"

	protocol "github.com/tarantool/go-iproto"

	"github.com/tntsql/tntsql/internal/iproto"
)

// UUID is the instance uuid in the greeting of a Peer.
const UUID = "11111111-2222-4333-8444-555555555555"

// Request is what a client sent.
type Request struct {
	Type protocol.Type
	Sync uint64
	Body []byte
}

// Script answers a request on the session, or returns false to have it answered
// in the ordinary way.
type Script func(s *Session, r Request) bool

// Peer is a listening scripted server.
type Peer struct {
	Addr     string
	listener net.Listener
	script   Script
	greeting string
	running  sync.WaitGroup

	mu       sync.Mutex
	sessions []net.Conn
	requests []Request
}

// Option changes a Peer before it starts.
type Option func(*Peer)

// Instance replaces the instance uuid.
func Instance(uuid string) Option { return func(p *Peer) { p.greeting = greeting(uuid) } }

func greeting(uuid string) string {
	return fmt.Sprintf("%-63s\n%-63s\n", "Tarantool 2.6.0 (Binary) "+uuid, "QK2HoFZGXTXBq2vFj7soCsHqTo6PGTF575ssUBAJLAI=")
}

// Greeting replaces the greeting, padded to its 128 bytes if it is shorter.
func Greeting(text string) Option { return func(p *Peer) { p.greeting = text } }

// Start starts a Peer on loopback that ends with the test. The script may be
// nil.
func Start(tb testing.TB, script Script, options ...Option) *Peer {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	if script == nil {
		script = func(*Session, Request) bool { return false }
	}
	p := &Peer{Addr: listener.Addr().String(), listener: listener, script: script, greeting: greeting(UUID)}
	for _, option := range options {
		option(p)
	}
	p.running.Go(p.accept)
	tb.Cleanup(p.Close)
	return p
}

// Close ends the peer and its sessions.
func (p *Peer) Close() {
	_ = p.listener.Close()
	p.Cut()
	p.running.Wait()
}

// Cut closes every session, not the listener.
func (p *Peer) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, conn := range p.sessions {
		_ = conn.Close()
	}
	p.sessions = nil
}

// Requests are all requests of the type so far, in the order of their arrival.
func (p *Peer) Requests(typ protocol.Type) []Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	var of []Request
	for _, r := range p.requests {
		if r.Type == typ {
			of = append(of, r)
		}
	}
	return of
}

func (p *Peer) accept() {
	for {
		conn, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		p.sessions = append(p.sessions, conn)
		p.mu.Unlock()
		p.running.Go(func() {
			defer conn.Close() //nolint:errcheck // the test is over or the client has left
			s := &Session{peer: p, conn: conn}
			s.Write([]byte(fmt.Sprintf("%-128s", p.greeting)))
			s.serve()
		})
	}
}

// Session is one connection of a client.
type Session struct {
	peer *Peer
	conn net.Conn
	mu   sync.Mutex // one reply at a time
}

func (s *Session) serve() {
	r := bufio.NewReader(s.conn)
	for {
		request, err := read(r)
		if err != nil {
			return
		}
		s.peer.mu.Lock()
		s.peer.requests = append(s.peer.requests, request)
		s.peer.mu.Unlock()
		if !s.peer.script(s, request) {
			s.Answer(request)
		}
	}
}

func read(r *bufio.Reader) (Request, error) {
	var prefix [5]byte
	if _, err := io.ReadFull(r, prefix[:]); err != nil {
		return Request{}, err
	}
	packet := make([]byte, binary.BigEndian.Uint32(prefix[1:]))
	if _, err := io.ReadFull(r, packet); err != nil {
		return Request{}, err
	}
	h, bodyAt, err := iproto.ParseHeader(packet)
	if err != nil {
		return Request{}, err
	}
	return Request{Type: protocol.Type(h.Type), Sync: h.Sync, Body: packet[bodyAt:]}, nil
}

// Ballot is the body of a reply to IPROTO_VOTE.
func Ballot(readOnly bool) []byte {
	flag := byte(0xc2)
	if readOnly {
		flag = 0xc3
	}
	return []byte{0x81, byte(protocol.IPROTO_BALLOT), 0x83, 0x01, flag, 0x02, 0x81, 0x01, 0x05, 0x04, flag}
}

// Answer answers as a Tarantool 2.6 does, statements with a count of 1.
func (s *Session) Answer(r Request) {
	switch r.Type {
	case protocol.IPROTO_ID:
		s.Error(r.Sync, protocol.ER_UNKNOWN_REQUEST_TYPE, "Unknown request type 73")
	case protocol.IPROTO_VOTE:
		s.Reply(r.Sync, 0, Ballot(false))
	case protocol.IPROTO_CALL:
		s.Error(r.Sync, protocol.ER_ACCESS_DENIED, "Execute access to function 'box.info' is denied")
	case protocol.IPROTO_EXECUTE:
		s.Reply(r.Sync, 0, []byte{0x81, byte(protocol.IPROTO_SQL_INFO), 0x81, 0x00, 0x01})
	default:
		s.Reply(r.Sync, 0, []byte{0x80})
	}
}

// Error answers with an error.
func (s *Session) Error(sync uint64, code protocol.Error, message string) {
	body := []byte{0x81, byte(protocol.IPROTO_ERROR_24), 0xda, byte(len(message) >> 8), byte(len(message))}
	s.Reply(sync, uint32(protocol.IPROTO_TYPE_ERROR)|uint32(code), append(body, message...))
}

// Reply answers with a header of the type or error code, and a body.
func (s *Session) Reply(sync uint64, typ uint32, body []byte) { s.Write(Frame(sync, typ, body)) }

// Write sends bytes as they are.
func (s *Session) Write(b []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = s.conn.Write(b) // the client may have left, as tests want it to
}

// Close cuts this session.
func (s *Session) Close() { _ = s.conn.Close() }

// Frame is a packet as servers send them.
func Frame(sync uint64, typ uint32, body []byte) []byte {
	b := []byte{0xce, 0, 0, 0, 0, 0x83, byte(protocol.IPROTO_REQUEST_TYPE), 0xce}
	b = binary.BigEndian.AppendUint32(b, typ)
	b = append(b, byte(protocol.IPROTO_SYNC), 0xcf)
	b = binary.BigEndian.AppendUint64(b, sync)
	b = append(b, byte(protocol.IPROTO_SCHEMA_VERSION), 0xce, 0, 0, 0, 80)
	b = append(b, body...)
	binary.BigEndian.PutUint32(b[1:], uint32(len(b)-5))
	return b
}
