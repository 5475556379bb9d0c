package pool_test

import (
	"encoding/binary"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	protocol "github.com/tarantool/go-iproto"

	"github.com/tntsql/tntsql/discovery"
	"github.com/tntsql/tntsql/internal/fakepeer"
	"github.com/tntsql/tntsql/internal/verdict"
	"github.com/tntsql/tntsql/internal/wire"
)

func TestSilentInstanceIsSuspectThenGivenUp(t *testing.T) {
	t.Parallel()
	set := startSet(t, unwatched, 1)
	o := options(set...)
	o.RefreshInterval, o.ProbeTimeout, o.DeadTimeout = 10*time.Millisecond, 50*time.Millisecond, time.Second
	p := openReady(t, o)
	warm(t, p, discovery.ModeRW)
	status := func(want string) func(*discovery.Snapshot) bool {
		return func(s *discovery.Snapshot) bool { return s.Instances[0].Status == want }
	}
	set[0].Mute(true)
	waitFor(t, p, status(discovery.StatusSuspect))
	reply, err := p.Do(t.Context(), request(discovery.ModeAny, verdict.Read))
	require.NoError(t, err)
	assert.Equal(t, set[1].uuid, reply.Served.UUID, "a suspect is picked last")
	unanswered := begin(t.Context(), p, request(discovery.ModeRW, verdict.Write))
	waitFor(t, p, status(discovery.StatusDown))
	assert.ErrorContains(t, (<-unanswered).err, "dead_timeout")
	set[0].Mute(false)
	waitFor(t, p, status(discovery.StatusRunning))
}

const (
	slowLink = 100 * time.Millisecond // that a piece of a reply takes
	pieces   = 12                     // of a reply, which so takes longer than the timeouts here
)

// trickle answers with a large reply that comes piece by piece.
var trickle = trickling(pieces, slowLink)

func trickling(pieces uint32, pause time.Duration) fakepeer.Script {
	const piece = 64 << 10
	return func(s *fakepeer.Session, r fakepeer.Request) bool {
		body := append([]byte{0x81, byte(protocol.IPROTO_DATA), 0x91, 0xc6, 0, 0, 0, 0}, make([]byte, pieces*piece)...)
		binary.BigEndian.PutUint32(body[4:], pieces*piece)
		for part := range slices.Chunk(fakepeer.Frame(r.Sync, 0, body), piece) {
			s.Write(part)
			time.Sleep(pause)
		}
		return true
	}
}

func TestLargeReplyOnItsWayIsASignOfLife(t *testing.T) {
	t.Parallel()
	for name, limit := range map[string]int64{"a reply": 4 << 20, "one that is refused": 64 << 10} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set := startSet(t, watched, 1)
			o := options(set...)
			o.ProbeTimeout, o.Wire.MaxResponse = 5*slowLink, limit
			p := openReady(t, o)
			warm(t, p, discovery.ModeRW, discovery.ModeRO)
			set[0].onExecute(trickle)
			first := begin(t.Context(), p, request(discovery.ModePreferRW, verdict.Read))
			arrived(t, set[0], 2)
			behind := begin(t.Context(), p, request(discovery.ModePreferRW, verdict.Read))
			for most, read := range map[int]<-chan outcome{1: first, 2: behind} { // which does not wait behind it
				o := <-read
				if limit > pieces<<16 {
					require.NoError(t, o.err)
				} else {
					require.ErrorIs(t, o.err, wire.ErrTooLarge)
				}
				assert.LessOrEqual(t, o.Attempts, most)
			}
			assert.Equal(t, 1, set[1].executed(), "another connection of the same instance serves it")
		})
	}
}

// The server answers nothing any more, but for what it has sent already.
func TestLargeReplyKeepsASuspectFromBeingGivenUp(t *testing.T) {
	t.Parallel()
	s := startServer(t, 0, watched)
	o := probing(s)
	o.DeadTimeout, o.Wire.MaxResponse = 5*slowLink, 4<<20
	p := openReady(t, o)
	warm(t, p, discovery.ModeRW)
	s.onExecute(trickle)
	s.On(protocol.IPROTO_VOTE, fakepeer.Lose)
	s.On(protocol.IPROTO_PING, fakepeer.Lose)
	write := begin(t.Context(), p, request(discovery.ModeRW, verdict.Write))
	waitFor(t, p, statusOf(0, discovery.StatusSuspect))
	answered := <-write
	require.NoError(t, answered.err)
	assert.Equal(t, 1, answered.Attempts)
	assert.Zero(t, p.Counts().Reconnects)
}

// Closing the connections of a server that is busy would stop nothing there.
func TestBusyServerIsSuspectNotDead(t *testing.T) {
	t.Parallel()
	s := startServer(t, 0, watched)
	p := openReady(t, probing(s))
	warm(t, p, discovery.ModeRW)
	answer := lateOf(s)
	write := begin(t.Context(), p, request(discovery.ModeRW, verdict.Write))
	waitFor(t, p, statusOf(0, discovery.StatusSuspect))
	assert.Never(t, func() bool { return p.Counts().Reconnects > 0 }, 5*probe, tick)
	s.On(0, nil)
	answer()
	require.NoError(t, (<-write).err)
	waitFor(t, p, statusOf(0, discovery.StatusRunning))
	assert.Zero(t, p.Counts().Reconnects)
}
