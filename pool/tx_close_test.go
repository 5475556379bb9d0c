package pool_test

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	protocol "github.com/tarantool/go-iproto"

	"github.com/tntsql/tntsql/discovery"
	"github.com/tntsql/tntsql/internal/fakepeer"
	"github.com/tntsql/tntsql/internal/verdict"
	"github.com/tntsql/tntsql/internal/wire"
	"github.com/tntsql/tntsql/pool"
)

// closing closes the pool in the background, and returns when it refuses new
// requests.
func closing(t *testing.T, p *pool.Pool) <-chan struct{} {
	t.Helper()
	closed := make(chan struct{})
	go func() {
		p.Close()
		close(closed)
	}()
	require.Eventually(t, func() bool {
		_, err := p.Do(t.Context(), request(discovery.ModeRO, verdict.Read)) // waits for a replica until then
		return errors.Is(err, pool.ErrClosed)
	}, patience, tick)
	return closed
}

func TestCloseWaitsForOpenTransactions(t *testing.T) {
	for name, end := range map[string]func(context.Context, *pool.Tx) error{
		"COMMIT":   func(ctx context.Context, tx *pool.Tx) error { return tx.Commit(ctx) },
		"ROLLBACK": func(_ context.Context, tx *pool.Tx) error { tx.Rollback(); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startServer(t, 0, watched)
			o := options(s)
			o.CloseTimeout = 2 * patience
			p := openReady(t, o)
			tx := openTx(t, p, discovery.ModeRW)
			closed := closing(t, p)
			require.NoError(t, run(t.Context(), tx, insert()), "what is open goes on")
			select {
			case <-closed:
				require.Fail(t, "closed with an open transaction")
			case <-time.After(50 * time.Millisecond):
			}
			require.NoError(t, end(t.Context(), tx))
			begun := time.Now()
			<-closed
			assert.Less(t, time.Since(begun), patience)
			if name == "COMMIT" {
				requireStreams(t, s, "BEGIN INSERT COMMIT") // in place of ROLLBACK, the end of the connection does
			}
		})
	}
}

func TestCloseEndsTransactionsAfterCloseTimeout(t *testing.T) {
	const timeout = 50 * time.Millisecond
	s := startServer(t, 0, watched)
	o := options(s)
	o.CloseTimeout = timeout
	p := openReady(t, o)
	idle, busy, committing := openTx(t, p, discovery.ModeRW), openTx(t, p, discovery.ModeRW), openTx(t, p, discovery.ModeRW)
	s.On(0, fakepeer.Lose)
	statement := inBackground(func() error { return run(context.Background(), busy, insert()) })
	commit := inBackground(func() error { return committing.Commit(context.Background()) })
	inFlight(t, p, s, 2)
	begun := time.Now()
	p.Close()
	took := time.Since(begun)
	assert.GreaterOrEqual(t, took, timeout)
	assert.Less(t, took, patience)

	err := <-statement
	require.ErrorAs(t, err, new(*pool.TxError))
	require.ErrorIs(t, err, wire.ErrClosed)
	err = <-commit
	require.ErrorAs(t, err, new(*pool.UnknownError))
	require.ErrorIs(t, err, wire.ErrClosed)
	requireOver(t, s, idle, wire.ErrClosed, true)
	err = idle.Commit(t.Context())
	require.ErrorAs(t, err, new(*pool.TxError))
	require.NotErrorAs(t, err, new(*pool.UnknownError))
	busy.Rollback()
	assert.Eventually(t, func() bool { return s.Sessions() == 0 }, patience, tick, "the server rolls back what they had open")
}

// The end of its connection ends the transaction: no ROLLBACK needs waiting for.
func TestCloseDoesNotWaitForARollback(t *testing.T) {
	s := startServer(t, 0, watched)
	o := options(s)
	o.CloseTimeout = 2 * patience
	p := openReady(t, o)
	tx := openTx(t, p, discovery.ModeRW)
	s.onExecute(fakepeer.Lose)
	ctx, cancel := context.WithCancel(t.Context())
	statement := inBackground(func() error { return run(ctx, tx, insert()) })
	requireStreams(t, s, "BEGIN INSERT")
	cancel()
	require.ErrorIs(t, <-statement, context.Canceled)
	tx.Rollback()
	begun := time.Now()
	p.Close()
	assert.Less(t, time.Since(begun), patience)
	requireStreams(t, s, "BEGIN INSERT")
}

func TestTransactionThatBeginsDuringCloseIsWaitedFor(t *testing.T) {
	s := startServer(t, 0, watched)
	p := openReady(t, options(s))
	ready := make(chan struct{})
	s.On(protocol.IPROTO_BEGIN, fakepeer.Late(ready))
	opened := opening(t.Context(), p, discovery.ModeRW)
	requireStreams(t, s, "BEGIN")
	closed := closing(t, p)
	close(ready)
	o := <-opened // it was in flight
	require.NoError(t, o.err)
	require.NoError(t, o.tx.Commit(t.Context()))
	<-closed
	requireStreams(t, s, "BEGIN COMMIT")
}

// An instance that nothing new is sent to keeps its connections as long as a
// transaction is open there.
func TestOpenTransactionKeepsTheConnectionsOfItsInstance(t *testing.T) {
	const others = 5 // checks of whether the instance is idle
	for name, retire := range map[string]func(*testing.T, *pool.Pool, *server){
		"that shuts down": func(t *testing.T, p *pool.Pool, s *server) {
			s.Shutdown()
			waitFor(t, p, statusOf(0, "shutdown"))
		},
		"that is no longer a member": func(_ *testing.T, p *pool.Pool, _ *server) { p.SetCandidates(nil, nil) },
	} {
		for end, finish := range map[string]func(context.Context, *pool.Tx) error{
			"COMMIT":   func(ctx context.Context, tx *pool.Tx) error { return tx.Commit(ctx) },
			"ROLLBACK": func(_ context.Context, tx *pool.Tx) error { tx.Rollback(); return nil },
		} {
			t.Run(name+", "+end, func(t *testing.T) {
				t.Parallel()
				s := startServer(t, 0, watched)
				p := openReady(t, options(s))
				tx := openTx(t, p, discovery.ModeRW)
				retire(t, p, s)
				none := request(discovery.ModeRW, verdict.Write)
				none.Selection = 0
				_, err := p.Do(t.Context(), none)
				require.ErrorAs(t, err, new(*pool.NoInstanceError))
				assert.Never(t, func() bool { return s.Sessions() < 2 }, others*50*time.Millisecond, tick)
				require.NoError(t, run(t.Context(), tx, insert()))
				require.NoError(t, finish(t.Context(), tx))
				requireStreams(t, s, "BEGIN INSERT "+end)
				require.Eventually(t, func() bool { return s.Sessions() == 0 }, patience, tick)
			})
		}
	}
}

// An address whose instance is in use at another one gives its connections up,
// but not those of a transaction.
func TestAddressWithAnOpenTransactionDoesNotStandBy(t *testing.T) {
	var n network
	s := startServer(t, 0, watched)
	n.route("a:1", s)
	o := n.options("a:1", "b:1")
	var control atomic.Pointer[net.Conn] // the first one
	o.Wire.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := n.dial(ctx, network, address)
		if err == nil {
			control.CompareAndSwap(nil, &conn)
		}
		return conn, err
	}
	p := open(t, o)
	inUse := func(address string) func(*discovery.Snapshot) bool {
		return func(v *discovery.Snapshot) bool {
			return v.Instances[0].Address == address && v.Instances[0].Connected()
		}
	}
	waitFor(t, p, inUse("a:1"))
	tx := openTx(t, p, discovery.ModeRW)

	// The control connection alone is lost, and b:1 answers before a:1 does again.
	n.route("a:1", nil)
	n.route("b:1", s)
	require.NoError(t, (*control.Load()).Close())
	waitFor(t, p, inUse("b:1"))
	n.route("a:1", s)
	require.Eventually(t, func() bool { return s.Sessions() == 3 }, patience, tick, "two for control, one for the transaction")
	assert.Never(t, func() bool { return s.Sessions() != 3 || !inUse("b:1")(p.Snapshot()) }, 250*time.Millisecond, tick)
	require.NoError(t, run(t.Context(), tx, insert()))
	require.NoError(t, tx.Commit(t.Context()))
	requireStreams(t, s, "BEGIN INSERT COMMIT")
	require.Eventually(t, func() bool { return s.Sessions() == 1 }, patience, tick, "a:1 stands by")
}
