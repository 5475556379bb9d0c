package pool_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	protocol "github.com/tarantool/go-iproto"
	"github.com/vmihailenco/msgpack/v5"

	"github.com/tntsql/tntsql/discovery"
	"github.com/tntsql/tntsql/internal/fakepeer"
	"github.com/tntsql/tntsql/internal/iproto"
	"github.com/tntsql/tntsql/internal/verdict"
)

func roleOf(i int, want discovery.Role) func(*discovery.Snapshot) bool {
	return func(s *discovery.Snapshot) bool { return s.Instances[i].Role == want }
}

func statusOf(i int, want string) func(*discovery.Snapshot) bool {
	return func(s *discovery.Snapshot) bool { return s.Instances[i].Status == want }
}

func TestPushedRolesNeedNoPollAndNoGrant(t *testing.T) {
	for _, version := range []string{"2.11.9", "3.8.0"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			set := startSet(t, version, 1)
			p := openTold(t, options(set...).Unhurried())
			votes := set[0].votes() + set[1].votes()
			for i := range 10 {
				from, to := i%2, (i+1)%2
				waitFor(t, p, roleOf(from, discovery.RoleRW))
				switchOver(set[from], set[to])
				waitFor(t, p, roleOf(from, discovery.RoleRO))
				waitFor(t, p, roleOf(to, discovery.RoleRW))
				reply, err := p.Do(t.Context(), request(discovery.ModeRW, verdict.Write))
				require.NoError(t, err)
				assert.Equal(t, set[to].uuid, reply.Served.UUID)
			}
			assert.Equal(t, votes, set[0].votes()+set[1].votes())
			for _, s := range set {
				assert.Empty(t, s.Requests(protocol.IPROTO_CALL), "box.info needs a grant")
			}
			in := p.Snapshot().Instances[0]
			assert.Equal(t, "11111111-2222-4333-8444-777777777777", in.ReplicaSet, "from box.id")
			assert.EqualValues(t, 1, in.Term, "from box.election")
		})
	}
}

func TestPolledRolesNeedNoGrant(t *testing.T) {
	set := startSet(t, unwatched, 1)
	o := options(set...)
	o.RefreshInterval = 5 * time.Millisecond
	p := openReady(t, o)
	for i := range 4 {
		from, to := i%2, (i+1)%2
		switchOver(set[from], set[to])
		waitFor(t, p, roleOf(from, discovery.RoleRO))
		waitFor(t, p, roleOf(to, discovery.RoleRW))
	}
	assert.Len(t, set[0].Requests(protocol.IPROTO_CALL), 1, "what is denied is not asked for again and again")
}

func TestOnlyTheKeysOfEveryUserAreWatched(t *testing.T) {
	open := []string{iproto.StatusKey, iproto.IDKey, iproto.ElectionKey, iproto.SchemaKey, iproto.ShutdownKey}
	set := startSet(t, watched, 0)
	p := openReady(t, options(set...))
	_, err := p.Do(t.Context(), request(discovery.ModeAny, verdict.Read))
	require.NoError(t, err)
	set[0].SetReadOnly(true)
	waitFor(t, p, roleOf(0, discovery.RoleRO))
	for _, r := range set[0].Requests(protocol.IPROTO_WATCH) {
		assert.Contains(t, open, string(r.Body[3:])) // behind a map of one key
	}
}

func pairs(t *testing.T, m map[string]any) []byte {
	b, err := msgpack.Marshal(m)
	require.NoError(t, err)
	return b
}

func TestMalformedEventsAreIgnoredWithALogLine(t *testing.T) {
	for name, tt := range map[string]struct {
		key   string
		value map[string]any
	}{
		"is_ro a text":          {iproto.StatusKey, map[string]any{"is_ro": "yes", "status": "running"}},
		"is_ro missing":         {iproto.StatusKey, map[string]any{"status": "running"}},
		"is_ro nil":             {iproto.StatusKey, map[string]any{"is_ro": nil, "status": "running"}},
		"status missing":        {iproto.StatusKey, map[string]any{"is_ro": false}},
		"status a number":       {iproto.StatusKey, map[string]any{"is_ro": false, "status": 1}},
		"nothing in it":         {iproto.StatusKey, map[string]any{}},
		"term negative":         {iproto.ElectionKey, map[string]any{"term": -1}},
		"term a text":           {iproto.ElectionKey, map[string]any{"term": "one"}},
		"replica set a list":    {iproto.IDKey, map[string]any{"replicaset_uuid": []int{1}}},
		"replica set not there": {iproto.IDKey, map[string]any{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startServer(t, 0, watched, fakepeer.ReadOnly())
			o := options(s)
			var logged log
			o.Wire.Logger = logged.logger()
			p := openTold(t, o)
			before := p.Snapshot().Instances[0]
			s.Push(tt.key, pairs(t, tt.value))
			require.Eventually(t, func() bool { return logged.count("event dropped") == 1 }, patience, tick)
			now := p.Snapshot().Instances[0]
			assert.True(t, now.Same(&before), "%+v", now)

			s.SetReadOnly(false)
			s.Push(iproto.ElectionKey, election(5))
			waitFor(t, p, func(s *discovery.Snapshot) bool {
				return s.Instances[0].Role == discovery.RoleRW && s.Instances[0].Term == 5
			})
		})
	}
}

// The key of what cannot be read at all is not known, so it is not asked for
// again: what it would have said is polled for.
func TestUnreadableEventIsMadeUpForByThePoll(t *testing.T) {
	for name, value := range map[string][]byte{
		"garbage":   {0xc1},
		"cut":       {0x82, 0xa5, 'i', 's', '_', 'r', 'o'},
		"too large": append([]byte{0xc5, 0xff, 0xff}, make([]byte, 0xffff)...),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startServer(t, 0, watched)
			o := options(s)
			o.RefreshInterval = 5 * time.Millisecond
			var logged log
			o.Wire.Logger = logged.logger()
			p := openReady(t, o)
			s.Push(iproto.StatusKey, value)
			require.Eventually(t, func() bool { return logged.count("event dropped") == 1 }, patience, tick)
			s.SetReadOnly(true)
			waitFor(t, p, roleOf(0, discovery.RoleRO))
		})
	}
}

// statusEvent is what a server pushes when its role has changed.
func statusEvent(t *testing.T, readOnly bool) []byte {
	value := pairs(t, map[string]any{"is_ro": readOnly, "is_ro_cfg": readOnly, "status": "running"})
	return fakepeer.Frame(0, uint32(protocol.IPROTO_EVENT), fakepeer.Event(iproto.StatusKey, value))
}

func TestEventAndVoteThatDisagreeAreAskedOnceMore(t *testing.T) {
	for name, tt := range map[string]struct {
		readOnly bool // says the second vote
		want     discovery.Role
	}{
		"the event is newer": {readOnly: true, want: discovery.RoleRO},
		"the vote is newer":  {readOnly: false, want: discovery.RoleRW},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startServer(t, 0, watched)
			var votes atomic.Int32
			s.On(protocol.IPROTO_VOTE, func(session *fakepeer.Session, r fakepeer.Request) bool {
				if votes.Add(1) == 1 {
					session.Write(statusEvent(t, true))
					session.Reply(r.Sync, 0, fakepeer.Ballot(false))
				} else {
					session.Reply(r.Sync, 0, fakepeer.Ballot(tt.readOnly))
				}
				return true
			})
			p := openReady(t, options(s))
			assert.EqualValues(t, 2, votes.Load())
			in := p.Snapshot().Instances[0]
			assert.Equal(t, tt.want, in.Role)
			assert.NotEmpty(t, in.ReplicaSet, "what else was pushed meanwhile counts")
			assert.NotZero(t, in.Term, "what else was pushed meanwhile counts")
		})
	}
}

func TestServerThatShutsDownFinishesWhatIsInFlight(t *testing.T) {
	set := startSet(t, watched, 2)
	p := openReady(t, options(set...))
	leaving, staying := set[1], set[2]
	ready := make(chan struct{})
	leaving.onExecute(fakepeer.Late(ready))
	done := []<-chan outcome{ // by turns, one to each replica
		begin(t.Context(), p, request(discovery.ModeRO, verdict.Read)),
		begin(t.Context(), p, request(discovery.ModeRO, verdict.Read)),
	}
	require.Eventually(t, func() bool { return leaving.executed() == 1 && staying.executed() == 1 }, patience, tick)

	leaving.Shutdown()
	waitFor(t, p, statusOf(1, "shutdown"))
	for range 20 {
		reply, err := p.Do(t.Context(), request(discovery.ModeRO, verdict.Read))
		require.NoError(t, err)
		require.Equal(t, staying.uuid, reply.Served.UUID)
	}
	assert.Positive(t, leaving.Sessions(), "its connections are kept for what is in flight")
	close(ready)
	for _, d := range done {
		o := <-d
		require.NoError(t, o.err)
		assert.Equal(t, 1, o.Attempts)
	}
	require.Eventually(t, func() bool { return leaving.Sessions() == 0 }, patience, tick,
		"the client closes them: the server waits for it")
	waitFor(t, p, statusOf(1, discovery.StatusDown))

	leaving.Push(iproto.ShutdownKey, nil)
	require.NoError(t, leaving.Listen())
	waitFor(t, p, statusOf(1, discovery.StatusRunning))
}

func TestNoWriteIsLostInARollingRestart(t *testing.T) {
	t.Parallel()
	const writers, restarts = 16, 10
	set := startSet(t, watched, 1)
	p := openReady(t, options(set...))
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	var writes atomic.Int64
	for range writers {
		running.Go(func() {
			for ctx.Err() == nil {
				if _, err := p.Do(context.Background(), request(discovery.ModeRW, verdict.Write)); !assert.NoError(t, err) {
					return
				}
				writes.Add(1)
			}
		})
	}
	for i := range restarts {
		old, fresh := set[i%2], set[(i+1)%2]
		n := writes.Load()
		require.Eventually(t, func() bool { return writes.Load() > n+100 }, patience, tick)
		old.Shutdown()
		switchOver(old, fresh)
		require.Eventually(t, func() bool { return old.Sessions() == 0 }, patience, tick)
		old.Push(iproto.ShutdownKey, nil)
		require.NoError(t, old.Listen())
		waitFor(t, p, statusOf(i%2, discovery.StatusRunning))
	}
	stop()
	running.Wait()
}

// The leader has not yet pushed that it is writable, and nobody polls it.
func TestLeaderNamedInARefusalIsAskedFirst(t *testing.T) {
	for _, version := range []string{"2.11.9", "3.8.0"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			set := startSet(t, version, 2)
			p := openReady(t, options(set...).Unhurried())
			other, leader := set[1], set[2]
			set[0].onExecute(fakepeer.NameLeader(leader.uuid))
			set[0].On(protocol.IPROTO_VOTE, func(s *fakepeer.Session, r fakepeer.Request) bool {
				s.Reply(r.Sync, 0, fakepeer.Ballot(true))
				return true
			})
			leader.On(protocol.IPROTO_VOTE, func(s *fakepeer.Session, r fakepeer.Request) bool {
				s.Reply(r.Sync, 0, fakepeer.Ballot(false))
				return true
			})
			votes := other.votes()
			reply, err := p.Do(t.Context(), request(discovery.ModeRW, verdict.Write))
			require.NoError(t, err)
			assert.Equal(t, leader.uuid, reply.Served.UUID)
			assert.Equal(t, 2, reply.Attempts)
			assert.Equal(t, votes, other.votes())
			assert.Less(t, reply.Waited, time.Second)
		})
	}
}

func status(t *testing.T, s *server, status string) {
	s.Push(iproto.StatusKey, pairs(t, map[string]any{"is_ro": true, "is_ro_cfg": true, "status": status}))
}

func TestOrphanIsPickedLast(t *testing.T) {
	set := startSet(t, watched, 2)
	p := openReady(t, options(set...))
	status(t, set[1], discovery.StatusOrphan)
	waitFor(t, p, statusOf(1, discovery.StatusOrphan))
	for _, mode := range []discovery.Mode{discovery.ModeAny, discovery.ModePreferRO, discovery.ModeRO} {
		for range 10 {
			_, err := p.Do(t.Context(), request(mode, verdict.Read))
			require.NoError(t, err)
		}
	}
	assert.Zero(t, set[1].executed())
	status(t, set[2], discovery.StatusOrphan)
	waitFor(t, p, statusOf(2, discovery.StatusOrphan))
	require.NoError(t, p.Wait(t.Context(), discovery.ModeRO, 0), "an orphan answers")
	set[0].Close()
	waitFor(t, p, statusOf(0, discovery.StatusDown))
	require.NoError(t, p.Wait(t.Context(), discovery.ModeAny, 0))
}

func TestOtherStatusesServeNobody(t *testing.T) {
	for _, name := range []string{"loading", "hot_standby", "anything new"} {
		set := startSet(t, watched, 0)
		p := openReady(t, options(set...))
		status(t, set[0], name)
		waitFor(t, p, statusOf(0, name))
		for mode := discovery.ModeAny; mode <= discovery.ModePreferRO; mode++ {
			assert.Error(t, p.Wait(t.Context(), mode, 0))
		}
	}
}

func TestInstanceThatHasNotBootedIsLoading(t *testing.T) {
	s := startServer(t, 0, watched)
	s.On(protocol.IPROTO_VOTE, fakepeer.Replay("vote, loading"))
	o := options(s)
	o.RefreshInterval = time.Millisecond
	p := open(t, o)
	waitFor(t, p, statusOf(0, "loading"))
	s.On(protocol.IPROTO_VOTE, nil)
	waitFor(t, p, statusOf(0, discovery.StatusRunning))
}

// Its ballot says writable.
func TestOrphanWithoutWatchersIsKnownByBoxInfo(t *testing.T) {
	s := startServer(t, 0, unguarded)
	info := pairs(t, map[string]any{"status": "orphan", "ro": true, "uuid": s.uuid})
	s.On(protocol.IPROTO_CALL, func(session *fakepeer.Session, r fakepeer.Request) bool {
		session.Reply(r.Sync, 0, append([]byte{0x81, byte(protocol.IPROTO_DATA), 0x91}, info...))
		return true
	})
	p := open(t, options(s))
	waitFor(t, p, statusOf(0, discovery.StatusOrphan))
	assert.Equal(t, discovery.RoleRO, p.Snapshot().Instances[0].Role)
	assert.NoError(t, p.Wait(t.Context(), discovery.ModeRO, 0))
	assert.Error(t, p.Wait(t.Context(), discovery.ModeRW, 0))
}
