package pool_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	protocol "github.com/tarantool/go-iproto"

	"github.com/tntsql/tntsql/discovery"
	"github.com/tntsql/tntsql/internal/fakepeer"
	"github.com/tntsql/tntsql/internal/iproto"
	"github.com/tntsql/tntsql/internal/verdict"
	"github.com/tntsql/tntsql/pool"
)

// inOrder tells of a data connection's requests whether each write has a vote of
// its own somewhere before it, and how many writes there are.
func inOrder(s *server) (writes int, ok bool) {
	votes := make(map[int]int)
	for _, r := range s.Requests(protocol.IPROTO_VOTE, protocol.IPROTO_EXECUTE) {
		if r.Type == protocol.IPROTO_VOTE {
			votes[r.Session]++
			continue
		}
		writes++
		if votes[r.Session]--; votes[r.Session] < 0 {
			return writes, false
		}
	}
	return writes, true
}

func TestWritesTravelBehindAVoteWhereTheyAreAcceptedReadOnly(t *testing.T) {
	const callers, each = 8, 25
	s := startServer(t, 0, unguarded)
	p := openReady(t, options(s))
	votes := s.votes()
	var running sync.WaitGroup
	for range callers {
		running.Go(func() {
			for range each {
				_, err := p.Do(t.Context(), request(discovery.ModeRW, verdict.Write))
				assert.NoError(t, err)
			}
		})
	}
	running.Wait()
	writes, ok := inOrder(s)
	assert.Equal(t, callers*each, writes)
	assert.True(t, ok, "a write came before its vote")
	assert.GreaterOrEqual(t, s.votes()-votes, callers*each)
}

func TestOneWriteIsDirectlyBehindItsVote(t *testing.T) {
	s := startServer(t, 0, unguarded)
	p := openReady(t, options(s))
	for range 200 {
		_, err := p.Do(t.Context(), request(discovery.ModeRW, verdict.Write))
		require.NoError(t, err)
	}
	writes := s.Requests(protocol.IPROTO_EXECUTE)
	require.Len(t, writes, 200)
	var data []protocol.Type // what came on the data connection, but for pings
	for _, r := range s.Requests(protocol.IPROTO_VOTE, protocol.IPROTO_EXECUTE) {
		if r.Session == writes[0].Session {
			data = append(data, r.Type)
		}
	}
	require.Len(t, data, 400)
	for i, typ := range data {
		require.Equal(t, []protocol.Type{protocol.IPROTO_VOTE, protocol.IPROTO_EXECUTE}[i%2], typ)
	}
}

func TestOtherRequestsHaveNoVoteInFront(t *testing.T) {
	for name, tt := range map[string]struct {
		version string
		mode    discovery.Mode
		kind    verdict.Kind
	}{
		"reads":                       {unguarded, discovery.ModeRW, verdict.Read},
		"writes that chose a replica": {unguarded, discovery.ModeRO, verdict.Write},
		"writes of 2.8":               {unwatched, discovery.ModeRW, verdict.Write},
		"writes of 3.8":               {watched, discovery.ModeRW, verdict.Write},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set := startSet(t, tt.version, 1)
			p := openReady(t, options(set...).Unhurried())
			votes := set[0].votes() + set[1].votes()
			for range 20 {
				_, err := p.Do(t.Context(), request(tt.mode, tt.kind))
				require.NoError(t, err)
			}
			assert.Equal(t, votes, set[0].votes()+set[1].votes())
		})
	}
}

func TestWriteAcceptedReadOnlyIsNoSuccess(t *testing.T) {
	set := startSet(t, unguarded, 1)
	p := openReady(t, options(set...))
	switchOver(set[0], set[1])
	reply, err := p.Do(t.Context(), request(discovery.ModeRW, verdict.Write))
	require.ErrorAs(t, err, new(*pool.UnknownError))
	assert.ErrorContains(t, err, "read-only")
	assert.Equal(t, 1, reply.Attempts)
	assert.Equal(t, 1, set[0].executed())
	assert.Zero(t, set[1].executed())

	waitFor(t, p, roleOf(0, discovery.RoleRO))
	reply, err = p.Do(t.Context(), request(discovery.ModeRW, verdict.Write))
	require.NoError(t, err)
	assert.Equal(t, set[1].uuid, reply.Served.UUID)
}

func TestWriteRefusedBehindItsVoteGoesElsewhere(t *testing.T) {
	set := startSet(t, unguarded, 1)
	p := openReady(t, options(set...))
	switchOver(set[0], set[1])
	set[0].onExecute(refuse) // as 2.6 does with an UPDATE
	reply, err := p.Do(t.Context(), request(discovery.ModeRW, verdict.Write))
	require.NoError(t, err)
	assert.Equal(t, set[1].uuid, reply.Served.UUID)
}

// A server answers in order, so this one is none; its client's caller must not
// wait for ever all the same.
func TestVoteThatIsNeverAnswered(t *testing.T) {
	s := startServer(t, 0, unguarded)
	p := openReady(t, options(s))
	s.On(protocol.IPROTO_VOTE, fakepeer.Lose)
	ctx, cancel := context.WithCancel(t.Context())
	done := begin(ctx, p, request(discovery.ModeRW, verdict.Write))
	require.Eventually(t, func() bool { return s.executed() == 1 }, patience, tick)
	cancel()
	select {
	case o := <-done:
		assert.ErrorIs(t, o.err, context.Canceled)
		assert.ErrorAs(t, o.err, new(*pool.UnknownError))
	case <-time.After(patience):
		t.Error("the end of the context ends nothing")
		s.Cut()
	}
}

// noRows is an UPDATE or DELETE whose answer says that it changed nothing.
func noRows(m discovery.Mode) *pool.Request {
	req := request(m, verdict.Write)
	req.Vain = func(body []byte) bool {
		result, err := iproto.ParseExecute(body, nil)
		return err == nil && result.Affected == 0
	}
	return req
}

var changedNothing = fakepeer.Replay("update, no rows, read-only")

// armed waits until the data connections, too, hear of the next change at once.
func armed(t *testing.T, s *server) {
	require.Eventually(t, func() bool {
		watches := make(map[int]int) // by session
		for _, r := range s.Requests(protocol.IPROTO_WATCH) {
			if string(r.Body[3:]) == iproto.StatusKey {
				watches[r.Session]++
			}
		}
		for _, n := range watches {
			if n < 2 {
				return false
			}
		}
		return len(watches) > 1
	}, patience, tick)
}

func TestNoRowsOnAFormerMasterAreARefusal(t *testing.T) {
	for version, watches := range map[string]bool{unguarded: false, unwatched: false, "2.11.9": true, "3.8.0": true} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			set := startSet(t, version, 1)
			p := openReady(t, options(set...))
			for i := range 20 {
				old, fresh := set[i%2], set[(i+1)%2]
				_, err := p.Do(t.Context(), request(discovery.ModeRW, verdict.Write)) // there are data connections
				require.NoError(t, err)
				if watches {
					armed(t, old)
				}
				old.onExecute(func(s *fakepeer.Session, r fakepeer.Request) bool {
					switchOver(old, fresh)
					return changedNothing(s, r)
				})
				sent := fresh.executed()
				reply, err := p.Do(t.Context(), noRows(discovery.ModeRW))
				require.NoError(t, err)
				assert.Equal(t, fresh.uuid, reply.Served.UUID)
				assert.Equal(t, 2, reply.Attempts)
				assert.Equal(t, sent+1, fresh.executed())
				old.onExecute(nil)
			}
		})
	}
}

// Nothing was applied there that could replicate.
func TestNoRowsBehindAReadOnlyVoteAreARefusal(t *testing.T) {
	set := startSet(t, unguarded, 1)
	p := openReady(t, options(set...))
	switchOver(set[0], set[1])
	set[0].onExecute(changedNothing)
	reply, err := p.Do(t.Context(), noRows(discovery.ModeRW))
	require.NoError(t, err)
	assert.Equal(t, set[1].uuid, reply.Served.UUID)
	assert.Equal(t, 2, reply.Attempts)
}

func TestNoRowsOnTheMasterCount(t *testing.T) {
	for version, votes := range map[string]int{unwatched: 1, watched: 0} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			set := startSet(t, version, 1)
			p := openReady(t, options(set...).Unhurried())
			for _, s := range set {
				s.onExecute(changedNothing)
			}
			for range 5 {
				before := set[0].votes()
				reply, err := p.Do(t.Context(), noRows(discovery.ModeRW))
				require.NoError(t, err)
				assert.Equal(t, 1, reply.Attempts)
				assert.Equal(t, before+votes, set[0].votes())
			}
			_, err := p.Do(t.Context(), noRows(discovery.ModeRO))
			require.NoError(t, err, "whoever chose a replica has what it says")
		})
	}
}

func TestRowsOnAFormerMasterCount(t *testing.T) {
	for _, version := range []string{unwatched, watched} {
		set := startSet(t, version, 1)
		p := openReady(t, options(set...))
		set[0].onExecute(func(*fakepeer.Session, fakepeer.Request) bool {
			switchOver(set[0], set[1]) // after the rows were changed
			return false
		})
		reply, err := p.Do(t.Context(), noRows(discovery.ModeRW))
		require.NoError(t, err)
		assert.Equal(t, 1, reply.Attempts)
		assert.Zero(t, set[1].executed())
	}
}
