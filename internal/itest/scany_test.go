package itest

import (
	"context"
	"database/sql"
	"testing"

	"github.com/georgysavva/scany/v2/sqlscan"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tntsql/tntsql"
)

// createPeopleBySQL makes a table with Ann, Bob and Cyd, without a tool.
func createPeopleBySQL(t *testing.T, db *sql.DB, table string) {
	t.Helper()
	createTable(t, db, table, peopleColumns)
	for _, p := range []person{ann, bob, cyd} {
		_, err := db.ExecContext(t.Context(), "INSERT INTO "+table+namedInsert,
			sql.Named("id", p.ID), sql.Named("full_name", p.FullName), sql.Named("age", p.Age), sql.Named("email", p.Email))
		require.NoError(t, err)
	}
}

func TestScanySelect(t *testing.T) {
	db := openDB(t)
	createPeopleBySQL(t, db, "scany_select")
	const query = "SELECT * FROM scany_select WHERE id >= :id ORDER BY id"

	var people []person
	require.NoError(t, sqlscan.Select(t.Context(), db, &people, query, sql.Named("id", 1)))
	assert.Equal(t, []person{ann, bob, cyd}, people)
	var pointers []*person
	require.NoError(t, sqlscan.Select(t.Context(), db, &pointers, query, sql.Named("id", 2)))
	assert.Equal(t, []*person{&bob, &cyd}, pointers)
	var names []string
	require.NoError(t, sqlscan.Select(t.Context(), db, &names, "SELECT full_name FROM scany_select WHERE id < ? ORDER BY id", 3))
	assert.Equal(t, []string{"Ann", "Bob"}, names)
	var maps []map[string]any
	require.NoError(t, sqlscan.Select(t.Context(), db, &maps, "SELECT id, full_name FROM scany_select WHERE id = $1", 3))
	assert.Equal(t, []map[string]any{{"id": int64(3), "full_name": "Cyd"}}, maps)
	require.NoError(t, sqlscan.Select(t.Context(), db, &people, query, sql.Named("id", 4)))
	assert.Empty(t, people)
}

func TestScanyGet(t *testing.T) {
	db := openDB(t)
	createPeopleBySQL(t, db, "scany_get")

	var p person
	require.NoError(t, sqlscan.Get(t.Context(), db, &p, "SELECT * FROM scany_get WHERE id = ?", 1))
	assert.Equal(t, ann, p)
	var count int
	require.NoError(t, sqlscan.Get(t.Context(), db, &count, "SELECT COUNT(*) FROM scany_get"))
	assert.Equal(t, 3, count)
	err := sqlscan.Get(t.Context(), db, &p, "SELECT * FROM scany_get WHERE id = ?", 4)
	assert.True(t, sqlscan.NotFound(err), err)
	assert.ErrorContains(t, sqlscan.Get(t.Context(), db, &p, "SELECT id AS other FROM scany_get WHERE id = 1"),
		"column: 'other': no corresponding field found")
}

func TestScanyScansRows(t *testing.T) {
	db := openDB(t)
	createPeopleBySQL(t, db, "scany_rows")
	stmt, err := db.PrepareContext(t.Context(), "SELECT * FROM scany_rows WHERE id <> ? ORDER BY id")
	require.NoError(t, err)
	defer stmt.Close()

	rows, err := stmt.QueryContext(t.Context(), 2)
	require.NoError(t, err)
	var all []person
	require.NoError(t, sqlscan.ScanAll(&all, rows))
	assert.Equal(t, []person{ann, cyd}, all)

	rows, err = stmt.QueryContext(t.Context(), 1)
	require.NoError(t, err)
	defer rows.Close()
	scanner := sqlscan.NewRowScanner(rows)
	var one []person
	for rows.Next() {
		var p person
		require.NoError(t, scanner.Scan(&p))
		one = append(one, p)
	}
	require.NoError(t, rows.Err())
	assert.Equal(t, []person{bob, cyd}, one)
}

func TestScanyJoins(t *testing.T) {
	db := openDB(t)
	createPeopleBySQL(t, db, "scany_join")
	var pair struct {
		Elder   person
		Younger *person
	}
	require.NoError(t, sqlscan.Get(t.Context(), db, &pair, `
		SELECT e.id AS "elder.id", e.full_name AS "elder.full_name", y.full_name AS "younger.full_name"
		FROM scany_join AS e JOIN scany_join AS y ON y.age < e.age`))
	assert.Equal(t, person{ID: 1, FullName: "Ann"}, pair.Elder)
	assert.Equal(t, &person{FullName: "Cyd"}, pair.Younger)
}

func TestScanyReadsWhatWasChanged(t *testing.T) {
	db := openDB(t)
	createPeopleBySQL(t, db, "scany_change")
	_, err := tntsql.ExecBatch(t.Context(), db,
		tntsql.Query{SQL: "UPDATE scany_change SET age = ? WHERE id = ?", Args: []any{32, 1}},
		tntsql.Query{SQL: "DELETE FROM scany_change WHERE id = ?", Args: []any{2}})
	require.NoError(t, err)
	var ages []sql.NullInt64
	require.NoError(t, sqlscan.Select(t.Context(), db, &ages, "SELECT age FROM scany_change ORDER BY id"))
	assert.Equal(t, []sql.NullInt64{{Int64: 32, Valid: true}, cyd.Age}, ages)
}

func TestScanyInTransactions(t *testing.T) {
	needStreams(t)
	db := openDB(t)
	createPeopleBySQL(t, db, "scany_tx")
	const byID = "SELECT * FROM scany_tx WHERE id = ?"
	err := tntsql.RunTx(t.Context(), db, func(ctx context.Context, tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "UPDATE scany_tx SET full_name = ? WHERE id = ?", "Rob", 2); err != nil {
			return err
		}
		var inside, outside person
		if err := sqlscan.Get(ctx, tx, &inside, byID, 2); err != nil {
			return err
		}
		if err := sqlscan.Get(ctx, db, &outside, byID, 2); err != nil {
			return err
		}
		assert.Equal(t, "Rob", inside.FullName)
		assert.Equal(t, "Bob", outside.FullName)
		return nil
	})
	require.NoError(t, err)
	var after person
	require.NoError(t, sqlscan.Get(t.Context(), db, &after, byID, 2))
	assert.Equal(t, "Rob", after.FullName)
}

func TestScanySpansNameTheInstance(t *testing.T) {
	db, spans := openInstanceTraced(t)
	read := func(ctx context.Context) error {
		var one int
		return sqlscan.Get(ctx, db, &one, "SELECT 1")
	}
	checkInstances(t, spans, read, read)
}
