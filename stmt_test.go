package tntsql_test

import (
	"database/sql"
	"database/sql/driver"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tntsql/tntsql"
)

func prepare(t testing.TB, db *sql.DB, query string) *sql.Stmt {
	t.Helper()
	stmt, err := db.PrepareContext(t.Context(), query)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, stmt.Close()) })
	return stmt
}

func TestAPreparedReadIsServedByTheInstanceOfEachUse(t *testing.T) {
	rs := sharedSet(t)
	stmt := prepare(t, open(t), "SELECT WHO()")
	for mode, role := range routes[read] {
		by := make(map[int]bool)
		for range 12 {
			var uuid string
			require.NoError(t, stmt.QueryRowContext(withMode(t, mode)).Scan(&uuid))
			by[number(t, rs, uuid)] = true
		}
		want := map[string]map[int]bool{"any": {0: true, 1: true, 2: true}, "rw": {0: true}, "ro": {1: true, 2: true}}
		assert.Equal(t, want[role], by, mode)
	}
}

func TestAPreparedWriteReturnsWhatItDid(t *testing.T) {
	rs := sharedSet(t)
	db := open(t)
	name := table(t, rs, "ID INTEGER PRIMARY KEY AUTOINCREMENT, W STRING")
	stmt := prepare(t, db, "INSERT INTO "+name+" (W) VALUES (?), (WHO())")
	for i := range int64(3) {
		result, err := stmt.ExecContext(t.Context(), "w")
		require.NoError(t, err)
		n, err := result.RowsAffected()
		require.NoError(t, err)
		assert.EqualValues(t, 2, n)
		id, err := result.LastInsertId()
		require.NoError(t, err)
		assert.Equal(t, 2*i+1, id)
	}
}

func TestAPreparedStatementOutlivesDDL(t *testing.T) {
	rs := sharedSet(t)
	stmt := prepare(t, open(t, "read_mode=rw"), "SELECT ?")
	for i := range 5 {
		var got int
		require.NoError(t, stmt.QueryRowContext(t.Context(), i).Scan(&got))
		assert.Equal(t, i, got)
		table(t, rs, "ID INTEGER PRIMARY KEY")
	}
}

func TestAPreparedStatementTakesItsNumberOfArguments(t *testing.T) {
	db := open(t)
	for query, want := range map[string]string{
		"SELECT ?, ?":   "expected 2 arguments, got 1",
		"SELECT $2":     "expected 2 arguments, got 1",
		"SELECT 1":      "expected 0 arguments, got 1",
		"SELECT :a, :b": "the text has 2 parameters, the call 1 argument",
	} {
		_, err := prepare(t, db, query).ExecContext(t.Context(), 1)
		assert.ErrorContains(t, err, want, query)
	}
}

func TestPrepareLeavesWhatIsRefusedToItsUse(t *testing.T) {
	db := open(t)
	_, err := prepare(t, db, "COMMIT").ExecContext(t.Context())
	assert.ErrorIs(t, err, tntsql.ErrSessionStatement)
}

func TestAStatementWorksWithoutAContext(t *testing.T) {
	require.NoError(t, tntsql.Raw(t.Context(), open(t), func(c *tntsql.Conn) error {
		stmt, err := c.Prepare("SELECT ?")
		require.NoError(t, err)
		rows, err := stmt.Query([]driver.Value{int64(7)}) //nolint:staticcheck // deprecated, and still a part of the interface
		require.NoError(t, err)
		row := make([]driver.Value, 1)
		require.NoError(t, rows.Next(row))
		assert.Equal(t, []driver.Value{int64(7)}, row)
		require.NoError(t, rows.Close())
		_, err = stmt.Exec([]driver.Value{int64(7)}) //nolint:staticcheck // as above
		require.NoError(t, err)
		return stmt.Close()
	}))
}
