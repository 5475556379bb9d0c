package tntsql_test

import (
	"database/sql"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // zones on hosts that have none

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

func TestColumnTypes(t *testing.T) {
	rs := sharedSet(t)
	db := open(t, "read_mode=rw")
	name := table(t, rs, `ID INTEGER PRIMARY KEY, U UNSIGNED, D DOUBLE, N NUMBER, S STRING, B BOOLEAN, V VARBINARY, X SCALAR`)
	rows, err := db.QueryContext(t.Context(), "SELECT ID, U, D, N, S, B, V, X FROM "+name+" WHERE ID = 1")
	require.NoError(t, err)
	defer rows.Close()
	types, err := rows.ColumnTypes()
	require.NoError(t, err)

	want := []struct {
		name, sqlType string
		scan          reflect.Type
	}{
		{"id", "INTEGER", reflect.TypeFor[sql.Null[int64]]()},
		{"u", "UNSIGNED", reflect.TypeFor[sql.Null[uint64]]()},
		{"d", "DOUBLE", reflect.TypeFor[sql.Null[float64]]()},
		{"n", "NUMBER", reflect.TypeFor[any]()},
		{"s", "STRING", reflect.TypeFor[sql.Null[string]]()},
		{"b", "BOOLEAN", reflect.TypeFor[sql.Null[bool]]()},
		{"v", "VARBINARY", reflect.TypeFor[[]byte]()},
		{"x", "SCALAR", reflect.TypeFor[any]()},
	}
	require.Len(t, types, len(want))
	for i, w := range want {
		assert.Equal(t, w.name, types[i].Name())
		assert.Equal(t, w.sqlType, types[i].DatabaseTypeName(), w.name)
		assert.Equal(t, w.scan, types[i].ScanType(), w.name)
		_, known := types[i].Nullable()
		assert.False(t, known, "nullability of %s", w.name)
		_, known = types[i].Length()
		assert.False(t, known, "length of %s", w.name)
		_, _, known = types[i].DecimalSize()
		assert.False(t, known, "size of %s", w.name)
	}
}

func TestColumnTypesOfNewerServers(t *testing.T) {
	newTypes(t)
	db := open(t)
	rows, err := db.QueryContext(t.Context(), `SELECT 1.5, UUID(), NOW(), [1], {'a': 1}, CAST(1 AS ANY)`)
	require.NoError(t, err)
	defer rows.Close()
	types, err := rows.ColumnTypes()
	require.NoError(t, err)
	for i, want := range []struct {
		sqlType string
		scan    reflect.Type
	}{
		{"DECIMAL", reflect.TypeFor[sql.Null[string]]()},
		{"UUID", reflect.TypeFor[sql.Null[string]]()},
		{"DATETIME", reflect.TypeFor[sql.Null[time.Time]]()},
		{"ARRAY", reflect.TypeFor[any]()},
		{"MAP", reflect.TypeFor[any]()},
		{"ANY", reflect.TypeFor[any]()},
	} {
		assert.Equal(t, want.sqlType, types[i].DatabaseTypeName())
		assert.Equal(t, want.scan, types[i].ScanType(), want.sqlType)
	}
}

// What ScanType names must receive every value of the column, NULL too.
func TestScanTypesReceiveTheValuesOfTheirColumns(t *testing.T) {
	rs := sharedSet(t)
	db := open(t, "read_mode=rw", "seq_scan=true")
	name := table(t, rs, `ID INTEGER PRIMARY KEY, U UNSIGNED, D DOUBLE, N NUMBER, S STRING, B BOOLEAN, V VARBINARY, X SCALAR`)
	insert := "INSERT INTO " + name + " VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
	mustExec(t, db, insert, 1, nil, nil, nil, nil, nil, nil, nil)
	mustExec(t, db, insert, -2, uint64(math.MaxUint64), 1.5, 7, "text", true, []byte{0, 255}, "scalar")
	mustExec(t, db, insert, 3, 0, -1.0, 7.25, "", false, []byte{}, []byte("x"))

	rows, err := db.QueryContext(t.Context(), "SELECT * FROM "+name+" ORDER BY ID")
	require.NoError(t, err)
	defer rows.Close()
	types, err := rows.ColumnTypes()
	require.NoError(t, err)
	var got []any
	for rows.Next() {
		row := make([]any, len(types))
		for i, column := range types {
			row[i] = reflect.New(column.ScanType()).Interface()
		}
		require.NoError(t, rows.Scan(row...))
		got = append(got, *row[1].(*sql.Null[uint64]), *row[3].(*any), *row[6].(*[]byte), *row[7].(*any))
	}
	require.NoError(t, rows.Err())
	assert.Equal(t, []any{
		sql.Null[uint64]{V: math.MaxUint64, Valid: true}, int64(7), []byte{0, 255}, "scalar",
		sql.Null[uint64]{}, nil, []byte(nil), nil,
		sql.Null[uint64]{V: 0, Valid: true}, 7.25, []byte{}, []byte("x"),
	}, got)
}

func TestColumnCase(t *testing.T) {
	const query = `SELECT 1 AS "UPPER", 2 AS "Mixed", 3 AS "lower", 4 AS "ÄÖ_1", 5`
	for params, want := range map[string][]string{
		"":                     {"upper", "Mixed", "lower", "äö_1", "column_1"},
		"column_case=lower":    {"upper", "Mixed", "lower", "äö_1", "column_1"},
		"column_case=preserve": {"UPPER", "Mixed", "lower", "ÄÖ_1", "COLUMN_1"},
	} {
		t.Run(params, func(t *testing.T) {
			rows, err := open(t, params).QueryContext(t.Context(), query)
			require.NoError(t, err)
			defer rows.Close()
			columns, err := rows.Columns()
			require.NoError(t, err)
			assert.Equal(t, want, columns)
		})
	}
}

func TestValuesComeOutAsWhatTheRowHolds(t *testing.T) {
	db := open(t)
	for expression, want := range map[string]any{
		"1":                       int64(1),
		"-9223372036854775808":    int64(math.MinInt64),
		"9223372036854775807":     int64(math.MaxInt64),
		"9223372036854775808":     uint64(1 << 63),
		"18446744073709551615":    uint64(math.MaxUint64),
		"CAST(1.5 AS DOUBLE)":     1.5,
		"1e3":                     1000.0,
		"''":                      "",
		"'grün'":                  "grün",
		"x''":                     []byte{},
		"x'00ff'":                 []byte{0, 255},
		"true":                    true,
		"1 > 2":                   false,
		"NULL":                    nil,
		"'a' LIKE 'a'":            true,
		"CAST(NULL AS INTEGER)":   nil,
		"CAST(2 AS DOUBLE)":       2.0,
		"CAST('3' AS UNSIGNED)":   int64(3),
		"CAST(x'414243' AS TEXT)": "ABC",
	} {
		t.Run(expression, func(t *testing.T) {
			assert.Equal(t, want, value[any](t, db, "SELECT "+expression))
		})
	}
}

func TestNewTypesComeOutWithoutLoss(t *testing.T) {
	newTypes(t)
	db := open(t)
	for expression, want := range map[string]any{
		"1.50":                           "1.50",
		"-0.1":                           "-0.1",
		"12345678901234567890.123456789": "12345678901234567890.123456789",
		"CAST('6ba7b810-9dad-11d1-80b4-00c04fd430c8' AS UUID)": "6ba7b810-9dad-11d1-80b4-00c04fd430c8",
		"[1, 'a', NULL]":        []any{int64(1), "a", nil},
		"{'a': 1, 'b': [true]}": map[string]any{"a": int64(1), "b": []any{true}},
		"{1: 'a', 'b': 2}":      map[any]any{int64(1): "a", "b": int64(2)},
	} {
		t.Run(expression, func(t *testing.T) {
			assert.Equal(t, want, value[any](t, db, "SELECT "+expression))
		})
	}
}

func TestADatetimeKeepsItsZone(t *testing.T) {
	newTypes(t)
	rs := sharedSet(t)
	db := open(t, "read_mode=rw")
	name := table(t, rs, "ID INTEGER PRIMARY KEY, D DATETIME")
	berlin, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	for i, at := range []time.Time{
		time.Date(2024, 7, 1, 10, 0, 0, 123456789, time.UTC),
		time.Date(2024, 7, 1, 10, 0, 0, 0, berlin),
		time.Date(1969, 12, 31, 23, 59, 59, 5, time.FixedZone("", 5*3600+1800)),
		time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC),
	} {
		mustExec(t, db, "INSERT INTO "+name+" VALUES (?, ?)", i, at)
		got := value[time.Time](t, db, "SELECT D FROM "+name+" WHERE ID = ?", i)
		assert.True(t, at.Equal(got), "%v came out as %v", at, got)
		assert.Equal(t, at.Format(time.RFC3339Nano), got.Format(time.RFC3339Nano))
		assert.Equal(t, at.Location().String(), got.Location().String())
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

// A value handed out may be kept and appended to: it shares no memory that
// another value uses.
func TestBytesOfARowAreItsOwn(t *testing.T) {
	db := open(t)
	rows, err := db.QueryContext(t.Context(), "VALUES (x'0102', x'0304')")
	require.NoError(t, err)
	defer rows.Close()
	require.True(t, rows.Next())
	var first, second sql.RawBytes
	require.NoError(t, rows.Scan(&first, &second))
	_ = append(first, 9, 9, 9, 9)
	assert.Equal(t, sql.RawBytes{3, 4}, second)
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
