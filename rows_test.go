package tntsql_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tntsql/tntsql"
)

// newTypes skips a test of the SQL types that came with 2.10.
func newTypes(t *testing.T) {
	t.Helper()
	if rs := sharedSet(t); !rs.AtLeast(2, 10, 0) {
		t.Skipf("Tarantool %s has no DECIMAL, UUID, DATETIME, INTERVAL, ARRAY or MAP in SQL", rs.Version())
	}
}

func TestRowsMayBeLeftUnread(t *testing.T) {
	db := open(t)
	db.SetMaxOpenConns(1)
	for range 3 {
		rows, err := db.QueryContext(t.Context(), "VALUES (1), (2), (3)")
		require.NoError(t, err)
		require.True(t, rows.Next())
		require.NoError(t, rows.Close())
		assert.False(t, rows.Next())
	}
}

func TestManyRowsComeInTheirOrder(t *testing.T) {
	const n = 10_000
	rs := sharedSet(t)
	db := open(t, "read_mode=rw", "seq_scan=true")
	name := table(t, rs, "ID INTEGER PRIMARY KEY, S STRING")
	lua(t, rs, 0, "local name, n = ...; box.begin() for i = 1, n do box.space[name]:insert{i, ('x'):rep(i % 50)} end box.commit()", name, n)

	rows, err := db.QueryContext(t.Context(), "SELECT ID, S FROM "+name+" ORDER BY ID")
	require.NoError(t, err)
	defer rows.Close()
	read := 0
	for rows.Next() {
		read++
		var id int
		var text string
		require.NoError(t, rows.Scan(&id, &text))
		require.Equal(t, read, id)
		require.Equal(t, strings.Repeat("x", read%50), text)
	}
	require.NoError(t, rows.Err())
	assert.Equal(t, n, read)
}

func TestAResultTooLargeIsAnErrorAndTheConnectionGoesOn(t *testing.T) {
	rs := sharedSet(t)
	db := open(t, quiet, "max_response_size=64KiB", "read_mode=rw")
	connected := connections(t, rs)
	var text string
	err := db.QueryRowContext(t.Context(), "SELECT ?", strings.Repeat("x", 128<<10)).Scan(&text)
	assert.ErrorContains(t, err, "max_response_size")
	assert.NotErrorIs(t, err, tntsql.ErrOutcomeUnknown)

	assert.Equal(t, strings.Repeat("x", 32<<10), value[string](t, db, "SELECT ?", strings.Repeat("x", 32<<10)))
	assert.LessOrEqual(t, connections(t, rs), connected+1)
}
