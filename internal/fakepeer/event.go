package fakepeer

import (
	"bytes"
	"sync"

	protocol "github.com/tarantool/go-iproto"
	"github.com/vmihailenco/msgpack/v5"

	"github.com/tntsql/tntsql/internal/iproto"
)

// events are the values of the watched keys, and who watches them. The first
// event of a key comes at once, each later one only to a client that has asked
// again since the last.
type events struct {
	mu      sync.Mutex
	pushed  map[string]value // what replaces the recorded values
	watches map[watch]*watching
}

// value is one that was pushed, and how many were before it.
type value struct {
	number int
	data   []byte
}

type watch struct {
	session *Session
	key     string
}

type watching struct {
	sent  int  // the number of the last value that was sent
	armed bool // the client has asked since
}

// watches tells whether it is a server with watchers.
func (p *Peer) watches() bool { return p.recorded.Find("watch box.id") != nil }

// Push sets the value of a key and sends it to those who watch it. A nil value
// is none.
func (p *Peer) Push(key string, data []byte) {
	e := &p.events
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.pushed == nil {
		e.pushed = make(map[string]value)
	}
	v := value{e.pushed[key].number + 1, data}
	e.pushed[key] = v
	for w, state := range e.watches {
		if w.key == key && state.armed {
			state.send(w, v)
		}
	}
}

// Shutdown announces that the server is about to end, and takes no new
// connections, as servers since 2.10 do.
func (p *Peer) Shutdown() {
	p.Refuse()
	p.Push(iproto.ShutdownKey, []byte{0xc3})
}

func (w *watching) send(to watch, v value) {
	to.session.Write(Frame(0, uint32(protocol.IPROTO_EVENT), Event(to.key, v.data)))
	w.sent, w.armed = v.number, false
}

func (e *events) watch(s *Session, r Request) {
	var body map[protocol.Key]string
	if err := msgpack.Unmarshal(r.Body, &body); err != nil {
		s.Error(r.Sync, protocol.ER_INVALID_MSGPACK, "Invalid MsgPack - request body")
		return
	}
	w := watch{s, body[protocol.IPROTO_EVENT_KEY]}
	e.mu.Lock()
	defer e.mu.Unlock()
	v, ok := e.pushed[w.key]
	if !ok {
		v.data = s.peer.initial(w.key)
	}
	state := e.watches[w]
	switch {
	case state == nil:
		if e.watches == nil {
			e.watches = make(map[watch]*watching)
		}
		state = new(watching)
		e.watches[w] = state
		state.send(w, v)
	case state.sent != v.number:
		state.send(w, v)
	default:
		state.armed = true
	}
}

func (e *events) forget(s *Session) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for w := range e.watches {
		if w.session == s {
			delete(e.watches, w)
		}
	}
}

// initial is the value of a key as it was recorded.
func (p *Peer) initial(key string) []byte {
	if key == iproto.StatusKey {
		return p.status()
	}
	return p.recordedValue("watch " + key)
}

// status is the value of box.status.
func (p *Peer) status() []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.readOnly {
		return p.recordedValue("watch box.status, changed")
	}
	return p.recordedValue("watch box.status")
}

func (p *Peer) recordedValue(name string) []byte {
	if p.recorded.Find(name) == nil {
		return nil // nobody has set a key of that name
	}
	_, value, err := iproto.ParseEvent(p.reply(name).Body)
	if err != nil {
		panic(err) // recorded
	}
	return value
}

// Event is the body of an IPROTO_EVENT; a nil value is none.
func Event(key string, value []byte) []byte {
	b := bytes.NewBuffer([]byte{0x81, byte(protocol.IPROTO_EVENT_KEY)})
	_ = msgpack.NewEncoder(b).EncodeString(key) // a Buffer takes everything
	body := b.Bytes()
	if value == nil {
		return body
	}
	body[0] = 0x82
	return append(append(body, byte(protocol.IPROTO_EVENT_DATA)), value...)
}
