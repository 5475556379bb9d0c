package tntsql_test

import (
	"context"
	"database/sql"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tntsql/tntsql"
)

// increment reads a counter and writes it back, as applications do.
func increment(ctx context.Context, tx *sql.Tx, name string) error {
	var n int64
	if err := tx.QueryRowContext(ctx, "SELECT n FROM "+name+" WHERE id = 1").Scan(&n); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, "UPDATE "+name+" SET n = ? WHERE id = 1", n+1)
	return err
}

// Each writer is in the way of all others, and none of them notices.
func TestACounterOfManyWritersEndsExactlyRight(t *testing.T) {
	const writers, increments = 16, 25
	type attempt func(ctx context.Context, tx *sql.Tx) error
	for loop, run := range map[string]func(ctx context.Context, db *sql.DB, try attempt) error{
		"RunTx": func(ctx context.Context, db *sql.DB, try attempt) error { return tntsql.RunTx(ctx, db, try) },
		"Retry": func(ctx context.Context, db *sql.DB, try attempt) error {
			return tntsql.Retry(ctx, func(ctx context.Context) error {
				tx, err := db.BeginTx(ctx, nil)
				if err != nil {
					return err
				}
				if err := try(ctx, tx); err != nil {
					_ = tx.Rollback()
					return err
				}
				return tx.Commit()
			})
		},
	} {
		t.Run(loop, func(t *testing.T) {
			db := open(t)
			name := txTable(t, db)
			before := counter(t, db, name)
			var running sync.WaitGroup
			attempts := make([]int, writers)
			most := make([]int, writers)
			for w := range writers {
				running.Go(func() {
					for range increments {
						tries := 0
						assert.NoError(t, run(t.Context(), db, func(ctx context.Context, tx *sql.Tx) error {
							tries++
							return increment(ctx, tx, name)
						}))
						attempts[w] += tries
						most[w] = max(most[w], tries)
					}
				})
			}
			running.Wait()
			assert.EqualValues(t, writers*increments, counter(t, db, name)-before)
			sum := 0
			for _, n := range attempts {
				sum += n
			}
			assert.Greater(t, sum, writers*increments, "there were conflicts")
			t.Logf("%d increments took %d attempts, %d at most", writers*increments, sum, slices.Max(most))
		})
	}
}

// counter is the counter on the master, outside any transaction.
func counter(t testing.TB, db *sql.DB, name string) int64 {
	t.Helper()
	return valueOf[int64](t, withMode(t, tntsql.ModeRW), db, "SELECT n FROM "+name+" WHERE id = 1")
}

func TestTheLaterOfTwoTransactionsInConflictFails(t *testing.T) {
	db := open(t)
	name := txTable(t, db)
	for _, at := range []string{"statement", "COMMIT"} {
		t.Run(at, func(t *testing.T) {
			first, second := beginTx(t, db, nil), beginTx(t, db, nil)
			require.NoError(t, increment(t.Context(), first, name))
			require.NoError(t, increment(t.Context(), second, name))
			require.NoError(t, first.Commit())
			before := counter(t, db, name)

			var err error
			if at == "statement" {
				err = increment(t.Context(), second, name)
			} else {
				err = second.Commit()
			}
			require.Error(t, err)
			assert.Equal(t, kinds{conflict: true, retryable: true}, kindsOf(err))
			assert.ErrorContains(t, err, "Transaction has been aborted by conflict (ER_TRANSACTION_CONFLICT, code 97) from "+sharedSet(t).Addr(0))
			if at == "statement" {
				err = second.Commit()
				require.Error(t, err, "what is aborted commits nothing, whatever became of its last statement")
				require.NotErrorIs(t, err, tntsql.ErrOutcomeUnknown)
			}
			assert.Equal(t, before, counter(t, db, name))
		})
	}
}

// A function that overlooks an error of a statement commits nothing either.
func TestRunTxBeginsAgainThoughTheFunctionOverlooksTheConflict(t *testing.T) {
	db := open(t)
	name := txTable(t, db)
	attempts := 0
	require.NoError(t, tntsql.RunTx(t.Context(), db, func(ctx context.Context, tx *sql.Tx) error {
		if err := increment(ctx, tx, name); err != nil {
			return err
		}
		if attempts++; attempts == 1 {
			mustExec(t, db, "UPDATE "+name+" SET n = 100 WHERE id = 1")
			_, err := tx.ExecContext(ctx, "UPDATE "+name+" SET n = 0 WHERE id = 2")
			assert.True(t, tntsql.IsTxConflict(err), "%v", err)
		}
		return nil
	}))
	assert.Equal(t, 2, attempts)
	assert.EqualValues(t, 101, counter(t, db, name))
}

// Readers are in nobody's way: their transaction sees one state throughout.
func TestATransactionThatReadsOnlyHasNoConflict(t *testing.T) {
	db := open(t)
	name := txTable(t, db)
	tx := beginTx(t, db, nil)
	const both = " WHERE id IN (1, 2)"
	before := txValue(t, tx, "SELECT SUM(n) FROM "+name+both)
	mustExec(t, db, "UPDATE "+name+" SET n = n + 1"+both)
	assert.Equal(t, before, txValue(t, tx, "SELECT SUM(n) FROM "+name+both))
	require.NoError(t, tx.Commit())
}

// Two unfinished requests in streams of one connection stop the server from
// reading it.
func TestCancelledCallsInTransactionsHoldNobodyUp(t *testing.T) {
	db := open(t, "read_mode=rw")
	name := txTable(t, db)
	for range 2 {
		ctx, cancel := context.WithCancel(t.Context())
		tx, err := db.BeginTx(ctx, nil)
		require.NoError(t, err)
		before := pauses(t, sharedSet(t))
		failed := make(chan error, 1)
		go func() {
			_, err := tntsql.Call(ctx, tx, tntsql.ModeRW, "pause", 2)
			failed <- err
		}()
		eventually(t, "begin of the call", func() bool { return pauses(t, sharedSet(t)) > before })
		cancel()
		require.ErrorIs(t, <-failed, context.Canceled)
	}
	begun := time.Now()
	for range 200 {
		assert.Equal(t, 10, value[int](t, db, "SELECT n FROM "+name+" WHERE id = 1"))
	}
	reads := time.Since(begun)
	assert.Less(t, reads, time.Second)
	begun = time.Now()
	for range 50 {
		require.NoError(t, tntsql.RunTx(t.Context(), db, func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, "UPDATE "+name+" SET n = n + 1 WHERE id = 2")
			return err
		}))
	}
	t.Logf("200 reads took %v, 50 transactions %v", reads, time.Since(begun))
	assert.Less(t, time.Since(begun), time.Second)
}
