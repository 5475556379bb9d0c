package pool_test

import (
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	protocol "github.com/tarantool/go-iproto"

	"github.com/tntsql/tntsql/discovery"
	"github.com/tntsql/tntsql/internal/fakepeer"
	"github.com/tntsql/tntsql/pool"
)

// losses are the ways to lose an answer of a server.
var losses = map[string]func(*server) fakepeer.Script{
	"connection cut in place of the answer": func(*server) fakepeer.Script { return fakepeer.Cut },
	"connection cut within the answer":      func(*server) fakepeer.Script { return fakepeer.CutShort },
	"all connections cut": func(s *server) fakepeer.Script {
		return func(*fakepeer.Session, fakepeer.Request) bool {
			s.Cut()
			return true
		}
	},
}

// isLost tells of the socket's own errors.
func isLost(err error) bool {
	return slices.ContainsFunc([]error{io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.EPIPE},
		func(end error) bool { return errors.Is(err, end) })
}

// first is the script for the first requests of a type alone.
func first(n int32, script fakepeer.Script) fakepeer.Script {
	var came atomic.Int32
	return func(s *fakepeer.Session, r fakepeer.Request) bool {
		return came.Add(1) <= n && script(s, r)
	}
}

// A BEGIN whose answer is lost has opened a transaction that ends with its
// connection.
func TestLostBeginIsSentOnceMore(t *testing.T) {
	for name, loss := range losses {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startServer(t, 0, watched)
			p := openReady(t, options(s))
			s.On(protocol.IPROTO_BEGIN, first(1, loss(s)))
			tx, reply, err := p.Begin(t.Context(), beginning(discovery.ModeRW))
			require.NoError(t, err)
			assert.Equal(t, 2, reply.Attempts)
			assert.EqualValues(t, 1, p.Counts().Lost)
			require.NoError(t, run(t.Context(), tx, insert()))
			require.NoError(t, tx.Commit(t.Context()))
			requireStreams(t, s, "BEGIN", "BEGIN INSERT COMMIT")

			s.On(protocol.IPROTO_BEGIN, loss(s))
			tx, reply, err = p.Begin(t.Context(), beginning(discovery.ModeRW))
			require.Error(t, err)
			assert.True(t, isLost(err), err)
			assert.NotErrorAs(t, err, new(*pool.UnknownError))
			assert.Nil(t, tx)
			assert.Equal(t, 2, reply.Attempts)
			s.On(protocol.IPROTO_BEGIN, nil)
			requireNoMore(t, p, s)
			requireStreams(t, s, "BEGIN", "BEGIN INSERT COMMIT", "BEGIN", "BEGIN", "BEGIN COMMIT")
		})
	}
}

func TestLostBeginGoesToAnotherInstance(t *testing.T) {
	set := startSet(t, watched, 1)
	p := openReady(t, options(set...))
	set[0].On(protocol.IPROTO_BEGIN, fakepeer.Cut)
	tx, reply, err := p.Begin(t.Context(), beginning(discovery.ModePreferRW))
	require.NoError(t, err)
	assert.Equal(t, 2, reply.Attempts)
	assert.Equal(t, set[1].uuid, tx.Served().UUID)
	tx.Rollback()
	requireStreams(t, set[0], "BEGIN")
	requireStreams(t, set[1], "BEGIN ROLLBACK")
}

// A transaction is lost with its connection, whatever is lost.
func TestLostConnectionEndsTheTransaction(t *testing.T) {
	for name, loss := range losses {
		for request, tt := range map[string]struct {
			typ    protocol.Type
			probes bool
			act    func(context.Context, *pool.Tx) error
			stream string
		}{
			"statement": {protocol.IPROTO_EXECUTE, false,
				func(ctx context.Context, tx *pool.Tx) error { return run(ctx, tx, insert()) }, "BEGIN INSERT"},
			"call": {protocol.IPROTO_CALL, false,
				func(ctx context.Context, tx *pool.Tx) error { return run(ctx, tx, call()) }, "BEGIN CALL"},
			"SAVEPOINT": {protocol.IPROTO_EXECUTE, true,
				func(ctx context.Context, tx *pool.Tx) error { return run(ctx, tx, insert()) }, "BEGIN INSERT SAVEPOINT"},
			"SAVEPOINT before a COMMIT": {protocol.IPROTO_EXECUTE, true,
				func(ctx context.Context, tx *pool.Tx) error { return tx.Commit(ctx) }, "BEGIN INSERT SAVEPOINT"},
		} {
			t.Run(request+", "+name, func(t *testing.T) {
				t.Parallel()
				s := startServer(t, 0, watched)
				p := openReady(t, options(s))
				tx := openTx(t, p, discovery.ModeRW)
				if tt.probes {
					s.onExecute(duplicate)
					require.Error(t, run(t.Context(), tx, insert()))
				}
				s.On(tt.typ, loss(s))
				err := tt.act(t.Context(), tx)
				var over *pool.TxError
				require.ErrorAs(t, err, &over)
				assert.True(t, over.Again)
				assert.True(t, isLost(err), err)
				assert.NotErrorAs(t, err, new(*pool.UnknownError))

				s.On(tt.typ, nil)
				require.ErrorAs(t, run(t.Context(), tx, insert()), &over)
				require.ErrorAs(t, tx.Commit(t.Context()), &over, "COMMIT is not sent")
				tx.Rollback()
				requireNoMore(t, p, s)
				requireStreams(t, s, tt.stream, "BEGIN COMMIT")
			})
		}
	}
}

// A connection that ends between two requests of a transaction.
func TestTransactionOfALostConnectionFailsAtOnce(t *testing.T) {
	for name, act := range map[string]func(context.Context, *pool.Tx) error{
		"statement": func(ctx context.Context, tx *pool.Tx) error { return run(ctx, tx, insert()) },
		"COMMIT":    func(ctx context.Context, tx *pool.Tx) error { return tx.Commit(ctx) },
	} {
		t.Run(name, func(t *testing.T) {
			s := startServer(t, 0, watched)
			p := openReady(t, options(s))
			tx := openTx(t, p, discovery.ModeRW)
			s.Cut()
			other := openTx(t, p, discovery.ModeRW) // of another connection: the end of the first is known
			err := act(t.Context(), tx)
			var over *pool.TxError
			require.ErrorAs(t, err, &over)
			assert.True(t, over.Again)
			assert.True(t, isLost(err), err)
			assert.NotErrorAs(t, err, new(*pool.UnknownError), "nothing of it was sent")
			tx.Rollback()
			require.NoError(t, other.Commit(t.Context()))
			requireStreams(t, s, "BEGIN", "BEGIN COMMIT")
		})
	}
}

func TestLostCommitIsUnknown(t *testing.T) {
	for name, loss := range losses {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startServer(t, 0, watched)
			p := openReady(t, options(s))
			tx := openTx(t, p, discovery.ModeRW)
			s.On(protocol.IPROTO_COMMIT, loss(s))
			err := tx.Commit(t.Context())
			require.ErrorAs(t, err, new(*pool.UnknownError))
			assert.NotErrorAs(t, err, new(*pool.TxError))
			assert.True(t, isLost(err), err)
			tx.Rollback()
			var over *pool.TxError
			require.ErrorAs(t, tx.Commit(t.Context()), &over)
			assert.False(t, over.Again)
			s.On(protocol.IPROTO_COMMIT, nil)
			requireNoMore(t, p, s)
			requireStreams(t, s, "BEGIN COMMIT", "BEGIN COMMIT")
		})
	}
}

// Nobody waits for the answer of a ROLLBACK, and nobody misses it.
func TestLostRollbackIsSilent(t *testing.T) {
	silent := maps.Clone(losses)
	silent["no answer"] = func(*server) fakepeer.Script { return fakepeer.Lose }
	silent["an error"] = func(*server) fakepeer.Script { return refuseWith(protocol.ER_TRANSACTION_TIMEOUT) }
	for name, loss := range silent {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startServer(t, 0, watched)
			o := options(s)
			o.MaxInFlight = 1
			p := openReady(t, o)
			tx := openTx(t, p, discovery.ModeRW)
			s.On(protocol.IPROTO_ROLLBACK, loss(s))
			tx.Rollback()
			requireStreams(t, s, "BEGIN ROLLBACK")
			s.On(protocol.IPROTO_ROLLBACK, nil)
			tx, _, err := p.Begin(t.Context(), beginning(discovery.ModeRW))
			require.NoError(t, err)
			require.NoError(t, run(t.Context(), tx, insert()))
			require.NoError(t, tx.Commit(t.Context()))
			assert.Equal(t, "BEGIN ROLLBACK", s.streams()[0])
		})
	}
}

// What no context bounds waits for dead_timeout: the instance may answer others.
func TestUnansweredCommitWithoutADeadlineIsGivenUp(t *testing.T) {
	const dead = 100 * time.Millisecond
	for name, tt := range map[string]struct {
		typ     protocol.Type
		probes  bool
		stream  string
		unknown bool
	}{
		"COMMIT":               {protocol.IPROTO_COMMIT, false, "BEGIN COMMIT", true},
		"SAVEPOINT before one": {protocol.IPROTO_EXECUTE, true, "BEGIN INSERT SAVEPOINT", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startServer(t, 0, watched)
			o := options(s)
			o.DeadTimeout = dead
			p := openReady(t, o)
			tx := openTx(t, p, discovery.ModeRW)
			if tt.probes {
				s.onExecute(duplicate)
				require.Error(t, run(t.Context(), tx, insert()))
			}
			s.On(tt.typ, fakepeer.Lose)
			done := inBackground(func() error { return tx.Commit(context.Background()) })
			select {
			case err := <-done:
				require.ErrorContains(t, err, "dead_timeout")
				assert.Equal(t, tt.unknown, errors.As(err, new(*pool.UnknownError)))
			case <-time.After(patience / 2):
				s.Cut()
				assert.Error(t, <-done)
				assert.Fail(t, "COMMIT waits for good")
			}
			requireStreams(t, s, tt.stream)
		})
	}
}

// request_timeout bounds what the driver asks before a statement, too.
func TestUnansweredSavepointHasRequestTimeout(t *testing.T) {
	s := startServer(t, 0, watched)
	p := openReady(t, options(s))
	tx := openTx(t, p, discovery.ModeRW)
	s.onExecute(duplicate)
	require.Error(t, run(t.Context(), tx, insert()))
	s.onExecute(fakepeer.Lose)
	req := insert()
	req.Timeout = 50 * time.Millisecond
	done := inBackground(func() error { return run(context.Background(), tx, req) })
	select {
	case err := <-done:
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorAs(t, err, new(*pool.TxError))
	case <-time.After(patience / 2):
		s.Cut()
		assert.Error(t, <-done)
		assert.Fail(t, "the statement waits for good")
	}
	requireStreams(t, s, "BEGIN INSERT SAVEPOINT")
}
