package pool_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tntsql/tntsql/discovery"
	"github.com/tntsql/tntsql/internal/fakepeer"
	"github.com/tntsql/tntsql/internal/verdict"
	"github.com/tntsql/tntsql/pool"
)

// after answers as a server does that takes a while for each statement.
func after(delay time.Duration) fakepeer.Script {
	return func(s *fakepeer.Session, r fakepeer.Request) bool {
		time.AfterFunc(delay, func() { s.Answer(r) })
		return true
	}
}

// taken waits until so much room is taken at each instance.
func taken(t *testing.T, p *pool.Pool, want ...int) {
	t.Helper()
	require.Eventually(t, func() bool { return slices.Equal(p.Room(), want) }, patience, tick)
}

// Room at a suspect instance is of no use: a call that is sent there waits for as
// long as the instance hangs.
func TestRequestsBeyondTheRoomWaitRatherThanGoToASuspectInstance(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		kind            verdict.Kind
		limit, requests int
	}{
		"reads":                       {verdict.Read, 4, 12},
		"calls":                       {verdict.Call, 4, 12},
		"calls, by the default limit": {verdict.Call, 512, 1100},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set := startSet(t, unwatched, 3)
			answer, hangs := set[1:3], set[3]
			o := options(set...)
			o.MaxInFlight, o.RefreshInterval = tt.limit, 100*time.Millisecond
			p := openReady(t, o)
			warm(t, p, discovery.ModeRO, discovery.ModeRO, discovery.ModeRO)
			hangs.Mute(true)
			waitFor(t, p, statusOf(3, discovery.StatusSuspect))
			for _, s := range answer {
				s.onExecute(after(20 * time.Millisecond))
			}
			var all []<-chan outcome
			for range tt.requests {
				all = append(all, begin(t.Context(), p, request(discovery.ModeRO, tt.kind)))
			}
			for _, one := range all {
				require.NoError(t, (<-one).err)
			}
			assert.Equal(t, 1, hangs.executed())
		})
	}
}

// The two and the reads behind them have all the room that there is: so a read
// that moves takes its room with it.
func TestReadsBehindTwoSlowStatementsMoveWithoutRoom(t *testing.T) {
	for limit, reads := range map[int]int{16: 14, 512: 600} {
		t.Run(fmt.Sprintf("%d reads, room for %d", reads, limit), func(t *testing.T) {
			s := startServer(t, 0, watched)
			o := options(s)
			o.MaxInFlight = limit
			p := openReady(t, o)
			warm(t, p, discovery.ModeRW)
			var f freezing
			slow := f.begin(t, p, s, verdict.Write, verdict.Write)
			var behind []<-chan timed
			for range reads {
				behind = append(behind, beginTimed(t.Context(), p, request(discovery.ModeRW, verdict.Read)))
			}
			for _, read := range behind {
				o := <-read
				require.NoError(t, o.err)
				assert.Less(t, o.took, time.Second, "far less than the two take")
			}
			for _, w := range slow {
				require.Empty(t, w)
			}
			taken(t, p, 2)
			f.thaw()
			for _, w := range slow {
				require.NoError(t, (<-w).err)
			}
			taken(t, p, 0)
		})
	}
}

// await waits until so many statements are held.
func (c *counter) await(t *testing.T, want int) {
	t.Helper()
	require.Eventually(t, func() bool { return c.unanswered() == want }, patience, tick)
}

func TestMovingReadsGoToAnInstanceThatHasRoom(t *testing.T) {
	t.Parallel()
	const limit, reads = 8, 12
	set := startSet(t, watched, 3)
	full, hangs, roomy := set[1], set[2], set[3]
	o := probing(set...)
	o.MaxInFlight = limit
	p := openReady(t, o)
	warm(t, p, discovery.ModeRO, discovery.ModeRO, discovery.ModeRO)
	var c counter
	full.onExecute(c.hold)
	require.Eventually(t, func() bool {
		begin(t.Context(), p, request(discovery.ModeRO, verdict.Call))
		return c.unanswered() == limit
	}, patience, tick)
	taken(t, p, 0, limit, 0, 0)
	hangs.Mute(true)
	var all []<-chan timed
	for range reads {
		all = append(all, beginTimed(t.Context(), p, request(discovery.ModeRO, verdict.Read)))
	}
	for _, read := range all {
		o := <-read
		require.NoError(t, o.err)
		assert.Equal(t, roomy.uuid, o.Served.UUID)
		assert.Less(t, o.took, patience/2)
	}
	assert.Positive(t, p.Counts().Moved)
	assert.Equal(t, limit, c.unanswered())
	c.release(limit)
}

// entering is a context that tells when somebody begins to wait for its end.
// Who waits for room has his place in the queue by then.
type entering struct {
	context.Context
	once  *sync.Once
	waits chan struct{}
}

func enter(ctx context.Context) entering { return entering{ctx, new(sync.Once), make(chan struct{})} }

func (e entering) Done() <-chan struct{} {
	e.once.Do(func() { close(e.waits) })
	return e.Context.Done()
}

func TestFirstComeFirstServedThoughSnapshotsChange(t *testing.T) {
	const callers = 20
	set := startSet(t, watched, 1)
	o := options(set...)
	o.MaxInFlight = 1
	p := openReady(t, o)
	var c counter
	set[0].onExecute(c.hold)
	slow := begin(t.Context(), p, request(discovery.ModeRW, verdict.Write))
	c.await(t, 1)
	served := make(chan int, callers)
	for i := range callers {
		ctx := enter(t.Context())
		go func() {
			_, err := p.Do(ctx, request(discovery.ModeRW, verdict.Write))
			assert.NoError(t, err)
			served <- i
		}()
		<-ctx.waits
	}
	c.release(1)
	require.NoError(t, (<-slow).err)
	for i := range callers {
		now := []string{discovery.StatusOrphan, discovery.StatusRunning}[i%2]
		status(t, set[1], now)
		waitFor(t, p, statusOf(1, now))
		c.await(t, 1)
		c.release(1)
		require.Equal(t, i, <-served)
	}
}

func TestWithoutSelectionTimeoutNobodyWaitsForRoom(t *testing.T) {
	for name, kind := range map[string]verdict.Kind{"read": verdict.Read, "write": verdict.Write, "call": verdict.Call} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startServer(t, 0, watched)
			o := options(s)
			o.MaxInFlight, o.ConnectTimeout = 1, time.Hour
			p := openReady(t, o)
			var c counter
			s.onExecute(c.hold)
			slow := begin(t.Context(), p, request(discovery.ModeRW, verdict.Write))
			c.await(t, 1)
			req := request(discovery.ModeRW, kind)
			req.Selection = 0
			failed := <-beginTimed(t.Context(), p, req)
			var none *pool.NoInstanceError
			require.ErrorAs(t, failed.err, &none)
			assert.ErrorContains(t, none.Instances[0].Err, "max_in_flight")
			assert.Less(t, failed.took, time.Second)
			assert.Zero(t, failed.Attempts)
			c.release(1)
			require.NoError(t, (<-slow).err)
			taken(t, p, 0)
		})
	}
}

// chaotic answers at once, late, twice, or by the end of the connection.
func chaotic(s *fakepeer.Session, r fakepeer.Request) bool {
	switch n := rand.N(100); {
	case n < 1:
		return fakepeer.Cut(s, r)
	case n < 20:
		return after(rand.N(20*time.Millisecond))(s, r)
	case n < 22:
		return fakepeer.Double(s, r)
	}
	return false
}

// Whatever became of a request, whose caller may have left long ago.
func TestAllRoomIsGivenBack(t *testing.T) {
	t.Parallel()
	const callers, each = 60, 60
	set := startSet(t, watched, 2)
	o := probing(set...)
	o.MaxInFlight, o.ConnsPerInstance = 8, 2
	p := openReady(t, o)
	for _, s := range set {
		s.onExecute(chaotic)
	}
	done := make(chan struct{})
	var faults, running sync.WaitGroup
	faults.Go(func() {
		for {
			s := set[rand.N(len(set))]
			select {
			case <-done:
				return
			case <-time.After(rand.N(50 * time.Millisecond)):
				s.Cut()
			case <-time.After(rand.N(50 * time.Millisecond)):
				s.Stall()
				time.AfterFunc(rand.N(2*probe), s.Resume)
			case <-time.After(rand.N(50 * time.Millisecond)):
				switchOver(set[0], set[1])
			case <-time.After(rand.N(50 * time.Millisecond)):
				switchOver(set[1], set[0])
			}
		}
	})
	kinds := []verdict.Kind{verdict.Read, verdict.Write, verdict.Call}
	for range callers {
		running.Go(func() {
			for range each {
				ctx, cancel := context.WithTimeout(t.Context(), rand.N(30*time.Millisecond))
				mode := discovery.ModeAny + discovery.Mode(rand.N(5))
				_, _ = p.Do(ctx, request(mode, kinds[rand.N(len(kinds))]))
				cancel()
			}
		})
	}
	running.Wait()
	close(done)
	faults.Wait()
	for _, s := range set {
		s.Resume()
	}
	taken(t, p, 0, 0, 0)
}
