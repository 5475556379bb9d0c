package tntsql_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tntsql/tntsql"
	"github.com/tntsql/tntsql/tarantooltest"
)

// needStreams skips on servers without transactions over the network.
func needStreams(t testing.TB, rs *tarantooltest.ReplicaSet) {
	t.Helper()
	if !rs.AtLeast(2, 10, 0) {
		t.Skipf("Tarantool %s has no streams: transactions need 2.10", rs.Version())
	}
}

// txTable is a table for transactions on the shared replica set, with rows 1 and 2.
func txTable(t testing.TB, db *sql.DB) string {
	t.Helper()
	needStreams(t, sharedSet(t))
	name := table(t, sharedSet(t), "id INTEGER PRIMARY KEY, n INTEGER")
	mustExec(t, db, "INSERT INTO "+name+" VALUES (1, 10), (2, 20)")
	return name
}

// beginTx begins a transaction that does not outlive the test.
func beginTx(t testing.TB, db interface {
	BeginTx(context.Context, *sql.TxOptions) (*sql.Tx, error)
}, o *sql.TxOptions) *sql.Tx {
	t.Helper()
	tx, err := db.BeginTx(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() { _ = tx.Rollback() })
	return tx
}

// master reads on the master, outside any transaction.
func countOnMaster(t testing.TB, db *sql.DB, name string) int64 {
	t.Helper()
	ctx := tntsql.WithMode(t.Context(), tntsql.ModeRW)
	var n int64
	require.NoError(t, db.QueryRowContext(ctx, "SELECT COUNT(*) FROM "+name).Scan(&n))
	return n
}

func TestCommitStoresAllAndRollbackNothing(t *testing.T) {
	db := open(t)
	name := txTable(t, db)
	for _, commit := range []bool{false, true} {
		tx := beginTx(t, db, nil)
		result := mustExec(t, tx, "INSERT INTO "+name+" VALUES (3, 30)")
		n, err := result.RowsAffected()
		require.NoError(t, err)
		assert.EqualValues(t, 1, n)
		mustExec(t, tx, "UPDATE "+name+" SET n = n + 1 WHERE id = ?", 1)
		assert.EqualValues(t, 11, txValue(t, tx, "SELECT n FROM "+name+" WHERE id = 1"), "it sees its own writes")
		assert.EqualValues(t, 2, countOnMaster(t, db, name), "others do not")
		if commit {
			require.NoError(t, tx.Commit())
		} else {
			require.NoError(t, tx.Rollback())
		}
		assert.EqualValues(t, map[bool]int{false: 2, true: 3}[commit], countOnMaster(t, db, name))
		assert.ErrorIs(t, tx.Commit(), sql.ErrTxDone)
	}
}

func txValue(t testing.TB, tx *sql.Tx, query string, args ...any) (n int64) {
	t.Helper()
	require.NoError(t, tx.QueryRowContext(t.Context(), query, args...).Scan(&n))
	return n
}

func TestPreparedStatementsAndSavepointsJoinTheTransaction(t *testing.T) {
	db := open(t)
	name := txTable(t, db)
	insert, err := db.PrepareContext(t.Context(), "INSERT INTO "+name+" VALUES (?, ?)")
	require.NoError(t, err)
	defer insert.Close()
	tx := beginTx(t, db, nil)
	_, err = tx.StmtContext(t.Context(), insert).ExecContext(t.Context(), 3, 30)
	require.NoError(t, err)
	mustExec(t, tx, "SAVEPOINT here")
	mustExec(t, tx, "DELETE FROM "+name+" WHERE id > 0")
	mustExec(t, tx, "ROLLBACK TO here")
	mustExec(t, tx, "RELEASE SAVEPOINT here")
	assert.EqualValues(t, 3, txValue(t, tx, "SELECT COUNT(*) FROM "+name))
	require.NoError(t, tx.Commit())
	assert.EqualValues(t, 3, countOnMaster(t, db, name))
}

func TestRowsOfOneTransactionMayInterleave(t *testing.T) {
	db := open(t)
	name := txTable(t, db)
	tx := beginTx(t, db, nil)
	outer, err := tx.QueryContext(t.Context(), "SELECT id FROM "+name+" WHERE id > 0")
	require.NoError(t, err)
	defer outer.Close()
	var ids []int64
	for outer.Next() {
		var id int64
		require.NoError(t, outer.Scan(&id))
		ids = append(ids, txValue(t, tx, "SELECT n FROM "+name+" WHERE id = ?", id))
	}
	require.NoError(t, outer.Err())
	assert.Equal(t, []int64{10, 20}, ids)
}

func TestCallsJoinTheTransaction(t *testing.T) {
	db := open(t)
	name := txTable(t, db)
	const put = "local name, id = ... return box.space[name]:insert{id, 0}:totable(), box.is_in_txn()"
	t.Run("through a Tx", func(t *testing.T) {
		tx := beginTx(t, db, nil)
		reply, err := tntsql.Eval(t.Context(), tx, tntsql.ModeRO, put, name, 5)
		require.NoError(t, err)
		assert.Equal(t, []any{[]any{int64(5), int64(0)}, true}, reply.Values())
		mustExec(t, tx, "DELETE FROM "+name+" WHERE id = 5")
		require.NoError(t, tx.Rollback())
		assert.EqualValues(t, 2, countOnMaster(t, db, name))
	})
	t.Run("through Raw", func(t *testing.T) {
		conn, err := db.Conn(t.Context())
		require.NoError(t, err)
		defer conn.Close()
		tx := beginTx(t, conn, nil)
		require.NoError(t, conn.Raw(func(dc any) error {
			_, err := dc.(*tntsql.Conn).Eval(t.Context(), tntsql.ModeRW, put, name, 6)
			return err
		}))
		require.NoError(t, tx.Rollback())
		assert.EqualValues(t, 2, countOnMaster(t, db, name))
	})
}

func TestReadOnlyTransactionRefusesToWrite(t *testing.T) {
	db := open(t)
	name := txTable(t, db)
	ctx, info := tntsql.Capture(t.Context())
	tx, err := db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	require.NoError(t, err)
	defer tx.Rollback() //nolint:errcheck // the test has ended
	assert.Equal(t, "ro", info.Instance.Role, "a replica, if possible")
	assert.Equal(t, tntsql.KindTx, info.Kind)
	_ = txValue(t, tx, "SELECT COUNT(*) FROM "+name)
	for _, text := range []string{"INSERT INTO " + name + " VALUES (9, 9)", "DROP TABLE " + name, "what is this"} {
		_, err := tx.ExecContext(t.Context(), text)
		assert.ErrorIs(t, err, tntsql.ErrReadOnlyHandle)
		assert.ErrorContains(t, err, "read-only transaction")
	}
	_, err = tntsql.Call(t.Context(), tx, tntsql.ModeRW, "who")
	require.ErrorIs(t, err, tntsql.ErrReadOnlyHandle)
	reply, err := tntsql.Call(t.Context(), tx, tntsql.ModeRO, "who")
	require.NoError(t, err)
	assert.Equal(t, info.Instance.UUID, reply.Values()[0])
	require.NoError(t, tx.Commit())
}

func TestWhereTransactionsBegin(t *testing.T) {
	needStreams(t, sharedSet(t))
	tests := []struct {
		name     string
		params   string
		mode     tntsql.Mode // of the context
		readOnly bool
		role     string
	}{
		{"read-write", "read_mode=ro", 0, false, "rw"},
		{"read-write, whatever reads prefer", "read_mode=ro", tntsql.ModePreferRO, false, "rw"},
		{"read-write under ModeRO", "read_mode=rw", tntsql.ModeRO, false, "ro"},
		{"read-only", "read_mode=any", 0, true, "ro"},
		{"read-only, where read_mode says", "read_mode=rw", 0, true, "rw"},
		{"read-only, where the context says", "read_mode=any", tntsql.ModeRW, true, "rw"},
		{"on a read-only handle", "read_only=true", 0, false, "ro"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			db := open(t, tt.params)
			ctx, info := tntsql.Capture(t.Context())
			if tt.mode != 0 {
				ctx = tntsql.WithMode(ctx, tt.mode)
			}
			tx, err := db.BeginTx(ctx, &sql.TxOptions{ReadOnly: tt.readOnly})
			require.NoError(t, err)
			assert.Equal(t, tt.role, info.Instance.Role)
			require.NoError(t, tx.Rollback())
		})
	}
}

func TestIsolationLevels(t *testing.T) {
	db := open(t)
	name := txTable(t, db)
	for _, level := range []sql.IsolationLevel{sql.LevelDefault, sql.LevelReadCommitted, tntsql.LevelReadConfirmed, sql.LevelSnapshot} {
		tx := beginTx(t, db, &sql.TxOptions{Isolation: level})
		mustExec(t, tx, "UPDATE "+name+" SET n = n + 1 WHERE id = 1")
		require.NoError(t, tx.Commit(), level)
	}
	_, err := db.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelSerializable})
	require.ErrorContains(t, err, `no isolation level "Serializable"`)
	require.ErrorContains(t, err, "sql.LevelSnapshot")
	// Linearizable needs a synchronous space.
	tx, err := db.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelLinearizable})
	if err == nil {
		_, err = tx.ExecContext(t.Context(), "UPDATE "+name+" SET n = 0 WHERE id = 1")
		_ = tx.Rollback()
	}
	require.ErrorAs(t, err, new(*tntsql.Error))
}

func TestServersWithoutStreamsSaySo(t *testing.T) {
	if sharedSet(t).AtLeast(2, 10, 0) {
		t.Skipf("Tarantool %s has streams", sharedSet(t).Version())
	}
	db := open(t)
	_, err := db.BeginTx(t.Context(), nil)
	require.ErrorIs(t, err, tntsql.ErrTxUnsupported)
	assert.Zero(t, db.Stats().InUse)
	for _, part := range []string{" at 127.0.0.1:", "Tarantool 2.", "2.10", "ExecBatch"} {
		assert.ErrorContains(t, err, part)
	}
}

func TestTransactionTextsAreRefusedInTransactionsToo(t *testing.T) {
	db := open(t)
	name := txTable(t, db)
	tx := beginTx(t, db, nil)
	mustExec(t, tx, "INSERT INTO "+name+" VALUES (3, 30)")
	for _, text := range []string{"COMMIT", "ROLLBACK", "START TRANSACTION", `SET SESSION "sql_seq_scan" = true`} {
		_, err := tx.ExecContext(t.Context(), text)
		assert.ErrorIs(t, err, tntsql.ErrSessionStatement, text)
	}
	require.NoError(t, tx.Commit())
	assert.EqualValues(t, 3, countOnMaster(t, db, name))
}

// What OR ROLLBACK and a trigger's RAISE(ROLLBACK) end is not committed by halves.
func TestTransactionThatAStatementHasEndedIsOver(t *testing.T) {
	db := open(t)
	name := txTable(t, db)
	mustExec(t, db, "CREATE TRIGGER "+name+"_refuse BEFORE INSERT ON "+name+
		" FOR EACH ROW WHEN new.id = 77 BEGIN SELECT RAISE(ROLLBACK, 'no 77'); END")
	for end, text := range map[string]string{
		"OR ROLLBACK":     "INSERT OR ROLLBACK INTO " + name + " VALUES (1, 1)",
		"RAISE(ROLLBACK)": "INSERT INTO " + name + " VALUES (77, 1)",
		"box.rollback()":  "",
	} {
		t.Run(end, func(t *testing.T) {
			tx := beginTx(t, db, nil)
			mustExec(t, tx, "INSERT INTO "+name+" VALUES (3, 30)")
			var err error
			if text == "" {
				_, err = tntsql.Eval(t.Context(), tx, tntsql.ModeRW, "box.rollback()")
				require.NoError(t, err)
			} else {
				_, err = tx.ExecContext(t.Context(), text)
				require.Error(t, err)
			}
			_, err = tx.ExecContext(t.Context(), "INSERT INTO "+name+" VALUES (4, 40)")
			require.ErrorContains(t, err, "has ended it")
			assert.False(t, tntsql.IsRetryable(err))
			require.ErrorContains(t, tx.Commit(), "has ended it")
			assert.EqualValues(t, 2, countOnMaster(t, db, name))
		})
	}
}

func TestFailingStatementEndsNoTransaction(t *testing.T) {
	db := open(t)
	name := txTable(t, db)
	tx := beginTx(t, db, nil)
	mustExec(t, tx, "INSERT INTO "+name+" VALUES (3, 30)")
	_, err := tx.ExecContext(t.Context(), "INSERT INTO "+name+" VALUES (1, 1)")
	require.True(t, tntsql.IsUniqueViolation(err))
	mustExec(t, tx, "INSERT INTO "+name+" VALUES (4, 40)")
	require.NoError(t, tx.Commit())
	assert.EqualValues(t, 4, countOnMaster(t, db, name))
}

func TestCancelledStatementSpoilsTheTransaction(t *testing.T) {
	db := open(t)
	name := txTable(t, db)
	tx := beginTx(t, db, nil)
	mustExec(t, tx, "INSERT INTO "+name+" VALUES (3, 30)")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := tntsql.Call(ctx, tx, tntsql.ModeRW, "pause", 0.3)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	_, err = tx.ExecContext(t.Context(), "INSERT INTO "+name+" VALUES (4, 40)")
	require.ErrorIs(t, err, context.DeadlineExceeded)
	err = tx.Commit()
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NotErrorIs(t, err, tntsql.ErrOutcomeUnknown)
	assert.EqualValues(t, 2, countOnMaster(t, db, name))
}

func TestContextThatEndsRollsBackAndKeepsTheSession(t *testing.T) {
	db := open(t)
	name := txTable(t, db)
	db.SetMaxOpenConns(1)
	for range 20 {
		ctx, cancel := context.WithCancel(t.Context())
		tx, err := db.BeginTx(ctx, nil)
		require.NoError(t, err)
		mustExec(t, tx, "INSERT INTO "+name+" VALUES (3, 30)")
		cancel()
		eventually(t, "end of the transaction", func() bool {
			_, err := tx.ExecContext(t.Context(), "INSERT INTO "+name+" VALUES (4, 40)")
			return errors.Is(err, sql.ErrTxDone)
		})
		assert.EqualValues(t, 2, countOnMaster(t, db, name))
	}
	assert.Equal(t, 1, db.Stats().OpenConnections)
	assert.Zero(t, db.Stats().MaxIdleClosed)
}

func TestServerEndsATransactionAtTheDeadline(t *testing.T) {
	db := open(t, "tx_timeout=200ms")
	name := txTable(t, db)
	tx := beginTx(t, db, nil)
	mustExec(t, tx, "INSERT INTO "+name+" VALUES (3, 30)")
	eventually(t, "end of the transaction", func() bool {
		_, err := tx.ExecContext(t.Context(), "UPDATE "+name+" SET n = 0 WHERE id = 3")
		return err != nil
	})
	err := tx.Commit()
	require.Error(t, err)
	assert.True(t, tntsql.IsRetryable(err), "%v", err)
	assert.EqualValues(t, 2, countOnMaster(t, db, name))
}

func TestOneTransactionASession(t *testing.T) {
	needStreams(t, sharedSet(t))
	conn, err := open(t).Conn(t.Context())
	require.NoError(t, err)
	defer conn.Close()
	tx := beginTx(t, conn, nil)
	_, err = conn.BeginTx(t.Context(), nil)
	require.ErrorContains(t, err, "SAVEPOINT")
	require.NoError(t, tx.Commit())
	require.NoError(t, beginTx(t, conn, nil).Commit())
}

func TestSessionIsNotForOthersWhileItHasATransaction(t *testing.T) {
	needStreams(t, sharedSet(t))
	_, connector := openDSN(t, sharedSet(t).DSN())
	dc, err := connector.Connect(t.Context())
	require.NoError(t, err)
	c := dc.(*tntsql.Conn)
	tx, err := c.BeginTx(t.Context(), driver.TxOptions{})
	require.NoError(t, err)
	assert.False(t, c.IsValid())
	require.NoError(t, c.ResetSession(t.Context()))
	assert.True(t, c.IsValid())
	require.ErrorContains(t, tx.Commit(), "committed or rolled back")
	require.NoError(t, tx.Rollback())
	require.NoError(t, c.Close())
}

func TestRollbackLeavesNothingOpenOnTheServer(t *testing.T) {
	db := open(t)
	name := txTable(t, db)
	open := func() int64 {
		return lua(t, sharedSet(t), 0, "return box.stat.memtx and box.stat.memtx.tx().txn.statements.total or 0").(int64)
	}
	if !sharedSet(t).AtLeast(2, 11, 0) {
		t.Skip("box.stat.memtx.tx needs 2.11")
	}
	for i := range 50 {
		ctx, cancel := context.WithCancel(t.Context())
		tx, err := db.BeginTx(ctx, nil)
		require.NoError(t, err)
		mustExec(t, tx, fmt.Sprintf("INSERT INTO %s VALUES (%d, 0)", name, 100+i))
		if i%2 == 0 {
			require.NoError(t, tx.Rollback())
		}
		cancel()
	}
	eventually(t, "end of all transactions", func() bool { return open() == 0 })
	assert.EqualValues(t, 2, countOnMaster(t, db, name))
}

func TestSessionSettingsHoldInTransactions(t *testing.T) {
	name := txTable(t, open(t))
	for seqScan, allowed := range map[string]bool{"seq_scan=true": true, "seq_scan=false": false} {
		tx := beginTx(t, open(t, seqScan), nil)
		rows, err := tx.QueryContext(t.Context(), "SELECT id FROM "+name)
		if allowed {
			require.NoError(t, err)
			require.NoError(t, rows.Close())
		} else {
			require.ErrorContains(t, err, "ER_SQL_SEQ_SCAN")
		}
	}
}
