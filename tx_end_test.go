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

	"github.com/tntsql/tntsql"
	"github.com/tntsql/tntsql/tarantooltest"
)

// createFunction gives SQL a function that runs Lua code and returns its argument.
func createFunction(t testing.TB, rs *tarantooltest.ReplicaSet, name, code string) {
	t.Helper()
	lua(t, rs, rs.Master(), `
local name, code = ...
box.schema.func.create(name, {language = 'LUA', returns = 'integer', param_list = {'integer'}, exports = {'LUA', 'SQL'},
    if_not_exists = true, body = 'function(n) ' .. code .. ' return n end'})
box.schema.role.grant('public', 'execute', 'function', name, {if_not_exists = true})`, name, code)
}

// An error that code of users raises may have a type and no number: its COMMIT is
// answered with the code 0.
func TestCommitThatATriggerRefusesFails(t *testing.T) {
	rs := sharedSet(t)
	if !rs.AtLeast(3, 2, 0) {
		t.Skipf("Tarantool %s has no trigger box.before_commit", rs.Version())
	}
	db := open(t)
	for name, tt := range map[string]struct {
		raise string
		code  uint32
	}{
		"type without a code": {"box.error{type = 'Quota', reason = 'quota exceeded'}", 0},
		"code 0":              {"box.error(box.error.UNKNOWN)", 0},
		"code of a user":      {"box.error{code = 1234, reason = 'quota exceeded'}", 1234},
		"error of Lua":        {"error('quota exceeded')", 32},
	} {
		t.Run(name, func(t *testing.T) {
			name := txTable(t, db)
			insert := "INSERT INTO " + name + " VALUES (3, 30)"
			lua(t, rs, 0, "require('trigger').set('box.before_commit', 'refuses', loadstring('return function() ' .. ... .. ' end')())", tt.raise)
			t.Cleanup(func() { lua(t, rs, 0, "require('trigger').del('box.before_commit', 'refuses')") })
			attempts := 0
			for way, fails := range map[string]func() error{
				"Commit": func() error {
					tx := beginTx(t, db, nil)
					mustExec(t, tx, insert)
					return tx.Commit()
				},
				"RunTx": func() error {
					return tntsql.RunTx(t.Context(), db, func(ctx context.Context, tx *sql.Tx) error {
						attempts++
						_, err := tx.ExecContext(ctx, insert)
						return err
					})
				},
				"statement": func() error { _, err := db.ExecContext(t.Context(), insert); return err },
				"batch":     func() error { _, err := tntsql.ExecBatch(t.Context(), db, tntsql.Query{SQL: insert}); return err },
			} {
				err := fails()
				var refused *tntsql.Error
				require.ErrorAs(t, err, &refused, way)
				assert.Equal(t, tt.code, refused.Code, way)
				assert.NotErrorIs(t, err, tntsql.ErrOutcomeUnknown, way)
				assert.False(t, tntsql.IsRetryable(err), way)
				assert.Equal(t, ids(1, 2), storedIDs(t, rs, name), way)
			}
			assert.Equal(t, 1, attempts)
		})
	}
}

// Such a statement succeeds: nothing but its text tells that the transaction may be over.
func TestTransactionThatAFunctionInAStatementHasEndedIsOver(t *testing.T) {
	rs := sharedSet(t)
	needStreams(t, rs)
	db := open(t)
	createFunction(t, rs, "ROLLS_BACK", "box.rollback()")
	for verb, text := range map[string]string{
		"INSERT":          "INSERT INTO %s VALUES (50, ROLLS_BACK(1))",
		"INSERT … SELECT": "INSERT INTO %[1]s SELECT id + 50, ROLLS_BACK(n) FROM %[1]s WHERE id = 1",
		"REPLACE":         "REPLACE INTO %s (n, id) VALUES (ROLLS_BACK(1), 50)",
		"UPDATE":          "UPDATE %s SET n = ROLLS_BACK(5) WHERE id = 1",
		"DELETE":          "DELETE FROM %s WHERE id = ROLLS_BACK(77)",
		"SELECT":          "SELECT ROLLS_BACK(n) FROM %s WHERE id = 1",
	} {
		for _, next := range []string{"Commit", "statement"} {
			t.Run(verb+", then "+next, func(t *testing.T) {
				name := txTable(t, db)
				tx := beginTx(t, db, nil)
				mustExec(t, tx, "INSERT INTO "+name+" VALUES (3, 30)")
				mustExec(t, tx, fmt.Sprintf(text, name))
				if next == "statement" {
					_, err := tx.ExecContext(t.Context(), "INSERT INTO "+name+" VALUES (4, 40)")
					require.ErrorContains(t, err, "code that it called has ended it")
					assert.False(t, tntsql.IsRetryable(err))
				}
				err := tx.Commit()
				require.ErrorContains(t, err, "code that it called has ended it")
				assert.False(t, tntsql.IsRetryable(err))
				stored := storedIDs(t, rs, name)
				assert.NotContains(t, stored, int64(3))
				assert.NotContains(t, stored, int64(4))
			})
		}
	}
}

func TestBatchThatAFunctionInAStatementHasEndedFails(t *testing.T) {
	for way, opened := range batchWays {
		t.Run(way, func(t *testing.T) {
			rs, db, name := opened(t)
			createFunction(t, rs, "ROLLS_BACK", "box.rollback()")
			qs := batchOf(name, "INSERT INTO {t} VALUES (3, 30)", "DELETE FROM {t} WHERE ID = ROLLS_BACK(77)", "INSERT INTO {t} VALUES (4, 40)")
			for _, last := range []int{2, 3} {
				results, err := tntsql.ExecBatch(t.Context(), db, qs[:last]...)
				require.ErrorContains(t, err, "has ended")
				assert.Nil(t, results)
				assert.False(t, tntsql.IsRetryable(err))
				assert.Equal(t, ids(1, 2), storedIDs(t, rs, name))
			}
		})
	}
}

func TestBatchWhoseFunctionEndsTheTransactionThatItJoinsIsItsEnd(t *testing.T) {
	rs := sharedSet(t)
	needStreams(t, rs)
	name := batchTable(t, rs)
	createFunction(t, rs, "ROLLS_BACK", "box.rollback()")
	tx := beginTx(t, open(t), nil)
	mustExec(t, tx, "INSERT INTO "+name+" VALUES (3, 30)")
	_, err := tntsql.ExecBatch(t.Context(), tx, batchOf(name, "UPDATE {t} SET N = ROLLS_BACK(N) WHERE ID = 1")...)
	require.ErrorContains(t, err, "code that it called has ended it")
	_, err = tntsql.ExecBatch(t.Context(), tx, batchOf(name, "INSERT INTO {t} VALUES (4, 40)")...)
	require.ErrorContains(t, err, "code that it called has ended it")
	require.ErrorContains(t, tx.Commit(), "code that it called has ended it")
	assert.Equal(t, ids(1, 2), storedIDs(t, rs, name))
}

// A conflict may be tried again, but not what the code that met it has committed before.
func TestRunTxDoesNotRepeatWhatCodeHasCommitted(t *testing.T) {
	rs := sharedSet(t)
	needStreams(t, rs)
	db := open(t)
	for _, code := range []int{97, 231, 7} {
		createFunction(t, rs, fmt.Sprintf("COMMITS_%d", code), fmt.Sprintf("box.commit() box.error{code = %d, reason = 'no'}", code))
		createFunction(t, rs, fmt.Sprintf("FAILS_%d", code), fmt.Sprintf("box.error{code = %d, reason = 'no'}", code))
		for by, call := range map[string]func(context.Context, *sql.Tx, string) error{
			"Call": func(ctx context.Context, tx *sql.Tx, function string) error {
				_, err := tntsql.Call(ctx, tx, tntsql.ModeRW, function, 1)
				return err
			},
			"Eval": func(ctx context.Context, tx *sql.Tx, function string) error {
				_, err := tntsql.Eval(ctx, tx, tntsql.ModeRW, "return box.func[...]:call{1}", function)
				return err
			},
			"SELECT": func(ctx context.Context, tx *sql.Tx, function string) error {
				_, err := tx.ExecContext(ctx, "SELECT "+function+"(1)")
				return err
			},
		} {
			t.Run(fmt.Sprintf("%d by %s", code, by), func(t *testing.T) {
				name := txTable(t, db)
				attempts := 0
				run := func(function string) error {
					attempts = 0
					return tntsql.RunTx(t.Context(), db, func(ctx context.Context, tx *sql.Tx) error {
						attempts++
						mustExec(t, tx, "INSERT INTO "+name+" VALUES (?, 30)", 2+attempts)
						return call(ctx, tx, fmt.Sprintf("%s_%d", function, code))
					}, tntsql.MaxAttempts(2))
				}
				err := run("FAILS")
				require.Error(t, err)
				assert.True(t, tntsql.IsRetryable(err))
				assert.Equal(t, 2, attempts)
				assert.Equal(t, ids(1, 2), storedIDs(t, rs, name))

				err = run("COMMITS")
				require.ErrorContains(t, err, "code that it called has ended it")
				var server *tntsql.Error
				require.ErrorAs(t, err, &server)
				assert.EqualValues(t, code, server.Code)
				assert.False(t, tntsql.IsRetryable(err))
				assert.Equal(t, 1, attempts)
				assert.Equal(t, ids(1, 2, 3), storedIDs(t, rs, name))
			})
		}
	}
}

// The driver sets savepoints too: after an error, and around a batch.
func TestSavepointsOfTheUserAreTheirs(t *testing.T) {
	rs := sharedSet(t)
	needStreams(t, rs)
	db := open(t)
	for _, savepoint := range []string{"tntsql", "tntsql_batch"} {
		t.Run(savepoint, func(t *testing.T) {
			name := txTable(t, db)
			tx := beginTx(t, db, nil)
			mustExec(t, tx, "INSERT INTO "+name+" VALUES (3, 30)")
			mustExec(t, tx, `SAVEPOINT "`+savepoint+`"`)
			mustExec(t, tx, "INSERT INTO "+name+" VALUES (4, 40)")
			_, err := tx.ExecContext(t.Context(), "INSERT INTO "+name+" VALUES (1, 10)")
			require.True(t, tntsql.IsUniqueViolation(err))
			_, err = tntsql.ExecBatch(t.Context(), tx, batchOf(name, "INSERT INTO {t} VALUES (5, 50)")...)
			require.NoError(t, err)
			_, err = tntsql.ExecBatch(t.Context(), tx, batchOf(name, "INSERT INTO {t} VALUES (6, 60)", "INSERT INTO {t} VALUES (1, 10)")...)
			require.True(t, tntsql.IsUniqueViolation(err))
			mustExec(t, tx, `ROLLBACK TO SAVEPOINT "`+savepoint+`"`)
			mustExec(t, tx, `RELEASE SAVEPOINT "`+savepoint+`"`)
			require.NoError(t, tx.Commit())
			assert.Equal(t, ids(1, 2, 3), storedIDs(t, rs, name))
		})
	}
}

// When its context ends, database/sql rolls a transaction back in a goroutine of its own.
func TestInfoIsTheCallersWhenTheContextOfItsTransactionEnds(t *testing.T) {
	needStreams(t, sharedSet(t))
	db := open(t)
	read := func(ctx context.Context, tx *sql.Tx) {
		assert.EqualValues(t, 1, valueOf[int64](t, ctx, tx, "SELECT 1"))
	}
	for by, run := range map[string]func(ctx context.Context, cancel func()){
		"BeginTx": func(ctx context.Context, cancel func()) {
			tx, err := db.BeginTx(ctx, nil)
			require.NoError(t, err)
			read(ctx, tx)
			cancel()
			require.Error(t, tx.Commit())
		},
		"RunTx": func(ctx context.Context, cancel func()) {
			require.ErrorIs(t, tntsql.RunTx(ctx, db, func(ctx context.Context, tx *sql.Tx) error {
				read(ctx, tx)
				cancel()
				return ctx.Err()
			}), context.Canceled)
		},
	} {
		t.Run(by, func(t *testing.T) {
			for range 30 {
				ctx, cancel := context.WithCancel(t.Context())
				ctx, info := tntsql.Capture(ctx)
				run(ctx, cancel)
				assert.Equal(t, tntsql.KindRead, info.Kind)
				eventually(t, "end of the transaction", func() bool { return db.Stats().InUse == 0 })
				assert.Equal(t, tntsql.KindRead, info.Kind, "not of the ROLLBACK")
			}
		})
	}
}

func TestStatementWithAnotherContextEndsWithThatOfItsTransaction(t *testing.T) {
	const pause = 500 * time.Millisecond
	rs := sharedSet(t)
	needStreams(t, rs)
	db := open(t)
	statement := func(tx *sql.Tx) error {
		_, err := tx.ExecContext(t.Context(), "SELECT PAUSE(?)", pause.Seconds())
		return err
	}
	eval := func(tx *sql.Tx) error {
		_, err := tntsql.Eval(t.Context(), tx, tntsql.ModeRW, "return pause(...)", pause.Seconds())
		return err
	}
	for name, tt := range map[string]struct {
		run     func(tx *sql.Tx) error
		timeout time.Duration // of BeginTx's context
		end     error
	}{
		"statement, cancelled": {statement, time.Minute, context.Canceled},
		"EVAL, cancelled":      {eval, time.Minute, context.Canceled},
		"EVAL, at a deadline":  {eval, pause / 2, context.DeadlineExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			name := txTable(t, db)
			ctx, cancel := context.WithTimeout(t.Context(), tt.timeout)
			defer cancel()
			tx, err := db.BeginTx(ctx, nil)
			require.NoError(t, err)
			mustExec(t, tx, "INSERT INTO "+name+" VALUES (3, 30)")
			before, ended := pauses(t, rs), make(chan error, 1)
			go func() { ended <- tt.run(tx) }()
			eventually(t, "pause", func() bool { return pauses(t, rs) > before })
			if errors.Is(tt.end, context.Canceled) {
				cancel()
			}
			err = <-ended
			require.ErrorIs(t, err, tt.end)
			assert.NotErrorIs(t, err, tntsql.ErrOutcomeUnknown)
			assert.False(t, tntsql.IsRetryable(err))
			require.Error(t, tx.Commit())
			assert.EqualValues(t, 2, countOnMaster(t, db, name))
		})
	}
}

func TestSpoiledTransactionTellsTheContextAndItsCause(t *testing.T) {
	db := open(t)
	name := txTable(t, db)
	tx := beginTx(t, db, nil)
	mustExec(t, tx, "INSERT INTO "+name+" VALUES (3, 30)")
	cause := errors.New("the user has waited enough")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 20*time.Millisecond, cause)
	defer cancel()
	_, call := tntsql.Eval(ctx, tx, tntsql.ModeRW, "pause(0.2)")
	_, statement := tx.ExecContext(t.Context(), "INSERT INTO "+name+" VALUES (4, 40)")
	for what, err := range map[string]error{"call": call, "next statement": statement, "Commit": tx.Commit()} {
		require.ErrorIs(t, err, context.DeadlineExceeded, what)
		assert.ErrorIs(t, err, cause, what)
		assert.ErrorContains(t, err, "context deadline exceeded: the user has waited enough", what)
		assert.NotErrorIs(t, err, tntsql.ErrOutcomeUnknown, what)
	}
	assert.EqualValues(t, 2, countOnMaster(t, db, name))
}

// A setting that is refused once will be refused again.
func TestSessionSettingOfABadValueFailsAtOnce(t *testing.T) {
	rs := sharedSet(t)
	for way, run := range map[string]func(db *sql.DB) error{
		"statement": func(db *sql.DB) error { _, err := db.ExecContext(t.Context(), "SELECT 1"); return err },
		"batch": func(db *sql.DB) error {
			_, err := tntsql.ExecBatch(t.Context(), db, tntsql.Query{SQL: "SELECT 1"})
			return err
		},
		"BeginTx": func(db *sql.DB) error { _, err := db.BeginTx(t.Context(), nil); return err },
	} {
		t.Run(way, func(t *testing.T) {
			if way == "BeginTx" {
				needStreams(t, rs)
			}
			db := open(t, "session.sql_recursive_triggers=sometimes")
			begun := time.Now()
			err := run(db)
			require.ErrorIs(t, err, tntsql.ErrNoInstance)
			assert.ErrorContains(t, err, "sql_recursive_triggers")
			assert.ErrorContains(t, err, "boolean")
			assert.Less(t, time.Since(begun), 5*time.Second, "not selection_timeout")
		})
	}
}

func TestInfoOfABatchIsOfABatch(t *testing.T) {
	requireKind := func(t *testing.T, on tntsql.Execer, name string) {
		t.Helper()
		for text, succeeds := range map[string]bool{
			"UPDATE {t} SET N = 0 WHERE ID = 1": true,
			"INSERT INTO {t} VALUES (1, 1)":     false,
			"COMMIT":                            false, // refused before it is sent
		} {
			ctx, info := tntsql.Capture(t.Context())
			_, err := tntsql.ExecBatch(ctx, on, batchOf(name, text)...)
			assert.Equal(t, succeeds, err == nil, err)
			assert.Equal(t, tntsql.KindBatch, info.Kind, text)
		}
	}
	for way, opened := range batchWays {
		t.Run(way, func(t *testing.T) {
			_, db, name := opened(t)
			requireKind(t, db, name)
		})
	}
	t.Run("in a transaction", func(t *testing.T) {
		rs := sharedSet(t)
		needStreams(t, rs)
		requireKind(t, beginTx(t, open(t), nil), batchTable(t, rs))
	})
}
