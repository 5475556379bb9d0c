package pool_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tntsql/tntsql/discovery"
	"github.com/tntsql/tntsql/internal/verdict"
	"github.com/tntsql/tntsql/pool"
)

const lag = 200 * time.Millisecond

// lagging is a set whose instances are at the LSNs.
func lagging(t *testing.T, lsns ...uint64) ([]*server, pool.Options) {
	set := startSet(t, watched, len(lsns)-1)
	for i, s := range set {
		s.SetLSN(lsns[i])
	}
	o := options(set...)
	o.MaxLag = lag
	return set, o
}

func read(t *testing.T, p *pool.Pool, mode discovery.Mode) string {
	t.Helper()
	reply, err := p.Do(t.Context(), request(mode, verdict.Read))
	require.NoError(t, err)
	return reply.Served.UUID
}

// gone waits until an instance's cover is too old.
func gone(t *testing.T, p *pool.Pool) {
	require.Eventually(t, func() bool { return p.Wait(t.Context(), discovery.ModeRO, 0) != nil }, patience, tick)
}

func TestReplicaThatIsBehindGetsNoReads(t *testing.T) {
	t.Parallel()
	set, o := lagging(t, 100, 100, 99)
	p := openReady(t, o)
	require.NoError(t, p.Wait(t.Context(), discovery.ModeRO, patience))
	for _, mode := range []discovery.Mode{discovery.ModeRO, discovery.ModePreferRO} {
		for range 20 {
			assert.Equal(t, set[1].uuid, read(t, p, mode))
		}
	}
	for range 20 {
		assert.NotEqual(t, set[2].uuid, read(t, p, discovery.ModeAny))
		assert.Equal(t, set[0].uuid, read(t, p, discovery.ModePreferRW))
	}
	assert.Zero(t, set[2].executed())

	set[2].SetLSN(100)
	require.Eventually(t, func() bool { return read(t, p, discovery.ModeRO) == set[2].uuid }, patience, tick)
}

func TestReplicasThatFallBehindLeaveTheReadsToTheMaster(t *testing.T) {
	t.Parallel()
	set, o := lagging(t, 100, 100)
	p := openReady(t, o)
	require.NoError(t, p.Wait(t.Context(), discovery.ModeRO, patience))
	set[0].SetLSN(101)
	fell := time.Now()
	gone(t, p)
	assert.GreaterOrEqual(t, time.Since(fell), lag/2)
	for _, mode := range []discovery.Mode{discovery.ModePreferRO, discovery.ModeAny, discovery.ModePreferRW} {
		for range 10 {
			assert.Equal(t, set[0].uuid, read(t, p, mode))
		}
	}
	req := request(discovery.ModeRO, verdict.Read)
	req.Selection = 50 * time.Millisecond
	_, err := p.Do(t.Context(), req)
	var none *pool.NoInstanceError
	require.ErrorAs(t, err, &none)
	assert.ErrorContains(t, none.Instances[1].Err, "max_lag")
	assert.Zero(t, set[1].executed())

	waiting := begin(t.Context(), p, request(discovery.ModeRO, verdict.Read))
	set[1].SetLSN(101)
	caughtUp := <-waiting
	require.NoError(t, caughtUp.err)
	assert.Equal(t, set[1].uuid, caughtUp.Served.UUID)
	assert.Positive(t, caughtUp.Waited)
}

func TestUnknownLagIsTooMuch(t *testing.T) {
	t.Parallel()
	set, o := lagging(t, 100, 100, 100)
	set[0].SetReadOnly(true) // so nobody can tell how far behind the others are
	p := openReady(t, o)
	assert.Error(t, p.Wait(t.Context(), discovery.ModeRO, 2*lag))
	assert.Error(t, p.Wait(t.Context(), discovery.ModeAny, 0))
	set[0].SetReadOnly(false)
	require.NoError(t, p.Wait(t.Context(), discovery.ModeRO, patience))
}

func TestMasterThatIsGoneMakesTheLagUnknown(t *testing.T) {
	t.Parallel()
	set, o := lagging(t, 100, 100)
	p := openReady(t, o)
	require.NoError(t, p.Wait(t.Context(), discovery.ModeRO, patience))
	set[0].Close()
	gone(t, p)
	set[1].SetReadOnly(false)
	require.NoError(t, p.Wait(t.Context(), discovery.ModeRW, patience))
}

// The lag is polled for at a third of max_lag, though roles are pushed.
func TestLagIsPolledFor(t *testing.T) {
	t.Parallel()
	set, o := lagging(t, 100, 100)
	openReady(t, o)
	const polls, interval = 10, lag / 3
	before, since := set[1].votes(), time.Now()
	require.Eventually(t, func() bool { return set[1].votes() >= before+polls }, patience, tick)
	assert.Greater(t, time.Since(since), (polls-1)*interval*4/5, "with jitter")
}

func TestChecksOfTheLagAreNoChange(t *testing.T) {
	t.Parallel()
	_, o := lagging(t, 100, 100)
	var changes atomic.Int32
	o.Changed = func(*discovery.Snapshot) { changes.Add(1) }
	p := openReady(t, o)
	require.NoError(t, p.Wait(t.Context(), discovery.ModeRO, patience))
	before := changes.Load()
	cover := func() int64 { return p.Snapshot().Instances[1].Cover }
	for range 3 {
		last := cover()
		require.Eventually(t, func() bool { return cover() > last }, patience, tick)
	}
	assert.Equal(t, before, changes.Load())
}
