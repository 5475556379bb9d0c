package tntsql_test

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tntsql/tntsql"
	"github.com/tntsql/tntsql/tarantooltest"
)

func TestBatchJoinsTheOpenTransaction(t *testing.T) {
	rs := sharedSet(t)
	needStreams(t, rs)
	db := open(t)
	conn, err := db.Conn(t.Context())
	require.NoError(t, err)
	defer conn.Close()
	for _, commit := range []bool{false, true} {
		for through, handle := range map[string]func(tx *sql.Tx) tntsql.Execer{
			"Tx":             func(tx *sql.Tx) tntsql.Execer { return tx },
			"Conn of the Tx": func(*sql.Tx) tntsql.Execer { return conn },
		} {
			t.Run(fmt.Sprintf("through the %s, commit %t", through, commit), func(t *testing.T) {
				name := batchTable(t, rs)
				tx := beginTx(t, conn, nil)
				on := handle(tx)
				mustExec(t, tx, "INSERT INTO "+name+" VALUES (3, 30)")
				results, err := tntsql.ExecBatch(t.Context(), on, batchOf(name, "INSERT INTO {t} VALUES (NULL, 40), (NULL, 50)", "SELECT COUNT(*) FROM {t}")...)
				require.NoError(t, err)
				assert.Equal(t, []tntsql.BatchResult{
					{RowsAffected: 2, GeneratedIDs: []int64{4, 5}},
					{Rows: [][]any{{int64(5)}}},
				}, results)
				assert.Equal(t, ids(1, 2), storedIDs(t, rs, name), "others do not see it yet")

				for _, failing := range []string{"duplicate key", "OR FAIL", "syntax error", "no such table", "error while it runs"} {
					qs := batchOf(name, "INSERT INTO {t} VALUES (6, 60)", "DELETE FROM {t} WHERE ID = 3", failingStatements[failing].text)
					results, err = tntsql.ExecBatch(t.Context(), on, qs...)
					requireBatchError(t, err, 2, qs[2], failingStatements[failing].code, failingStatements[failing].message)
					assert.Nil(t, results)
				}
				mustExec(t, tx, "INSERT INTO "+name+" VALUES (7, 70)")
				_, err = tntsql.ExecBatch(t.Context(), on, batchOf(name, "INSERT INTO {t} VALUES (8, 80)")...)
				require.NoError(t, err)
				want := ids(1, 2)
				if commit {
					want = ids(1, 2, 3, 4, 5, 7, 8)
					require.NoError(t, tx.Commit())
				} else {
					require.NoError(t, tx.Rollback())
				}
				eventually(t, "end of the transaction", func() bool { return len(storedIDs(t, rs, name)) == len(want) })
				assert.Equal(t, want, storedIDs(t, rs, name))
			})
		}
	}
}

func TestBatchThatEndsTheTransactionIsItsEnd(t *testing.T) {
	rs := sharedSet(t)
	needStreams(t, rs)
	db := open(t)
	for _, end := range []string{"OR ROLLBACK", "RAISE(ROLLBACK)"} {
		t.Run(end, func(t *testing.T) {
			failing := failingStatements[end]
			name := batchTable(t, rs)
			tx := beginTx(t, db, nil)
			mustExec(t, tx, "INSERT INTO "+name+" VALUES (3, 30)")
			qs := batchOf(name, "INSERT INTO {t} VALUES (4, 40)", failing.text, "INSERT INTO {t} VALUES (5, 50)")
			_, err := tntsql.ExecBatch(t.Context(), tx, qs...)
			requireBatchError(t, err, 1, qs[1], failing.code, failing.message)
			_, err = tntsql.ExecBatch(t.Context(), tx, batchOf(name, "INSERT INTO {t} VALUES (6, 60)")...)
			require.ErrorContains(t, err, "has ended it")
			require.ErrorContains(t, tx.Commit(), "has ended it")
			assert.Equal(t, ids(1, 2), storedIDs(t, rs, name))
		})
	}
}

func TestBatchKeepsTheSavepointsOfItsTransaction(t *testing.T) {
	rs := sharedSet(t)
	needStreams(t, rs)
	name := batchTable(t, rs)
	tx := beginTx(t, open(t), nil)
	mustExec(t, tx, "INSERT INTO "+name+" VALUES (3, 30)")
	mustExec(t, tx, "SAVEPOINT here")
	_, err := tntsql.ExecBatch(t.Context(), tx, batchOf(name, "INSERT INTO {t} VALUES (4, 40)")...)
	require.NoError(t, err)
	_, err = tntsql.ExecBatch(t.Context(), tx, batchOf(name, "INSERT INTO {t} VALUES (5, 50)", "INSERT INTO {t} VALUES (1, 1)")...)
	require.True(t, tntsql.IsUniqueViolation(err))
	assert.EqualValues(t, 4, txValue(t, tx, "SELECT COUNT(*) FROM "+name))
	mustExec(t, tx, "ROLLBACK TO here")
	require.NoError(t, tx.Commit())
	assert.Equal(t, ids(1, 2, 3), storedIDs(t, rs, name))
}

func TestBatchRefusedBeforeItIsSentLeavesTheTransactionAsItIs(t *testing.T) {
	rs := sharedSet(t)
	needStreams(t, rs)
	name := batchTable(t, rs)
	tx := beginTx(t, open(t), nil)
	for _, refused := range []tntsql.Query{{SQL: "SELECT ?"}, {SQL: "COMMIT"}, {SQL: "SAVEPOINT a"}, {SQL: "SELECT ?", Args: []any{make(chan int)}}} {
		_, err := tntsql.ExecBatch(t.Context(), tx, append(batchOf(name, "INSERT INTO {t} VALUES (3, 30)"), refused)...)
		var failed *tntsql.BatchError
		require.ErrorAs(t, err, &failed)
		assert.Equal(t, 1, failed.Index)
	}
	_, err := tntsql.ExecBatch(t.Context(), tx, batchOf(name, "INSERT INTO {t} VALUES (4, 40)")...)
	require.NoError(t, err)
	require.NoError(t, tx.Commit())
	assert.Equal(t, ids(1, 2, 4), storedIDs(t, rs, name))
}

func TestBatchInAReadOnlyTransaction(t *testing.T) {
	rs := sharedSet(t)
	needStreams(t, rs)
	name := batchTable(t, rs)
	tx := beginTx(t, open(t), &sql.TxOptions{ReadOnly: true})
	qs := batchOf(name, "SELECT COUNT(*) FROM {t}", "DELETE FROM {t} WHERE ID = 1")
	_, err := tntsql.ExecBatch(t.Context(), tx, qs...)
	var failed *tntsql.BatchError
	require.ErrorAs(t, err, &failed)
	assert.Equal(t, 1, failed.Index)
	assert.True(t, tntsql.IsReadOnly(err))
	results, err := tntsql.ExecBatch(t.Context(), tx, qs[0], tntsql.Query{SQL: "SELECT 1"})
	require.NoError(t, err)
	assert.Equal(t, [][]any{{int64(2)}}, results[0].Rows)
	require.NoError(t, tx.Commit())
}

func TestBatchCancelledInATransactionSpoilsIt(t *testing.T) {
	rs := sharedSet(t)
	needStreams(t, rs)
	name := batchTable(t, rs)
	held, release := holding(t, rs)
	tx := beginTx(t, open(t), nil)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := tntsql.ExecBatch(ctx, tx, batchOf(name, "INSERT INTO {t} VALUES (3, 30)", "SELECT HOLD()")...)
		ended <- err
	}()
	eventually(t, "batch in flight", held)
	cancel()
	err := <-ended
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorAs(t, err, new(*tntsql.BatchError))
	assert.NotErrorIs(t, err, tntsql.ErrOutcomeUnknown)
	require.ErrorIs(t, tx.Commit(), context.Canceled)
	release()
	assert.Equal(t, ids(1, 2), storedIDs(t, rs, name))
}

// evals is how many EVALs the master has got so far.
func evals(t testing.TB, rs *tarantooltest.ReplicaSet) int64 {
	t.Helper()
	return lua(t, rs, rs.Master(), "return box.stat().EVAL.total").(int64)
}

func TestBatchRemembersThatTheUserMayNotEval(t *testing.T) {
	rs := sharedSet(t)
	needStreams(t, rs)
	name := batchTable(t, rs)
	db := openClerk(t, rs, name)
	before := evals(t, rs)
	for i := range 3 {
		_, err := tntsql.ExecBatch(t.Context(), db, tntsql.Query{SQL: "INSERT INTO " + name + " VALUES (?, 0)", Args: []any{10 + i}})
		require.NoError(t, err)
		assert.Equal(t, before+1, evals(t, rs), "the first batch asks, batch %d does not", i)
	}
	assert.Equal(t, ids(1, 2, 10, 11, 12), storedIDs(t, rs, name))
}

func TestFailingBatchLeavesNoTransactionOnItsSession(t *testing.T) {
	for way, opened := range batchWays {
		t.Run(way, func(t *testing.T) {
			rs, db, name := opened(t)
			conn, err := db.Conn(t.Context())
			require.NoError(t, err)
			defer conn.Close()
			for i := range 2 {
				_, err = tntsql.ExecBatch(t.Context(), conn, batchOf(name, "INSERT INTO {t} VALUES (3, 30)", "INSERT INTO {t} VALUES (1, 1)")...)
				require.True(t, tntsql.IsUniqueViolation(err))
				mustExec(t, conn, "INSERT INTO "+name+" VALUES (?, 0)", 10+i)
			}
			assert.Equal(t, ids(1, 2, 10, 11), storedIDs(t, rs, name))
		})
	}
}

// Read and write on the table are enough to insert.
func TestBatchOfAUserWithOneTable(t *testing.T) {
	rs := sharedSet(t)
	needStreams(t, rs)
	mine, others := batchTable(t, rs), batchTable(t, rs)
	lua(t, rs, 0, `
box.schema.user.create('teller', {password = 'teller', if_not_exists = true})
box.schema.user.grant('teller', 'read,write', 'space', ...)`, mine)
	if rs.AtLeast(3, 0, 0) {
		lua(t, rs, 0, "box.schema.user.grant('teller', 'execute', 'sql', nil, {if_not_exists = true})")
	}
	inStep(t, rs)
	db, _ := openDSN(t, strings.Replace(rs.DSN(), "app:secret", "teller:teller", 1))
	for range 2 { // the right to EVAL is missing, and then known to be
		qs := append(batchOf(mine, "INSERT INTO {t} VALUES (3, 30)"), batchOf(others, "INSERT INTO {t} VALUES (3, 30)")...)
		_, err := tntsql.ExecBatch(t.Context(), db, qs...)
		var (
			failed *tntsql.BatchError
			server *tntsql.Error
		)
		require.ErrorAs(t, err, &failed)
		require.ErrorAs(t, err, &server)
		assert.Equal(t, 1, failed.Index)
		assert.Equal(t, "ER_ACCESS_DENIED", server.Name)
		assert.Contains(t, server.Message, others)
	}
	_, err := tntsql.ExecBatch(t.Context(), db, batchOf(mine, "INSERT INTO {t} VALUES (3, 30)", "SELECT N FROM {t} WHERE ID = 3")...)
	require.NoError(t, err)
	assert.Equal(t, ids(1, 2, 3), storedIDs(t, rs, mine))
	assert.Equal(t, ids(1, 2), storedIDs(t, rs, others))
}

func TestBatchWithNeitherEvalNorStreams(t *testing.T) {
	rs := sharedSet(t)
	if rs.AtLeast(2, 10, 0) {
		t.Skipf("Tarantool %s has streams", rs.Version())
	}
	name := batchTable(t, rs)
	db := openClerk(t, rs, name)
	for range 2 {
		results, err := tntsql.ExecBatch(t.Context(), db, batchOf(name, "INSERT INTO {t} VALUES (3, 30)")...)
		assert.Nil(t, results)
		require.ErrorIs(t, err, tntsql.ErrBatchUnsupported)
		assert.NotErrorIs(t, err, tntsql.ErrTxUnsupported, "which would name ExecBatch as what works")
		for _, part := range []string{"tntsql: batches are not supported", "box.schema.user.grant(user, 'execute', 'universe')", "2.10"} {
			assert.ErrorContains(t, err, part)
		}
		assert.Equal(t, 1, strings.Count(err.Error(), "tntsql: "), err)
	}
	assert.Equal(t, ids(1, 2), storedIDs(t, rs, name))
}

// Requests of a stream come one after the other, and a memtx transaction cannot
// wait for the next one without MVCC.
func TestBatchInAStreamNeedsMVCC(t *testing.T) {
	rs := mvccOff(t)
	needStreams(t, rs)
	name := batchTable(t, rs)
	_, err := tntsql.ExecBatch(t.Context(), openClerk(t, rs, name), batchOf(name, "INSERT INTO {t} VALUES (3, 30)", "INSERT INTO {t} VALUES (4, 40)")...)
	require.ErrorContains(t, err, "memtx_use_mvcc_engine = true")
	var server *tntsql.Error
	require.ErrorAs(t, err, &server)
	assert.Equal(t, "ER_TRANSACTION_YIELD", server.Name)
	assert.NotErrorIs(t, err, tntsql.ErrOutcomeUnknown)
	assert.False(t, tntsql.IsRetryable(err))
	assert.Equal(t, ids(1, 2), storedIDs(t, rs, name))
}

// Money that batches move between accounts neither appears nor disappears.
func TestBatchesOfManyAtOnce(t *testing.T) {
	const tellers, transfers = 32, 10
	for way, opened := range batchWays {
		t.Run(way, func(t *testing.T) {
			rs, db, name := opened(t)
			lua(t, rs, rs.Master(), "for id = 1, 32 do box.space[...]:replace{id, 100} end", name)
			var wg sync.WaitGroup
			for g := range tellers {
				wg.Go(func() {
					for i := range transfers {
						from, to, amount := 1+rand.IntN(32), 1+rand.IntN(32), rand.IntN(50)
						qs := []tntsql.Query{
							{SQL: "UPDATE " + name + " SET N = N - ? WHERE ID = ?", Args: []any{amount, from}},
							{SQL: "UPDATE " + name + " SET N = N + :n WHERE ID = :id", Args: []any{sql.Named("id", to), sql.Named("n", amount)}},
							{SQL: "INSERT INTO " + name + " VALUES (?, 0)", Args: []any{1000*(g+1) + i}},
						}
						if i%3 == 0 {
							qs[2].Args[0] = 1 // which is there
						}
						err := tntsql.Retry(t.Context(), func(ctx context.Context) error {
							_, err := tntsql.ExecBatch(ctx, db, qs...)
							return err
						}, tntsql.MaxAttempts(1000))
						if i%3 == 0 {
							assert.True(t, tntsql.IsUniqueViolation(err), err)
						} else {
							assert.NoError(t, err)
						}
					}
				})
			}
			wg.Wait()
			sum := lua(t, rs, rs.Master(), "local sum, rows = 0, 0; for _, row in box.space[...]:pairs() do sum, rows = sum + row[2], rows + 1 end return {sum, rows}", name)
			assert.Equal(t, ids(32*100, 32+tellers*(transfers-4)), sum, "money and rows")
		})
	}
}

// What an EVAL would have done says why it was none.
func TestBatchThatFailsAsATransactionSaysWhyItIsOne(t *testing.T) {
	rs := tarantooltest.Start(t, tarantooltest.Instances(1), tarantooltest.Cfg(map[string]any{"memtx_use_mvcc_engine": false}))
	needStreams(t, rs)
	db, _ := openDSN(t, rs.DSN())
	mustExec(t, db, "CREATE TABLE documents (id INTEGER PRIMARY KEY, body ARRAY)")
	insert := func(id int) tntsql.Query {
		return tntsql.Query{SQL: "INSERT INTO documents VALUES (?, ?)", Args: []any{id, []int{id}}}
	}
	_, err := tntsql.ExecBatch(t.Context(), db, insert(1), insert(2))
	require.ErrorContains(t, err, "memtx_use_mvcc_engine")
	require.ErrorContains(t, err, "the batch ran as a transaction, as query 0 of the batch: parameter 2: ")
	assert.Equal(t, 1, strings.Count(err.Error(), "tntsql: "), err)
}

// A procedure that commits leaves nothing to say about the rest.
func TestCommitAfterCodeThatCommittedIsUnknown(t *testing.T) {
	db := open(t)
	name := txTable(t, db)
	tx := beginTx(t, db, nil)
	mustExec(t, tx, "INSERT INTO "+name+" VALUES (3, 30)")
	_, err := tntsql.Eval(t.Context(), tx, tntsql.ModeRW, "box.commit()")
	require.NoError(t, err)
	require.ErrorIs(t, tx.Commit(), tntsql.ErrOutcomeUnknown)
	assert.EqualValues(t, 3, countOnMaster(t, db, name))
}
