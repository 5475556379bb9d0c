package pool_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	protocol "github.com/tarantool/go-iproto"

	"github.com/tntsql/tntsql/discovery"
	"github.com/tntsql/tntsql/internal/fakepeer"
	"github.com/tntsql/tntsql/internal/verdict"
	"github.com/tntsql/tntsql/pool"
)

// A statement or a COMMIT of a transaction, on its way when its context ends.
func TestCancelledRequestOfATransactionIsFollowedByRollbackAlone(t *testing.T) {
	statement := func(ctx context.Context, tx *pool.Tx) error { return run(ctx, tx, insert()) }
	commit := func(ctx context.Context, tx *pool.Tx) error { return tx.Commit(ctx) }
	for name, tt := range map[string]struct {
		held   protocol.Type // is answered late
		probes bool          // a statement has failed before
		act    func(context.Context, *pool.Tx) error
		stream string // until the answer
		ended  bool   // by act itself
	}{
		"statement":         {protocol.IPROTO_EXECUTE, false, statement, "BEGIN INSERT", false},
		"call":              {protocol.IPROTO_CALL, false, func(ctx context.Context, tx *pool.Tx) error { return run(ctx, tx, call()) }, "BEGIN CALL", false},
		"SAVEPOINT":         {protocol.IPROTO_EXECUTE, true, statement, "BEGIN INSERT SAVEPOINT", false},
		"COMMIT, SAVEPOINT": {protocol.IPROTO_EXECUTE, true, commit, "BEGIN INSERT SAVEPOINT", true},
	} {
		for end, finish := range ends {
			if tt.ended && end == "Commit" {
				continue // there is nothing to end any more
			}
			t.Run(name+", "+end, func(t *testing.T) {
				t.Parallel()
				s := startServer(t, 0, watched)
				p := openReady(t, options(s))
				tx := openTx(t, p, discovery.ModeRW)
				if tt.probes {
					s.onStatements(duplicate, nil)
					require.Error(t, statement(t.Context(), tx))
				}
				ready := make(chan struct{})
				s.On(tt.held, fakepeer.Late(ready))
				ctx, cancel := context.WithCancel(t.Context())
				done := inBackground(func() error { return tt.act(ctx, tx) })
				requireStreams(t, s, tt.stream)
				require.Empty(t, done)
				cancel()
				err := <-done
				require.ErrorIs(t, err, context.Canceled)
				require.ErrorAs(t, err, new(*pool.TxError))
				require.NotErrorAs(t, err, new(*pool.UnknownError))

				begun := time.Now()
				if tt.ended {
					require.ErrorContains(t, statement(t.Context(), tx), "committed or rolled back")
				} else {
					requireOver(t, s, tx, context.Canceled, false)
					finish(t, tx)
				}
				assert.Less(t, time.Since(begun), time.Second, "nothing waits for the answer")
				assert.Never(t, func() bool { return s.streams()[0] != tt.stream }, 50*time.Millisecond, tick)
				close(ready)
				requireStreams(t, s, tt.stream+" ROLLBACK")
				requireNoMore(t, p, s)
			})
		}
	}
}

func TestRequestOfAnEndedContextLeavesTheTransactionAsItIs(t *testing.T) {
	s := startServer(t, 0, watched)
	p := openReady(t, options(s))
	ctx, cancel := context.WithCancel(t.Context())
	tx := openTx(t, p, discovery.ModeRW)
	cancel()
	err := run(ctx, tx, insert())
	require.ErrorIs(t, err, context.Canceled)
	assert.NotErrorAs(t, err, new(*pool.TxError))
	requireStreams(t, s, "BEGIN")
	require.NoError(t, run(t.Context(), tx, insert()))
	require.ErrorIs(t, tx.Commit(ctx), context.Canceled, "but COMMIT is not sent")
	requireStreams(t, s, "BEGIN INSERT ROLLBACK")
	requireNoMore(t, p, s)
}

// Whether a COMMIT whose answer nobody waits for is carried out is not known, and
// nothing may follow it.
func TestCancelledCommitIsUnknown(t *testing.T) {
	s := startServer(t, 0, watched)
	p := openReady(t, options(s))
	tx := openTx(t, p, discovery.ModeRW)
	ready := make(chan struct{})
	s.On(protocol.IPROTO_COMMIT, fakepeer.Late(ready))
	ctx, cancel := context.WithCancel(t.Context())
	done := inBackground(func() error { return tx.Commit(ctx) })
	requireStreams(t, s, "BEGIN COMMIT")
	cancel()
	err := <-done
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorAs(t, err, new(*pool.UnknownError))
	tx.Rollback()
	require.Error(t, run(t.Context(), tx, insert()))
	close(ready)
	s.On(protocol.IPROTO_COMMIT, nil)
	inFlight(t, p, s, 0)
	requireNoMore(t, p, s)
	assert.Equal(t, "BEGIN COMMIT", s.streams()[0])
}

func TestBeginOfAnEndedContextIsNotSent(t *testing.T) {
	s := startServer(t, 0, watched)
	p := openReady(t, options(s))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	tx, reply, err := p.Begin(ctx, beginning(discovery.ModeRW))
	require.ErrorIs(t, err, context.Canceled)
	assert.Nil(t, tx)
	assert.Zero(t, reply.Attempts)
	requireNoMore(t, p, s)
	requireStreams(t, s, "BEGIN COMMIT")
}

func TestCancelledBeginIsRolledBackWhenItsAnswerComes(t *testing.T) {
	for name, answer := range map[string]fakepeer.Script{
		"OK":       nil,
		"an error": refuseWith(protocol.ER_TRANSACTION_CONFLICT),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startServer(t, 0, watched)
			p := openReady(t, options(s))
			ready := make(chan struct{})
			s.On(protocol.IPROTO_BEGIN, func(session *fakepeer.Session, r fakepeer.Request) bool {
				select {
				case <-ready:
				case <-t.Context().Done():
				}
				return answer != nil && answer(session, r)
			})
			ctx, cancel := context.WithCancel(t.Context())
			done := opening(ctx, p, discovery.ModeRW)
			requireStreams(t, s, "BEGIN")
			cancel()
			o := <-done
			require.ErrorIs(t, o.err, context.Canceled)
			require.NotErrorAs(t, o.err, new(*pool.UnknownError))
			assert.Nil(t, o.tx)
			assert.Equal(t, 1, o.Attempts)
			assert.Never(t, func() bool { return s.streams()[0] != "BEGIN" }, 50*time.Millisecond, tick)
			close(ready)
			requireStreams(t, s, "BEGIN ROLLBACK")
			s.On(protocol.IPROTO_BEGIN, nil)
			requireNoMore(t, p, s)
		})
	}
}

// full holds the only room that there is with a statement outside transactions.
func full(t *testing.T, p *pool.Pool, s *server) (release func()) {
	t.Helper()
	ready := make(chan struct{})
	s.onExecute(fakepeer.Late(ready))
	slow := begin(t.Context(), p, request(discovery.ModeRW, verdict.Write))
	arrived(t, s, 1)
	return func() {
		t.Helper()
		s.onExecute(nil)
		close(ready)
		require.NoError(t, (<-slow).err)
	}
}

func TestCancelledWhileItWaitsForRoom(t *testing.T) {
	s := startServer(t, 0, watched)
	o := options(s)
	o.MaxInFlight = 1
	p := openReady(t, o)
	tx, other, last := openTx(t, p, discovery.ModeRW), openTx(t, p, discovery.ModeRW), openTx(t, p, discovery.ModeRW)
	release := full(t, p, s)
	ctx, cancel := context.WithCancel(t.Context())
	statement := inBackground(func() error { return run(ctx, tx, insert()) })
	opened := opening(ctx, p, discovery.ModeRW)
	assert.Never(t, func() bool { return len(statement) > 0 || len(opened) > 0 }, 50*time.Millisecond, tick)
	require.NoError(t, other.Commit(t.Context()), "COMMIT takes no room")
	last.Rollback()
	requireStreams(t, s, "BEGIN", "BEGIN COMMIT", "BEGIN ROLLBACK")

	cancel()
	err := <-statement
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorAs(t, err, new(*pool.TxError))
	o2 := <-opened
	require.ErrorIs(t, o2.err, context.Canceled)
	require.NotErrorAs(t, o2.err, new(*pool.UnknownError))
	assert.Zero(t, o2.Attempts)
	release()
	require.NoError(t, run(t.Context(), tx, insert()), "it was not sent, and its room was given back")
	require.NoError(t, tx.Commit(t.Context()))
	requireStreams(t, s, "BEGIN INSERT COMMIT", "BEGIN COMMIT", "BEGIN ROLLBACK")
	requireNoMore(t, p, s)
}

func TestStatementOfATransactionWaitsForRoom(t *testing.T) {
	s := startServer(t, 0, watched)
	o := options(s)
	o.MaxInFlight = 1
	p := openReady(t, o)
	tx := openTx(t, p, discovery.ModeRW)
	release := full(t, p, s)
	statement := inBackground(func() error { return run(t.Context(), tx, insert()) })
	assert.Never(t, func() bool { return len(statement) > 0 }, 50*time.Millisecond, tick)
	requireStreams(t, s, "BEGIN")
	release()
	require.NoError(t, <-statement)
	require.NoError(t, tx.Commit(t.Context()))
	requireStreams(t, s, "BEGIN INSERT COMMIT")
}
