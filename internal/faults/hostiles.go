package faults

import (
	"bytes"
	"encoding/binary"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	protocol "github.com/tarantool/go-iproto"

	"github.com/tntsql/tntsql/internal/fakepeer"
)

const (
	mega = 1 << 20
	// lie is a length of 3.9 GiB.
	lie = "\xf9\x99\x99\x99"
	// levels of nesting.
	levels = 5_000_000
)

// greetingText is a right one.
const greetingText = "Tarantool 2.6.0 (Binary) 11111111-2222-4333-8444-555555555555"

var (
	nested  = bytes.Repeat([]byte{0x91}, levels)
	execute = protocol.IPROTO_EXECUTE
	event   = uint32(protocol.IPROTO_EVENT)
)

// hostiles are all of them. Rows that an Exec does not look at may have anything in them.
var hostiles = []hostile{
	raw("closes at once", func(net.Conn) {}),
	raw("greeting that never comes", quiet),
	raw("greeting cut short", func(c net.Conn) { write(c, greetingText[:20]) }),
	raw("greeting that stops in the middle", func(c net.Conn) { write(c, greetingText[:20]); quiet(c) }),
	raw("greeting of zeros", func(c net.Conn) { write(c, strings.Repeat("\x00", 128)); quiet(c) }),
	raw("greeting of garbage", func(c net.Conn) { write(c, strings.Repeat("\xc1\xff\x93\r\n%s", 100)); quiet(c) }),
	raw("greeting of a web server", func(c net.Conn) {
		write(c, "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n400 Bad Request")
	}),
	raw("greeting byte by byte, without end", func(c net.Conn) { slowly(c, greetingText) }),
	raw("bytes without end", func(c net.Conn) { endlessly(c, "Tarantool ") }),
	raw("version of 1 MiB", func(c net.Conn) { write(c, "Tarantool 2.6."+strings.Repeat("9", mega)+"\n"); quiet(c) }),
	raw("greeting with a huge version", func(c net.Conn) {
		write(c, pad("Tarantool 99999999999999999999.4294967296.-1 (Binary) 11111111-2222-4333-8444-555555555555"))
		quiet(c)
	}),
	raw("greeting without a uuid", func(c net.Conn) { write(c, pad("Tarantool 2.6.0 (Binary)")); quiet(c) }),
	raw("greeting, then silence", func(c net.Conn) { write(c, pad(greetingText)); quiet(c) }),
	raw("greeting, then garbage", func(c net.Conn) { write(c, pad(greetingText)); endlessly(c, "\xc1\xd4garbage") }),
	raw("greeting, then a length of 3.9 GiB", func(c net.Conn) { write(c, pad(greetingText)+"\xce"+lie); endlessly(c, "\x00") }),

	scripted("greeting without a uuid, and a login", true, execute, fakepeer.Lose, fakepeer.Greeting(pad("Tarantool 3.8.0 (Binary)"))),
	scripted("greeting with a word for a version, and a login", true, execute, fakepeer.Lose,
		fakepeer.Greeting(pad("Tarantool new (Binary) "+fakepeer.UUID))),
	scripted("auth that never ends", true, protocol.IPROTO_AUTH, fakepeer.Lose),
	scripted("auth byte by byte, without end", true, protocol.IPROTO_AUTH, drip(nil)),
	scripted("auth answered with garbage", true, protocol.IPROTO_AUTH, fakepeer.Garble),
	scripted("auth refused with a nested error", true, protocol.IPROTO_AUTH, reply(0x8000|47, "\x81\x52", nested)),
	scripted("auth with a frame length of 3.9 GiB", true, protocol.IPROTO_AUTH, announced(0)),
	scripted("id with a frame length of 3.9 GiB", true, protocol.IPROTO_ID, announced(0)),
	scripted("id answered with garbage", true, protocol.IPROTO_ID, fakepeer.Garble),
	scripted("id that never ends", true, protocol.IPROTO_ID, fakepeer.Lose),
	scripted("votes of garbage", true, protocol.IPROTO_VOTE, fakepeer.Garble),
	scripted("votes nested 5 million deep", true, protocol.IPROTO_VOTE, reply(0, "\x81\x29\x81\x02", nested)),
	scripted("votes with a lying vclock", false, protocol.IPROTO_VOTE, reply(0, "\x81\x29\x81\x02\xdf"+lie, nil)),
	scripted("box.info with a version of 1 MiB", false, protocol.IPROTO_CALL,
		reply(0, "\x81\x30\x91\x81\xa7version\xdb\x00\x10\x00\x00", bytes.Repeat([]byte("9"), mega)), fakepeer.Granted()),

	scripted("box.info with a status of 900 KiB", true, protocol.IPROTO_CALL,
		reply(0, "\x81\x30\x91\x82\xa2ro\xc2\xa6status\xdb\x00\x0e\x10\x00", bytes.Repeat([]byte("s"), 900<<10)), fakepeer.Granted()),
	scripted("votes with a vclock of 65,535 components", true, protocol.IPROTO_VOTE,
		reply(0, "\x81\x29\x82\x04\xc3\x02\xde\xff\xff", components(65_535))),
	scripted("a way to log in of 60 kB", true, protocol.IPROTO_ID,
		reply(0, "\x83\x54\x06\x55\x90\x5b\xda\xea\x60", bytes.Repeat([]byte("a"), 60_000))),
	scripted("login refused with a text of 60 kB", true, protocol.IPROTO_AUTH,
		reply(0x8000|47, "\x81\x31\xda\xea\x60", bytes.Repeat([]byte("r"), 60_000))),

	scripted("silence after the login", true, execute, fakepeer.Lose),
	scripted("replies of garbage", true, execute, fakepeer.Garble),
	scripted("replies cut short", true, execute, fakepeer.CutShort),
	scripted("no reply but the end", true, execute, fakepeer.Cut),
	scripted("replies twice", false, execute, fakepeer.Double),
	scripted("replies byte by byte, without end", true, execute, drip([]byte("\xce\x00\x10\x00\x00"))),
	scripted("frame length of 3.9 GiB", true, execute, frame("\xce"+lie, nil)),
	scripted("frame length of 3.9 GiB, and bytes without end", true, execute, drip([]byte("\xce"+lie))),
	scripted("frame length of 200 MiB, and bytes without end", true, execute, drip([]byte("\xce\x0c\x80\x00\x00"))),
	scripted("frame length of 64 bits", true, execute, frame("\xcf\xff\xff\xff\xff\xff\xff\xff\xff", nil)),
	scripted("frame length that is negative", true, execute, frame("\xd2\xff\xff\xff\xff", nil)),
	scripted("frame length that is a text", true, execute, frame("\xa5hello", nil)),
	scripted("frames of no length", true, execute, frame(strings.Repeat("\xce\x00\x00\x00\x00", 1000), nil)),
	scripted("header nested 5 million deep", true, execute, framed("", nested)),
	scripted("header with a nested key", true, execute, framed("\x82\x00\x00\x01", nested)),
	scripted("header with a nested value of a key that nobody knows", true, execute, framed("\x83\x00\x00\x01\x01\x20", nested)),
	scripted("header of 4 billion keys", true, execute, framed("\xdf\xff\xff\xff\xff", nil)),
	scripted("header that is a list", true, execute, framed("\x93\x01\x02\x03\x80", nil)),
	scripted("sync that is a text", true, execute, framed("\x82\x00\x00\x01\xa1a\x80", nil)),
	scripted("type of 64 bits", true, execute, framed("\x82\x00\xcf\xff\xff\xff\xff\xff\xff\xff\xff\x01\x01\x80", nil)),
	scripted("body nested 5 million deep", true, execute, reply(0, "\x81\x30", nested)),
	scripted("row nested 5 million deep", false, execute, reply(0, "\x82\x32\x91\x81\x00\xa1a\x30\x91", nested)),
	scripted("error within an error, 20,000 times", false, execute, reply(0, "\x82\x32\x91\x82\x00\xa1a\x01\xa3any\x30\x91\x91", errorWithin(20_000))),
	scripted("4 billion rows", true, execute, reply(0, "\x82\x32\x91\x82\x00\xa1a\x01\xa1b\x30\xdd\xff\xff\xff\xff", nil)),
	scripted("4 billion columns", true, execute, reply(0, "\x82\x32\xdd\xff\xff\xff\xff\x30\x90", nil)),
	scripted("text of 3.9 GiB", false, execute, reply(0, "\x82\x32\x91\x82\x00\xa1a\x01\xa6string\x30\x91\x91\xdb"+lie, nil)),
	scripted("error nested 5 million deep", true, execute, reply(0x8000|3, "\x81\x52\x81\x00\x91\x81\x06", nested)),
	scripted("error without a body", true, execute, reply(0x8000|3, "", nil)),
	scripted("error with a text of 1 MiB", true, execute, reply(0x8000|3, "\x81\x31\xdb\x00\x10\x00\x00", bytes.Repeat([]byte("x"), mega))),
	scripted("unknown type", false, execute, reply(0x7777, "\x80", nil)),
	scripted("wrong ids", true, execute, otherSync(1)),
	scripted("wrong ids of 64 bits", true, execute, otherSync(1<<63)),
	scripted("replies to requests never made", false, execute, unasked(0)),
	scripted("errors for requests never made", false, execute, unasked(0x8000|3)),
	scripted("events never asked for", false, execute, events("box.secret", []byte{0xc3})),
	scripted("events without end, and reads nothing", false, execute, flood("box.status", "\x82\xa5is_ro\xc3\xa6status\xa7running")),
	scripted("events without end that nobody asked for", false, execute, flood("box.secret", "\xc3")),
	scripted("event with a key of 1 MiB", false, execute, events(strings.Repeat("k", mega), []byte{0xc3})),
	scripted("event with a frame length of 3.9 GiB", true, execute, announced(event)),
	scripted("pushes of 320 MiB before the reply", false, execute, once(pushes)),
	scripted("event nested 5 million deep", false, execute, events("box.status", nested)),
	scripted("event without a key", false, execute, odd("\x80")),
	scripted("event with a number for a key", false, execute, odd("\x82\x57\x01\x58\xc3")),
	scripted("event with nil for a key", false, execute, odd("\x82\x57\xc0\x58\xc3")),
	scripted("event with a map for a key", false, execute, odd("\x82\x57\x81\x90\x90\x58\xc3")),
	scripted("event with keys of maps and lists", false, execute, odd("\x83\x91\x01\x02\x81\x01\x02\x03\x57\xa1a")),
	scripted("event with a lying length", false, execute, odd("\x82\x57\xdb"+lie)),
	scripted("event that is garbage", false, execute, odd("\xc1\xc1\xc1")),
}

// errorWithin is an MP_ERROR whose field is another, and so on.
func errorWithin(times int) []byte {
	value := []byte("\xc7\x03\x03\x81\x00\x90")
	var heads []string
	for size, n := len(value), 0; n < times; n++ {
		stack := "\x81\x00\x91\x82\x03\xa1m\x06\x81\xa1f"
		size += len(stack)
		head := string(binary.BigEndian.AppendUint32([]byte{0xc9}, uint32(size))) + "\x03" + stack
		heads, size = append(heads, head), size+len(head)-len(stack)
	}
	slices.Reverse(heads)
	return append([]byte(strings.Join(heads, "")), value...)
}

// components are those of a vclock.
func components(n int) (b []byte) {
	for id := range n {
		b = append(binary.BigEndian.AppendUint32(append(b, 0xce), uint32(id)), 1)
	}
	return b
}

// flood sends events for a while, without reading, and then the right reply.
func flood(key, value string) fakepeer.Script {
	many := bytes.Repeat(fakepeer.Frame(0, event, fakepeer.Event(key, []byte(value))), 1000)
	return func(s *fakepeer.Session, _ fakepeer.Request) bool {
		for range 100 {
			s.Write(many)
		}
		return false
	}
}

// raw is a hostile server that never comes to a login.
func raw(name string, serve func(net.Conn)) hostile {
	return hostile{name: name, fails: true, listen: func() (string, func(), error) {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return "", nil, err
		}
		var (
			running sync.WaitGroup
			mu      sync.Mutex
			conns   []net.Conn
		)
		running.Go(func() {
			for {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				mu.Lock()
				conns = append(conns, conn)
				mu.Unlock()
				running.Go(func() {
					serve(conn)
					_ = conn.Close()
				})
			}
		})
		return listener.Addr().String(), func() {
			_ = listener.Close()
			mu.Lock()
			for _, conn := range conns {
				_ = conn.Close()
			}
			mu.Unlock()
			running.Wait()
		}, nil
	}}
}

// scripted is a server, read-only and with watchers, that answers requests of a type by a
// script. Those before 2.10 have votes instead of watchers, and call box.info.
func scripted(name string, fails bool, typ protocol.Type, script fakepeer.Script, options ...fakepeer.Option) hostile {
	return hostile{name: name, fails: fails, listen: func() (string, func(), error) {
		version := fakepeer.Version("3.8")
		if typ == protocol.IPROTO_VOTE || typ == protocol.IPROTO_CALL {
			version = fakepeer.Version("2.6")
		}
		peer, err := fakepeer.New(nil, append([]fakepeer.Option{version, fakepeer.ReadOnly()}, options...)...)
		if err != nil {
			return "", nil, err
		}
		peer.On(typ, script)
		return peer.Addr, peer.Close, nil
	}}
}

// write sends bytes to a client that may have left.
func write(c net.Conn, text string) bool {
	_, err := c.Write([]byte(text))
	return err == nil
}

// pad is a whole greeting.
func pad(line string) string {
	const half = 63
	if len(line) < half {
		line += strings.Repeat(" ", half-len(line))
	}
	return line[:half] + "\n" + strings.Repeat("A", 44) + strings.Repeat(" ", 19) + "\n"
}

// quiet waits until the client leaves.
func quiet(c net.Conn) {
	buffer := make([]byte, 4096)
	for {
		if _, err := c.Read(buffer); err != nil {
			return
		}
	}
}

// slowly sends a text byte by byte, again and again.
func slowly(c net.Conn, text string) {
	for i := 0; write(c, text[i%len(text):i%len(text)+1]); i++ {
		time.Sleep(20 * time.Millisecond)
	}
}

func endlessly(c net.Conn, text string) {
	for text = strings.Repeat(text, 1000); write(c, text); {
		time.Sleep(time.Millisecond)
	}
}

// drip begins to answer, and goes on byte by byte until the client leaves.
func drip(begin []byte) fakepeer.Script {
	return func(s *fakepeer.Session, _ fakepeer.Request) bool {
		s.Write(begin)
		for range 200 {
			s.Write([]byte{0})
			time.Sleep(10 * time.Millisecond)
		}
		return true
	}
}

// frame answers with bytes as they are.
func frame(head string, rest []byte) fakepeer.Script {
	return func(s *fakepeer.Session, _ fakepeer.Request) bool {
		s.Write(append([]byte(head), rest...))
		return true
	}
}

// framed answers with a frame of the right length.
func framed(head string, rest []byte) fakepeer.Script {
	b := binary.BigEndian.AppendUint32([]byte{0xce}, uint32(len(head)+len(rest)))
	return frame(string(b)+head, rest)
}

// reply answers with a right header, and a body.
func reply(typ uint32, head string, rest []byte) fakepeer.Script {
	return func(s *fakepeer.Session, r fakepeer.Request) bool {
		s.Reply(r.Sync, typ, append([]byte(head), rest...))
		return true
	}
}

// announced answers with the beginning of a reply, or an event, of 3.9 GiB.
func announced(typ uint32) fakepeer.Script {
	return func(s *fakepeer.Session, r fakepeer.Request) bool {
		begin := fakepeer.Frame(r.Sync, typ, make([]byte, 1000)) // a header is not read before so much is there
		copy(begin[1:], lie)
		s.Write(begin)
		return true
	}
}

// once does it for the first request, and answers the others: what is much takes its time.
func once(script fakepeer.Script) fakepeer.Script {
	var done atomic.Bool
	return func(s *fakepeer.Session, r fakepeer.Request) bool {
		return done.CompareAndSwap(false, true) && script(s, r)
	}
}

// pushes sends what box.session.push would, and then the right reply.
func pushes(s *fakepeer.Session, r fakepeer.Request) bool {
	const pushed, size = 40, 8 * mega
	push := append([]byte{0x81, 0x30, 0x91, 0xc6, 0, 0x80, 0, 0}, make([]byte, size)...)
	for range pushed {
		s.Reply(r.Sync, uint32(protocol.IPROTO_CHUNK), push)
	}
	return false
}

func otherSync(by uint64) fakepeer.Script {
	return func(s *fakepeer.Session, r fakepeer.Request) bool {
		s.Reply(r.Sync+by, 0, []byte{0x80})
		return true
	}
}

// unasked sends replies that nobody waits for, and then the right one.
func unasked(typ uint32) fakepeer.Script {
	return func(s *fakepeer.Session, r fakepeer.Request) bool {
		for n := range uint64(1000) {
			s.Reply(r.Sync+1000+n, typ, []byte{0x80})
		}
		return false
	}
}

func events(key string, value []byte) fakepeer.Script {
	body := fakepeer.Event(key, value)
	return odd(string(body))
}

// odd sends an event, and then the right reply.
func odd(body string) fakepeer.Script {
	return func(s *fakepeer.Session, _ fakepeer.Request) bool {
		s.Reply(0, event, []byte(body))
		return false
	}
}
