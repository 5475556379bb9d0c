package tntsql_test

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	protocol "github.com/tarantool/go-iproto"

	"github.com/tntsql/tntsql"
	"github.com/tntsql/tntsql/internal/fakepeer"
)

func TestErrorOfCodeThatCommittedHasThePrefixOnce(t *testing.T) {
	rs := sharedSet(t)
	needStreams(t, rs)
	tx := beginTx(t, open(t), nil)
	_, err := tntsql.Eval(t.Context(), tx, tntsql.ModeRW, "box.commit() box.error{code = 97, reason = 'no'}")
	assert.Equal(t, 1, strings.Count(err.Error(), "tntsql: "), err)
}

// A Trace may panic: what was opened for its caller is rolled back.
func TestTraceThatPanicsAtBegin(t *testing.T) {
	for _, what := range []string{"batch", "BeginTx"} {
		t.Run(what, func(t *testing.T) {
			p := startStreams(t)
			p.On(protocol.IPROTO_EVAL, denied)
			armed := false
			cfg := mustParse(t, dsnOf([]string{p.Addr}, quiet, "close_timeout=100ms"))
			cfg.Trace = &tntsql.Trace{Done: func(_ context.Context, i tntsql.Info, _ error) {
				if armed && i.Kind == tntsql.KindTx {
					armed = false
					panic("no")
				}
			}}
			db, connector := openConfig(t, cfg)
			knowsAll(t, connector)
			armed = true
			assert.PanicsWithValue(t, "no", func() {
				if what == "batch" {
					_, _ = tntsql.ExecBatch(t.Context(), db, twoUpdates...)
				} else {
					_, _ = db.BeginTx(t.Context(), nil)
				}
			})
			requireCame(t, p, "BEGIN ROLLBACK")
		})
	}
}

func TestTraceThatPanicsAtRollback(t *testing.T) {
	p := startStreams(t)
	cfg := mustParse(t, dsnOf([]string{p.Addr}, quiet, "close_timeout=100ms"))
	cfg.Trace = &tntsql.Trace{Start: func(_ context.Context, s tntsql.TraceStart) {
		if s.Query == "ROLLBACK" {
			panic("no")
		}
	}}
	db, connector := openConfig(t, cfg)
	knowsAll(t, connector)
	tx, err := db.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	assert.PanicsWithValue(t, "no", func() { _ = tx.Rollback() })
	requireCame(t, p, "BEGIN ROLLBACK")
}

// What a function has committed is stored, whatever became of the batch.
func TestBatchThatCodeHasCommittedIsUnknown(t *testing.T) {
	for way, opened := range batchWays {
		for name, code := range map[string]string{"COMMITS_ONLY": "box.commit()", "COMMITS_97": "box.commit() box.error{code = 97, reason = 'no'}"} {
			t.Run(way+" "+name, func(t *testing.T) {
				rs, db, table := opened(t)
				createFunction(t, rs, name, code)
				qs := batchOf(table, "INSERT INTO {t} VALUES (3, 30)", "SELECT "+name+"(1)", "INSERT INTO {t} VALUES (4, 40)")
				_, err := tntsql.ExecBatch(t.Context(), db, qs...)
				require.Equal(t, ids(1, 2, 3), storedIDs(t, rs, table))
				require.ErrorIs(t, err, tntsql.ErrOutcomeUnknown)
				var failed *tntsql.BatchError
				require.ErrorAs(t, err, &failed)
				assert.Equal(t, 1, failed.Index)
			})
		}
	}
}

// A function may have committed before its error.
func TestRetryRepeatsNoDMLThatCallsAFunction(t *testing.T) {
	rs := sharedSet(t)
	db := open(t)
	for verb, text := range map[string]string{
		"INSERT": "INSERT INTO %s VALUES (50, PUTS_97(1))",
		"UPDATE": "UPDATE %s SET N = PUTS_97(N) WHERE ID = 1",
		"SELECT": "SELECT PUTS_97(N) FROM %s WHERE ID = 1", // passes
	} {
		t.Run(verb, func(t *testing.T) {
			name := batchTable(t, rs)
			lua(t, rs, 0, "puts_into = ...", name)
			createFunction(t, rs, "PUTS_97", "box.space[puts_into]:auto_increment{7} box.commit() box.error{code = 97, reason = 'no'}")
			attempts := 0
			err := tntsql.Retry(t.Context(), func(ctx context.Context) error {
				attempts++
				_, err := db.ExecContext(ctx, fmt.Sprintf(text, name))
				return err
			}, tntsql.MaxAttempts(3))
			require.Error(t, err)
			assert.Equal(t, 1, attempts)
			assert.Equal(t, ids(1, 2, 3), storedIDs(t, rs, name))
		})
	}
}

// The procedure may have committed before its error, and nobody tells.
func TestRunTxRepeatsNoCallWhoseTransactionIsUnknown(t *testing.T) {
	p := startStreams(t)
	db, _ := openPeer(t, "", p)
	p.On(protocol.IPROTO_CALL, func(s *fakepeer.Session, r fakepeer.Request) bool { return r.Stream != 0 && conflict(s, r) })
	p.On(protocol.IPROTO_EXECUTE, fakepeer.Cut)
	attempts := 0
	require.Error(t, tntsql.RunTx(t.Context(), db, func(ctx context.Context, tx *sql.Tx) error {
		attempts++
		_, err := tntsql.Call(ctx, tx, tntsql.ModeRW, "f")
		return err
	}, tntsql.MaxAttempts(3)))
	assert.Equal(t, 1, attempts)
}
