package fakepeer

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"

	protocol "github.com/tarantool/go-iproto"
	"github.com/vmihailenco/msgpack/v5"
)

// Request is what a client sent.
type Request struct {
	Session int // the number of its Session
	Type    protocol.Type
	Sync    uint64
	Stream  uint64 // 0 for none
	Body    []byte
}

// Session is one connection of a client.
type Session struct {
	Number int // in the order in which they were accepted, from 0
	peer   *Peer
	conn   net.Conn
	mu     sync.Mutex // one reply at a time
}

func (s *Session) serve() {
	defer s.end()
	s.peer.flowing()
	s.Write([]byte(fmt.Sprintf("%-128s", s.peer.greeting)))
	r := bufio.NewReader(s.conn)
	for {
		request, err := read(r)
		if err != nil {
			return
		}
		request.Session = s.Number
		s.peer.flowing()
		if script := s.peer.arrived(request); script == nil || !script(s, request) {
			s.Answer(request)
		}
	}
}

func (s *Session) end() {
	s.Close()
	s.peer.events.forget(s)
	s.peer.mu.Lock()
	defer s.peer.mu.Unlock()
	s.peer.sessions = slices.DeleteFunc(s.peer.sessions, func(other *Session) bool { return other == s })
}

// arrived takes a request down and returns the script that it is for, if any.
func (p *Peer) arrived(r Request) Script {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests = append(p.requests, r)
	if p.mute {
		return Lose
	}
	if script := p.scripts[r.Type]; script != nil {
		return script
	}
	return p.scripts[0]
}

// Requests are all requests of the types so far, in the order of their arrival;
// without a type, all of them.
func (p *Peer) Requests(types ...protocol.Type) []Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	var of []Request
	for _, r := range p.requests {
		if len(types) == 0 || slices.Contains(types, r.Type) {
			of = append(of, r)
		}
	}
	return of
}

// Sessions is the number of open connections.
func (p *Peer) Sessions() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.sessions)
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
	body := bytes.NewReader(packet)
	var header map[protocol.Key]uint64
	if err := msgpack.NewDecoder(body).Decode(&header); err != nil {
		return Request{}, err
	}
	return Request{
		Type:   protocol.Type(header[protocol.IPROTO_REQUEST_TYPE]),
		Sync:   header[protocol.IPROTO_SYNC],
		Stream: header[protocol.IPROTO_STREAM_ID],
		Body:   packet[len(packet)-body.Len():],
	}, nil
}

// Answer answers in the ordinary way: as the recorded server did, to EXECUTE with
// a count of 1, to a request that was not recorded with an empty OK.
func (s *Session) Answer(r Request) {
	if r.Type == protocol.IPROTO_WATCH && s.peer.watches() {
		s.peer.events.watch(s, r)
		return
	}
	s.Write(s.peer.answer(r))
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

// Broadcast sends bytes as they are on every session, whether it reads or not.
func (p *Peer) Broadcast(b []byte) {
	p.mu.Lock()
	sessions := slices.Clone(p.sessions)
	p.mu.Unlock()
	for _, s := range sessions {
		s.Write(b)
	}
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
