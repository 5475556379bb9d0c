package pool_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"regexp"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	protocol "github.com/tarantool/go-iproto"

	"github.com/tntsql/tntsql/discovery"
	"github.com/tntsql/tntsql/internal/fakepeer"
	"github.com/tntsql/tntsql/pool"
)

// inFlight waits until as many requests are on their way to the server.
func inFlight(t testing.TB, p *pool.Pool, s *server, want int) {
	t.Helper()
	require.Eventually(t, func() bool {
		n, _ := p.Load(s.uuid)
		return n == want
	}, patience, tick)
}

// arrivedOf waits until as many requests of the type have come.
func arrivedOf(t testing.TB, s *server, typ protocol.Type, want int) {
	t.Helper()
	require.Eventually(t, func() bool { return len(s.Requests(typ)) == want }, patience, tick)
}

// ends are the ways to end a transaction that can only be rolled back.
var ends = map[string]func(*testing.T, *pool.Tx){
	"Rollback": func(_ *testing.T, tx *pool.Tx) { tx.Rollback() },
	"Commit": func(t *testing.T, tx *pool.Tx) {
		t.Helper()
		err := tx.Commit(context.WithoutCancel(t.Context()))
		assert.ErrorIs(t, err, context.Canceled)
		assert.NotErrorAs(t, err, new(*pool.UnknownError))
	},
}

// A statement that was cancelled before it came to the server still comes there,
// and ROLLBACK behind it.
func TestRollbackNeverOvertakesAStatementOnAStalledConnection(t *testing.T) {
	const runs = 200
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startServer(t, 0, watched)
			p := openReady(t, options(s))
			for i := range runs {
				tx := openTx(t, p, discovery.ModeRW)
				s.Stall()
				ctx, cancel := context.WithCancel(t.Context())
				done := inBackground(func() error { return run(ctx, tx, insert()) })
				inFlight(t, p, s, 1)
				cancel()
				require.ErrorIs(t, <-done, context.Canceled)
				var both sync.WaitGroup
				if i%2 == 0 {
					both.Go(s.Resume)
				}
				end(t, tx)
				both.Wait()
				s.Resume()
				arrivedOf(t, s, protocol.IPROTO_ROLLBACK, i+1)
				inFlight(t, p, s, 0)
			}
			requireStreams(t, s, slices.Repeat([]string{"BEGIN INSERT ROLLBACK"}, runs)...)
			requireNoMore(t, p, s)
		})
	}
}

func TestStalledConnectionKeepsTheOrderOfAllItsTransactions(t *testing.T) {
	const runs = 100
	s := startServer(t, 0, watched)
	p := openReady(t, options(s))
	var txs []*pool.Tx
	for range runs {
		txs = append(txs, openTx(t, p, discovery.ModeRW))
	}
	s.Stall()
	ctx, cancel := context.WithCancel(t.Context())
	var statements sync.WaitGroup
	for _, tx := range txs {
		statements.Go(func() { assert.ErrorIs(t, run(ctx, tx, insert()), context.Canceled) })
	}
	inFlight(t, p, s, runs)
	cancel()
	statements.Wait()
	for i, tx := range txs {
		ends[[]string{"Rollback", "Commit"}[i%2]](t, tx)
	}
	s.Resume()
	requireStreams(t, s, slices.Repeat([]string{"BEGIN INSERT ROLLBACK"}, runs)...)
	requireNoMore(t, p, s)
}

// one answers late, with an error now and then, and notes when a stream gets a
// request though another one there is unanswered.
type one struct {
	mu         sync.Mutex
	unanswered map[stream]bool
	pipelined  int
}

func (o *one) answer(s *fakepeer.Session, r fakepeer.Request) bool {
	if r.Stream == 0 {
		return false
	}
	id := stream{r.Session, r.Stream}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.unanswered[id] {
		o.pipelined++
	}
	o.unanswered[id] = true
	time.AfterFunc(rand.N(2*time.Millisecond), func() {
		o.mu.Lock()
		o.unanswered[id] = false
		o.mu.Unlock()
		if word(r) == "INSERT" && rand.N(4) == 0 {
			duplicate(s, r)
			return
		}
		s.Answer(r)
	})
	return true
}

// The server runs what it has read, whatever becomes of the request before.
func TestNothingIsSentBehindAnUnansweredRequestOfItsStream(t *testing.T) {
	const workers, each = 8, 50
	s := startServer(t, 0, watched)
	p := openReady(t, options(s))
	o := one{unanswered: make(map[stream]bool)}
	s.On(0, o.answer)
	soon := func() (context.Context, context.CancelFunc) {
		return context.WithTimeout(t.Context(), rand.N(5*time.Millisecond))
	}
	var left atomic.Int64 // those whose caller did not wait for the answer
	note := func(err error) {
		if errors.Is(err, context.DeadlineExceeded) {
			left.Add(1)
		}
	}
	transaction := func() {
		ctx, cancel := soon()
		defer cancel()
		tx, _, err := p.Begin(ctx, beginning(discovery.ModeRW))
		if note(err); err != nil {
			return
		}
		for range rand.N(4) {
			ctx, cancel := soon()
			note(run(ctx, tx, insert()))
			cancel()
		}
		if rand.N(2) == 0 {
			tx.Rollback()
			return
		}
		ctx, cancel = soon()
		defer cancel()
		note(tx.Commit(ctx))
	}
	var running sync.WaitGroup
	for range workers {
		running.Go(func() {
			for range each {
				transaction()
			}
		})
	}
	running.Wait()
	assert.Positive(t, left.Load())
	inFlight(t, p, s, 0)
	whole := regexp.MustCompile(`^BEGIN( SAVEPOINT| INSERT)* (COMMIT|ROLLBACK)$`)
	odd := func() []string {
		return slices.DeleteFunc(s.streams(), whole.MatchString)
	}
	assert.Eventually(t, func() bool { return len(odd()) == 0 }, patience, tick)
	assert.Empty(t, odd(), "each stream ends once")
	o.mu.Lock()
	defer o.mu.Unlock()
	assert.Zero(t, o.pipelined)
}
