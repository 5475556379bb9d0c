package tntsql_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tntsql/tntsql"
)

func TestBatchWhoseReplyIsLostIsDoneOnce(t *testing.T) {
	rs := sharedSet(t)
	name := batchTable(t, rs)
	db, cutter := openCutter(t)
	cutter.cuts.Store(1)
	ctx, info := tntsql.Capture(t.Context())
	qs := batchOf(name, "UPDATE {t} SET N = N + 1 WHERE ID = 1", cutMark+" UPDATE {t} SET N = N - 1 WHERE ID = 2")
	_, err := tntsql.ExecBatch(ctx, db, qs...)
	requireOutcomeUnknown(t, err, errCut, rs.UUID(0))
	assert.Equal(t, 1, info.Attempts)
	_, err = tntsql.ExecBatch(ctx, db, qs...)
	require.NoError(t, err, "the handle goes on")
	assert.Equal(t, []any{[]any{int64(1), int64(12)}, []any{int64(2), int64(18)}},
		lua(t, rs, 0, "return box.space[...]:select()", name), "once each time")
}

func TestBatchFollowsTheMaster(t *testing.T) {
	for statement, text := range map[string]string{
		"UPDATE of a row": "UPDATE {t} SET N = N + 1 WHERE ID = 1",
		"UPDATE of none":  "UPDATE {t} SET N = N + 1 WHERE ID = 99",
		"INSERT":          "INSERT INTO {t} VALUES (3, 30)",
	} {
		t.Run(statement, func(t *testing.T) {
			rs := ownSet(t, 2)
			db, _ := openDSN(t, rs.DSN(quiet))
			name := batchTable(t, rs)
			_, err := tntsql.ExecBatch(t.Context(), db, batchOf(name, "DELETE FROM {t} WHERE ID = 2")...)
			require.NoError(t, err)
			inStep(t, rs)
			require.NoError(t, rs.Promote(1))
			ctx, info := tntsql.Capture(t.Context())
			qs := batchOf(name, text)
			results, err := tntsql.ExecBatch(ctx, db, qs...)
			inStep(t, rs)
			if err != nil && statement == "INSERT" && !rs.AtLeast(2, 7, 1) { // unless the driver had looked by then
				requireOutcomeUnknown(t, err, nil, rs.UUID(0))
				assert.ErrorContains(t, err, "the instance is read-only and took the write all the same")
				assert.Equal(t, ids(1, 3), storedIDs(t, rs, name))
				return
			}
			require.NoError(t, err)
			want := map[string]int64{"UPDATE of a row": 1, "INSERT": 1}[statement]
			assert.Equal(t, []tntsql.BatchResult{{RowsAffected: want}}, results)
			assert.Equal(t, rs.UUID(1), info.Instance.UUID)
			assert.LessOrEqual(t, info.Attempts, 2)
		})
	}
}

// What a function has done to the transaction of a batch is not for the batch to
// undo, but it must tell.
func TestBatchWithAFunctionThatEndsTheTransaction(t *testing.T) {
	rs := sharedSet(t)
	db := open(t)
	for _, end := range []string{"rollback", "commit"} {
		t.Run(end, func(t *testing.T) {
			lua(t, rs, 0, `box.schema.func.create('END_BY_' .. ..., {language = 'LUA', returns = 'integer', exports = {'LUA', 'SQL'},
				if_not_exists = true, body = 'function() box.' .. ... .. '() return 1 end'})`, end)
			name := batchTable(t, rs)
			qs := batchOf(name, "INSERT INTO {t} VALUES (3, 30)", `SELECT "END_BY_`+end+`"()`, "INSERT INTO {t} VALUES (4, 40)")
			results, err := tntsql.ExecBatch(t.Context(), db, qs...)
			require.Error(t, err)
			assert.Nil(t, results)
			assert.False(t, tntsql.IsRetryable(err))
			if !errors.Is(err, tntsql.ErrOutcomeUnknown) {
				assert.Equal(t, ids(1, 2), storedIDs(t, rs, name), err)
			}
		})
	}
}

// Before its commit a batch waits for no quorum: that its fiber was cancelled leaves
// nothing in doubt.
func TestBatchWhoseFiberIsCancelled(t *testing.T) {
	rs := ownSet(t, 1)
	db, _ := openDSN(t, rs.DSN())
	name := batchTable(t, rs)
	lua(t, rs, 0, `box.schema.func.create('CANCEL', {language = 'LUA', returns = 'integer', exports = {'LUA', 'SQL'},
		body = "function() require('fiber').self():cancel() require('fiber').testcancel() end"})`)
	qs := batchOf(name, "INSERT INTO {t} VALUES (3, 30)", `SELECT CANCEL()`)
	_, err := tntsql.ExecBatch(t.Context(), db, qs...)
	var failed *tntsql.BatchError
	require.ErrorAs(t, err, &failed)
	assert.Equal(t, 1, failed.Index)
	assert.ErrorContains(t, err, "fiber is cancelled")
	assert.NotErrorIs(t, err, tntsql.ErrOutcomeUnknown)
	assert.Equal(t, ids(1, 2), storedIDs(t, rs, name))
}

// persistent is a handle that does once more what has failed, as database/sql
// itself does when a connection is bad.
type persistent struct {
	*sql.DB
	between func()
}

func (p persistent) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	result, err := p.DB.ExecContext(ctx, query, args...)
	if err != nil {
		p.between()
		return p.DB.ExecContext(ctx, query, args...)
	}
	return result, err
}

func TestBatchThatAHandleRunsOnceMore(t *testing.T) {
	for way, opened := range batchWays {
		t.Run(way, func(t *testing.T) {
			rs, db, name := opened(t)
			on := persistent{db, func() { lua(t, rs, rs.Master(), "box.space[...]:delete{2}", name) }}
			require.NotPanics(t, func() {
				results, err := tntsql.ExecBatch(t.Context(), on, batchOf(name, "UPDATE {t} SET N = N + 1 WHERE ID = 1", "INSERT INTO {t} VALUES (2, 0)")...)
				require.NoError(t, err)
				assert.Len(t, results, 2)
			})
			assert.Equal(t, []any{[]any{int64(1), int64(11)}, []any{int64(2), int64(0)}}, lua(t, rs, rs.Master(), "return box.space[...]:select()", name))
		})
	}
}
