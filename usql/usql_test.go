package usql

import (
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/xo/dburl"
	"github.com/xo/usql/drivers"

	"github.com/tntsql/tntsql/tarantooltest"
)

func discard() io.Writer { return io.Discard }

// parse makes usql's URL, as usql does of its argument.
func parse(t *testing.T, url string) *dburl.URL {
	t.Helper()
	u, err := dburl.Parse(url)
	require.NoError(t, err)
	require.True(t, drivers.Registered(u.Driver))
	return u
}

func TestUsqlRunsStatements(t *testing.T) {
	rs := tarantooltest.Start(t, tarantooltest.Instances(1))
	u := parse(t, "tt://app:secret@"+rs.Addr(0)+"/")
	db, err := drivers.Open(t.Context(), u, discard, discard)
	require.NoError(t, err)
	defer db.Close()
	require.NoError(t, drivers.Ping(t.Context(), u, db))

	version, err := drivers.Version(t.Context(), u, db)
	require.NoError(t, err)
	assert.Equal(t, "Tarantool "+rs.Version(), version)

	for _, statement := range []struct {
		prefix, text string
		rows         bool
	}{
		{"CREATE TABLE", "CREATE TABLE t (id INTEGER PRIMARY KEY, b VARBINARY)", false},
		{"INSERT INTO", "INSERT INTO t VALUES (1, x'00ff')", false},
		{"SELECT", "SELECT b FROM t WHERE id = 1", true},
		{"PRAGMA", "PRAGMA table_info(t)", true},
		{"EXPLAIN", "EXPLAIN SELECT 1", true},
	} {
		_, text, isQuery, err := drivers.Process(u, statement.prefix, statement.text)
		require.NoError(t, err)
		assert.Equal(t, statement.rows, isQuery, statement.text)
		if !isQuery {
			result, err := db.ExecContext(t.Context(), text)
			require.NoError(t, err)
			affected, err := drivers.RowsAffected(u, result)
			require.NoError(t, err)
			assert.EqualValues(t, 1, affected)
			continue
		}
		rows, err := db.QueryContext(t.Context(), text)
		require.NoError(t, err)
		columns, err := drivers.Columns(u, rows)
		require.NoError(t, err)
		assert.NotEmpty(t, columns)
		require.NoError(t, rows.Close())
	}

	var b []byte
	require.NoError(t, db.QueryRowContext(t.Context(), "SELECT b FROM t WHERE id = 1").Scan(&b))
	text, err := drivers.ConvertBytes(u)(b, "")
	require.NoError(t, err)
	assert.Equal(t, "x'00ff'", text)
}

func TestUsqlShowsTheServersCode(t *testing.T) {
	rs := tarantooltest.Start(t, tarantooltest.Instances(1))
	u := parse(t, "tt://app:secret@"+rs.Addr(0)+"/")
	db, err := drivers.Open(t.Context(), u, discard, discard)
	require.NoError(t, err)
	defer db.Close()
	_, err = db.ExecContext(t.Context(), "SELECT * FROM absent")
	assert.Regexp(t, "^tarantool: 36: Space '(?i:absent)' does not exist", drivers.WrapErr(u.Driver, err))
}

func TestUsqlAsksForAPasswordThatIsWrong(t *testing.T) {
	rs := tarantooltest.Start(t, tarantooltest.Instances(1))
	for url, want := range map[string]bool{
		"tt://app:wrong@" + rs.Addr(0) + "/":               true,
		"tt://app:wrong@127.0.0.1:1/?selection_timeout=0s": false,
	} {
		u := parse(t, url)
		db, err := drivers.Open(t.Context(), u, discard, discard)
		require.NoError(t, err)
		defer db.Close()
		err = drivers.Ping(t.Context(), u, db)
		require.Error(t, err)
		assert.Equal(t, want, drivers.IsPasswordErr(u, err), "%v", err)
		assert.NotContains(t, err.Error(), "wrong@")
	}
}

func TestUsqlCopiesRows(t *testing.T) {
	rs := tarantooltest.Start(t, tarantooltest.Instances(1))
	u := parse(t, "tt://app:secret@"+rs.Addr(0)+"/")
	db, err := drivers.Open(t.Context(), u, discard, discard)
	require.NoError(t, err)
	defer db.Close()
	for _, text := range []string{
		"CREATE TABLE source (id INTEGER PRIMARY KEY, name STRING)",
		"CREATE TABLE target (id INTEGER PRIMARY KEY, name STRING)",
		"INSERT INTO source VALUES (1, 'Ann'), (2, NULL)",
	} {
		_, err := db.ExecContext(t.Context(), text)
		require.NoError(t, err)
	}
	rows, err := db.QueryContext(t.Context(), "SELECT id, name FROM source WHERE id > 0")
	require.NoError(t, err)
	defer rows.Close()
	n, err := drivers.Copy(t.Context(), u, discard, discard, rows, "target(id, name)")
	require.NoError(t, err)
	assert.EqualValues(t, 2, n)
}

func TestErrorsThatAreNotTheServersHaveNoCode(t *testing.T) {
	code, message := codeAndMessage(errors.New("tntsql: closed"))
	assert.Empty(t, code)
	assert.Equal(t, "closed", message)
}
