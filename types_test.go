package tntsql_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tntsql/tntsql"
)

// sqlTypes are the types of columns, with values that go in and come out.
var sqlTypes = []struct {
	name   string
	newer  bool // it came with 2.10
	values []inOut
}{
	{"INTEGER", false, []inOut{{int64(math.MinInt64), int64(math.MinInt64)}, {0, int64(0)}, {uint64(math.MaxUint64), uint64(math.MaxUint64)}}},
	{"UNSIGNED", false, []inOut{{0, int64(0)}, {uint64(math.MaxUint64), uint64(math.MaxUint64)}}},
	{"DOUBLE", false, []inOut{{3.0, 3.0}, {-1.5e-300, -1.5e-300}, {7, 7.0}}},
	{"NUMBER", false, []inOut{{7, int64(7)}, {7.0, 7.0}, {-2.5, -2.5}}},
	{"NUMBER", true, []inOut{{tntsql.Decimal("7.00"), "7.00"}}},
	{"STRING", false, []inOut{{"", ""}, {"grün\x00\xff", "grün\x00\xff"}}},
	{"TEXT", false, []inOut{{"text", "text"}}},
	{"VARCHAR(3)", false, []inOut{{"longer", "longer"}}}, // the server does not look at the number
	{"VARBINARY", false, []inOut{{[]byte{}, []byte{}}, {[]byte{0, 255}, []byte{0, 255}}}},
	{"BOOLEAN", false, []inOut{{true, true}, {false, false}}},
	{"SCALAR", false, []inOut{{-7, int64(-7)}, {7.0, 7.0}, {"s", "s"}, {[]byte("b"), []byte("b")}, {true, true}}},
	{"SCALAR", true, []inOut{{tntsql.Decimal("1.5"), "1.5"}, {tntsql.UUID{1}, "01000000-0000-0000-0000-000000000000"}, {someTime, someTime}}},
	{"DECIMAL", true, []inOut{{tntsql.Decimal("-1.50"), "-1.50"}, {7, "7"}}},
	{"UUID", true, []inOut{{tntsql.UUID{1, 15: 2}, "01000000-0000-0000-0000-000000000002"}}},
	{"DATETIME", true, []inOut{{someTime, someTime}}},
	{"INTERVAL", true, []inOut{{tntsql.Interval{Year: 1, Nsec: -2}, tntsql.Interval{Year: 1, Nsec: -2}}}},
	{"ARRAY", true, []inOut{{[]any{}, []any{}}, {[]any{1, 2.0, "x", nil, []byte{1}}, []any{int64(1), 2.0, "x", nil, []byte{1}}}}},
	{"MAP", true, []inOut{{map[string]any{}, map[string]any{}}, {map[string]any{"a": map[string]int{"b": 1}}, map[string]any{"a": map[string]any{"b": int64(1)}}}, {map[int]string{1: "x"}, map[any]any{int64(1): "x"}}}},
	{"ANY", true, []inOut{{7, int64(7)}, {7.5, 7.5}, {"s", "s"}, {[]byte("b"), []byte("b")}, {[]int{1}, []any{int64(1)}}, {map[string]int{"a": 1}, map[string]any{"a": int64(1)}}, {someTime, someTime}, {tntsql.UUID{}, "00000000-0000-0000-0000-000000000000"}}},
}

var someTime = time.Date(2024, 2, 29, 12, 30, 45, 123456789, time.UTC)

// path is a way of a statement to the server.
type path struct {
	name  string
	exec  func(ctx context.Context, text string, args ...any) error
	query func(ctx context.Context, text string, args ...any) (any, error)
}

type preparer interface {
	tntsql.Execer
	queryer
	PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
}

func direct(name string, on preparer) path {
	return path{name,
		func(ctx context.Context, text string, args ...any) error {
			_, err := on.ExecContext(ctx, text, args...)
			return err
		},
		func(ctx context.Context, text string, args ...any) (v any, err error) {
			err = on.QueryRowContext(ctx, text, args...).Scan(&v)
			return v, err
		},
	}
}

func prepared(name string, on preparer) path {
	return path{name,
		func(ctx context.Context, text string, args ...any) error {
			stmt, err := on.PrepareContext(ctx, text)
			if err != nil {
				return err
			}
			_, err = stmt.ExecContext(ctx, args...)
			return errors.Join(err, stmt.Close())
		},
		func(ctx context.Context, text string, args ...any) (v any, err error) {
			stmt, err := on.PrepareContext(ctx, text)
			if err != nil {
				return nil, err
			}
			err = stmt.QueryRowContext(ctx, args...).Scan(&v)
			return v, errors.Join(err, stmt.Close())
		},
	}
}

// byID is direct, with queries repeated until one goes by the id of a prepared statement.
func byID(name string, db *sql.DB, connector *tntsql.Connector) path {
	way := direct(name, db)
	byText := way.query
	way.query = func(ctx context.Context, text string, args ...any) (any, error) {
		for deadline := time.Now().Add(10 * time.Second); ; {
			before := connector.Stats().ByID
			v, err := byText(ctx, text, args...)
			switch {
			case err != nil || connector.Stats().ByID > before:
				return v, err
			case time.Now().After(deadline):
				return nil, errors.New("none went by id")
			}
		}
	}
	return way
}

func batched(name string, on tntsql.Execer) path {
	return path{name,
		func(ctx context.Context, text string, args ...any) error {
			_, err := tntsql.ExecBatch(ctx, on, tntsql.Query{SQL: text, Args: args})
			return err
		},
		func(ctx context.Context, text string, args ...any) (any, error) {
			results, err := tntsql.ExecBatch(ctx, on, tntsql.Query{SQL: text, Args: args})
			if err != nil {
				return nil, err
			}
			return results[0].Rows[0][0], nil
		},
	}
}

// inserts are the kinds of parameters, each with the arguments of an INSERT.
var inserts = map[string]struct {
	values string
	args   func(id int, v any) []any
}{
	"?":     {"(?, ?)", func(id int, v any) []any { return []any{id, v} }},
	"$1":    {"($2, $1)", func(id int, v any) []any { return []any{v, id} }},
	":name": {"(:id, :v)", func(id int, v any) []any { return []any{sql.Named("v", v), sql.Named("id", id)} }},
	"@name": {"(@id, @v)", func(id int, v any) []any { return []any{sql.Named("id", id), sql.Named("v", v)} }},
}

func TestEveryTypeGoesInAndComesOutByEveryPath(t *testing.T) {
	rs := sharedSet(t)
	db := open(t, "read_mode=rw", "stmt_cache=0")
	cached, connector := openDSN(t, rs.DSN("read_mode=rw"))
	conn, err := db.Conn(t.Context())
	require.NoError(t, err)
	defer conn.Close()
	for _, typ := range sqlTypes {
		if typ.newer && !rs.AtLeast(2, 10, 0) {
			continue // TestParametersOfEveryGoType shows that they are refused
		}
		t.Run(typ.name, func(t *testing.T) {
			columns := "ID INTEGER PRIMARY KEY, C " + typ.name
			requireThereAndBack(t, table(t, rs, columns), typ.values,
				direct("DB", db), prepared("Stmt", db), byID("DB, by id", cached, connector), direct("Conn", conn), batched("ExecBatch", db))
			if rs.AtLeast(2, 10, 0) {
				name := table(t, rs, columns)
				tx := beginTx(t, db, nil)
				requireThereAndBack(t, name, typ.values, direct("Tx", tx), prepared("Stmt of a Tx", tx), batched("ExecBatch in a Tx", tx))
				require.NoError(t, tx.Commit())
			}
		})
	}
}

// requireThereAndBack sends values, and NULL, into the table by each path and each kind of
// parameters, and sees that each path gives the same value.
func requireThereAndBack(t *testing.T, table string, values []inOut, paths ...path) {
	t.Helper()
	id := 0
	for _, v := range append([]inOut{{nil, nil}}, values...) {
		for _, in := range paths {
			for kind, insert := range inserts {
				what := fmt.Sprintf("%T(%[1]v) as %s by %s", v.in, kind, in.name)
				id++
				err := in.exec(t.Context(), "INSERT INTO "+table+" VALUES "+insert.values, insert.args(id, v.in)...)
				if !canGo(sharedSet(t).AtLeast(2, 10, 0), in.name, kind, v) {
					require.Error(t, err, what)
					continue
				}
				require.NoError(t, err, what)
				for _, out := range paths {
					got, err := out.query(t.Context(), "SELECT C FROM "+table+" WHERE ID = ?", id)
					require.NoError(t, err, "%s, out by %s", what, out.name)
					require.Equal(t, v.out, got, "%s, out by %s", what, out.name)
				}
			}
		}
	}
}

// canGo is false for the combinations that are refused: a map needs a name, and a batch
// on 2.6 goes through Lua, which would make a string of bytes.
func canGo(newer bool, way, kind string, v inOut) bool {
	switch v.out.(type) {
	case map[string]any, map[any]any:
		return kind == ":name" || kind == "@name"
	case []byte:
		return newer || way != "ExecBatch"
	}
	return true
}

// A row holds what it holds, whatever the metadata of its column say.
func TestValuesComeOutAsWhatTheRowHolds(t *testing.T) {
	db := open(t)
	expressions := map[string]any{
		"1":                       int64(1),
		"9223372036854775807":     int64(math.MaxInt64),
		"9223372036854775808":     uint64(1 << 63),
		"CAST(1.5 AS DOUBLE)":     1.5,
		"1e3":                     1000.0,
		"'grün'":                  "grün",
		"x'00ff'":                 []byte{0, 255},
		"1 > 2":                   false,
		"NULL":                    nil,
		"'a' LIKE 'a'":            true,
		"CAST(NULL AS INTEGER)":   nil,
		"CAST(2 AS DOUBLE)":       2.0,
		"CAST('3' AS UNSIGNED)":   int64(3),
		"CAST(x'414243' AS TEXT)": "ABC",
	}
	if sharedSet(t).AtLeast(2, 10, 0) {
		expressions["1.50"] = "1.50"
		expressions["12345678901234567890.123456789"] = "12345678901234567890.123456789"
		expressions["CAST('6ba7b810-9dad-11d1-80b4-00c04fd430c8' AS UUID)"] = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"
		expressions["[1, 'a', NULL]"] = []any{int64(1), "a", nil}
		expressions["{'a': 1, 'b': [true]}"] = map[string]any{"a": int64(1), "b": []any{true}}
		expressions["{1: 'a', 'b': 2}"] = map[any]any{int64(1): "a", "b": int64(2)}
	}
	for expression, want := range expressions {
		t.Run(expression, func(t *testing.T) {
			assert.Equal(t, want, value[any](t, db, "SELECT "+expression))
		})
	}
}
