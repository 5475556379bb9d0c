package wire_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	protocol "github.com/tarantool/go-iproto"

	"github.com/tntsql/tntsql/internal/fakepeer"
	"github.com/tntsql/tntsql/internal/iproto"
	"github.com/tntsql/tntsql/internal/wire"
)

// taker is somebody who waits for room.
type taker struct {
	leave context.CancelFunc
	took  chan bool
}

// queue makes n takers wait, one behind the other.
func queue(t *testing.T, b *wire.Budget, n int) []taker {
	takers := make([]taker, n)
	for i := range takers {
		ctx, leave := context.WithCancel(t.Context())
		takers[i] = taker{leave, make(chan bool, 1)}
		entered := enters(ctx)
		go func() { takers[i].took <- b.Take(entered) }()
		<-entered.waits
	}
	return takers
}

// waiter is a context that tells when somebody begins to wait for its end,
// which Budget does behind the place in its queue.
type waiter struct {
	context.Context
	once  *sync.Once
	waits chan struct{}
}

func enters(ctx context.Context) waiter { return waiter{ctx, new(sync.Once), make(chan struct{})} }

func (w waiter) Done() <-chan struct{} {
	w.once.Do(func() { close(w.waits) })
	return w.Context.Done()
}

func full(t *testing.T, limit int) *wire.Budget {
	b := wire.NewBudget(limit)
	for range limit {
		require.True(t, b.Take(t.Context()))
	}
	return b
}

// waitsStill tells that the taker has got no answer.
func waitsStill(takers ...taker) bool {
	for _, w := range takers {
		if len(w.took) > 0 {
			return false
		}
	}
	return true
}

func TestBudgetServesFirstComeFirst(t *testing.T) {
	b := full(t, 3)
	takers := queue(t, b, 5)
	assert.True(t, waitsStill(takers...), "the limit is reached")
	assert.Equal(t, 3, b.Used())
	for i, w := range takers {
		b.Give(1)
		assert.True(t, <-w.took)
		assert.True(t, waitsStill(takers[i+1:]...))
		assert.Equal(t, 3, b.Used())
	}
	b.Give(3)
	assert.Zero(t, b.Used())
}

func TestBudgetForgetsThoseWhoLeave(t *testing.T) {
	b := full(t, 1)
	takers := queue(t, b, 3)
	takers[1].leave() // out of the middle
	assert.False(t, <-takers[1].took)
	takers[0].leave()
	assert.False(t, <-takers[0].took)
	b.Give(1)
	assert.True(t, <-takers[2].took)
	assert.Equal(t, 1, b.Used(), "nothing was kept for the two")
}

func TestTurnThatHasComeCannotBeWithdrawn(t *testing.T) {
	b := full(t, 1)
	first, second := b.Queue(), b.Queue()
	assert.True(t, b.Withdraw(second))
	b.Give(1)
	<-first
	assert.False(t, b.Withdraw(first), "it has room")
	assert.Equal(t, 1, b.Used())
	assert.False(t, b.Try())
}

func TestBudgetLimitChanges(t *testing.T) {
	b := full(t, 4)
	takers := queue(t, b, 4)
	b.SetLimit(2)
	b.Give(2)
	assert.True(t, waitsStill(takers...), "those beyond a lower limit go on, and nobody comes after them")
	assert.Equal(t, 2, b.Used())
	b.Give(1)
	assert.True(t, <-takers[0].took)
	b.SetLimit(4)
	assert.True(t, <-takers[1].took)
	assert.True(t, <-takers[2].took)
	assert.True(t, waitsStill(takers[3]))
	assert.Equal(t, 4, b.Used())
	b.Give(4)
	assert.True(t, <-takers[3].took)
}

func TestBudgetIsNeverExceeded(t *testing.T) {
	const goroutines, limit = 100, 7
	b := wire.NewBudget(limit)
	var inside, most, took atomic.Int64
	var running sync.WaitGroup
	for i := range goroutines {
		running.Go(func() {
			for j := range 50 {
				ctx, cancel := context.WithCancel(t.Context())
				if (i+j)%3 == 0 {
					cancel() // leaves when there is no room at once
				}
				if b.Take(ctx) {
					took.Add(1)
					n := inside.Add(1)
					for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
					}
					inside.Add(-1)
					b.Give(1)
				}
				cancel()
			}
		})
	}
	running.Wait()
	assert.LessOrEqual(t, most.Load(), int64(limit))
	assert.GreaterOrEqual(t, took.Load(), int64(goroutines*50*2/3-goroutines), "those who stay are served")
	assert.Zero(t, b.Used())
	require.True(t, b.Take(t.Context()))
}

// counted sends n statements with room from the budget that nobody waits for.
func counted(t *testing.T, c *wire.Conn, b *wire.Budget, n int) []wire.Pending {
	sent := make([]wire.Pending, n)
	for i := range sent {
		require.True(t, b.Take(t.Context()))
		var err error
		sent[i], err = c.Send(protocol.IPROTO_EXECUTE, iproto.EmptyBody, true)
		require.NoError(t, err)
	}
	return sent
}

func dialCounted(t *testing.T, p *fakepeer.Peer, b *wire.Budget) *wire.Conn {
	o := options()
	o.Budget = b
	c, err := wire.Dial(patience(t), p.Addr, o)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

func TestAnswerGivesItsRoomBack(t *testing.T) {
	ready := make(chan struct{})
	p := fakepeer.Start(t, nil)
	p.On(protocol.IPROTO_EXECUTE, fakepeer.Late(ready))
	b := wire.NewBudget(10)
	c := dialCounted(t, p, b)
	counted(t, c, b, 10) // whose callers leave: the server runs them all the same
	assert.Equal(t, 10, b.Used())
	close(ready)
	assert.Eventually(t, func() bool { return b.Used() == 0 }, patienceFor, tick)
	ping(t, c)
	assert.Zero(t, b.Used(), "a request that is not counted gives nothing")
}

func TestDoubledAnswerGivesItsRoomBackOnce(t *testing.T) {
	p := fakepeer.Start(t, nil)
	p.On(protocol.IPROTO_EXECUTE, fakepeer.Double)
	b := wire.NewBudget(10)
	c := dialCounted(t, p, b)
	for _, sent := range counted(t, c, b, 10) {
		<-sent.Done()
		_, err := sent.Reply()
		require.NoError(t, err)
	}
	ping(t, c)
	assert.Zero(t, b.Used())
	assert.Zero(t, c.InFlight())
}

func TestEndOfAConnectionGivesAllRoomBackOnce(t *testing.T) {
	for name, end := range map[string]func(*fakepeer.Peer, *wire.Conn){
		"by the server": func(p *fakepeer.Peer, _ *wire.Conn) { p.Cut() },
		"by its owner":  func(_ *fakepeer.Peer, c *wire.Conn) { c.Close() },
		"by both":       func(p *fakepeer.Peer, c *wire.Conn) { p.Cut(); c.Close(); c.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := fakepeer.Start(t, nil)
			q := fakepeer.Start(t, nil)
			p.On(protocol.IPROTO_EXECUTE, fakepeer.Lose)
			q.On(protocol.IPROTO_EXECUTE, fakepeer.Lose)
			b := wire.NewBudget(100)
			c, other := dialCounted(t, p, b), dialCounted(t, q, b)
			sent := counted(t, c, b, 20)
			counted(t, other, b, 5)
			end(p, c)
			for _, s := range sent {
				<-s.Done()
				_, err := s.Reply()
				assert.Error(t, err)
			}
			require.Eventually(t, func() bool { return c.Ended() && b.Used() == 5 }, patienceFor, tick)

			require.True(t, b.Take(t.Context()))
			_, err := c.Send(protocol.IPROTO_EXECUTE, iproto.EmptyBody, true)
			require.Error(t, err)
			assert.Equal(t, 5, b.Used(), "what is not sent takes no room")
		})
	}
}

// Requests that race with the end of their connection are each answered, lost
// or never sent: whichever, their room is there again.
func TestRoomIsNeverLost(t *testing.T) {
	const goroutines = 100
	p := fakepeer.Start(t, nil)
	b := wire.NewBudget(30)
	for range 10 {
		c := dialCounted(t, p, b)
		var running sync.WaitGroup
		for i := range goroutines {
			running.Go(func() {
				for range 5 {
					ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*100*time.Microsecond)
					if b.Take(ctx) {
						if sent, err := c.Send(protocol.IPROTO_EXECUTE, iproto.EmptyBody, true); err == nil {
							select {
							case <-sent.Done():
							case <-ctx.Done():
							}
						}
					}
					cancel()
				}
			})
		}
		p.Cut()
		running.Wait()
		require.Eventually(t, func() bool { return b.Used() == 0 }, patienceFor, tick)
	}
}
