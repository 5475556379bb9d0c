package wire

import (
	"context"
	"io"
	"sync"
	"sync/atomic"

	protocol "github.com/tarantool/go-iproto"
	"github.com/tarantool/go-tarantool/v2"
	"github.com/vmihailenco/msgpack/v5"

	"github.com/tntsql/tntsql/internal/iproto"
)

// request is one request on its way, and its answer. It is go-tarantool's
// Request and Response in one, so that an answer costs no object of its own.
type request struct {
	typ  protocol.Type
	body []byte // encoded before go-tarantool takes a lock

	counted    bool // has room in the connection's Budget
	streamed   bool // belongs to a stream
	conn       *Conn
	sent       int64 // clock() when it was handed to go-tarantool
	prev, next *request
	deadline   int64 // when whoever waits is to be told; 0 is never. Guarded by the flight

	prepared *prepared   // executed by its id
	answered func(Reply) // of a PREPARE or UNPREPARE: called in the reader
	// reply's body is a slice of a packet that belongs to this request alone.
	reply Reply
	over  atomic.Bool   // reply is there
	bell  chan struct{} // rung for whoever waits to look again
}

var requests = sync.Pool{New: func() any { return &request{bell: make(chan struct{}, 1)} }}

func newRequest(typ protocol.Type, body []byte, counted bool) *request {
	r := requests.Get().(*request)
	r.typ, r.body, r.counted = typ, body, counted
	return r
}

// recycle makes an answered request one for others.
func (r *request) recycle() {
	bell := r.bell
	select {
	case <-bell:
	default:
	}
	*r = request{bell: bell}
	requests.Put(r)
}

func ring(bell chan struct{}) {
	select {
	case bell <- struct{}{}:
	default: // it has been rung
	}
}

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
	r.conn.flight.remove(r)
	r.reply.Code = uint32(h.Error)
	if b, ok := body.(interface{ Bytes() []byte }); ok {
		r.reply.Body = b.Bytes()
	}
	switch {
	case r.prepared != nil:
		r.reply.Unprepared = r.conn.statements.executed(r.prepared, r.reply)
	case r.answered != nil:
		r.answered(r.reply)
	}
	bell := r.bell
	r.over.Store(true) // from here on it may be another request
	ring(bell)
	return r, nil
}

func (r *request) Header() tarantool.Header {
	return tarantool.Header{Error: protocol.Error(r.reply.Code)}
}

func (r *request) Decode() ([]any, error) { return nil, nil }

func (r *request) DecodeTyped(any) error { return nil }

// watch is a request for the next event of a key. It has no answer.
type watch struct {
	request
	key string
}

func (w *watch) Type() protocol.Type { return protocol.IPROTO_WATCH }

func (w *watch) Async() bool { return true }

func (w *watch) Body(_ tarantool.SchemaResolver, enc *msgpack.Encoder) error {
	_, err := enc.Writer().Write(iproto.AppendWatch(nil, w.key))
	return err
}

func (w *watch) Response(tarantool.Header, io.Reader) (tarantool.Response, error) { return w, nil }
