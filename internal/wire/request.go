package wire

import (
	"context"
	"io"
	"sync"
	"sync/atomic"

	protocol "github.com/tarantool/go-iproto"
	"github.com/tarantool/go-tarantool/v2"
	"github.com/vmihailenco/msgpack/v5"
)

// request is one request on its way, and its answer. It is go-tarantool's
// Request and Response in one, so that an answer costs no object of its own.
type request struct {
	typ  protocol.Type
	body []byte // encoded before go-tarantool takes a lock

	conn       *Conn
	sent       int64 // clock() when it was handed to go-tarantool
	prev, next *request

	code uint32
	// reply is a slice of a packet that belongs to this request alone.
	reply []byte
}

var requests = sync.Pool{New: func() any { return new(request) }}

func (r *request) Type() protocol.Type { return r.typ }

func (r *request) Body(_ tarantool.SchemaResolver, enc *msgpack.Encoder) error {
	_, err := enc.Writer().Write(r.body)
	return err
}

// Ctx is nil: go-tarantool starts a goroutine for each request that has one.
func (r *request) Ctx() context.Context { return nil }

func (r *request) Async() bool { return false }

// Response is called by go-tarantool's reader when the answer is there.
func (r *request) Response(h tarantool.Header, body io.Reader) (tarantool.Response, error) {
	r.conn.flying.remove(r)
	r.code = uint32(h.Error)
	if b, ok := body.(interface{ Bytes() []byte }); ok {
		r.reply = b.Bytes()
	}
	return r, nil
}

func (r *request) Header() tarantool.Header {
	return tarantool.Header{Error: protocol.Error(r.code)}
}

func (r *request) Decode() ([]any, error) { return nil, nil }

func (r *request) DecodeTyped(any) error { return nil }

// flight counts a connection's unanswered requests and lists, oldest first,
// those that hold it up. A CALL or EVAL holds up nobody: the server runs each
// in a fiber of its own and frees its part of the input buffer at once.
type flight struct {
	count  atomic.Int64
	since  atomic.Int64 // when oldest was sent; 0 if there is none
	mu     sync.Mutex
	oldest *request
	newest *request
}

func (f *flight) add(r *request) {
	f.count.Add(1)
	if !r.holdsUp() {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	r.sent = clock()
	r.prev, r.next = f.newest, nil
	if f.newest != nil {
		f.newest.next = r
	} else {
		f.oldest = r
		f.since.Store(r.sent)
	}
	f.newest = r
}

func (f *flight) remove(r *request) {
	f.count.Add(-1)
	if !r.holdsUp() {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if r.next != nil {
		r.next.prev = r.prev
	} else {
		f.newest = r.prev
	}
	if r.prev != nil {
		r.prev.next = r.next
		return
	}
	f.oldest = r.next
	if f.oldest != nil {
		f.since.Store(f.oldest.sent)
	} else {
		f.since.Store(0)
	}
}

func (r *request) holdsUp() bool {
	return r.typ != protocol.IPROTO_CALL && r.typ != protocol.IPROTO_EVAL
}
