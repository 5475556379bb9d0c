package tntsql_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	protocol "github.com/tarantool/go-iproto"
	"github.com/vmihailenco/msgpack/v5"

	"github.com/tntsql/tntsql"
	"github.com/tntsql/tntsql/internal/fakepeer"
)

// countingConnector counts the sessions that database/sql asks for.
type countingConnector struct {
	*tntsql.Connector
	sessions atomic.Int32
}

func (c *countingConnector) Connect(ctx context.Context) (driver.Conn, error) {
	c.sessions.Add(1)
	return c.Connector.Connect(ctx)
}

// openPeer gives a handle on scripted servers.
func openPeer(t testing.TB, params string, peers ...*fakepeer.Peer) (*sql.DB, *countingConnector) {
	t.Helper()
	dsn := "tarantool://" + peers[0].Addr
	for _, p := range peers[1:] {
		dsn += "," + p.Addr
	}
	cfg, err := tntsql.ParseDSN(dsn + "/?" + quiet + "&" + params)
	require.NoError(t, err)
	connector, err := tntsql.NewConnector(cfg)
	require.NoError(t, err)
	counting := &countingConnector{Connector: connector}
	db := sql.OpenDB(counting)
	t.Cleanup(func() { assert.NoError(t, db.Close()) })
	knowsAll(t, connector)
	return db, counting
}

// startStreams starts a scripted server that has streams.
func startStreams(t testing.TB) *fakepeer.Peer {
	t.Helper()
	return fakepeer.Start(t, nil, fakepeer.Version("3.8"), fakepeer.Granted())
}

// came are the requests of a stream in the order of their arrival, by the name of
// their type: "BEGIN EXECUTE COMMIT". The streams are in the order of their first
// requests.
func came(p *fakepeer.Peer) []string {
	type stream struct {
		session int
		number  uint64
	}
	at := make(map[stream]int)
	var all []string
	for _, r := range p.Requests() {
		if r.Stream == 0 {
			continue
		}
		name := r.Type.String()[len("IPROTO_"):]
		id := stream{r.Session, r.Stream}
		if i, known := at[id]; known {
			all[i] += " " + name
			continue
		}
		at[id] = len(all)
		all = append(all, name)
	}
	return all
}

func requireCame(t testing.TB, p *fakepeer.Peer, want ...string) {
	t.Helper()
	eventually(t, fmt.Sprintf("streams %q", want), func() bool { return assert.ObjectsAreEqual(want, came(p)) })
}

func TestBodyOfABegin(t *testing.T) {
	const long = 10 * time.Minute
	for name, tt := range map[string]struct {
		options  *sql.TxOptions
		deadline time.Duration // of BeginTx's context
		level    uint64
		longest  time.Duration
		least    time.Duration
	}{
		"defaults":                   {nil, 0, 0, long, long},
		"read committed":             {&sql.TxOptions{Isolation: sql.LevelReadCommitted}, 0, 1, long, long},
		"read confirmed":             {&sql.TxOptions{Isolation: tntsql.LevelReadConfirmed}, 0, 2, long, long},
		"snapshot":                   {&sql.TxOptions{Isolation: sql.LevelSnapshot}, 0, 3, long, long},
		"linearizable":               {&sql.TxOptions{Isolation: sql.LevelLinearizable}, 0, 4, long, long},
		"read-only":                  {&sql.TxOptions{ReadOnly: true}, 0, 0, long, long},
		"deadline before tx_timeout": {nil, time.Minute, 0, time.Minute, time.Minute / 2},
		"deadline behind tx_timeout": {nil, time.Hour, 0, long, long},
		"deadline before tx_timeout, and read-only": {&sql.TxOptions{ReadOnly: true}, time.Minute, 0, time.Minute, time.Minute / 2},
	} {
		t.Run(name, func(t *testing.T) {
			p := startStreams(t)
			db, _ := openPeer(t, "tx_timeout=10m", p)
			ctx := t.Context()
			if tt.deadline > 0 {
				ctx = within(t, tt.deadline)
			}
			tx, err := db.BeginTx(ctx, tt.options)
			require.NoError(t, err)
			require.NoError(t, tx.Rollback())
			begins := p.Requests(protocol.IPROTO_BEGIN)
			require.Len(t, begins, 1)
			var body map[protocol.Key]any
			require.NoError(t, msgpack.Unmarshal(begins[0].Body, &body))
			require.Len(t, body, 2)
			assert.EqualValues(t, tt.level, body[protocol.IPROTO_TXN_ISOLATION])
			timeout, ok := body[protocol.IPROTO_TIMEOUT].(float64)
			require.True(t, ok, "a double, of seconds")
			assert.LessOrEqual(t, timeout, tt.longest.Seconds())
			assert.GreaterOrEqual(t, timeout, tt.least.Seconds())
		})
	}
}

func TestServersBefore210GetNoBegin(t *testing.T) {
	for _, version := range []string{"2.6.0", "2.8.4"} {
		t.Run(version, func(t *testing.T) {
			p := fakepeer.Start(t, nil, fakepeer.Instance(version, fakepeer.UUID))
			db, connector := openPeer(t, "", p)
			for range 2 {
				_, err := db.BeginTx(t.Context(), nil)
				require.ErrorIs(t, err, tntsql.ErrTxUnsupported)
				assert.False(t, tntsql.IsRetryable(err))
				for _, part := range []string{version, p.Addr, "2.10", "ExecBatch"} {
					assert.ErrorContains(t, err, part)
				}
			}
			mustExec(t, db, "INSERT INTO t VALUES (1)")
			assert.Empty(t, came(p))
			assert.Empty(t, p.Requests(protocol.IPROTO_BEGIN))
			assert.EqualValues(t, 1, connector.sessions.Load(), "the session goes on")
		})
	}
}

func TestLostAnswersOfATransaction(t *testing.T) {
	insert := func(tx *sql.Tx) error { _, err := tx.Exec("INSERT INTO t VALUES (1)"); return err }
	for name, tt := range map[string]struct {
		lost      protocol.Type
		act       func(*sql.Tx) error
		unknown   bool
		retryable bool
		then      error // of a Rollback
		stream    string
	}{
		"of a statement": {protocol.IPROTO_EXECUTE, insert, false, true, nil, "BEGIN EXECUTE"},
		"of a call": {protocol.IPROTO_CALL, func(tx *sql.Tx) error {
			_, err := tntsql.Call(context.Background(), tx, tntsql.ModeRW, "f")
			return err
		}, false, true, nil, "BEGIN CALL"},
		"of a COMMIT": {protocol.IPROTO_COMMIT, (*sql.Tx).Commit, true, false, sql.ErrTxDone, "BEGIN COMMIT"},
	} {
		t.Run(name, func(t *testing.T) {
			p := startStreams(t)
			db, connector := openPeer(t, "", p)
			tx, err := db.BeginTx(t.Context(), nil)
			require.NoError(t, err)
			p.On(tt.lost, fakepeer.Cut)
			err = tt.act(tx)
			require.Error(t, err)
			assert.True(t, errors.Is(err, io.EOF) || errors.As(err, new(*net.OpError)), err)
			assert.Equal(t, tt.unknown, errors.Is(err, tntsql.ErrOutcomeUnknown), err)
			assert.Equal(t, tt.retryable, tntsql.IsRetryable(err))
			assert.ErrorContains(t, err, p.Addr)
			if tt.then == nil {
				require.ErrorContains(t, insert(tx), "is over")
			}
			require.ErrorIs(t, tx.Rollback(), tt.then)
			p.On(tt.lost, nil)

			tx, err = db.BeginTx(t.Context(), nil)
			require.NoError(t, err)
			require.NoError(t, insert(tx))
			require.NoError(t, tx.Commit())
			requireCame(t, p, tt.stream, "BEGIN EXECUTE COMMIT")
			assert.EqualValues(t, 1, connector.sessions.Load())
			assert.Equal(t, 1, db.Stats().OpenConnections)
		})
	}
}

// A statement's context ends, then the transaction's own.
func TestCommitBehindACancelledStatementSendsRollback(t *testing.T) {
	p := startStreams(t)
	db, connector := openPeer(t, "", p)
	tx, err := db.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	ready := make(chan struct{})
	p.On(protocol.IPROTO_EXECUTE, fakepeer.Late(ready))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := tx.ExecContext(ctx, "INSERT INTO t VALUES (1)")
		done <- err
	}()
	requireCame(t, p, "BEGIN EXECUTE")
	cancel()
	err = <-done
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorIs(t, err, tntsql.ErrOutcomeUnknown)
	err = tx.Commit()
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorIs(t, err, tntsql.ErrOutcomeUnknown)
	assert.False(t, tntsql.IsRetryable(err))
	assert.Equal(t, 1, db.Stats().Idle, "the session is free though the answer is not there")
	assert.Equal(t, []string{"BEGIN EXECUTE"}, came(p))
	close(ready)
	requireCame(t, p, "BEGIN EXECUTE ROLLBACK")
	assert.EqualValues(t, 1, connector.sessions.Load())
}

func TestBeginWhoseContextEndsKeepsTheSession(t *testing.T) {
	p := startStreams(t)
	db, connector := openPeer(t, "", p)
	ready := make(chan struct{})
	p.On(protocol.IPROTO_BEGIN, fakepeer.Late(ready))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := db.BeginTx(ctx, nil)
		done <- err
	}()
	requireCame(t, p, "BEGIN")
	cancel()
	err := <-done
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorIs(t, err, tntsql.ErrOutcomeUnknown)
	close(ready)
	requireCame(t, p, "BEGIN ROLLBACK")
	mustExec(t, db, "INSERT INTO t VALUES (1)")
	assert.EqualValues(t, 1, connector.sessions.Load())
}

// The statement has run or not, and so it will have if the transaction is committed.
func TestUnreadableAnswerOfAStatementIsNoUnknownOutcome(t *testing.T) {
	p := startStreams(t)
	db, _ := openPeer(t, "", p)
	tx, err := db.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	p.On(protocol.IPROTO_EXECUTE, fakepeer.Garble)
	_, err = tx.ExecContext(t.Context(), "INSERT INTO t VALUES (1)")
	require.Error(t, err)
	assert.NotErrorIs(t, err, tntsql.ErrOutcomeUnknown)
	require.NoError(t, tx.Rollback())
	requireCame(t, p, "BEGIN EXECUTE ROLLBACK")
}

func TestCommitWhoseContextEndsIsUnknown(t *testing.T) {
	p := startStreams(t)
	db, connector := openPeer(t, "", p)
	ctx, cancel := context.WithCancel(t.Context())
	tx, err := db.BeginTx(ctx, nil)
	require.NoError(t, err)
	p.On(protocol.IPROTO_COMMIT, fakepeer.Lose)
	done := make(chan error, 1)
	go func() { done <- tx.Commit() }()
	requireCame(t, p, "BEGIN COMMIT")
	cancel()
	err = <-done
	require.ErrorIs(t, err, tntsql.ErrOutcomeUnknown)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, tx.Rollback(), sql.ErrTxDone)
	assert.Equal(t, []string{"BEGIN COMMIT"}, came(p))
	assert.EqualValues(t, 1, connector.sessions.Load())
	assert.Equal(t, 1, db.Stats().OpenConnections)
}

func TestRollbackAndTheEndOfTheContextAtOnce(t *testing.T) {
	const runs = 1000
	p := startStreams(t)
	db, connector := openPeer(t, "", p)
	db.SetMaxOpenConns(1)
	for i := range runs {
		ctx, cancel := context.WithCancel(t.Context())
		tx, err := db.BeginTx(ctx, nil)
		require.NoError(t, err)
		var all sync.WaitGroup
		if i%2 == 1 {
			all.Go(func() { _, _ = tx.ExecContext(ctx, "INSERT INTO t VALUES (1)") })
		}
		all.Go(cancel)
		all.Go(func() {
			if err := tx.Rollback(); err != nil {
				assert.ErrorIs(t, err, sql.ErrTxDone)
			}
		})
		all.Wait()
	}
	eventually(t, "a ROLLBACK for each transaction", func() bool { return len(p.Requests(protocol.IPROTO_ROLLBACK)) >= runs })
	mustExec(t, db, "INSERT INTO t VALUES (1)") // waits for the only session
	streams := came(p)
	assert.Len(t, streams, runs)
	for _, s := range streams {
		assert.Contains(t, []string{"BEGIN ROLLBACK", "BEGIN EXECUTE ROLLBACK"}, s)
	}
	assert.Equal(t, 1, db.Stats().OpenConnections)
	assert.EqualValues(t, 1, connector.sessions.Load(), "one session serves all")
}

// panicking is an argument that panics while it is encoded.
type panicking struct{}

func (panicking) EncodeMsgpack(*msgpack.Encoder) error { panic("no") }

// unwilling is an argument whose error database/sql takes for a broken connection.
type unwilling struct{}

func (unwilling) EncodeMsgpack(*msgpack.Encoder) error { return driver.ErrBadConn }

// stuck is how long a call that waits for what comes after it is given.
const stuck = 200 * time.Millisecond

// database/sql takes a sql.Conn back whose Raw panics or returns ErrBadConn, and
// waits for the end of the transaction there before that. If nothing but the
// caller of Raw ends it, that is for ever.
func TestRawThatFailsWaitsForTheEndOfTheTransaction(t *testing.T) {
	for name, f := range map[string]func(any) error{
		"panic":      func(any) error { panic("no") },
		"ErrBadConn": func(any) error { return driver.ErrBadConn },
	} {
		t.Run(name, func(t *testing.T) {
			p := startStreams(t)
			db, connector := openPeer(t, "", p)
			conn, err := db.Conn(t.Context())
			require.NoError(t, err)
			ctx, end := context.WithCancel(t.Context())
			defer end()
			tx, err := conn.BeginTx(ctx, nil)
			require.NoError(t, err)
			returned := make(chan any, 1)
			go func() {
				var err error
				defer func() {
					if p := recover(); p != nil {
						returned <- p
						return
					}
					returned <- err
				}()
				err = conn.Raw(f)
			}()
			select {
			case got := <-returned:
				t.Logf("this Go's database/sql does not wait: %v", got)
				returned <- got
			case <-time.After(stuck):
				mustExec(t, tx, "INSERT INTO t VALUES (1)") // the transaction itself is not hurt
				require.ErrorIs(t, conn.PingContext(t.Context()), sql.ErrConnDone)
				require.Empty(t, returned)
			}
			end() // what alone helps, but for another goroutine's Rollback or Commit
			select {
			case got := <-returned:
				assert.NotNil(t, got)
			case <-time.After(20 * time.Second):
				require.Fail(t, "Raw does not return")
			}
			eventually(t, "ROLLBACK", func() bool { return len(p.Requests(protocol.IPROTO_ROLLBACK)) == 1 })
			eventually(t, "end of the session", func() bool { return db.Stats().OpenConnections == 0 })
			mustExec(t, db, "INSERT INTO t VALUES (1)")
			assert.EqualValues(t, 2, connector.sessions.Load())
		})
	}
}

// The functions Call and Eval on a Tx are statements to database/sql.
func TestCallThatFailsInATransactionWaitsForNothing(t *testing.T) {
	call := func(ctx context.Context, tx *sql.Tx, arg any) error {
		_, err := tntsql.Call(ctx, tx, tntsql.ModeRW, "f", arg)
		return err
	}
	eval := func(ctx context.Context, tx *sql.Tx, arg any) error {
		_, err := tntsql.Eval(ctx, tx, tntsql.ModeRW, "return ...", arg)
		return err
	}
	for name, tt := range map[string]struct {
		invoke func(context.Context, *sql.Tx, any) error
		arg    any
		panics bool // the caller, behind it
	}{
		"panic in Call":            {call, panicking{}, false},
		"panic in Eval":            {eval, panicking{}, false},
		"ErrBadConn in Call":       {call, unwilling{}, false},
		"ErrBadConn in Eval":       {eval, unwilling{}, false},
		"panic behind Call":        {call, 1, true},
		"panic behind Eval":        {eval, 1, true},
		"panic behind failed Call": {call, panicking{}, true},
	} {
		t.Run(name, func(t *testing.T) {
			p := startStreams(t)
			p.On(protocol.IPROTO_EVAL, func(s *fakepeer.Session, r fakepeer.Request) bool {
				s.Reply(r.Sync, 0, []byte{0x81, byte(protocol.IPROTO_DATA), 0x90})
				return true
			})
			db, connector := openPeer(t, "", p)
			conn, err := db.Conn(t.Context())
			require.NoError(t, err)
			returned := make(chan any, 1)
			go func() {
				defer func() { returned <- recover() }()
				tx, err := conn.BeginTx(context.Background(), nil)
				if !assert.NoError(t, err) {
					return
				}
				defer tx.Rollback() //nolint:errcheck // it says nothing of use here
				err = tt.invoke(context.Background(), tx, tt.arg)
				assert.Equal(t, tt.arg == any(1), err == nil, err)
				if tt.panics {
					panic(name)
				}
			}()
			select {
			case got := <-returned:
				if tt.panics {
					assert.Equal(t, name, got)
				} else {
					assert.Nil(t, got)
				}
			case <-time.After(20 * time.Second):
				require.Fail(t, "it waits for good")
			}
			eventually(t, "ROLLBACK", func() bool { return len(p.Requests(protocol.IPROTO_ROLLBACK)) == 1 })
			mustExec(t, conn, "INSERT INTO t VALUES (1)")
			require.NoError(t, conn.Close())
			assert.EqualValues(t, 1, connector.sessions.Load(), "the session goes on")
		})
	}
}
