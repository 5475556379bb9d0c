package pool_test

import (
	"cmp"
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	protocol "github.com/tarantool/go-iproto"
	"github.com/vmihailenco/msgpack/v5"

	"github.com/tntsql/tntsql/discovery"
	"github.com/tntsql/tntsql/internal/fakepeer"
	"github.com/tntsql/tntsql/internal/verdict"
	"github.com/tntsql/tntsql/pool"
)

// tells makes box.info of a server list itself and others, which it follows.
func (s *server) tells(t testing.TB, others ...*server) {
	s.tellsOf(t, "one", others...)
}

func (s *server) tellsOf(t testing.TB, set string, others ...*server) {
	replication := map[int]any{1: map[string]any{"uuid": s.uuid}}
	for _, o := range others {
		replication[len(replication)+1] = map[string]any{"uuid": o.uuid, "upstream": map[string]any{"peer": "replicator@" + o.Addr}}
	}
	body, err := msgpack.Marshal(map[int]any{int(protocol.IPROTO_DATA): []any{map[string]any{
		"uuid": s.uuid, "status": "running", "cluster": map[string]any{"uuid": set}, "replication": replication,
	}}})
	require.NoError(t, err)
	s.On(protocol.IPROTO_CALL, func(session *fakepeer.Session, r fakepeer.Request) bool {
		session.Reply(r.Sync, 0, body)
		return true
	})
}

// running waits for the pool to know exactly the servers, all running.
func running(t *testing.T, p *pool.Pool, servers ...*server) {
	t.Helper()
	want := make(map[string]string)
	for _, s := range servers {
		want[s.uuid] = discovery.StatusRunning
	}
	known := func() map[string]string {
		got := make(map[string]string)
		for _, in := range p.Snapshot().Known() {
			got[cmp.Or(in.UUID, in.Address)] = in.Status
		}
		return got
	}
	if !assert.Eventually(t, func() bool { return maps.Equal(want, known()) }, patience, tick) {
		require.Equal(t, want, known())
	}
}

func TestPeersAreFoundAndDropped(t *testing.T) {
	for _, version := range []string{unwatched, watched} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			set := startSet(t, version, 2)
			set[0].tells(t, set[1])
			set[1].tells(t, set[0], set[2])
			set[2].tells(t)
			o := options(set[0])
			o.Peers, o.RefreshInterval = true, 10*time.Millisecond
			p := open(t, o)
			running(t, p, set...)

			set[1].tells(t, set[0])
			running(t, p, set[0], set[1])
			set[0].tells(t, set[1], set[2])
			running(t, p, set...)
			set[0].tells(t)
			set[1].tells(t)
			running(t, p, set[0])
		})
	}
}

func TestPeersAreAskedForWhenSomethingElseHasChanged(t *testing.T) {
	set := startSet(t, watched, 1)
	set[0].tells(t)
	o := options(set[0])
	o.Peers = true
	p := openReady(t, o)
	set[0].tells(t, set[1])
	set[0].SetReadOnly(true)
	running(t, p, set...)
}

func TestPeersAreAskedForAfterAReconnect(t *testing.T) {
	set := startSet(t, watched, 1)
	set[0].tells(t)
	o := options(set[0])
	o.Peers = true
	p := openReady(t, o)
	set[0].tells(t, set[1])
	set[0].Cut()
	running(t, p, set...)
}

func TestWithoutPeersBoxInfoIsNotAskedForWhereItIsPushed(t *testing.T) {
	set := startSet(t, watched, 0)
	openReady(t, options(set...))
	assert.Empty(t, set[0].Requests(protocol.IPROTO_CALL))
}

func TestPeerIsUsedOnlyIfItIsTheOneExpected(t *testing.T) {
	set := startSet(t, unwatched, 2)
	impostor := &server{set[2].Peer, set[1].uuid}
	set[0].tells(t, impostor)
	o := options(set[0])
	o.Peers = true
	p := open(t, o)
	waitFor(t, p, func(s *discovery.Snapshot) bool { return len(s.Instances) == 2 && s.Instances[1].Err != nil })
	in := p.Snapshot().Instances[1]
	assert.Equal(t, discovery.StatusDown, in.Status)
	assert.EqualError(t, in.Err, "instance "+set[2].uuid+" answers there, not "+set[1].uuid)
	_, err := p.Do(t.Context(), request(discovery.ModeAny, verdict.Read))
	require.NoError(t, err)
	assert.Zero(t, set[2].executed())
}

func TestMissingGrantIsSaidOnce(t *testing.T) {
	for _, version := range []string{unwatched, watched} {
		t.Run(version, func(t *testing.T) {
			set := startSet(t, version, 1)
			o := options(set...)
			var logged log
			o.Peers, o.Logger = true, logged.logger()
			p := openReady(t, o)
			require.Eventually(t, func() bool { return logged.count("level=WARN") == 1 }, patience, tick)
			assert.Equal(t, 1, logged.count("box.schema.user.grant(user, 'execute', 'function', 'box.info')"))
			running(t, p, set...)

			set[0].tells(t, set[1]) // the grant is there, as the next connection sees
			set[0].Cut()
			waitFor(t, p, func(s *discovery.Snapshot) bool { return len(s.Instances[0].Peers) == 2 })
			assert.Equal(t, 1, logged.count("level=WARN"))
		})
	}
}

func TestReplicaSetsInOnePoolAreSaidOnce(t *testing.T) {
	set := startSet(t, unwatched, 2)
	set[0].tellsOf(t, "one")
	set[1].tellsOf(t, "one")
	set[2].tellsOf(t, "two")
	o := options(set[:2]...)
	var logged log
	o.Logger = logged.logger()
	openReady(t, o)
	assert.Zero(t, logged.count("level=WARN"))

	o.Candidates = append(o.Candidates, pool.Candidate{Address: set[2].Addr})
	p := openReady(t, o)
	for range 3 {
		reconnects := p.Counts().Reconnects
		set[2].Cut()
		require.Eventually(t, func() bool { return p.Counts().Reconnects > reconnects }, patience, tick)
		running(t, p, set...)
	}
	assert.Equal(t, 1, logged.count("level=WARN"))
	assert.Equal(t, 1, logged.count(`replica_sets="[one two]"`))
}
