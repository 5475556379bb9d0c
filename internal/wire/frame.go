package wire

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	protocol "github.com/tarantool/go-iproto"
	"github.com/tarantool/go-tarantool/v2"

	"github.com/tntsql/tntsql/internal/iproto"
)

const (
	bufferSize   = 64 << 10
	greetingSize = 128
	prefixSize   = 5       // 0xce and four bytes of length
	maxHeader    = 256     // a server's header takes about 20 bytes
	maxEvent     = 4 << 10 // an event that this driver asks for is a small map
	maxHandshake = 64 << 10
	maxWatches   = 64 // WATCHes that wait to be written: a server sends an event for one that it has read
	maxDepth     = 256
	bulkSize     = 256 << 10 // a frame that may keep others waiting on a slow link

	packetMark   = 0xce // MessagePack uint32: how every packet's length is written
	chunkType    = uint32(protocol.IPROTO_CHUNK)
	eventType    = uint32(protocol.IPROTO_EVENT)
	errorFlag    = uint32(protocol.IPROTO_TYPE_ERROR)
	pingRequest  = byte(protocol.IPROTO_PING)
	watchRequest = byte(protocol.IPROTO_WATCH)

	// codeTooLarge and tooLarge are of the error that stands in for a reply beyond
	// the limit. The server's own codes are below 0x8000 and far smaller.
	codeTooLarge = 0x7fff
	tooLarge     = "too large for tntsql"
)

var errFraming = errors.New("the peer does not speak IPROTO")

// frameConn is the tarantool.Conn beneath go-tarantool. It hands on whole
// frames that go-tarantool's reader can survive: that reader decodes headers,
// events and the answers to its own pings with a decoder that panics on an
// unhashable map key, overflows the stack on deep nesting and allocates
// whatever a length says, and it does so in a goroutine that no caller can
// recover in. Bodies of this driver's requests pass unread: their decoder is
// iproto's.
type frameConn struct {
	net    net.Conn
	r      *bufio.Reader
	w      *bufio.Writer
	limit  int64
	logger *slog.Logger

	conn     *Conn    // whose frames these are
	keys     []string // what is watched
	event    func(key string, value []byte) error
	watches  atomic.Int64 // WATCHes that are not written yet
	reported bool         // an event was not what it should be

	greeted   int         // bytes of the greeting handed on
	handshake atomic.Bool // ID and AUTH are decoded by go-tarantool: checked whole
	head      []byte      // a frame of ours to hand on
	rest      int64       // bytes of the server's frame to hand on as they come

	bulk  atomic.Int64 // when the large frame on its way began, by clock(); 0 if there is none
	pings pingSyncs
	heard atomic.Int64 // when bytes last came, in nanoseconds of clock()

	closeOnce sync.Once
	closeErr  error
	cause     atomic.Pointer[error]
	ended     atomic.Bool
	onClose   atomic.Pointer[func()] // set once the connection is in use
}

func newFrameConn(socket net.Conn, conn *Conn, o Options) *frameConn {
	c := &frameConn{
		net:    socket,
		w:      bufio.NewWriterSize(socket, bufferSize),
		limit:  o.MaxResponse,
		logger: o.Logger,
		conn:   conn,
		keys:   o.Watch,
		event:  o.Event,
	}
	c.r = bufio.NewReaderSize(listener{c}, bufferSize)
	c.handshake.Store(true)
	c.heard.Store(clock())
	return c
}

// listener reads from the socket and notes when something was heard.
type listener struct{ *frameConn }

func (l listener) Read(p []byte) (int, error) {
	n, err := l.net.Read(p)
	l.heard.Store(clock())
	return n, err
}

// start ends the handshake: from here on replies are this driver's to decode.
func (c *frameConn) start() { c.handshake.Store(false) }

func (c *frameConn) Read(p []byte) (int, error) {
	n, err := c.read(p)
	if err != nil {
		c.fail(err)
	}
	return n, err
}

func (c *frameConn) read(p []byte) (int, error) {
	if c.greeted < greetingSize {
		n, err := c.r.Read(p[:min(len(p), greetingSize-c.greeted)])
		c.greeted += n
		return n, err
	}
	if len(c.head) == 0 && c.rest == 0 {
		if err := c.nextFrame(); err != nil {
			return 0, err
		}
	}
	if len(c.head) > 0 {
		n := copy(p, c.head)
		c.head = c.head[n:]
		return n, nil
	}
	n, err := c.r.Read(p[:min(int64(len(p)), c.rest)])
	if c.rest -= int64(n); c.rest == 0 && c.bulk.Load() != 0 {
		c.bulk.Store(0)
	}
	return n, err
}

// nextFrame reads up to a frame that is to be handed on, in head or in rest.
func (c *frameConn) nextFrame() error {
	for {
		prefix, err := c.r.Peek(prefixSize)
		if err != nil {
			return err
		}
		size := int64(binary.BigEndian.Uint32(prefix[1:]))
		if prefix[0] != packetMark || size == 0 {
			return errFraming
		}
		peeked, err := c.r.Peek(prefixSize + int(min(size, maxHeader)))
		if err != nil {
			return err
		}
		header, bodyAt, err := iproto.ParseHeader(peeked[prefixSize:])
		if err != nil {
			return fmt.Errorf("%w: %w", errFraming, err)
		}
		done, err := c.admit(header, size, prefixSize+bodyAt)
		if err != nil || done {
			return err
		}
	}
}

// admit decides about the frame that begins in the buffer: handed on as it is,
// replaced, or dropped (false). size is its length behind the prefix.
func (c *frameConn) admit(h iproto.Header, size int64, bodyAt int) (bool, error) {
	whole := prefixSize + size
	if size > bulkSize {
		c.bulk.Store(clock())
	}
	switch {
	case h.Type == chunkType:
		// box.session.push: nothing here reads it, and go-tarantool would
		// keep every one of them until the reply.
		return false, c.drop(whole)
	case h.Type == eventType:
		return false, c.takeEvent(whole, bodyAt)
	case c.handshake.Load():
		return true, c.admitChecked(whole, bodyAt)
	case c.pings.take(h.Sync):
		if h.Type&errorFlag != 0 {
			c.head = errorFrame(h.Sync, h.Type&^errorFlag, "ping refused")
		} else {
			c.head = okFrame(h.Sync)
		}
		return true, c.drop(whole)
	case size > c.limit:
		c.head = errorFrame(h.Sync, codeTooLarge, tooLarge)
		return true, c.drop(whole)
	}
	c.rest = whole
	return true, nil
}

// takeEvent reads an event, which never reaches go-tarantool. One that was not
// asked for, or cannot be read, is dropped.
func (c *frameConn) takeEvent(whole int64, bodyAt int) error {
	if whole > maxEvent {
		c.dropped("too large", "bytes", whole)
		return c.drop(whole)
	}
	frame := make([]byte, whole)
	if _, err := io.ReadFull(c.r, frame); err != nil {
		return err
	}
	key, value, err := iproto.ParseEvent(frame[bodyAt:])
	switch {
	case err != nil:
		c.dropped("unreadable", "error", err)
	case c.handshake.Load() || !slices.Contains(c.keys, key) || c.watches.Load() > maxWatches:
		c.dropped("not asked for", "key", key)
	default:
		if err := c.event(key, value); err != nil {
			c.dropped("unreadable", "key", key, "error", err)
		}
		c.conn.watch(key)
	}
	return nil
}

// dropped reports an event that was dropped. A server may send any number of them, so of a
// connection only the first is worth a warning.
func (c *frameConn) dropped(why string, details ...any) {
	level := slog.LevelDebug
	if !c.reported {
		c.reported, level = true, slog.LevelWarn
	}
	c.logger.Log(context.Background(), level, "event dropped: "+why, append(details, "peer", c.net.RemoteAddr())...)
}

// admitChecked hands on a frame of the handshake if it is well-formed.
func (c *frameConn) admitChecked(whole int64, bodyAt int) error {
	if whole > maxHandshake {
		return fmt.Errorf("%w: a reply of %d bytes in the handshake", errFraming, whole)
	}
	frame := make([]byte, whole)
	if _, err := io.ReadFull(c.r, frame); err != nil {
		return err
	}
	for body := frame[bodyAt:]; len(body) > 0; {
		n, err := iproto.Skip(body, maxDepth)
		if err != nil {
			return fmt.Errorf("%w: %w", errFraming, err)
		}
		body = body[n:]
	}
	c.head = frame
	return nil
}

func (c *frameConn) drop(whole int64) error {
	_, err := io.CopyN(io.Discard, c.r, whole)
	c.bulk.Store(0)
	return err
}

// Write takes whole packets: go-tarantool never splits one.
func (c *frameConn) Write(p []byte) (int, error) {
	c.note(p)
	n, err := c.w.Write(p)
	if err != nil {
		c.fail(err)
	}
	return n, err
}

// note remembers the pings among the packets: go-tarantool's pinger decodes their
// answers. And it counts the WATCHes.
func (c *frameConn) note(p []byte) {
	const typeAt, syncAt, minPacket = prefixSize + 2, prefixSize + 5, prefixSize + 9
	for len(p) >= minPacket {
		switch p[typeAt] {
		case pingRequest:
			c.pings.add(uint64(binary.BigEndian.Uint32(p[syncAt:])))
		case watchRequest:
			c.watches.Add(-1)
		}
		size := prefixSize + int(binary.BigEndian.Uint32(p[1:]))
		p = p[min(size, len(p)):]
	}
}

func (c *frameConn) Flush() error {
	err := c.w.Flush()
	if err != nil {
		c.fail(err)
	}
	return err
}

// fail keeps the first error of the socket as the reason why the connection
// ended: go-tarantool's errors carry only its text.
func (c *frameConn) fail(err error) {
	c.cause.CompareAndSwap(nil, &err)
}

func (c *frameConn) Close() error {
	c.closeOnce.Do(func() {
		c.closeErr = c.net.Close()
		c.ended.Store(true)
		c.conn.flight.end()
		if closed := c.onClose.Load(); closed != nil {
			(*closed)()
		}
	})
	return c.closeErr
}

func (c *frameConn) Greeting() tarantool.Greeting         { return tarantool.Greeting{} }
func (c *frameConn) ProtocolInfo() tarantool.ProtocolInfo { return tarantool.ProtocolInfo{} }
func (c *frameConn) Addr() net.Addr                       { return c.net.RemoteAddr() }

// pingSyncs are the numbers of the pings that wait for an answer, oldest first.
type pingSyncs struct {
	waiting atomic.Int32
	mu      sync.Mutex
	pings   []pingSync
}

type pingSync struct {
	sync uint64
	sent int64
}

func (p *pingSyncs) add(sync uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pings = append(p.pings, pingSync{sync, clock()})
	p.waiting.Store(int32(len(p.pings)))
}

func (p *pingSyncs) take(sync uint64) bool {
	if p.waiting.Load() == 0 {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.IndexFunc(p.pings, func(ping pingSync) bool { return ping.sync == sync })
	if i < 0 {
		return false
	}
	p.pings = slices.Delete(p.pings, i, i+1)
	p.waiting.Store(int32(len(p.pings)))
	return true
}

func (p *pingSyncs) oldest() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.pings) == 0 {
		return 0
	}
	return time.Duration(clock() - p.pings[0].sent)
}

// okFrame is an empty successful reply.
func okFrame(sync uint64) []byte {
	return frame(sync, 0, []byte{0x80})
}

// errorFrame is a reply with an error of ours.
func errorFrame(sync uint64, code uint32, message string) []byte {
	return frame(sync, errorFlag|code, errorBody(message))
}

func errorBody(message string) []byte {
	return append([]byte{0x81, byte(protocol.IPROTO_ERROR_24), 0xa0 | byte(len(message))}, message...)
}

var tooLargeBody = errorBody(tooLarge)

func frame(sync uint64, code uint32, body []byte) []byte {
	b := []byte{packetMark, 0, 0, 0, 0, 0x82, byte(protocol.IPROTO_REQUEST_TYPE), 0xce}
	b = binary.BigEndian.AppendUint32(b, code)
	b = append(b, byte(protocol.IPROTO_SYNC), 0xcf)
	b = binary.BigEndian.AppendUint64(b, sync)
	b = append(b, body...)
	binary.BigEndian.PutUint32(b[1:], uint32(len(b)-prefixSize))
	return b
}
