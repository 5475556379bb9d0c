package wire_test

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	protocol "github.com/tarantool/go-iproto"

	"github.com/tntsql/tntsql/internal/fakepeer"
	"github.com/tntsql/tntsql/internal/iproto"
	"github.com/tntsql/tntsql/internal/wire"
)

// pushed are the events that a connection got, in order.
type pushed struct {
	mu   sync.Mutex
	keys []string
	log  bytes.Buffer
}

func (p *pushed) event(key string, value []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.keys = append(p.keys, key)
	return nil
}

func (p *pushed) of(key string) (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, k := range p.keys {
		if k == key {
			n++
		}
	}
	return n
}

func (p *pushed) logged() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}

// Write takes a log line.
func (p *pushed) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.Write(b)
}

func dialWatching(t *testing.T, p *fakepeer.Peer, keys ...string) (*wire.Conn, *pushed) {
	events := new(pushed)
	o := options()
	o.Watch, o.Event = keys, events.event
	o.Logger = slog.New(slog.NewTextHandler(events, nil))
	c, err := wire.Dial(patience(t), p.Addr, o)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c, events
}

func watched(p *fakepeer.Peer) (keys []string) {
	for _, r := range p.Requests(protocol.IPROTO_WATCH) {
		keys = append(keys, string(r.Body[3:])) // behind a map of one key
	}
	return keys
}

func TestEachEventIsAskedFor(t *testing.T) {
	for _, version := range []string{"2.11", "3.8"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			p := fakepeer.Start(t, nil, fakepeer.Version(version))
			c, events := dialWatching(t, p, iproto.StatusKey, iproto.ElectionKey)
			require.True(t, c.Watches())
			for i := range 10 {
				require.Eventually(t, func() bool { return len(watched(p)) == 4+i }, patienceFor, tick,
					"two keys, and again behind each event")
				p.SetReadOnly(i%2 == 0)
			}
			require.Eventually(t, func() bool { return events.of(iproto.StatusKey) == 11 }, patienceFor, tick)
			assert.Equal(t, 1, events.of(iproto.ElectionKey))
			assert.NotContains(t, watched(p), iproto.ShutdownKey, "nothing else is watched")
			assert.Empty(t, events.logged())
		})
	}
}

func TestServerWithoutWatchersIsNotAsked(t *testing.T) {
	p := fakepeer.Start(t, nil, fakepeer.Version("2.6"))
	c, events := dialWatching(t, p, iproto.StatusKey)
	ping(t, c)
	assert.False(t, c.Watches())
	assert.Empty(t, watched(p))
	assert.Empty(t, events.keys)
}

// What a demoted server answers comes behind its event, and is judged by it.
func TestEventIsTakenBeforeTheReplyBehindIt(t *testing.T) {
	p := fakepeer.Start(t, nil, fakepeer.Version("3.8"))
	c, events := dialWatching(t, p, iproto.StatusKey)
	p.On(protocol.IPROTO_EXECUTE, func(s *fakepeer.Session, r fakepeer.Request) bool {
		s.Write(slices.Concat(
			fakepeer.Frame(0, uint32(protocol.IPROTO_EVENT), fakepeer.Event(iproto.StatusKey, []byte{0x80})),
			fakepeer.Frame(r.Sync, 0, []byte{0x80})))
		return true
	})
	for n := range 200 {
		_, err := c.Do(patience(t), protocol.IPROTO_EXECUTE, iproto.EmptyBody)
		require.NoError(t, err)
		require.GreaterOrEqual(t, events.of(iproto.StatusKey), n+1)
	}
}

func TestBadEventsAreDroppedWithALogLine(t *testing.T) {
	const evt = uint32(protocol.IPROTO_EVENT)
	for name, tt := range map[string]struct {
		frame []byte
		want  string
	}{
		"not asked for": {fakepeer.Frame(0, evt, fakepeer.Event("mine", []byte{0xc3})), "not asked for"},
		"too large":     {fakepeer.Frame(0, evt, fakepeer.Event(iproto.StatusKey, append([]byte{0xc6, 0, 1, 0, 0}, make([]byte, 1<<16)...))), "too large"},
		"a key that is no text": {
			fakepeer.Frame(0, evt, []byte{0x81, byte(protocol.IPROTO_EVENT_KEY), 0x91, 0x01}), "event dropped"},
		"without a key":    {fakepeer.Frame(0, evt, []byte{0x80}), "event dropped"},
		"unhashable":       {fakepeer.Frame(0, evt, unhashable), "event dropped"},
		"nested":           {fakepeer.Frame(0, evt, fakepeer.Event(iproto.StatusKey, nested(1000))), "event dropped"},
		"an array of lies": {fakepeer.Frame(0, evt, fakepeer.Event(iproto.StatusKey, []byte{0xdd, 0xff, 0xff, 0xff, 0xff})), "event dropped"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := fakepeer.Start(t, nil, fakepeer.Version("3.8"))
			c, events := dialWatching(t, p, iproto.StatusKey)
			require.Eventually(t, func() bool { return events.of(iproto.StatusKey) == 1 }, patienceFor, tick)
			p.On(protocol.IPROTO_PING, func(s *fakepeer.Session, r fakepeer.Request) bool {
				s.Write(tt.frame)
				return false
			})
			ping(t, c)
			assert.Equal(t, 1, strings.Count(events.logged(), tt.want), events.logged())
			assert.Equal(t, 1, events.of(iproto.StatusKey))
			p.On(protocol.IPROTO_PING, nil)
			p.SetReadOnly(true)
			assert.Eventually(t, func() bool { return events.of(iproto.StatusKey) == 2 }, patienceFor, tick,
				"later events are taken")
		})
	}
}

// A server that pushes and does not read would have all its events answered, in memory.
func TestEventsThatOutpaceTheAnswersAreDropped(t *testing.T) {
	const events = 20_000
	p := fakepeer.Start(t, nil, fakepeer.Version("3.8"))
	c, taken := dialWatching(t, p, iproto.StatusKey)
	require.Eventually(t, func() bool { return taken.of(iproto.StatusKey) == 1 }, patienceFor, tick)
	event := fakepeer.Frame(0, uint32(protocol.IPROTO_EVENT), fakepeer.Event(iproto.StatusKey, []byte{0x80}))
	reading := make(chan struct{})
	read := sync.OnceFunc(func() { close(reading) })
	t.Cleanup(read)
	p.On(protocol.IPROTO_PING, func(s *fakepeer.Session, r fakepeer.Request) bool {
		s.Answer(r)
		<-reading
		return true
	})
	ping(t, c)
	filler, err := c.Send(protocol.IPROTO_EVAL, make([]byte, 32<<20), false) // more than a socket's buffers take
	require.NoError(t, err)
	p.On(protocol.IPROTO_EVAL, func(s *fakepeer.Session, r fakepeer.Request) bool { return false })
	for range events {
		p.Broadcast(event)
	}
	require.Eventually(t, func() bool { return strings.Contains(taken.logged(), "not asked for") }, patienceFor, tick)
	assert.Equal(t, 1, strings.Count(taken.logged(), "\n"), "one line for any number of events")
	read()
	<-filler.Done()
	ping(t, c)
	assert.Less(t, len(watched(p)), 200)
}

// Until a connection is there nothing was asked for, so nothing is taken.
func TestEventsInTheHandshakeDoNoHarm(t *testing.T) {
	early := fakepeer.Frame(0, uint32(protocol.IPROTO_EVENT), fakepeer.Event(iproto.StatusKey, []byte{0x80}))
	push := func(s *fakepeer.Session, r fakepeer.Request) bool {
		s.Write(early)
		s.Answer(r)
		s.Write(bytes.Repeat(early, 100))
		return true
	}
	for name, typ := range map[string]protocol.Type{
		"around ID":   protocol.IPROTO_ID,
		"around AUTH": protocol.IPROTO_AUTH,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := fakepeer.Start(t, nil, fakepeer.Version("3.8"))
			p.On(typ, push)
			for range 50 {
				o := options()
				o.Credentials = user("app", "secret", nil)
				o.Watch, o.Event = []string{iproto.StatusKey}, func(string, []byte) error { return nil }
				c, err := wire.Dial(patience(t), p.Addr, o)
				require.NoError(t, err)
				_, err = c.Do(context.Background(), protocol.IPROTO_PING, iproto.EmptyBody)
				require.NoError(t, err)
				c.Close()
			}
		})
	}
}
