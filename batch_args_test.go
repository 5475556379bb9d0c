package tntsql_test

import (
	"database/sql"
	"fmt"
	"math"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tntsql/tntsql"
)

func location(t testing.TB, name string) *time.Location {
	t.Helper()
	l, err := time.LoadLocation(name)
	require.NoError(t, err)
	return l
}

// batchValues are arguments that go the one way or the other.
func batchValues(t testing.TB) []any {
	seven, none := 7, (*int)(nil)
	return []any{
		nil, true, flag(false),
		0, 31, -33, int64(math.MinInt64), int64(math.MaxInt64), uint64(math.MaxUint64), uint64(1) << 63,
		int64(1)<<53 + 1, -int64(1)<<53 - 1, int64(100_000_000_000_000), uint8(200), time.Minute,
		3.0, -3.0, 0.0, math.Copysign(0, -1), 1.5, float32(2), kelvin(1e14), 1e300, math.Inf(-1), math.NaN(), math.SmallestNonzeroFloat64,
		"", "text", "it's\x00 NUL", "\xff\xfe no UTF-8", named("grün"),
		&seven, none, celsius(1), celsius(-273.15 + 3), sql.NullString{}, sql.NullFloat64{Float64: 4, Valid: true}, sql.Null[string]{V: "v", Valid: true},
	}
}

// extensions are arguments of types that came with 2.10.
func extensions(t testing.TB) []any {
	return []any{
		[]byte{0, 255, 'x'}, []byte{}, []byte(nil), [2]byte{1, 2},
		big.NewInt(-12), new(big.Int).Exp(big.NewInt(10), big.NewInt(37), nil), uuid{0x6b, 15: 0xc8}, &uuid{1},
		time.Date(2024, 2, 29, 12, 30, 45, 123456789, time.UTC),
		time.Date(2024, 2, 29, 12, 30, 45, 1, time.FixedZone("", -5400)),
		time.Date(2024, 7, 1, 0, 0, 0, 999999999, location(t, "Europe/Moscow")),
		time.Date(2024, 7, 1, 0, 0, 0, 0, location(t, "America/New_York")),
		time.Date(1, 1, 1, 0, 0, 0, 1, time.UTC), time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC), time.Date(-300, 1, 1, 0, 0, 0, 0, time.UTC),
	}
}

// documents are arguments that Lua would change.
var documents = []any{
	[]int{1, 2}, []any{}, []any{3.0, nil, "x", []byte{1}, map[string]any{"a": 2.0}}, []float64{3, 4},
	map[string]any{"a": 1.0, "b": []int{}}, map[string]any{},
}

func TestBatchTakesAndGivesTheValuesOfPlainStatements(t *testing.T) {
	rs := sharedSet(t)
	db := open(t, "read_mode=rw")
	values := batchValues(t)
	if rs.AtLeast(2, 10, 0) {
		values = append(append(values, extensions(t)...), documents...)
	}
	for _, v := range values {
		t.Run(fmt.Sprintf("%T(%[1]v)", v), func(t *testing.T) {
			byName := sql.Named("v", v)
			var typ, out any
			require.NoError(t, db.QueryRowContext(t.Context(), "SELECT TYPEOF(:v), :v", byName).Scan(&typ, &out))
			qs := []tntsql.Query{{SQL: "SELECT TYPEOF(:v), :v", Args: []any{byName}}}
			if _, isMap := v.(map[string]any); !isMap { // which stands for names when it has none
				qs = append(qs, tntsql.Query{SQL: "SELECT TYPEOF(?), ?", Args: []any{v, v}},
					tntsql.Query{SQL: "SELECT TYPEOF($2), $2, $1", Args: []any{1, v}})
			}
			results, err := tntsql.ExecBatch(t.Context(), db, qs...)
			require.NoError(t, err)
			require.Len(t, results, len(qs))
			for _, r := range results {
				require.Len(t, r.Rows, 1)
				assert.Equal(t, typ, r.Rows[0][0])
				assert.Equal(t, out, r.Rows[0][1])
			}
			if zero, ok := out.(float64); ok {
				assert.Equal(t, math.Signbit(zero), math.Signbit(results[0].Rows[0][1].(float64)))
			}
		})
	}
}

func TestRowsOfABatchHoldWhatPlainRowsDo(t *testing.T) {
	rs := sharedSet(t)
	db := open(t, "read_mode=rw")
	expressions := []string{"NULL", "1", "-9223372036854775808", "18446744073709551615", "3e0", "1e300", "'a''b'", "''", "X'00FF'", "X''", "1 = 1", "CAST(3 AS DOUBLE)"}
	if rs.AtLeast(2, 10, 0) {
		expressions = append(expressions, "1.50", "CAST('12345678901234567890123456789012345678' AS DECIMAL)",
			"CAST('6ba7b810-9dad-11d1-80b4-00c04fd430c8' AS UUID)", "CAST({'year': 2024, 'month': 2, 'nsec': 1, 'tzoffset': 180} AS DATETIME)",
			"CAST({'month': 5, 'min': -3} AS INTERVAL)", "[1, 3e0, NULL, ['x']]", "[]", "{'a': 3e0, 'b': [X'00']}", "{1: 'x', 'y': 2}")
	}
	for _, expression := range expressions {
		t.Run(expression, func(t *testing.T) {
			plain := value[any](t, db, "SELECT "+expression)
			results, err := tntsql.ExecBatch(t.Context(), db, tntsql.Query{SQL: "SELECT " + expression})
			require.NoError(t, err)
			assert.Equal(t, [][]any{{plain}}, results[0].Rows)
		})
	}
}

func TestBatchStoresDoublesAsDoubles(t *testing.T) {
	for way, opened := range batchWays {
		t.Run(way, func(t *testing.T) {
			rs, db, _ := opened(t)
			name := table(t, rs, "ID INTEGER PRIMARY KEY, D DOUBLE, N NUMBER, X SCALAR")
			lua(t, rs, rs.Master(), "if box.schema.user.exists('clerk') then box.schema.user.grant('clerk', 'write', 'space', ...) end", name)
			inStep(t, rs)
			insert := "INSERT INTO " + name + " VALUES (?, ?, ?, ?)"
			results, err := tntsql.ExecBatch(t.Context(), db,
				tntsql.Query{SQL: insert, Args: []any{1, 3.0, 3.0, 3.0}},
				tntsql.Query{SQL: insert, Args: []any{2, 3.0, 3, 3}},
				tntsql.Query{SQL: "INSERT INTO " + name + " VALUES (:id, :d, :d, :d)", Args: []any{sql.Named("d", kelvin(-4)), sql.Named("id", 3)}},
				tntsql.Query{SQL: "SELECT D, N, X FROM " + name + " WHERE ID > 0 ORDER BY ID"},
			)
			require.NoError(t, err)
			assert.Equal(t, [][]any{{3.0, 3.0, 3.0}, {3.0, int64(3), int64(3)}, {-4.0, -4.0, -4.0}}, results[3].Rows)
			var d, n, x any
			require.NoError(t, db.QueryRowContext(withMode(t, tntsql.ModeRW), "SELECT D, N, X FROM "+name+" WHERE ID = 1").Scan(&d, &n, &x))
			assert.Equal(t, []any{3.0, 3.0, 3.0}, []any{d, n, x})
		})
	}
}

func TestBytesInABatchStayBytesOrAreRefused(t *testing.T) {
	rs := sharedSet(t)
	name := table(t, rs, "ID INTEGER PRIMARY KEY, V VARBINARY, X SCALAR")
	db := open(t)
	insert := tntsql.Query{SQL: "INSERT INTO " + name + " VALUES (?, ?, ?)", Args: []any{1, []byte{0, 255}, []byte("x")}}
	results, err := tntsql.ExecBatch(t.Context(), db, tntsql.Query{SQL: "SELECT 1"}, insert,
		tntsql.Query{SQL: "SELECT V, X FROM " + name + " WHERE ID = :id", Args: []any{sql.Named("id", 1)}})
	if !rs.AtLeast(2, 10, 0) {
		require.ErrorIs(t, err, tntsql.ErrBatchUnsupported)
		for _, part := range []string{"query 1 of the batch: parameter 2: bytes", "2.10", rs.Version()[:5]} {
			assert.ErrorContains(t, err, part)
		}
		assert.Equal(t, ids(), storedIDs(t, rs, name))
		return
	}
	require.NoError(t, err)
	assert.Equal(t, [][]any{{[]byte{0, 255}, []byte("x")}}, results[2].Rows)
}

// With this option of 3.x Lua gets a string where bytes are sent.
func TestBytesInABatchStayBytesWhateverTheServersCompatibility(t *testing.T) {
	if rs := sharedSet(t); !rs.AtLeast(3, 0, 0) {
		t.Skipf("Tarantool %s has no compat option binary_data_decoding", rs.Version())
	}
	rs := ownSet(t, 1)
	lua(t, rs, 0, "require('compat').binary_data_decoding = 'old'")
	db, _ := openDSN(t, rs.DSN())
	before := evals(t, rs)
	results, err := tntsql.ExecBatch(t.Context(), db,
		tntsql.Query{SQL: "SELECT TYPEOF(?), ?, ?", Args: []any{[]byte("a"), []byte("b"), "c"}},
		tntsql.Query{SQL: "SELECT :v, :w", Args: []any{sql.Named("v", []byte("d")), sql.Named("w", "e")}})
	require.NoError(t, err)
	assert.Equal(t, [][]any{{"varbinary", []byte("b"), "c"}}, results[0].Rows)
	assert.Equal(t, [][]any{{[]byte("d"), "e"}}, results[1].Rows)
	assert.Equal(t, before+1, evals(t, rs))
}

func TestBatchRefusesWhatOnlyNewerServersTake(t *testing.T) {
	rs := sharedSet(t)
	if rs.AtLeast(2, 10, 0) {
		t.Skipf("Tarantool %s takes all of it", rs.Version())
	}
	db := open(t, quiet)
	connectAll(t, rs, db)
	for v, sqlType := range map[any]string{
		&[]int{1}:               "[]int as ARRAY",
		&map[string]any{"a": 1}: "map[string]interface {} as MAP",
		time.Unix(0, 0):         "time.Time as DATETIME",
		big.NewInt(1):           "*big.Int as DECIMAL",
		uuid{1}:                 "tntsql_test.uuid as UUID",
	} {
		requireRequests(t, rs, 0, func() {
			_, err := tntsql.ExecBatch(t.Context(), db, tntsql.Query{SQL: "SELECT 1"}, tntsql.Query{SQL: "SELECT :v", Args: []any{sql.Named("v", v)}})
			var failed *tntsql.BatchError
			require.ErrorAs(t, err, &failed)
			assert.Equal(t, 1, failed.Index)
			assert.ErrorContains(t, err, "parameter :v: "+sqlType+" needs Tarantool 2.10.0 or later")
		})
	}
}

// Lua would change what is in an array or a map: such a batch is no EVAL.
func TestBatchOfDocumentsGoesInAStream(t *testing.T) {
	rs := sharedSet(t)
	needStreams(t, rs)
	name := table(t, rs, "ID INTEGER PRIMARY KEY, A ARRAY, M MAP")
	db := open(t)
	before := evals(t, rs)
	results, err := tntsql.ExecBatch(t.Context(), db,
		tntsql.Query{SQL: "INSERT INTO " + name + " VALUES (1, :a, :m)", Args: []any{
			sql.Named("a", []any{3.0, []byte("x"), uint64(math.MaxUint64)}), sql.Named("m", map[string]any{"a": 3.0})}},
		tntsql.Query{SQL: "SELECT A, M FROM " + name + " WHERE ID = 1"})
	require.NoError(t, err)
	assert.Equal(t, [][]any{{[]any{3.0, []byte("x"), uint64(math.MaxUint64)}, map[string]any{"a": 3.0}}}, results[1].Rows)
	assert.Equal(t, before, evals(t, rs))
	_, err = tntsql.ExecBatch(t.Context(), db,
		tntsql.Query{SQL: "INSERT INTO " + name + " VALUES (2, ?, NULL)", Args: []any{[]int{}}},
		tntsql.Query{SQL: "INSERT INTO " + name + " VALUES (1, NULL, NULL)"})
	requireBatchError(t, err, 1, tntsql.Query{SQL: "INSERT INTO " + name + " VALUES (1, NULL, NULL)"}, 3, "Duplicate key")
	assert.Equal(t, ids(1), storedIDs(t, rs, name))
	_, err = tntsql.ExecBatch(t.Context(), db, tntsql.Query{SQL: "SELECT 1"})
	require.NoError(t, err)
	assert.Equal(t, before+1, evals(t, rs), "other batches are EVALs as before")
}

func TestBatchIsCheckedBeforeAnythingIsSent(t *testing.T) {
	rs := sharedSet(t)
	name := batchTable(t, rs)
	db, readOnly := open(t, quiet), open(t, quiet, "read_only=true")
	connectAll(t, rs, db)
	connectAll(t, rs, readOnly)
	query := func(text string, args ...any) tntsql.Query { return tntsql.Query{SQL: text, Args: args} }
	for _, tt := range []struct {
		on   *sql.DB
		q    tntsql.Query
		is   error // nil: any
		want string
	}{
		{db, query("SELECT ?, ?", 1), nil, "the text has 2 parameters, the call 1 argument"},
		{db, query("SELECT 1", 1), nil, "the text has 0 parameters, the call 1 argument"},
		{db, query("SELECT :a", sql.Named("b", 1)), nil, "parameter :a has no argument"},
		{db, query("SELECT ?", sql.Named("a", 1)), nil, "named arguments need :name"},
		{db, query("SELECT ?, :a", 1, 2), nil, "mixes kinds of parameters"},
		{db, query("SELECT ?", sql.Out{Dest: new(int)}), nil, "output parameters are not supported"},
		{db, query("SELECT ?", make(chan int)), nil, "parameter 1: unsupported type chan int"},
		{db, query("SELECT ?, ?", 1, panics{}), nil, "parameter 2: panic"},
		{db, query("SELECT ?", fails{}), errNoValue, "parameter 1: no value"},
		{db, query("SELECT ?", map[string]any{}), nil, "parameter 1: "},
		{db, query("START TRANSACTION"), tntsql.ErrSessionStatement, "START: a batch"},
		{db, query("commit"), tntsql.ErrSessionStatement, "COMMIT: a batch"},
		{db, query("ROLLBACK"), tntsql.ErrSessionStatement, "ROLLBACK: a batch"},
		{db, query("SAVEPOINT a"), tntsql.ErrSessionStatement, "SAVEPOINT: a batch"},
		{db, query("ROLLBACK TO a"), tntsql.ErrSessionStatement, "a batch is one transaction"},
		{db, query("RELEASE a"), tntsql.ErrSessionStatement, "RELEASE: a batch"},
		{db, query(`SET SESSION "sql_seq_scan" = true`), tntsql.ErrSessionStatement, "session.NAME"},
		{db, query(`UPDATE "_session_settings" SET "value" = true`), tntsql.ErrSessionStatement, "session.NAME"},
		{readOnly, query("DELETE FROM " + name), tntsql.ErrReadOnlyHandle, "DELETE; read_only in its DSN"},
		{readOnly, query("what is this"), tntsql.ErrReadOnlyHandle, "not known to read only"},
	} {
		t.Run(tt.q.SQL, func(t *testing.T) {
			first := query("INSERT INTO " + name + " VALUES (3, 30)")
			if tt.on == readOnly {
				first = query("SELECT 1")
			}
			requireRequests(t, rs, 0, func() {
				results, err := tntsql.ExecBatch(t.Context(), tt.on, first, tt.q, query("SELECT 1"))
				assert.Nil(t, results)
				var failed *tntsql.BatchError
				require.ErrorAs(t, err, &failed)
				assert.Equal(t, 1, failed.Index)
				assert.Equal(t, tt.q.SQL, failed.Query.SQL)
				assert.ErrorContains(t, err, "tntsql: query 1 of the batch: ")
				assert.ErrorContains(t, err, tt.want)
				assert.Equal(t, 1, strings.Count(err.Error(), "tntsql: "), err)
				if tt.is != nil {
					assert.ErrorIs(t, err, tt.is)
				}
			})
		})
	}
	assert.Equal(t, ids(1, 2), storedIDs(t, rs, name))
}
