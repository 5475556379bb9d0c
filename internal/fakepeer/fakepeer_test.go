package fakepeer_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"io"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	protocol "github.com/tarantool/go-iproto"
	"go.uber.org/goleak"

	"github.com/tntsql/tntsql/internal/fakepeer"
	"github.com/tntsql/tntsql/internal/iproto"
	"github.com/tntsql/tntsql/internal/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 10 * time.Second

// client reads packets one by one, which the driver's connection does not show.
type client struct {
	t *testing.T
	net.Conn
	r *bufio.Reader
}

func dial(t *testing.T, p *fakepeer.Peer) *client {
	conn, err := net.Dial("tcp", p.Addr)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	require.NoError(t, conn.SetDeadline(time.Now().Add(patience)))
	return &client{t, conn, bufio.NewReader(conn)}
}

func (c *client) greeted() *client {
	_, err := io.ReadFull(c.r, make([]byte, 128))
	require.NoError(c.t, err)
	return c
}

func (c *client) send(sync uint64, typ protocol.Type, body []byte) {
	_, err := c.Write(fakepeer.Frame(sync, uint32(typ), body))
	require.NoError(c.t, err)
}

func (c *client) receive() (iproto.Header, []byte) {
	var prefix [5]byte
	_, err := io.ReadFull(c.r, prefix[:])
	require.NoError(c.t, err)
	packet := make([]byte, binary.BigEndian.Uint32(prefix[1:]))
	_, err = io.ReadFull(c.r, packet)
	require.NoError(c.t, err)
	h, bodyAt, err := iproto.ParseHeader(packet)
	require.NoError(c.t, err)
	return h, packet[bodyAt:]
}

func (c *client) event() (key string, value []byte) {
	h, body := c.receive()
	require.EqualValues(c.t, protocol.IPROTO_EVENT, h.Type)
	key, value, err := iproto.ParseEvent(body)
	require.NoError(c.t, err)
	return key, value
}

func TestPeerAnswersAsItsVersionDoes(t *testing.T) {
	const uuid = "00000001-0000-4000-8000-000000000000"
	for _, tt := range []struct {
		version string
		watches bool
		fields  int // of ER_READONLY
	}{
		{"2.6.0", false, 0},
		{"2.8.4", false, 0},
		{"2.11.9", true, 1},
		{"3.8.0", true, 2},
	} {
		t.Run(tt.version, func(t *testing.T) {
			t.Parallel()
			p := fakepeer.Start(t, nil, fakepeer.Instance(tt.version, uuid), fakepeer.Granted())
			c, err := wire.Dial(t.Context(), p.Addr, wire.Options{MaxResponse: 1 << 20, Logger: slog.New(slog.DiscardHandler)})
			require.NoError(t, err)
			defer c.Close()
			assert.Equal(t, uuid, c.Greeting().UUID)
			assert.Equal(t, tt.version, c.Greeting().Version.String())
			assert.Equal(t, tt.watches, c.Watches())

			for _, readOnly := range []bool{false, true} {
				p.SetReadOnly(readOnly)
				p.SetLSN(1000)
				reply := do(t, c, protocol.IPROTO_VOTE)
				ballot, err := iproto.ParseBallot(reply.Body)
				require.NoError(t, err)
				assert.Equal(t, readOnly, ballot.ReadOnly)
				assert.Equal(t, map[uint32]uint64{1: 1000}, ballot.VClock)
				info, err := iproto.ParseBoxInfo(do(t, c, protocol.IPROTO_CALL).Body)
				require.NoError(t, err)
				assert.Equal(t, readOnly, info.ReadOnly)
				assert.Equal(t, uuid, info.UUID)
				assert.Equal(t, "running", info.Status)
			}
			result, err := iproto.ParseExecute(do(t, c, protocol.IPROTO_EXECUTE).Body, nil)
			require.NoError(t, err)
			assert.EqualValues(t, 1, result.Affected)

			p.On(protocol.IPROTO_EXECUTE, fakepeer.Replay("update, read-only"))
			reply := do(t, c, protocol.IPROTO_EXECUTE)
			refusal := iproto.ParseError(reply.Code, reply.Body)
			assert.EqualValues(t, protocol.ER_READONLY, refusal.Code)
			assert.Len(t, refusal.Stack[0].Fields, tt.fields)
		})
	}
}

func do(t *testing.T, c *wire.Conn, typ protocol.Type) wire.Reply {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	reply, err := c.Do(ctx, typ, iproto.EmptyBody)
	require.NoError(t, err)
	return reply
}

func TestRefusalNamesTheLeader(t *testing.T) {
	const leader = "00000002-0000-4000-8000-000000000000"
	for _, version := range []string{"2.11", "3.8"} {
		p := fakepeer.Start(t, fakepeer.NameLeader(leader), fakepeer.Version(version))
		c := dial(t, p).greeted()
		c.send(1, protocol.IPROTO_EXECUTE, iproto.EmptyBody)
		h, body := c.receive()
		refusal := iproto.ParseError(h.Type, body)
		require.NotEmpty(t, refusal.Stack)
		assert.NotEmpty(t, refusal.Stack[0].Fields["reason"])
		assert.Equal(t, leader, refusal.Stack[0].Fields["leader_uuid"])
	}
}

func TestEventsComeAtOnceThenWhenAskedFor(t *testing.T) {
	p := fakepeer.Start(t, nil, fakepeer.Version("3.8"))
	c := dial(t, p).greeted()
	watch := func(key string) { c.send(0, protocol.IPROTO_WATCH, iproto.AppendWatch(nil, key)) }
	status := func() bool {
		key, value := c.event()
		require.Equal(t, iproto.StatusKey, key)
		e, err := iproto.ParseInstanceEvent(iproto.StatusKey, value)
		require.NoError(t, err)
		return e.ReadOnly
	}
	watch(iproto.StatusKey)
	assert.False(t, status(), "the first event comes at once")
	p.SetReadOnly(true)
	p.SetReadOnly(false)
	p.SetReadOnly(true)
	c.send(1, protocol.IPROTO_PING, iproto.EmptyBody)
	h, _ := c.receive()
	assert.EqualValues(t, 1, h.Sync, "nothing was pushed to a client that has not asked again")
	watch(iproto.StatusKey)
	assert.True(t, status(), "what changed meanwhile comes at once")
	watch(iproto.StatusKey)
	p.SetReadOnly(false)
	assert.False(t, status())

	watch(iproto.ShutdownKey)
	key, value := c.event()
	assert.Equal(t, iproto.ShutdownKey, key)
	assert.Nil(t, value)
	watch("a key of nobody")
	_, value = c.event()
	assert.Nil(t, value)
}

func TestFaults(t *testing.T) {
	start := func(t *testing.T, script fakepeer.Script) *client {
		return dial(t, fakepeer.Start(t, script)).greeted()
	}
	t.Run("lost", func(t *testing.T) {
		p := fakepeer.Start(t, nil)
		p.On(protocol.IPROTO_EXECUTE, fakepeer.Lose)
		c := dial(t, p).greeted()
		c.send(1, protocol.IPROTO_EXECUTE, iproto.EmptyBody)
		c.send(2, protocol.IPROTO_PING, iproto.EmptyBody)
		h, _ := c.receive()
		assert.EqualValues(t, 2, h.Sync)
		assert.Len(t, p.Requests(protocol.IPROTO_EXECUTE), 1)
	})
	t.Run("late", func(t *testing.T) {
		ready := make(chan struct{})
		p := fakepeer.Start(t, nil)
		p.On(protocol.IPROTO_EXECUTE, fakepeer.Late(ready))
		c := dial(t, p).greeted()
		c.send(1, protocol.IPROTO_EXECUTE, iproto.EmptyBody)
		c.send(2, protocol.IPROTO_PING, iproto.EmptyBody)
		h, _ := c.receive()
		assert.EqualValues(t, 2, h.Sync)
		close(ready)
		h, _ = c.receive()
		assert.EqualValues(t, 1, h.Sync)
	})
	t.Run("doubled", func(t *testing.T) {
		c := start(t, fakepeer.Double)
		c.send(1, protocol.IPROTO_VOTE, iproto.EmptyBody)
		for range 2 {
			h, body := c.receive()
			assert.EqualValues(t, 1, h.Sync)
			assert.Equal(t, fakepeer.Ballot(false), body)
		}
	})
	t.Run("garbled", func(t *testing.T) {
		c := start(t, fakepeer.Garble)
		c.send(1, protocol.IPROTO_VOTE, iproto.EmptyBody)
		h, body := c.receive()
		assert.EqualValues(t, 1, h.Sync)
		assert.Len(t, body, len(fakepeer.Ballot(false)))
		_, err := iproto.ParseBallot(body)
		assert.Error(t, err)
	})
	t.Run("cut", func(t *testing.T) {
		c := start(t, fakepeer.Cut)
		c.send(1, protocol.IPROTO_VOTE, iproto.EmptyBody)
		rest, _ := io.ReadAll(c.r) // ended by the peer, or reset
		assert.Empty(t, rest)
	})
	t.Run("cut short", func(t *testing.T) {
		c := start(t, fakepeer.CutShort)
		c.send(1, protocol.IPROTO_VOTE, iproto.EmptyBody)
		rest, err := io.ReadAll(c.r)
		require.NoError(t, err)
		assert.Len(t, rest, len(fakepeer.Frame(1, 0, fakepeer.Ballot(false)))/2)
	})
	t.Run("muted", func(t *testing.T) {
		p := fakepeer.Start(t, nil)
		c := dial(t, p).greeted()
		p.Mute(true)
		c.send(1, protocol.IPROTO_PING, iproto.EmptyBody)
		require.Eventually(t, func() bool { return len(p.Requests()) == 1 }, patience, time.Millisecond)
		p.Mute(false)
		c.send(2, protocol.IPROTO_PING, iproto.EmptyBody)
		h, _ := c.receive()
		assert.EqualValues(t, 2, h.Sync)
	})
}

func TestStallKeepsWhatWasSent(t *testing.T) {
	p := fakepeer.Start(t, nil)
	c := dial(t, p).greeted()
	p.Stall()
	c.send(1, protocol.IPROTO_PING, iproto.EmptyBody)
	c.send(2, protocol.IPROTO_VOTE, iproto.EmptyBody)
	late := dial(t, p)
	require.NoError(t, late.SetReadDeadline(time.Now().Add(20*time.Millisecond)))
	_, err := late.r.ReadByte()
	require.Error(t, err, "no greeting")
	assert.Empty(t, p.Requests())

	p.Resume()
	require.NoError(t, late.SetReadDeadline(time.Now().Add(patience)))
	late.greeted()
	for sync := range uint64(2) {
		h, _ := c.receive()
		assert.Equal(t, sync+1, h.Sync)
	}
}

func TestArrivalsAreInOrder(t *testing.T) {
	p := fakepeer.Start(t, nil)
	a, b := dial(t, p).greeted(), dial(t, p).greeted()
	for i, c := range []*client{a, b, b, a} {
		c.send(uint64(i), protocol.IPROTO_PING, iproto.EmptyBody)
		c.receive()
	}
	var order []uint64
	for _, r := range p.Requests() {
		order = append(order, r.Sync)
		assert.Equal(t, r.Sync == 1 || r.Sync == 2, r.Session == 1)
	}
	assert.Equal(t, []uint64{0, 1, 2, 3}, order)
	assert.Equal(t, 2, p.Sessions())
}

func TestRefuseThenListen(t *testing.T) {
	p := fakepeer.Start(t, nil)
	dial(t, p).greeted()
	p.Refuse()
	_, err := net.Dial("tcp", p.Addr)
	require.Error(t, err)
	require.NoError(t, p.Listen())
	dial(t, p).greeted()
}
