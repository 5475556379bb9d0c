package tntsql_test

import (
	"context"
	"database/sql"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tntsql/tntsql"
)

// columnTypes are those of a query's result, and its rows.
func columnTypes(t testing.TB, db *sql.DB, query string) ([]*sql.ColumnType, [][]any) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	require.NoError(t, err, query)
	defer rows.Close()
	types, err := rows.ColumnTypes()
	require.NoError(t, err, query)
	var values [][]any
	for rows.Next() {
		row, dst := make([]any, len(types)), make([]any, len(types))
		for i := range row {
			dst[i] = &row[i]
		}
		require.NoError(t, rows.Scan(dst...), query)
		values = append(values, row)
	}
	require.NoError(t, rows.Err(), query)
	return types, values
}

// described are types of columns as the driver describes them.
var described = []struct {
	newer    bool // it came with 2.10
	declared string
	name     string
	scan     reflect.Type
	length   int64
}{
	{false, "INTEGER", "INTEGER", reflect.TypeFor[sql.Null[int64]](), 0},
	{false, "UNSIGNED", "UNSIGNED", reflect.TypeFor[sql.Null[uint64]](), 0},
	{false, "DOUBLE", "DOUBLE", reflect.TypeFor[sql.Null[float64]](), 0},
	{false, "NUMBER", "NUMBER", reflect.TypeFor[any](), 0},
	{false, "STRING", "STRING", reflect.TypeFor[sql.Null[string]](), math.MaxInt64},
	{false, "TEXT", "STRING", reflect.TypeFor[sql.Null[string]](), math.MaxInt64},
	{false, "VARCHAR(10)", "STRING", reflect.TypeFor[sql.Null[string]](), math.MaxInt64},
	{false, "BOOLEAN", "BOOLEAN", reflect.TypeFor[sql.Null[bool]](), 0},
	{false, "VARBINARY", "VARBINARY", reflect.TypeFor[[]byte](), math.MaxInt64},
	{false, "SCALAR", "SCALAR", reflect.TypeFor[any](), 0},
	{true, "DECIMAL", "DECIMAL", reflect.TypeFor[sql.Null[string]](), 0},
	{true, "UUID", "UUID", reflect.TypeFor[sql.Null[string]](), 0},
	{true, "DATETIME", "DATETIME", reflect.TypeFor[sql.Null[time.Time]](), 0},
	{true, "INTERVAL", "INTERVAL", reflect.TypeFor[sql.Null[tntsql.Interval]](), 0},
	{true, "ARRAY", "ARRAY", reflect.TypeFor[any](), 0},
	{true, "MAP", "MAP", reflect.TypeFor[any](), 0},
	{true, "ANY", "ANY", reflect.TypeFor[any](), 0},
}

func TestColumnTypes(t *testing.T) {
	rs := sharedSet(t)
	plain, full := open(t, "read_mode=rw", "seq_scan=true"), open(t, "read_mode=rw", "seq_scan=true", "full_metadata=true")
	for _, want := range described {
		if want.newer && !rs.AtLeast(2, 10, 0) {
			continue
		}
		t.Run(want.declared, func(t *testing.T) {
			name := table(t, rs, "ID INTEGER PRIMARY KEY, C "+want.declared+", R "+want.declared+" NOT NULL")
			for db, known := range map[*sql.DB]bool{plain: false, full: true} {
				types, _ := columnTypes(t, db, "SELECT C, R FROM "+name)
				for i, column := range types {
					assert.Equal(t, []string{"c", "r"}[i], column.Name())
					assert.Equal(t, want.name, column.DatabaseTypeName())
					assert.Equal(t, want.scan, column.ScanType())
					nullable, ok := column.Nullable()
					assert.Equal(t, known, ok, "nullability is known")
					assert.Equal(t, known && i == 0, nullable)
					length, ok := column.Length()
					assert.Equal(t, want.length, length)
					assert.Equal(t, want.length != 0, ok)
					_, _, ok = column.DecimalSize()
					assert.False(t, ok, "the server has no precision and scale for a column")
				}
			}
		})
	}
}

// What ScanType names must receive every value of the column, NULL too.
func TestScanTypesReceiveTheValuesOfTheirColumns(t *testing.T) {
	rs := sharedSet(t)
	db := open(t, "read_mode=rw", "seq_scan=true")
	for _, typ := range sqlTypes {
		if typ.newer && !rs.AtLeast(2, 10, 0) {
			continue
		}
		t.Run(typ.name, func(t *testing.T) {
			name := table(t, rs, "ID INTEGER PRIMARY KEY, C "+typ.name)
			mustExec(t, db, "INSERT INTO "+name+" VALUES (0, NULL)")
			for i, v := range typ.values {
				mustExec(t, db, "INSERT INTO "+name+" VALUES (:id, :v)", sql.Named("id", i+1), sql.Named("v", v.in))
			}
			rows, err := db.QueryContext(t.Context(), "SELECT C FROM "+name+" ORDER BY ID")
			require.NoError(t, err)
			defer rows.Close()
			types, err := rows.ColumnTypes()
			require.NoError(t, err)
			for n := 0; rows.Next(); n++ {
				dst := reflect.New(types[0].ScanType())
				require.NoError(t, rows.Scan(dst.Interface()), "row %d", n)
				assert.Equal(t, n == 0, dst.Elem().IsZero(), "row %d: %v", n, dst.Elem())
			}
			require.NoError(t, rows.Err())
		})
	}
}

func TestNamesOfColumnsAreTheCallersToChange(t *testing.T) {
	db := open(t)
	for range 3 {
		rows, err := db.QueryContext(t.Context(), `SELECT 1 AS "a"`)
		require.NoError(t, err)
		names, err := rows.Columns()
		require.NoError(t, err)
		assert.Equal(t, []string{"a"}, names)
		names[0] = "changed"
		require.NoError(t, rows.Close())
	}
}

func TestColumnCase(t *testing.T) {
	const query = `SELECT 1 AS "UPPER", 2 AS "Mixed", 3 AS "lower", 4 AS "ÄÖ_1", 5`
	for params, want := range map[string][]string{
		"":                                     {"upper", "Mixed", "lower", "äö_1", "column_1"},
		"column_case=lower":                    {"upper", "Mixed", "lower", "äö_1", "column_1"},
		"column_case=preserve":                 {"UPPER", "Mixed", "lower", "ÄÖ_1", "COLUMN_1"},
		"column_case=lower&full_metadata=true": {"upper", "Mixed", "lower", "äö_1", "column_1"},
		"column_case=preserve&full_metadata=true": {"UPPER", "Mixed", "lower", "ÄÖ_1", "COLUMN_1"},
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

// With full_metadata a server leaves out what would repeat the name, so that its metadata
// have a nil in the place of a text: for SELECT *, VALUES, EXPLAIN and views.
func TestFullMetadataOfEveryStatement(t *testing.T) {
	rs := sharedSet(t)
	plain, full := open(t, "read_mode=rw", "seq_scan=true"), open(t, "read_mode=rw", "seq_scan=true", "full_metadata=true")
	name := table(t, rs, `ID INTEGER PRIMARY KEY AUTOINCREMENT, N UNSIGNED NOT NULL, S STRING COLLATE "unicode_ci", V VARBINARY`)
	mustExec(t, full, "INSERT INTO "+name+" VALUES (NULL, 1, 'a', x'00'), (NULL, 2, NULL, NULL)")
	mustExec(t, full, "CREATE VIEW V"+name+" AS SELECT ID, N AS M, S || 'x' AS SX FROM "+name)
	t.Cleanup(func() { lua(t, rs, 0, "box.execute(...)", "DROP VIEW V"+name) })

	for query, nullable := range map[string]string{ // of each column: yes, no, or not known
		"SELECT * FROM T":                                                      "nnyy",
		"SELECT S, ID FROM T":                                                  "yn",
		"SELECT S AS X, T.N AS Y FROM T":                                       "yn",
		"SELECT N + 1, S || 'x', COUNT(*) FROM T GROUP BY N":                   "???",
		"SELECT MAX(ID), TYPEOF(S), CAST(N AS STRING) FROM T":                  "???",
		"SELECT (SELECT N FROM T WHERE ID = 1), A FROM (SELECT S AS A FROM T)": "?y",
		"SELECT L.ID, R.S FROM T AS L JOIN T AS R ON L.ID = R.ID":              "ny",
		"SELECT L.ID, R.N FROM T AS L LEFT JOIN T AS R ON L.ID = R.ID + 10":    "nn",
		"SELECT ID FROM T UNION SELECT N FROM T":                               "n",
		"WITH C AS (SELECT N FROM T) SELECT * FROM C":                          "n",
		"SELECT * FROM VT":                                                     "nn?",
		"SELECT 1, NULL, 'a' AS B, 1 AS C":                                     "????",
		"VALUES (1, 'a'), (NULL, 'b')":                                         "??",
		"EXPLAIN SELECT * FROM T":                                              "????????",
		"EXPLAIN QUERY PLAN SELECT * FROM T":                                   "????",
		"PRAGMA TABLE_INFO(T)":                                                 "??????",
		"PRAGMA COLLATION_LIST":                                                "??",
	} {
		t.Run(query, func(t *testing.T) {
			query = strings.NewReplacer("FROM T", "FROM "+name, "JOIN T", "JOIN "+name, "VT", "V"+name, "(T)", "("+name+")", " T.N", " "+name+".N").Replace(query)
			types, rows := columnTypes(t, full, query)
			known := ""
			for _, column := range types {
				switch nullable, ok := column.Nullable(); {
				case !ok:
					known += "?"
				case nullable:
					known += "y"
				default:
					known += "n"
				}
			}
			assert.Equal(t, nullable, known)
			plainTypes, plainRows := columnTypes(t, plain, query)
			assert.Equal(t, plainRows, rows)
			require.Len(t, types, len(plainTypes))
			for i, column := range plainTypes {
				assert.Equal(t, column.Name(), types[i].Name())
				assert.Equal(t, column.DatabaseTypeName(), types[i].DatabaseTypeName())
				assert.Equal(t, column.ScanType(), types[i].ScanType())
			}
		})
	}
}

func TestFullMetadataByEveryPath(t *testing.T) {
	rs := sharedSet(t)
	db := open(t, "read_mode=rw", "full_metadata=true")
	name := table(t, rs, "ID INTEGER PRIMARY KEY, C STRING")
	conn, err := db.Conn(t.Context())
	require.NoError(t, err)
	defer conn.Close()
	requireThereAndBack(t, name, []inOut{{"text", "text"}}, direct("DB", db), prepared("Stmt", db), direct("Conn", conn), batched("ExecBatch", db))
	if rs.AtLeast(2, 10, 0) {
		name := table(t, rs, "ID INTEGER PRIMARY KEY, C STRING")
		tx := beginTx(t, db, nil)
		requireThereAndBack(t, name, []inOut{{"text", "text"}}, direct("Tx", tx), prepared("Stmt of a Tx", tx), batched("ExecBatch in a Tx", tx))
		require.NoError(t, tx.Commit())
	}
}

// What the server says of a column may be true of some of its values only.
func TestScanTypesReceiveWhatTheRowsHold(t *testing.T) {
	rs := sharedSet(t)
	db := open(t, "read_mode=rw", "seq_scan=true")
	name := table(t, rs, "ID INTEGER PRIMARY KEY, C STRING DEFAULT 'x', U UNSIGNED")
	mustExec(t, db, "INSERT INTO "+name+" VALUES (1, 'a', ?), (2, NULL, 1)", uint64(math.MaxUint64))
	for _, query := range []string{
		"EXPLAIN SELECT * FROM T", "EXPLAIN QUERY PLAN SELECT * FROM T", "PRAGMA TABLE_INFO(T)",
		"VALUES (1, 'a', NULL, 1), (2, NULL, 1, 'x')", "SELECT ID FROM T UNION SELECT C FROM T",
		"SELECT MAX(U), U + 0, ~1, C LIKE 'a', COUNT(*) FROM T WHERE ID = 1", "SELECT U FROM T",
	} {
		t.Run(query, func(t *testing.T) {
			rows, err := db.QueryContext(t.Context(), strings.NewReplacer("FROM T", "FROM "+name, "(T)", "("+name+")").Replace(query))
			require.NoError(t, err)
			defer rows.Close()
			before, err := rows.ColumnTypes()
			require.NoError(t, err)
			for rows.Next() {
				types, err := rows.ColumnTypes()
				require.NoError(t, err)
				dst := make([]any, len(types))
				for i, column := range types {
					assert.Equal(t, before[i].ScanType(), column.ScanType())
					dst[i] = reflect.New(column.ScanType()).Interface()
				}
				require.NoError(t, rows.Scan(dst...))
			}
			require.NoError(t, rows.Err())
		})
	}
	types, _ := columnTypes(t, db, "SELECT ID, U, U + 1 FROM "+name+" WHERE ID = 2")
	for i, want := range []reflect.Type{reflect.TypeFor[sql.Null[int64]](), reflect.TypeFor[sql.Null[uint64]](), reflect.TypeFor[sql.Null[int64]]()} {
		assert.Equal(t, want, types[i].ScanType(), "values that fit")
	}
}

func TestCaptureTellsOfAutoincrement(t *testing.T) {
	rs := sharedSet(t)
	name := table(t, rs, "ID INTEGER PRIMARY KEY AUTOINCREMENT, N INTEGER")
	for params, want := range map[string][]bool{"": nil, "full_metadata=true": {false, true, false}} {
		db := open(t, "read_mode=rw", "seq_scan=true", params)
		for query, want := range map[string][]bool{"SELECT N, ID, ID + 1 FROM " + name: want, "INSERT INTO " + name + " (N) VALUES (1)": nil} {
			ctx, info := tntsql.Capture(t.Context())
			rows, err := db.QueryContext(ctx, query)
			require.NoError(t, err)
			require.NoError(t, rows.Close())
			assert.Equal(t, want, info.Autoincrement, query)
		}
	}
}

func TestGeneratedIDsByEveryPath(t *testing.T) {
	rs := sharedSet(t)
	db := open(t)
	name := table(t, rs, "ID INTEGER PRIMARY KEY AUTOINCREMENT, N INTEGER")
	insert := "INSERT INTO " + name + " (N) VALUES (1), (2), (3)"
	stmt, err := db.PrepareContext(t.Context(), insert)
	require.NoError(t, err)
	defer stmt.Close()
	ways := []func(ctx context.Context) (sql.Result, error){
		func(ctx context.Context) (sql.Result, error) { return db.ExecContext(ctx, insert) },
		func(ctx context.Context) (sql.Result, error) { return stmt.ExecContext(ctx) },
	}
	if rs.AtLeast(2, 10, 0) {
		tx := beginTx(t, db, nil)
		defer func() { require.NoError(t, tx.Commit()) }()
		ways = append(ways, func(ctx context.Context) (sql.Result, error) { return tx.ExecContext(ctx, insert) })
	}
	for i, way := range ways {
		ctx, info := tntsql.Capture(t.Context())
		result, err := way(ctx)
		require.NoError(t, err)
		first, err := result.LastInsertId()
		require.NoError(t, err)
		assert.EqualValues(t, 3*i+1, first)
		assert.Equal(t, []int64{first, first + 1, first + 2}, info.GeneratedIDs)
	}
}
