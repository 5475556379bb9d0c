package wire

import (
	protocol "github.com/tarantool/go-iproto"
	"github.com/tarantool/go-tarantool/v2"
)

// Stream is a stream of its Conn: the server runs its requests one after another,
// and a BEGIN in it opens a transaction that lasts until its end. The number of
// a stream is used once. Its requests arrive in the order in which they are sent
// only if the connection is Ordered.
type Stream struct {
	*Conn
	tnt *tarantool.Stream
}

// NewStream returns a stream with a number of its own. It does no I/O.
func (c *Conn) NewStream() *Stream {
	stream, _ := c.tnt.NewStream() // it always succeeds
	return &Stream{c, stream}
}

// Send sends a request in the stream, as Conn's Send does outside.
func (s *Stream) Send(typ protocol.Type, body []byte, counted bool) (Pending, error) {
	return s.post(s.tnt, newRequest(typ, body, counted))
}
