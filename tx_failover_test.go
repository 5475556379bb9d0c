package tntsql_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	protocol "github.com/tarantool/go-iproto"

	"github.com/tntsql/tntsql"
	"github.com/tntsql/tntsql/internal/fakepeer"
	"github.com/tntsql/tntsql/tarantooltest"
)

// txSet is a replica set of its own, a handle that knows all of it, and a table
// with one row.
func txSet(t *testing.T, instances int, params ...string) (*tarantooltest.ReplicaSet, *sql.DB, *tntsql.Connector, string) {
	t.Helper()
	rs := ownSet(t, instances)
	needStreams(t, rs)
	name := table(t, rs, "id INTEGER PRIMARY KEY, n INTEGER")
	db, connector := openDSN(t, rs.DSN(params...))
	knowsAll(t, connector)
	mustExec(t, db, "INSERT INTO "+name+" VALUES (1, 0)")
	inStep(t, rs)
	return rs, db, connector, name
}

// requireLost tells that a transaction is known not to have been committed, and
// that it may be tried again.
func requireLost(t *testing.T, err error, address string) {
	t.Helper()
	require.ErrorContains(t, err, "tntsql: the transaction on "+address+" is over: connection lost: ")
	require.NotErrorIs(t, err, tntsql.ErrOutcomeUnknown)
	assert.Equal(t, kinds{retryable: true}, kindsOf(err))
}

func TestATransactionEndsWithItsInstance(t *testing.T) {
	for _, when := range []string{"between two statements", "in a statement"} {
		t.Run(when, func(t *testing.T) {
			rs, db, connector, name := txSet(t, 2)
			tx := beginTx(t, db, nil)
			mustExec(t, tx, "INSERT INTO "+name+" VALUES (2, 0)")
			statement := func() error {
				_, err := tx.ExecContext(t.Context(), "INSERT INTO "+name+" VALUES (3, 0)")
				return err
			}
			if when == "in a statement" {
				require.NoError(t, rs.Stop(0))
				failed := make(chan error, 1)
				go func() { failed <- statement() }()
				inFlightOn(t, connector, 0)
				rs.Kill(0)
				requireLost(t, <-failed, rs.Addr(0))
			} else {
				rs.Kill(0)
			}
			begun := time.Now()
			requireLost(t, statement(), rs.Addr(0))
			requireLost(t, tx.Commit(), rs.Addr(0))
			assert.Less(t, time.Since(begun), 2*time.Second, "at once")
			require.ErrorIs(t, tx.Rollback(), sql.ErrTxDone)
			assert.Zero(t, db.Stats().InUse)

			require.NoError(t, rs.Promote(1))
			assert.EqualValues(t, 1, countOnMaster(t, db, name))
		})
	}
}

// inFlightOn waits until a request is on its way to instance i.
func inFlightOn(t *testing.T, connector *tntsql.Connector, i int) {
	t.Helper()
	eventually(t, "request in flight", func() bool { return connector.Topology().Instances[i].InFlight == 1 })
}

func TestRollbackOfALostTransactionIsSilent(t *testing.T) {
	rs, db, _, name := txSet(t, 2)
	tx := beginTx(t, db, nil)
	mustExec(t, tx, "INSERT INTO "+name+" VALUES (2, 0)")
	rs.Kill(0)
	require.NoError(t, tx.Rollback())
	assert.Zero(t, db.Stats().InUse)
}

// A BEGIN that is lost with its connection stores nothing, however often that
// happens.
func TestALostBeginMayBeBegunAgain(t *testing.T) {
	p := startStreams(t)
	db, _ := openPeer(t, "", p)
	p.On(protocol.IPROTO_BEGIN, fakepeer.Cut)
	_, err := db.BeginTx(t.Context(), nil)
	require.Error(t, err)
	require.NotErrorIs(t, err, tntsql.ErrOutcomeUnknown)
	assert.Equal(t, kinds{retryable: true}, kindsOf(err), "%v", err)
}

// commitInFlight begins a transaction and stops its instance, so that the COMMIT
// cannot be answered. It returns when that is on its way.
func commitInFlight(t *testing.T, ctx context.Context, rs *tarantooltest.ReplicaSet, db *sql.DB, connector *tntsql.Connector, name string) <-chan error {
	t.Helper()
	tx, err := db.BeginTx(ctx, nil)
	require.NoError(t, err)
	mustExec(t, tx, "INSERT INTO "+name+" VALUES (2, 0)")
	require.NoError(t, rs.Stop(0))
	ended := make(chan error, 1)
	go func() { ended <- tx.Commit() }()
	inFlightOn(t, connector, 0)
	return ended
}

func TestACommitInFlightIsOfUnknownOutcome(t *testing.T) {
	const deadline, deadTimeout = 700 * time.Millisecond, time.Second
	t.Run("instance killed", func(t *testing.T) {
		rs, db, connector, name := txSet(t, 2)
		ended := commitInFlight(t, t.Context(), rs, db, connector, name)
		rs.Kill(0)
		err := <-ended
		requireOutcomeUnknown(t, err, nil, rs.UUID(0))
		assert.ErrorContains(t, err, "connection lost: ")
		assert.Equal(t, kinds{}, kindsOf(err))
	})
	// The server has the COMMIT, and runs it when it goes on, unless the transaction
	// has timed out until then.
	requireCommitted := func(t *testing.T, rs *tarantooltest.ReplicaSet, db *sql.DB, name string) {
		t.Helper()
		require.NoError(t, rs.Continue(0))
		eventually(t, "commit", func() bool { return countOnMaster(t, db, name) == 2 })
	}
	t.Run("instance stopped, BeginTx with a deadline", func(t *testing.T) {
		rs, db, connector, name := txSet(t, 2)
		begun := time.Now()
		err := <-commitInFlight(t, within(t, deadline), rs, db, connector, name)
		assert.Less(t, time.Since(begun), deadline+2*time.Second)
		requireOutcomeUnknown(t, err, context.DeadlineExceeded, rs.UUID(0))
		require.NoError(t, rs.Continue(0))
	})
	t.Run("instance stopped, BeginTx without a deadline", func(t *testing.T) {
		rs, db, connector, name := txSet(t, 2, "dead_timeout="+deadTimeout.String(), "probe_timeout=500ms")
		begun := time.Now()
		err := <-commitInFlight(t, t.Context(), rs, db, connector, name)
		assert.Less(t, time.Since(begun), deadTimeout+2*time.Second)
		requireOutcomeUnknown(t, err, nil, rs.UUID(0))
		requireCommitted(t, rs, db, name)
	})
	t.Run("context cancelled", func(t *testing.T) {
		rs, db, connector, name := txSet(t, 2)
		ctx, cancel := context.WithCancel(t.Context())
		ended := commitInFlight(t, ctx, rs, db, connector, name)
		cancel()
		requireOutcomeUnknown(t, <-ended, context.Canceled, rs.UUID(0))
		requireCommitted(t, rs, db, name)
	})
}

// 3.x lets a transaction of a demoted master do nothing more. 2.11 still reads in
// it, and commits what it has written before, unless the driver knows better.
func TestATransactionWhoseMasterIsDemoted(t *testing.T) {
	rs, db, _, name := txSet(t, 2)
	refuses := rs.AtLeast(3, 0, 0)
	exec := func(text string) func(tx *sql.Tx) error {
		return func(tx *sql.Tx) error { _, err := tx.ExecContext(t.Context(), fmt.Sprintf(text, name)); return err }
	}
	tests := []struct {
		name  string
		next  func(tx *sql.Tx) error
		fails bool
	}{
		{"COMMIT", (*sql.Tx).Commit, refuses},
		{"SELECT", func(tx *sql.Tx) error {
			return tx.QueryRowContext(t.Context(), "SELECT n FROM "+name+" WHERE id = 1").Scan(new(int))
		}, refuses},
		{"INSERT", exec("INSERT INTO %s VALUES (3, 0)"), true},
		{"UPDATE", exec("UPDATE %s SET n = 1 WHERE id = 1"), true},
		{"UPDATE of no row", exec("UPDATE %s SET n = 1 WHERE id = 99"), true},
	}
	for i, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before, id := countOnMaster(t, db, name), 100+i
			master := rs.Master()
			tx := beginTx(t, db, nil)
			mustExec(t, tx, "INSERT INTO "+name+" VALUES (?, 0)", id)
			require.NoError(t, rs.Promote(1-master))

			err := tt.next(tx)
			if err == nil {
				err = tx.Commit()
			}
			if err == nil || errors.Is(err, sql.ErrTxDone) {
				require.False(t, tt.fails, "only a former master that the driver takes for the master still")
				before++
			} else {
				require.NotErrorIs(t, err, tntsql.ErrOutcomeUnknown)
				assert.True(t, tntsql.IsRetryable(err), "%v", err)
				_ = tx.Rollback()
			}

			ctx, info := tntsql.Capture(t.Context())
			tx, err = db.BeginTx(ctx, nil)
			require.NoError(t, err)
			require.NoError(t, tx.Rollback())
			assert.Equal(t, rs.UUID(1-master), info.Instance.UUID)
			assert.LessOrEqual(t, info.Attempts, 2)
			inStep(t, rs)
			assert.Equal(t, before, countOnMaster(t, db, name))
		})
	}
}

func TestRunTxFollowsTheMaster(t *testing.T) {
	rs, db, _, name := txSet(t, 2)
	attempts := 0
	require.NoError(t, tntsql.RunTx(t.Context(), db, func(ctx context.Context, tx *sql.Tx) error {
		if attempts++; attempts == 1 {
			require.NoError(t, rs.Promote(1))
		}
		_, err := tx.ExecContext(ctx, "INSERT INTO "+name+" VALUES (2, 0)")
		return err
	}))
	assert.Equal(t, 2, attempts)
	assert.EqualValues(t, 2, countOnMaster(t, db, name))
}

// A server that shuts down gives open transactions 3 s.
func TestATransactionMayFinishWhileItsInstanceShutsDown(t *testing.T) {
	rs, db, connector, name := txSet(t, 2)
	tx, late := beginTx(t, db, nil), beginTx(t, db, nil)
	mustExec(t, tx, "INSERT INTO "+name+" VALUES (2, 0)")
	mustExec(t, late, "INSERT INTO "+name+" VALUES (4, 0)")
	down := make(chan error, 1)
	go func() { down <- rs.Shutdown(0) }()
	eventually(t, "notice", func() bool { return statusOf(connector, 0) == "shutdown" })

	mustExec(t, tx, "INSERT INTO "+name+" VALUES (3, 0)")
	require.NoError(t, tx.Commit())
	_, err := db.BeginTx(within(t, 100*time.Millisecond), nil)
	require.ErrorIs(t, err, tntsql.ErrNoInstance, "no transaction begins there")

	begun := time.Now()
	require.NoError(t, <-down)
	assert.Less(t, time.Since(begun), 5*time.Second)
	_, err = late.ExecContext(t.Context(), "INSERT INTO "+name+" VALUES (5, 0)")
	requireLost(t, err, rs.Addr(0))
	requireLost(t, late.Commit(), rs.Addr(0))
	require.NoError(t, rs.Restart(0))
	assert.EqualValues(t, 3, countOnMaster(t, db, name))
}

func TestAnInstanceEndsAtOnceWhenItsTransactionsHave(t *testing.T) {
	rs, db, connector, name := txSet(t, 2)
	commits, rollsBack := beginTx(t, db, nil), beginTx(t, db, nil)
	mustExec(t, commits, "INSERT INTO "+name+" VALUES (2, 0)")
	down := make(chan error, 1)
	go func() { down <- rs.Shutdown(0) }()
	eventually(t, "notice", func() bool { return statusOf(connector, 0) == "shutdown" })
	begun := time.Now()
	require.NoError(t, commits.Commit())
	require.NoError(t, rollsBack.Rollback())
	require.NoError(t, <-down)
	assert.Less(t, time.Since(begun), 2500*time.Millisecond, "of the 3 s that it would wait")
}

// counters are a counter and rows of each writer, which agree if transactions are
// stored wholly or not at all.
type counters struct {
	journal
	counters, rows string
}

func newCounters(t *testing.T, rs *tarantooltest.ReplicaSet, writers int, synchronous bool) *counters {
	t.Helper()
	c := &counters{
		counters: table(t, rs, "id INTEGER PRIMARY KEY, n INTEGER"),
		rows:     table(t, rs, "id INTEGER PRIMARY KEY, w INTEGER"),
	}
	lua(t, rs, 0, `
local writers, synchronous, counters, rows = ...
if synchronous then box.ctl.promote() end
for w = 0, writers - 1 do box.space[counters]:insert{w, 0} end
box.space[counters]:alter{is_sync = synchronous}
box.space[rows]:alter{is_sync = synchronous}`, writers, synchronous, c.counters, c.rows)
	return c
}

func (c *counters) increment(ctx context.Context, db *sql.DB, writer int) error {
	id := c.next.Add(1)
	return c.note(id, tntsql.RunTx(ctx, db, func(ctx context.Context, tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "INSERT INTO "+c.rows+" VALUES (?, ?)", id, writer); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, "UPDATE "+c.counters+" SET n = n + 1 WHERE id = ?", writer)
		return err
	}))
}

func TestWritersOfTransactionsDoNotNoticeThatTheMasterMoves(t *testing.T) {
	const writers = 8
	rs := ownSet(t, 3)
	needStreams(t, rs)
	db, _ := openDSN(t, rs.DSN())
	c := newCounters(t, rs, writers, false)
	l := under(t, writers, func(w int) error { return c.increment(t.Context(), db, w) })
	for _, master := range []int{1, 2, 0, 1, 2, 0} {
		require.NoError(t, rs.Promote(master))
		l.goesOn(t)
	}
	l.end()
	inStep(t, rs)
	assert.Empty(t, c.unknown, "nothing was lost on the way")
	for i := range rs.Len() {
		c.requireStored(t, rs, i, c.rows)
		if rs.AtLeast(3, 0, 0) { // 2.11 commits on a former master what the new one overwrites
			c.requireWhole(t, rs, i)
		}
	}
}

func TestAKilledMasterCostsOnlyTheCommitsInFlight(t *testing.T) {
	const writers = 8
	t.Parallel()
	rs := tarantooltest.Start(t, tarantooltest.Cfg(map[string]any{"replication_synchro_quorum": 2, "replication_synchro_timeout": 1}))
	needStreams(t, rs)
	db, connector := openDSN(t, rs.DSN("selection_timeout=1m"))
	knowsAll(t, connector)
	c := newCounters(t, rs, writers, true)
	l := under(t, writers, func(w int) error { return c.increment(t.Context(), db, w) })
	for _, victim := range []int{0, 1} {
		rs.Kill(victim)
		// With a quorum that is only just there the server may need several attempts.
		eventually(t, "promotion", func() bool { return rs.Promote(victim+1) == nil })
		l.goesOn(t)
		require.NoError(t, rs.Restart(victim))
		l.goesOn(t)
	}
	l.end()
	inStep(t, rs)
	for i := range rs.Len() {
		c.requireStored(t, rs, i, c.rows)
		c.requireWhole(t, rs, i)
	}
}

// A master that becomes read-only and writable again and again lets transactions
// through all the same.
func TestRunTxOnAMasterThatWavers(t *testing.T) {
	const writers = 4
	rs := ownSet(t, 1)
	needStreams(t, rs)
	db, _ := openDSN(t, rs.DSN())
	c := newCounters(t, rs, writers, false)
	lua(t, rs, 0, `
local fiber = require('fiber')
fiber.create(function()
    while true do
        box.cfg{read_only = true}
        fiber.sleep(0.001)
        box.cfg{read_only = false}
        fiber.sleep(0.005)
    end
end)`)
	l := under(t, writers, func(w int) error { return c.increment(t.Context(), db, w) })
	for range 4 {
		l.goesOn(t)
	}
	l.end()
	c.requireStored(t, rs, 0, c.rows)
	c.requireWhole(t, rs, 0)
}

// halves finds the writers whose transactions are there in part.
const halves = `
local counters, rows = ...
local counted, differ = {}, {}
for _, row in box.space[rows]:pairs() do
    counted[row[2]] = (counted[row[2]] or 0) + 1
end
for _, counter in box.space[counters]:pairs() do
    if counter[2] ~= (counted[counter[1]] or 0) then table.insert(differ, counter) end
end
return differ`

// requireWhole tells that no transaction is on the instance in part.
func (c *counters) requireWhole(t *testing.T, rs *tarantooltest.ReplicaSet, i int) {
	t.Helper()
	assert.Empty(t, lua(t, rs, i, halves, c.counters, c.rows), "counters that do not agree with the rows on instance %d", i)
}
