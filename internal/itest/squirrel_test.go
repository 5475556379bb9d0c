package itest

import (
	"context"
	"database/sql"
	"testing"

	"github.com/Masterminds/squirrel"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tntsql/tntsql"
)

// sq is a builder over db, or over a transaction of it.
func sq(db squirrel.BaseRunner) squirrel.StatementBuilderType {
	return squirrel.StatementBuilder.RunWith(db)
}

// createCities makes a table with three rows, by one INSERT.
func createCities(t *testing.T, db *sql.DB, table string) {
	t.Helper()
	createTable(t, db, table, "id INTEGER PRIMARY KEY AUTOINCREMENT, name STRING, people INTEGER")
	result, err := sq(db).Insert(table).Columns("name", "people").
		Values("Riga", 600).Values("Tartu", 97).Values("Oslo", nil).
		ExecContext(t.Context())
	require.NoError(t, err)
	first, err := result.LastInsertId()
	require.NoError(t, err)
	require.EqualValues(t, 1, first)
}

// cityNames are the names that a query selects.
func cityNames(t *testing.T, query squirrel.SelectBuilder) []string {
	t.Helper()
	rows, err := query.QueryContext(t.Context())
	require.NoError(t, err)
	defer rows.Close()
	var names []string
	for rows.Next() {
		var name string
		require.NoError(t, rows.Scan(&name))
		names = append(names, name)
	}
	require.NoError(t, rows.Err())
	return names
}

func TestSquirrelSelect(t *testing.T) {
	db := openDB(t)
	createCities(t, db, "squirrel_select")
	names := squirrel.Select("name").From("squirrel_select").OrderBy("id")
	tests := map[string]struct {
		query squirrel.SelectBuilder
		want  []string
	}{
		"all":              {names, []string{"Riga", "Tartu", "Oslo"}},
		"Eq":               {names.Where(squirrel.Eq{"id": 2}), []string{"Tartu"}},
		"Eq with a list":   {names.Where(squirrel.Eq{"id": []int{1, 3}}), []string{"Riga", "Oslo"}},
		"Eq with NULL":     {names.Where(squirrel.Eq{"people": nil}), []string{"Oslo"}},
		"Or, Gt, Like":     {names.Where(squirrel.Or{squirrel.Gt{"people": 500}, squirrel.Like{"name": "Os%"}}), []string{"Riga", "Oslo"}},
		"text":             {names.Where("people < ?", 100), []string{"Tartu"}},
		"limit and offset": {names.Limit(1).Offset(1), []string{"Tartu"}},
		"sub-select":       {names.Where(squirrel.Expr("people = (?)", squirrel.Select("MAX(people)").From("squirrel_select"))), []string{"Riga"}},
		"CTE":              {names.Prefix("WITH big AS (SELECT id FROM squirrel_select WHERE people > ?)", 500).Where("id IN (SELECT id FROM big)"), []string{"Riga"}},
	}
	for name, tt := range tests {
		for _, format := range []squirrel.PlaceholderFormat{squirrel.Question, squirrel.Dollar} {
			text, _, err := tt.query.PlaceholderFormat(format).ToSql()
			require.NoError(t, err)
			t.Run(name, func(t *testing.T) {
				assert.Equal(t, tt.want, cityNames(t, tt.query.PlaceholderFormat(format).RunWith(db)), text)
			})
		}
	}
}

func TestSquirrelUpdateAndDelete(t *testing.T) {
	db := openDB(t)
	createCities(t, db, "squirrel_change")
	result, err := sq(db).Update("squirrel_change").Set("people", squirrel.Expr("people + ?", 1)).
		SetMap(map[string]any{"name": "Rīga"}).Where(squirrel.Eq{"id": 1}).ExecContext(t.Context())
	require.NoError(t, err)
	affected, err := result.RowsAffected()
	require.NoError(t, err)
	assert.EqualValues(t, 1, affected)
	var people int
	require.NoError(t, sq(db).Select("people").From("squirrel_change").Where(squirrel.Eq{"name": "Rīga"}).
		QueryRowContext(t.Context()).Scan(&people))
	assert.Equal(t, 601, people)

	result, err = sq(db).Delete("squirrel_change").Where(squirrel.NotEq{"id": 1}).ExecContext(t.Context())
	require.NoError(t, err)
	affected, err = result.RowsAffected()
	require.NoError(t, err)
	assert.EqualValues(t, 2, affected)
	err = sq(db).Select("people").From("squirrel_change").Where(squirrel.Eq{"id": 2}).QueryRowContext(t.Context()).Scan(&people)
	assert.ErrorIs(t, err, sql.ErrNoRows)
}

// The forms of an upsert that Tarantool has.
func TestSquirrelInsertOptions(t *testing.T) {
	db := openDB(t)
	createCities(t, db, "squirrel_upsert")
	insert := sq(db).Insert("squirrel_upsert").Values(1, "Bergen", 290)
	_, err := insert.ExecContext(t.Context())
	assert.True(t, tntsql.IsUniqueViolation(err), err)
	for _, option := range []string{"OR IGNORE", "OR REPLACE"} {
		_, err := insert.Options(option).ExecContext(t.Context())
		require.NoError(t, err, option)
		want := map[string]string{"OR IGNORE": "Riga", "OR REPLACE": "Bergen"}[option]
		assert.Equal(t, []string{want}, cityNames(t, sq(db).Select("name").From("squirrel_upsert").Where(squirrel.Eq{"id": 1})))
	}
}

func TestSquirrelStatementCache(t *testing.T) {
	db := openDB(t)
	createCities(t, db, "squirrel_cache")
	cache := squirrel.NewStmtCache(db)
	defer func() { assert.NoError(t, cache.Clear()) }()
	for id, want := range []string{"Riga", "Tartu", "Oslo"} {
		query := sq(cache).Select("name").From("squirrel_cache").Where(squirrel.Eq{"id": id + 1})
		assert.Equal(t, []string{want}, cityNames(t, query))
	}
}

// Builders make the statements of a batch, too.
func TestSquirrelBatch(t *testing.T) {
	db := openDB(t)
	createCities(t, db, "squirrel_batch")
	var batch []tntsql.Query
	for _, b := range []squirrel.Sqlizer{
		squirrel.Update("squirrel_batch").Set("people", 0).Where(squirrel.Eq{"id": 3}),
		squirrel.Delete("squirrel_batch").Where(squirrel.Eq{"id": []int{1, 2}}),
		squirrel.Insert("squirrel_batch").Columns("name").Values("Umeå"),
	} {
		text, args, err := b.ToSql()
		require.NoError(t, err)
		batch = append(batch, tntsql.Query{SQL: text, Args: args})
	}
	results, err := tntsql.ExecBatch(t.Context(), db, batch...)
	require.NoError(t, err)
	assert.EqualValues(t, 2, results[1].RowsAffected)
	assert.Equal(t, []int64{4}, results[2].GeneratedIDs)
	assert.Equal(t, []string{"Oslo", "Umeå"}, cityNames(t, sq(db).Select("name").From("squirrel_batch").OrderBy("id")))
}

func TestSquirrelTransactions(t *testing.T) {
	needStreams(t)
	db := openDB(t)
	createCities(t, db, "squirrel_tx")
	rename := func(ctx context.Context, tx *sql.Tx) error {
		_, err := sq(tx).Update("squirrel_tx").Set("name", "Dorpat").Where(squirrel.Eq{"id": 2}).ExecContext(ctx)
		return err
	}
	name := func() []string {
		return cityNames(t, sq(db).Select("name").From("squirrel_tx").Where(squirrel.Eq{"id": 2}))
	}

	tx, err := db.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	require.NoError(t, rename(t.Context(), tx))
	assert.Equal(t, []string{"Tartu"}, name())
	require.NoError(t, tx.Rollback())
	assert.Equal(t, []string{"Tartu"}, name())

	require.NoError(t, tntsql.RunTx(t.Context(), db, rename))
	assert.Equal(t, []string{"Dorpat"}, name())
}

func TestSquirrelSpansNameTheInstance(t *testing.T) {
	db, spans := openInstanceTraced(t)
	createCities(t, db, "squirrel_spans")
	checkInstances(t, spans,
		func(ctx context.Context) error {
			_, err := sq(db).Delete("squirrel_spans").Where(squirrel.Eq{"id": 1}).ExecContext(ctx)
			return err
		},
		func(ctx context.Context) error {
			var one int
			return sq(db).Select("1").QueryRowContext(ctx).Scan(&one)
		})
}
