package pool_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	protocol "github.com/tarantool/go-iproto"
	"github.com/vmihailenco/msgpack/v5"

	"github.com/tntsql/tntsql/discovery"
	"github.com/tntsql/tntsql/internal/fakepeer"
	"github.com/tntsql/tntsql/internal/iproto"
	"github.com/tntsql/tntsql/internal/verdict"
	"github.com/tntsql/tntsql/pool"
)

// beginning is a BEGIN. Under ModeRW the transaction may write.
func beginning(m discovery.Mode) *pool.Request {
	req := request(m, verdict.Begin)
	req.Type, req.Writes = protocol.IPROTO_BEGIN, m == discovery.ModeRW
	return req
}

// openTx opens a transaction that does not outlive the test.
func openTx(t testing.TB, p *pool.Pool, m discovery.Mode) *pool.Tx {
	t.Helper()
	tx, _, err := p.Begin(t.Context(), beginning(m))
	require.NoError(t, err)
	t.Cleanup(tx.Rollback)
	return tx
}

// began is a transaction, or why there is none.
type began struct {
	outcome
	tx *pool.Tx
}

// opening is openTx in the background.
func opening(ctx context.Context, p *pool.Pool, m discovery.Mode) <-chan began {
	done := make(chan began, 1)
	go func() {
		tx, reply, err := p.Begin(ctx, beginning(m))
		done <- began{outcome{reply, err}, tx}
	}()
	return done
}

// sqlText is the body of an EXECUTE.
type sqlText string

func (s sqlText) Append(b []byte, v iproto.Version) ([]byte, error) {
	return iproto.AppendExecute(b, string(s), nil, v)
}

var errUnencodable = errors.New("cannot be encoded")

type unencodable struct{}

func (unencodable) Append(b []byte, _ iproto.Version) ([]byte, error) { return b, errUnencodable }

// insert is a statement of a transaction.
func insert() *pool.Request {
	req := request(discovery.ModeRW, verdict.Write)
	req.Body = sqlText("INSERT INTO t VALUES (1)")
	return req
}

// call is a CALL.
func call() *pool.Request {
	req := request(discovery.ModeRW, verdict.Call)
	req.Type = protocol.IPROTO_CALL
	return req
}

func run(ctx context.Context, tx *pool.Tx, req *pool.Request) error {
	_, err := tx.Do(ctx, req)
	return err
}

func inBackground(f func() error) <-chan error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	return done
}

// stream is a stream of a session.
type stream struct {
	session int
	number  uint64
}

// streams are the requests of each stream that have come, in their order: the
// first word of a statement, or the type. The streams are in the order of their
// first requests.
func (s *server) streams() []string {
	at := make(map[stream]int)
	var all []string
	for _, r := range s.Requests() {
		if r.Stream == 0 {
			continue
		}
		id := stream{r.Session, r.Stream}
		if i, known := at[id]; known {
			all[i] += " " + word(r)
			continue
		}
		at[id] = len(all)
		all = append(all, word(r))
	}
	return all
}

func word(r fakepeer.Request) string {
	if r.Type != protocol.IPROTO_EXECUTE {
		return strings.TrimPrefix(r.Type.String(), "IPROTO_")
	}
	var body map[protocol.Key]any
	_ = msgpack.Unmarshal(r.Body, &body)
	text, _ := body[protocol.IPROTO_SQL_TEXT].(string)
	first, _, _ := strings.Cut(text, " ")
	return first
}

// requireStreams waits for exactly these streams.
func requireStreams(t testing.TB, s *server, want ...string) {
	t.Helper()
	same := func() bool { return assert.ObjectsAreEqual(want, s.streams()) }
	if !assert.Eventually(t, same, patience, tick) {
		require.Equal(t, want, s.streams())
	}
}

// requireNoMore makes sure that nothing is on its way in the streams of the only
// connection for transactions that has come to be: what it opens comes last.
func requireNoMore(t testing.TB, p *pool.Pool, s *server) {
	t.Helper()
	before := s.streams()
	require.NoError(t, openTx(t, p, discovery.ModeRW).Commit(t.Context()))
	requireStreams(t, s, append(before, "BEGIN COMMIT")...)
}

// onStatements sets the script for the statements of transactions, and another
// one for the driver's own SAVEPOINT.
func (s *server) onStatements(statement, savepoint fakepeer.Script) {
	s.onExecute(func(session *fakepeer.Session, r fakepeer.Request) bool {
		script := statement
		if word(r) == "SAVEPOINT" {
			script = savepoint
		}
		return script != nil && script(session, r)
	})
}

// refuseWith answers with an error.
func refuseWith(code protocol.Error) fakepeer.Script {
	return func(s *fakepeer.Session, r fakepeer.Request) bool {
		s.Error(r.Sync, code, code.String())
		return true
	}
}

// duplicate answers as a server does that has the row already.
var duplicate = fakepeer.Replay("insert, duplicate")

// requireOver checks that a transaction is over for the cause, whatever is done
// with it, and that nothing more is sent there.
func requireOver(t testing.TB, s *server, tx *pool.Tx, cause error, again bool) {
	t.Helper()
	before := s.streams()
	for range 2 {
		err := run(t.Context(), tx, insert())
		var over *pool.TxError
		require.ErrorAs(t, err, &over)
		require.ErrorIs(t, err, cause)
		assert.Equal(t, again, over.Again)
	}
	assert.Equal(t, before, s.streams())
}

func TestTransactionIsOneStream(t *testing.T) {
	s := startServer(t, 0, watched)
	p := openReady(t, options(s))
	tx := openTx(t, p, discovery.ModeRW)
	assert.Equal(t, s.uuid, tx.Served().UUID)
	for range 3 {
		reply, err := tx.Do(t.Context(), insert())
		require.NoError(t, err)
		assert.NotEmpty(t, reply.Body)
		assert.Equal(t, 1, reply.Attempts)
		assert.Equal(t, s.uuid, reply.Served.UUID)
	}
	require.NoError(t, tx.Commit(t.Context()))
	tx.Rollback() // does nothing any more
	requireStreams(t, s, "BEGIN INSERT INSERT INSERT COMMIT")
	for range 3 {
		tx = openTx(t, p, discovery.ModeRW)
		tx.Rollback()
		tx.Rollback()
		var over *pool.TxError
		require.ErrorAs(t, tx.Commit(t.Context()), &over)
		require.ErrorAs(t, run(t.Context(), tx, insert()), &over)
		assert.False(t, over.Again)
	}
	requireStreams(t, s, "BEGIN INSERT INSERT INSERT COMMIT", "BEGIN ROLLBACK", "BEGIN ROLLBACK", "BEGIN ROLLBACK")
	requireNoMore(t, p, s)
}

// Statements outside transactions do not wait for those in them.
func TestTransactionsHaveConnectionsOfTheirOwn(t *testing.T) {
	s := startServer(t, 0, watched)
	o := options(s)
	o.ConnsPerInstance = 1
	p := openReady(t, o)
	tx := openTx(t, p, discovery.ModeRW)
	require.NoError(t, run(t.Context(), tx, insert()))
	warm(t, p, discovery.ModeRW)
	executes := s.Requests(protocol.IPROTO_EXECUTE)
	require.Len(t, executes, 2)
	assert.NotEqual(t, executes[0].Session, executes[1].Session)
	assert.NotZero(t, executes[0].Stream)
	assert.Zero(t, executes[1].Stream)
}

func TestServersWithoutStreamsGetNoBegin(t *testing.T) {
	for _, version := range []string{unguarded, unwatched} {
		t.Run(version, func(t *testing.T) {
			s := startServer(t, 0, version)
			p := openReady(t, options(s))
			tx, reply, err := p.Begin(t.Context(), beginning(discovery.ModeRW))
			var unsupported *pool.UnsupportedError
			require.ErrorAs(t, err, &unsupported)
			assert.Equal(t, version, unsupported.Version)
			assert.Nil(t, tx)
			assert.Zero(t, reply.Attempts)
			warm(t, p, discovery.ModeRW)
			assert.Empty(t, s.streams())
			assert.Empty(t, s.Requests(protocol.IPROTO_BEGIN))
		})
	}
}

// An error may have ended the transaction without a word, and so may a call.
func TestSavepointTellsWhetherTheTransactionIsStillThere(t *testing.T) {
	ok := func(err error) bool { return err == nil }
	failed := func(err error) bool { return err != nil }
	for name, tt := range map[string]struct {
		first  *pool.Request
		script fakepeer.Script
		came   func(error) bool
		probes bool
		atOnce string // whether its error says that all may run again depends on it
	}{
		"after a statement":            {insert(), nil, ok, false, ""},
		"after a statement that fails": {insert(), duplicate, failed, true, ""},
		"after a call":                 {call(), nil, ok, true, ""},
		"after a call that fails":      {call(), refuseWith(protocol.ER_PROC_LUA), failed, true, " SAVEPOINT"},
	} {
		t.Run(name, func(t *testing.T) {
			s := startServer(t, 0, watched, fakepeer.Granted())
			p := openReady(t, options(s))
			first, probe := "BEGIN INSERT", ""
			if tt.first.Type == protocol.IPROTO_CALL {
				first = "BEGIN CALL"
			}
			if tt.probes {
				probe = " SAVEPOINT"
			}
			begin := func() *pool.Tx {
				t.Helper()
				tx := openTx(t, p, discovery.ModeRW)
				s.onStatements(tt.script, nil)
				s.On(protocol.IPROTO_CALL, tt.script)
				require.True(t, tt.came(run(t.Context(), tx, tt.first)))
				s.onStatements(nil, nil)
				return tx
			}
			tx := begin()
			require.NoError(t, run(t.Context(), tx, insert()))
			require.NoError(t, run(t.Context(), tx, insert()))
			require.NoError(t, tx.Commit(t.Context()))
			require.NoError(t, begin().Commit(t.Context()))
			begin().Rollback()
			want := []string{first + probe + " INSERT INSERT COMMIT", first + probe + " COMMIT", first + tt.atOnce + " ROLLBACK"}
			requireStreams(t, s, want...)
		})
	}
}

func TestTransactionWithoutASavepointIsOver(t *testing.T) {
	for name, tt := range map[string]struct {
		code protocol.Error
		text string
	}{
		"it has ended":    {protocol.ER_NO_TRANSACTION, "has ended it"},
		"it is not known": {protocol.ER_TRANSACTION_TIMEOUT, "TIMEOUT"},
	} {
		for next, act := range map[string]func(context.Context, *pool.Tx) error{
			"statement": func(ctx context.Context, tx *pool.Tx) error { return run(ctx, tx, insert()) },
			"call":      func(ctx context.Context, tx *pool.Tx) error { return run(ctx, tx, call()) },
			"COMMIT":    func(ctx context.Context, tx *pool.Tx) error { return tx.Commit(ctx) },
		} {
			t.Run(name+", next is a "+next, func(t *testing.T) {
				s := startServer(t, 0, watched)
				p := openReady(t, options(s))
				s.onStatements(duplicate, refuseWith(tt.code))
				tx := openTx(t, p, discovery.ModeRW)
				var server *iproto.ServerError
				require.ErrorAs(t, run(t.Context(), tx, insert()), &server, "the statement's own error")
				err := act(t.Context(), tx)
				var over *pool.TxError
				require.ErrorAs(t, err, &over)
				require.ErrorContains(t, err, tt.text)
				assert.NotErrorAs(t, err, new(*pool.UnknownError))
				if next != "COMMIT" {
					requireOver(t, s, tx, over.Err, false)
					require.ErrorIs(t, tx.Commit(t.Context()), over.Err)
				}
				requireStreams(t, s, "BEGIN INSERT SAVEPOINT ROLLBACK")
				requireNoMore(t, p, s)
			})
		}
	}
}

// A request that cannot be encoded is not sent, and ends nothing.
func TestBodyThatCannotBeEncodedLeavesTheTransactionAsItIs(t *testing.T) {
	s := startServer(t, 0, watched)
	o := options(s)
	o.MaxInFlight = 1
	p := openReady(t, o)
	tx := openTx(t, p, discovery.ModeRW)
	bad := insert()
	bad.Body = unencodable{}
	for range 3 { // whose room is given back
		require.ErrorIs(t, run(t.Context(), tx, bad), errUnencodable)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	require.NoError(t, run(ctx, tx, insert()))
	require.NoError(t, tx.Commit(ctx))
	requireStreams(t, s, "BEGIN INSERT COMMIT")
}

// UPDATE and DELETE of no rows say nothing where the role was lost.
func TestNoRowsOnAFormerMasterEndTheTransaction(t *testing.T) {
	set := startSet(t, watched, 1)
	p := openTold(t, options(set...))
	tx := openTx(t, p, discovery.ModeRW)
	vain := insert()
	vain.Vain = func([]byte) bool { return true }
	require.NoError(t, run(t.Context(), tx, vain))
	switchOver(set[0], set[1])
	waitFor(t, p, roleOf(0, discovery.RoleRO))
	votes := set[0].votes()
	var over *pool.TxError
	require.ErrorAs(t, run(t.Context(), tx, vain), &over)
	assert.True(t, over.Again)
	requireOver(t, set[0], tx, over.Err, true)
	require.ErrorIs(t, tx.Commit(t.Context()), over.Err)
	requireStreams(t, set[0], "BEGIN INSERT INSERT ROLLBACK")
	assert.Eventually(t, func() bool { return set[0].votes() > votes }, patience, tick, "its role is asked for")
	assert.Equal(t, set[1].uuid, openTx(t, p, discovery.ModeRW).Served().UUID)
}

// A statement is refused by a former master: the error is the caller's, and the
// role is asked for.
func TestRefusedStatementOfATransactionHasTheRoleAskedFor(t *testing.T) {
	s := startServer(t, 0, watched)
	p := openReady(t, options(s))
	tx := openTx(t, p, discovery.ModeRW)
	s.onExecute(refuse)
	votes := s.votes()
	var server *iproto.ServerError
	require.ErrorAs(t, run(t.Context(), tx, insert()), &server)
	assert.EqualValues(t, protocol.ER_READONLY, server.Code)
	assert.Eventually(t, func() bool { return s.votes() > votes }, patience, tick)
	tx.Rollback()
	requireStreams(t, s, "BEGIN INSERT ROLLBACK")
}

func TestStatementOfATransactionHasRequestTimeout(t *testing.T) {
	s := startServer(t, 0, watched)
	p := openReady(t, options(s))
	tx := openTx(t, p, discovery.ModeRW)
	ready := make(chan struct{})
	s.onExecute(fakepeer.Late(ready))
	req := insert()
	req.Timeout = 20 * time.Millisecond
	err := run(context.WithoutCancel(t.Context()), tx, req)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, "request_timeout")
	requireOver(t, s, tx, context.DeadlineExceeded, false)
	tx.Rollback()
	close(ready)
	requireStreams(t, s, "BEGIN INSERT ROLLBACK")
}
