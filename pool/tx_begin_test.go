package pool_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	protocol "github.com/tarantool/go-iproto"

	"github.com/tntsql/tntsql/discovery"
	"github.com/tntsql/tntsql/internal/fakepeer"
	"github.com/tntsql/tntsql/internal/iproto"
	"github.com/tntsql/tntsql/pool"
)

// The role may change between the pick of an instance and its answer.
func TestTransactionDoesNotBeginOnAFormerMaster(t *testing.T) {
	for _, version := range []string{"2.11.9", "3.8.0"} {
		t.Run(version, func(t *testing.T) {
			set := startSet(t, version, 1)
			p := openTold(t, options(set...))
			for i := range 6 {
				from, to := set[i%2], set[(i+1)%2]
				openTx(t, p, discovery.ModeRW).Rollback() // so that there is a connection
				armed(t, from)
				from.On(protocol.IPROTO_BEGIN, first(1, func(s *fakepeer.Session, r fakepeer.Request) bool {
					switchOver(from, to)
					return false
				}))
				tx, reply, err := p.Begin(t.Context(), beginning(discovery.ModeRW))
				require.NoError(t, err)
				assert.Equal(t, to.uuid, reply.Served.UUID)
				assert.Equal(t, to.uuid, tx.Served().UUID)
				assert.Equal(t, 2, reply.Attempts)
				assert.EqualValues(t, i+1, p.Counts().Refused)
				require.NoError(t, run(t.Context(), tx, insert()))
				require.NoError(t, tx.Commit(t.Context()))
			}
			requireStreams(t, set[0], "BEGIN ROLLBACK", "BEGIN ROLLBACK", "BEGIN INSERT COMMIT",
				"BEGIN ROLLBACK", "BEGIN ROLLBACK", "BEGIN INSERT COMMIT",
				"BEGIN ROLLBACK", "BEGIN ROLLBACK", "BEGIN INSERT COMMIT")
			requireStreams(t, set[1], "BEGIN INSERT COMMIT",
				"BEGIN ROLLBACK", "BEGIN ROLLBACK", "BEGIN INSERT COMMIT",
				"BEGIN ROLLBACK", "BEGIN ROLLBACK", "BEGIN INSERT COMMIT",
				"BEGIN ROLLBACK", "BEGIN ROLLBACK")
		})
	}
}

func TestTransactionThatFindsNoMasterAnyMoreIsRolledBack(t *testing.T) {
	s := startServer(t, 0, watched)
	p := openTold(t, options(s))
	openTx(t, p, discovery.ModeRW).Rollback()
	armed(t, s)
	s.On(protocol.IPROTO_BEGIN, func(*fakepeer.Session, fakepeer.Request) bool {
		s.SetReadOnly(true)
		return false
	})
	req := beginning(discovery.ModeRW)
	req.Selection = 50 * time.Millisecond
	_, reply, err := p.Begin(t.Context(), req)
	require.ErrorAs(t, err, new(*pool.NoInstanceError))
	assert.Equal(t, 1, reply.Attempts)
	requireStreams(t, s, "BEGIN ROLLBACK", "BEGIN ROLLBACK")
}

// BEGIN may be answered by an instance that is loading, or refuses to be written.
func TestRefusedBeginGoesToTheNewMaster(t *testing.T) {
	for name, refusal := range map[string]fakepeer.Script{
		"loading":   refuseWith(protocol.ER_LOADING),
		"read-only": fakepeer.Replay("update, read-only"),
	} {
		t.Run(name, func(t *testing.T) {
			set := startSet(t, watched, 1)
			p := openTold(t, options(set...))
			set[0].On(protocol.IPROTO_BEGIN, func(s *fakepeer.Session, r fakepeer.Request) bool {
				switchOver(set[0], set[1])
				return refusal(s, r)
			})
			tx, reply, err := p.Begin(t.Context(), beginning(discovery.ModeRW))
			require.NoError(t, err)
			assert.Equal(t, set[1].uuid, tx.Served().UUID)
			assert.Equal(t, 2, reply.Attempts)
			require.NoError(t, tx.Commit(t.Context()))
			requireStreams(t, set[0], "BEGIN")
			requireStreams(t, set[1], "BEGIN COMMIT")
		})
	}
}

func TestBeginThatFailsIsTheServersError(t *testing.T) {
	s := startServer(t, 0, watched)
	o := options(s)
	o.MaxInFlight = 1
	p := openReady(t, o)
	s.On(protocol.IPROTO_BEGIN, refuseWith(protocol.ER_ILLEGAL_PARAMS))
	for range 3 {
		tx, reply, err := p.Begin(t.Context(), beginning(discovery.ModeRW))
		var server *iproto.ServerError
		require.ErrorAs(t, err, &server)
		assert.EqualValues(t, protocol.ER_ILLEGAL_PARAMS, server.Code)
		assert.Nil(t, tx)
		assert.Equal(t, 1, reply.Attempts)
	}
	s.On(protocol.IPROTO_BEGIN, nil)
	requireStreams(t, s, "BEGIN", "BEGIN", "BEGIN")
	requireNoMore(t, p, s)
}

// warmTx is warm for transactions.
func warmTx(t *testing.T, p *pool.Pool, modes ...discovery.Mode) {
	t.Helper()
	for _, m := range modes {
		require.NoError(t, openTx(t, p, m).Commit(t.Context()))
	}
}

// A BEGIN changes nothing: it is sent once more where an answer may come, and what
// it opened meanwhile is rolled back.
func TestBeginMovesFromASuspectInstance(t *testing.T) {
	t.Parallel()
	set := startSet(t, watched, 1)
	p := openReady(t, probing(set...))
	warmTx(t, p, discovery.ModeRW, discovery.ModeRO)
	answer := lateOf(set[0])
	defer answer()
	begun := time.Now()
	o := <-opening(t.Context(), p, discovery.ModePreferRW)
	require.NoError(t, o.err)
	assert.Equal(t, set[1].uuid, o.tx.Served().UUID)
	assert.Equal(t, 2, o.Attempts)
	assert.EqualValues(t, 1, p.Counts().Moved)
	assert.GreaterOrEqual(t, time.Since(begun), 5*probe, "what is the oldest on its connection waits for longer")
	require.NoError(t, run(t.Context(), o.tx, insert()))
	require.NoError(t, o.tx.Commit(t.Context()))
	requireStreams(t, set[0], "BEGIN COMMIT", "BEGIN")
	answer()
	requireStreams(t, set[0], "BEGIN COMMIT", "BEGIN ROLLBACK")
	requireStreams(t, set[1], "BEGIN COMMIT", "BEGIN INSERT COMMIT")
}

// deafTo makes the first session that opens a transaction answer nothing until
// answer is called, while the others of the server do.
func deafTo(s *server) (answer func()) {
	var session atomic.Int64
	session.Store(-1)
	ready := make(chan struct{})
	late := fakepeer.Late(ready)
	script := func(to *fakepeer.Session, r fakepeer.Request) bool {
		return session.Load() == int64(r.Session) && late(to, r)
	}
	s.On(0, script)
	s.On(protocol.IPROTO_BEGIN, func(to *fakepeer.Session, r fakepeer.Request) bool {
		session.CompareAndSwap(-1, int64(r.Session))
		return script(to, r)
	})
	return func() { close(ready) }
}

func TestBeginMovesToAnotherConnectionOfItsInstance(t *testing.T) {
	t.Parallel()
	s := startServer(t, 0, watched)
	p := openReady(t, probing(s))
	answer := deafTo(s)
	o := <-opening(t.Context(), p, discovery.ModeRW)
	require.NoError(t, o.err)
	assert.Equal(t, 2, o.Attempts)
	assert.Equal(t, discovery.StatusRunning, p.Snapshot().Instances[0].Status, "the instance answers")
	require.NoError(t, run(t.Context(), o.tx, insert()))
	require.NoError(t, o.tx.Commit(t.Context()))
	requireStreams(t, s, "BEGIN", "BEGIN INSERT COMMIT")
	answer()
	requireStreams(t, s, "BEGIN ROLLBACK", "BEGIN INSERT COMMIT")
	assert.Equal(t, 2, s.sessions(protocol.IPROTO_BEGIN))
}

func TestSecondBeginIsRolledBackIfTheFirstIsAnswered(t *testing.T) {
	t.Parallel()
	set := startSet(t, watched, 1)
	p := openReady(t, probing(set...))
	warmTx(t, p, discovery.ModeRW, discovery.ModeRO)
	answerFirst, answerSecond := lateOf(set[0]), make(chan struct{})
	defer answerFirst()
	set[1].On(protocol.IPROTO_BEGIN, fakepeer.Late(answerSecond))
	opened := opening(t.Context(), p, discovery.ModePreferRW)
	requireStreams(t, set[1], "BEGIN COMMIT", "BEGIN")
	answerFirst()
	o := <-opened
	require.NoError(t, o.err)
	assert.Equal(t, set[0].uuid, o.tx.Served().UUID)
	assert.Equal(t, 2, o.Attempts)
	assert.Never(t, func() bool { return !assert.ObjectsAreEqual([]string{"BEGIN COMMIT", "BEGIN"}, set[1].streams()) },
		50*time.Millisecond, tick)
	close(answerSecond)
	requireStreams(t, set[1], "BEGIN COMMIT", "BEGIN ROLLBACK")
	require.NoError(t, o.tx.Commit(t.Context()))
	requireStreams(t, set[0], "BEGIN COMMIT", "BEGIN COMMIT")
}

// A transaction that has begun stays where it is.
func TestStatementsOfATransactionWaitForASuspectInstance(t *testing.T) {
	t.Parallel()
	set := startSet(t, watched, 1)
	p := openReady(t, probing(set...))
	tx := openTx(t, p, discovery.ModePreferRW)
	answer := lateOf(set[0])
	defer answer()
	statement := inBackground(func() error { return run(t.Context(), tx, insert()) })
	waitFor(t, p, statusOf(0, discovery.StatusSuspect))
	assert.Never(t, func() bool { return len(statement) > 0 }, 6*probe, tick)
	answer()
	require.NoError(t, <-statement)
	set[0].On(0, nil)
	require.NoError(t, tx.Commit(t.Context()))
	requireStreams(t, set[0], "BEGIN INSERT COMMIT")
	assert.Empty(t, set[1].streams())
	assert.Zero(t, p.Counts().Moved)
}
