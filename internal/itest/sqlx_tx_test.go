package itest

import (
	"context"
	"database/sql"
	"testing"

	"github.com/jmoiron/sqlx"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tntsql/tntsql"
)

func TestSQLXTransactions(t *testing.T) {
	needStreams(t)
	db := openSQLX(t)
	createPeople(t, db, "sqlx_tx")
	dan := person{ID: 4, FullName: "Dan"}
	for _, commit := range []bool{false, true} {
		tx, err := db.BeginTxx(t.Context(), nil)
		require.NoError(t, err)
		_, err = tx.NamedExecContext(t.Context(), "INSERT INTO sqlx_tx"+namedInsert, dan)
		require.NoError(t, err)
		_, err = tx.ExecContext(t.Context(), "DELETE FROM sqlx_tx WHERE id = ?", 1)
		require.NoError(t, err)
		var seen []string
		require.NoError(t, tx.SelectContext(t.Context(), &seen, "SELECT full_name FROM sqlx_tx ORDER BY id"))
		assert.Equal(t, []string{"Bob", "Cyd", "Dan"}, seen)

		want := []person{ann, bob, cyd}
		if commit {
			want = []person{bob, cyd, dan}
			require.NoError(t, tx.Commit())
		} else {
			require.NoError(t, tx.Rollback())
		}
		var stored []person
		require.NoError(t, db.SelectContext(t.Context(), &stored, "SELECT * FROM sqlx_tx ORDER BY id"))
		assert.Equal(t, want, stored)
	}
}

// Retry is the loop of RunTx around a transaction that sqlx has begun.
func TestSQLXTransactionsAreRunAgainByRetry(t *testing.T) {
	needStreams(t)
	db := openSQLX(t)
	createTable(t, db, "sqlx_retry", "id INTEGER PRIMARY KEY, n INTEGER")
	_, err := db.ExecContext(t.Context(), "INSERT INTO sqlx_retry VALUES (1, 0)")
	require.NoError(t, err)

	attempts := 0
	require.NoError(t, tntsql.Retry(t.Context(), func(ctx context.Context) error {
		attempts++
		tx, err := db.BeginTxx(ctx, nil)
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback() }()
		var n int
		if err := tx.GetContext(ctx, &n, "SELECT n FROM sqlx_retry WHERE id = 1"); err != nil {
			return err
		}
		if attempts == 1 { // another changes the row meanwhile
			if _, err := db.ExecContext(ctx, "UPDATE sqlx_retry SET n = 10 WHERE id = 1"); err != nil {
				return err
			}
		}
		if _, err := tx.ExecContext(ctx, "UPDATE sqlx_retry SET n = ? WHERE id = 1", n+1); err != nil {
			return err
		}
		return tx.Commit()
	}))
	var n int
	require.NoError(t, db.GetContext(t.Context(), &n, "SELECT n FROM sqlx_retry WHERE id = 1"))
	assert.Equal(t, 11, n)
	assert.Equal(t, 2, attempts)
}

func TestSQLXBatch(t *testing.T) {
	db := openSQLX(t)
	createPeople(t, db, "sqlx_batch")
	results, err := tntsql.ExecBatch(t.Context(), db,
		tntsql.Query{SQL: "UPDATE sqlx_batch SET age = age + 1 WHERE id = :id", Args: []any{sql.Named("id", 1)}},
		tntsql.Query{SQL: "DELETE FROM sqlx_batch WHERE id = ?", Args: []any{2}},
		tntsql.Query{SQL: "SELECT full_name, age FROM sqlx_batch WHERE id = ?", Args: []any{1}})
	require.NoError(t, err)
	require.Len(t, results, 3)
	assert.EqualValues(t, 1, results[1].RowsAffected)
	assert.Equal(t, [][]any{{"Ann", int64(32)}}, results[2].Rows)

	_, err = tntsql.ExecBatch(t.Context(), db,
		tntsql.Query{SQL: "DELETE FROM sqlx_batch WHERE id = 3"},
		tntsql.Query{SQL: "INSERT INTO sqlx_batch (id) VALUES (1)"})
	var failed *tntsql.BatchError
	require.ErrorAs(t, err, &failed)
	assert.Equal(t, 1, failed.Index)
	assert.True(t, tntsql.IsUniqueViolation(err))
	var ids []int64
	require.NoError(t, db.SelectContext(t.Context(), &ids, "SELECT id FROM sqlx_batch ORDER BY id"))
	assert.Equal(t, []int64{1, 3}, ids, "all or nothing")
}

func TestSQLXSpansNameTheInstance(t *testing.T) {
	traced, spans := openInstanceTraced(t)
	db := sqlx.NewDb(traced, tntsql.DriverName)
	createPeople(t, db, "sqlx_spans")
	checkInstances(t, spans,
		func(ctx context.Context) error {
			_, err := db.NamedExecContext(ctx, "UPDATE sqlx_spans SET full_name = :full_name WHERE id = :id", ann)
			return err
		},
		func(ctx context.Context) error {
			var one int
			return db.GetContext(ctx, &one, "SELECT 1")
		})
}
