package pool_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	protocol "github.com/tarantool/go-iproto"
	"github.com/vmihailenco/msgpack/v5"

	"github.com/tntsql/tntsql/discovery"
	"github.com/tntsql/tntsql/internal/fakepeer"
	"github.com/tntsql/tntsql/internal/iproto"
)

func TestAServerThatEndsEachConnectionIsNotHammered(t *testing.T) {
	for name, script := range map[string]fakepeer.Script{
		"before it answers": fakepeer.Cut,
		"behind its answer": func(s *fakepeer.Session, r fakepeer.Request) bool {
			s.Answer(r)
			s.Close()
			return true
		},
	} {
		for _, version := range []string{unwatched, watched} {
			t.Run(name+", "+version, func(t *testing.T) {
				t.Parallel()
				s := startServer(t, 0, version)
				s.On(protocol.IPROTO_VOTE, script)
				begun := time.Now()
				open(t, options(s))
				require.Eventually(t, func() bool { return s.votes() >= 8 }, patience, tick)
				assert.Greater(t, time.Since(begun), time.Second)
			})
		}
	}
}

func TestAConnectionThatHasLastedIsMadeAnewAtOnce(t *testing.T) {
	s := startServer(t, 0, unwatched)
	p := openReady(t, options(s))
	begun := time.Now()
	require.Eventually(t, func() bool { return time.Since(begun) > 1100*time.Millisecond }, patience, tick)
	begun = time.Now()
	s.Cut()
	require.Eventually(t, func() bool { return s.votes() >= 2 }, patience, tick)
	assert.Less(t, time.Since(begun), 500*time.Millisecond)
	waitFor(t, p, func(s *discovery.Snapshot) bool { return s.Instances[0].Answers() })
}

// What a client says of its connections is not the server's to say.
func TestAServerCannotSayThatItIsDown(t *testing.T) {
	for _, word := range []string{
		discovery.StatusConnecting, discovery.StatusDown, discovery.StatusRefused, discovery.StatusShutdown,
		discovery.StatusStandby, discovery.StatusSuspect, discovery.StatusUnresolved,
	} {
		t.Run(word, func(t *testing.T) {
			t.Parallel()
			s := startServer(t, 0, watched)
			s.Push(iproto.StatusKey, pairs(t, map[string]any{"is_ro": false, "status": word}))
			p := open(t, options(s))
			waitFor(t, p, func(s *discovery.Snapshot) bool { return s.Instances[0].Status == "says "+word })
			assert.True(t, p.Snapshot().Settled)
		})
	}
}

func TestAServerThatAnswersNoVotesIsAskedAFewTimes(t *testing.T) {
	s := startServer(t, 0, unwatched)
	s.On(protocol.IPROTO_VOTE, fakepeer.Lose)
	o := options(s)
	o.ProbeTimeout = 2 * time.Millisecond
	open(t, o)
	require.Eventually(t, func() bool { return s.votes() == 64 }, patience, tick)
	assert.Never(t, func() bool { return s.votes() > 64 }, 300*time.Millisecond, tick)
}

// A master that is of another replica set each time it is asked.
func TestVotesOfManyReplicaSetsAreForgotten(t *testing.T) {
	s := startServer(t, 0, unwatched, fakepeer.Granted())
	sets := 0
	s.On(protocol.IPROTO_CALL, func(session *fakepeer.Session, r fakepeer.Request) bool {
		sets++
		body, _ := msgpack.Marshal(map[protocol.Key]any{protocol.IPROTO_DATA: []any{map[string]any{
			"status": "running", "ro": false, "cluster": map[string]any{"uuid": time.Duration(sets).String()},
		}}})
		session.Reply(r.Sync, 0, body)
		return true
	})
	o := options(s)
	o.RefreshInterval = 100 * time.Microsecond
	p := open(t, o)
	require.Eventually(t, func() bool { return s.votes() > 1000 }, patience, tick)
	assert.LessOrEqual(t, p.MarkedSets(), 300)
}
