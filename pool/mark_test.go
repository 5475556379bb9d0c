package pool_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tntsql/tntsql/discovery"
	"github.com/tntsql/tntsql/internal/verdict"
	"github.com/tntsql/tntsql/pool"
)

// marked is a read that must see everything acknowledged before the moment.
func marked(m discovery.Mode, after int64) *pool.Request {
	req := request(m, verdict.Read)
	req.After = after
	return req
}

func servedBy(t *testing.T, p *pool.Pool, req *pool.Request) string {
	t.Helper()
	reply, err := p.Do(t.Context(), req)
	require.NoError(t, err)
	return reply.Served.UUID
}

func TestMarkedReadGoesToTheWriterUntilAReplicaCoversIt(t *testing.T) {
	t.Parallel()
	for _, version := range []string{unwatched, watched} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			set := startSet(t, version, 2)
			for i, lsn := range []uint64{100, 100, 99} {
				set[i].SetLSN(lsn)
			}
			p := openReady(t, options(set...))
			mark := pool.Now()
			assert.Equal(t, set[0].uuid, servedBy(t, p, marked(discovery.ModePreferRO, mark)))
			require.Eventually(t, func() bool {
				return servedBy(t, p, marked(discovery.ModePreferRO, mark)) == set[1].uuid
			}, patience, tick)
			for range 20 {
				assert.NotEqual(t, set[2].uuid, servedBy(t, p, marked(discovery.ModeAny, mark)), "it has less than the writer")
				assert.Equal(t, set[0].uuid, servedBy(t, p, marked(discovery.ModePreferRO, pool.Now())), "a later mark")
			}
			assert.Positive(t, p.Counts().Marked)
			set[2].SetLSN(100)
			require.Eventually(t, func() bool {
				return servedBy(t, p, marked(discovery.ModePreferRO, mark)) == set[2].uuid
			}, patience, tick)
		})
	}
}

func TestVotesForMarksAreFewAndEndWithTheReads(t *testing.T) {
	t.Parallel()
	set, p := behind(t)
	before := []int{set[0].votes(), set[1].votes()}
	const while = time.Second
	for begun := time.Now(); time.Since(begun) < while; {
		servedBy(t, p, marked(discovery.ModePreferRO, pool.Now()))
	}
	for i, s := range set {
		n := s.votes() - before[i]
		assert.LessOrEqual(t, n, 25)
		assert.GreaterOrEqual(t, n, 5)
	}
	require.Eventually(t, func() bool { // the demand ends; a slow machine's reads may have the instances asked
		asked := set[0].votes() + set[1].votes()
		for begun := time.Now(); time.Since(begun) < 200*time.Millisecond; {
			servedBy(t, p, request(discovery.ModePreferRO, verdict.Read))
		}
		return set[0].votes()+set[1].votes() == asked
	}, patience, tick, "reads without a mark ask nothing")
}

// It may have come back without what it had.
func TestInstanceThatWasLostCoversNothing(t *testing.T) {
	t.Parallel()
	set := startSet(t, watched, 1)
	for _, s := range set {
		s.SetLSN(100)
	}
	p := openReady(t, options(set...))
	mark := pool.Now()
	replica := func() bool { return servedBy(t, p, marked(discovery.ModePreferRO, mark)) == set[1].uuid }
	require.Eventually(t, replica, patience, tick)
	set[1].SetLSN(50)
	since := p.Snapshot().Instances[1].Since
	set[1].Cut()
	waitFor(t, p, func(s *discovery.Snapshot) bool {
		return s.Instances[1].Since != since && s.Instances[1].Status == discovery.StatusRunning
	})
	for range 50 {
		assert.False(t, replica())
	}
	set[1].SetLSN(100)
	require.Eventually(t, replica, patience, tick)
}

// behind is a writer and a replica that has less.
func behind(t *testing.T) ([]*server, *pool.Pool) {
	set := startSet(t, watched, 1)
	set[0].SetLSN(100)
	set[1].SetLSN(99)
	return set, openReady(t, options(set...))
}

// writerless is a replica whose writer has gone after it voted, and a read with a mark
// that waits for it to have as much as the writer had.
func writerless(t *testing.T) (replica *server, waiting <-chan outcome) {
	set, p := behind(t)
	mark := pool.Now()
	servedBy(t, p, marked(discovery.ModePreferRO, mark)) // the writer votes
	require.Eventually(t, func() bool { return p.Snapshot().Instances[0].Cover > mark }, patience, tick)
	set[0].Refuse()
	set[0].Cut()
	waitFor(t, p, statusOf(0, discovery.StatusDown))
	return set[1], begin(t.Context(), p, marked(discovery.ModeAny, mark))
}

func TestMarkedReadWaitsForAReplicaWhereThereIsNoWriter(t *testing.T) {
	t.Parallel()
	replica, waiting := writerless(t)
	replica.SetLSN(100)
	o := <-waiting
	require.NoError(t, o.err)
	assert.Equal(t, replica.uuid, o.Served.UUID)
}

// covering is a pool whose replicas cover the mark.
func covering(t testing.TB) (p *pool.Pool, mark int64) {
	set := startSet(t, watched, 2)
	for _, s := range set {
		s.SetLSN(100)
	}
	p = openReady(t, options(set...))
	mark = pool.Now()
	waitFor(t, p, func(s *discovery.Snapshot) bool {
		p.Pick(discovery.ModePreferRO, mark)
		return s.Instances[1].Cover > mark && s.Instances[2].Cover > mark
	})
	return p, mark
}

func TestPickWithAMarkAllocatesNothing(t *testing.T) {
	p, mark := covering(t)
	assert.Zero(t, testing.AllocsPerRun(1000, func() { p.Pick(discovery.ModeAny, mark) }))
	assert.Zero(t, testing.AllocsPerRun(1000, func() { p.Pick(discovery.ModePreferRO, pool.Now()) }), "held back")
}

func BenchmarkPickWithAMark(b *testing.B) {
	p, mark := covering(b)
	b.ReportAllocs()
	for b.Loop() {
		p.Pick(discovery.ModeAny, mark)
	}
}

// Of two writable instances, as in a split, one gets the writes: the other has what
// it has.
func TestOnlyTheWriterCoversByItself(t *testing.T) {
	t.Parallel()
	set := startSet(t, watched, 2)
	for i, lsn := range []uint64{100, 50, 60} {
		set[i].SetLSN(lsn)
	}
	p := openTold(t, options(set...))
	set[1].SetReadOnly(false) // once writes go to the first
	waitFor(t, p, func(s *discovery.Snapshot) bool { return len(s.Disputed) == 1 })
	mark := pool.Now()
	for range 200 {
		assert.Equal(t, set[0].uuid, servedBy(t, p, marked(discovery.ModeAny, mark)))
		assert.Equal(t, set[0].uuid, servedBy(t, p, marked(discovery.ModePreferRO, mark)))
	}
	set[2].SetLSN(100)
	require.Eventually(t, func() bool {
		return servedBy(t, p, marked(discovery.ModePreferRO, mark)) == set[2].uuid
	}, patience, tick)
}

// Demand lasts as long as somebody waits.
func TestWaitingMarkedReadKeepsTheVotesComing(t *testing.T) {
	t.Parallel()
	replica, waiting := writerless(t)
	time.AfterFunc(time.Second, func() { replica.SetLSN(100) })
	begun := time.Now()
	require.NoError(t, (<-waiting).err)
	assert.Less(t, time.Since(begun), 3*time.Second)
}
