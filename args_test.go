package tntsql_test

import (
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/vmihailenco/msgpack/v5"

	"github.com/tntsql/tntsql"
)

// integers are values around the limits of each width that MessagePack has.
var integers = []int64{
	0, 1, 31, 32, 127, 128, 255, 256, 1<<15 - 1, 1 << 15, 1<<16 - 1, 1 << 16, 1<<31 - 1, 1 << 31, 1<<32 - 1, 1 << 32, 1 << 40, math.MaxInt64,
	-1, -31, -32, -33, -128, -129, -1 << 15, -1<<15 - 1, -1 << 31, -1<<31 - 1, math.MinInt64,
}

// integerTypes gives n as a value of every integer type that can hold it.
func integerTypes(n int64) []any {
	values := []any{n, time.Duration(n)}
	add := func(fits bool, v any) {
		if fits {
			values = append(values, v)
		}
	}
	add(int64(int(n)) == n, int(n))
	add(int64(int8(n)) == n, int8(n))
	add(int64(int16(n)) == n, int16(n))
	add(int64(int32(n)) == n, int32(n))
	add(n >= 0, uint64(n))
	add(n >= 0 && int64(uint(n)) == n, uint(n))
	add(int64(uint8(n)) == n, uint8(n))
	add(int64(uint16(n)) == n, uint16(n))
	add(int64(uint32(n)) == n, uint32(n))
	return values
}

// Many servers up to 3.3.1 misread a non-negative integer that is sent as a
// signed one (tarantool#10132): they give back another number, find no row, and
// refuse LIMIT.
func TestIntegersOfEveryTypeArriveAsTheyAre(t *testing.T) {
	rs := sharedSet(t)
	db := open(t, "read_mode=rw", "seq_scan=true")
	name := table(t, rs, "ID INTEGER PRIMARY KEY, S STRING")
	for _, n := range integers {
		mustExec(t, db, fmt.Sprintf("INSERT INTO %s VALUES (%d, '%[2]d')", name, n))
		for _, v := range integerTypes(n) {
			assert.Equal(t, any(n), value[any](t, db, "SELECT ?", v), "SELECT ? of %T(%[1]d)", v)
			assert.Equal(t, fmt.Sprint(n), value[string](t, db, "SELECT S FROM "+name+" WHERE ID = ?", v), "key of %T(%[1]d)", v)

			mustExec(t, db, "DELETE FROM "+name+" WHERE ID = ?", v)
			mustExec(t, db, "INSERT INTO "+name+" VALUES (?, ?)", v, fmt.Sprint(n))
			if n >= 0 {
				rows := min(n, 1)
				limited := value[int64](t, db, "SELECT COUNT(*) FROM (SELECT 1 FROM "+name+" WHERE ID = ? LIMIT ?)", v, v)
				assert.Equal(t, rows, limited, "LIMIT of %T(%[1]d)", v)
			}
		}
	}
}

func TestUnsignedIntegersKeepTheirHighBit(t *testing.T) {
	rs := sharedSet(t)
	db := open(t, "read_mode=rw")
	name := table(t, rs, "ID UNSIGNED PRIMARY KEY")
	for _, n := range []uint64{1 << 63, 1<<63 + 1, math.MaxUint64} {
		assert.Equal(t, any(n), value[any](t, db, "SELECT ?", n))
		mustExec(t, db, "INSERT INTO "+name+" VALUES (?)", n)
		assert.Equal(t, n, value[uint64](t, db, "SELECT ID FROM "+name+" WHERE ID = ?", n))
	}
}

type (
	named   string
	kelvin  float64
	celsius float64
	flag    bool
)

func (c celsius) Value() (driver.Value, error) { return float64(c) + 273.15, nil }

func TestValuesGoInAsTheirKind(t *testing.T) {
	db := open(t)
	seven, none := 7, (*int)(nil)
	for _, c := range []struct{ in, out any }{
		{nil, nil},
		{"", ""},
		{"grün\x00'", "grün\x00'"},
		{named("n"), "n"},
		{[]byte{0, 255}, []byte{0, 255}},
		{[]byte{}, []byte{}},
		{[]byte(nil), nil},
		{[4]byte{1, 2, 3, 4}, []byte{1, 2, 3, 4}},
		{json.RawMessage(`{"a":1}`), []byte(`{"a":1}`)},
		{true, true},
		{flag(false), false},
		{1.5, 1.5},
		{float32(0.25), 0.25},
		{kelvin(2), 2.0},
		{math.Inf(-1), math.Inf(-1)},
		{math.SmallestNonzeroFloat64, math.SmallestNonzeroFloat64},
		{90 * time.Second, int64(90e9)},
		{&seven, int64(7)},
		{none, nil},
		{celsius(0), 273.15},
		{sql.NullString{}, nil},
		{sql.NullInt64{Int64: 5, Valid: true}, int64(5)},
		{sql.Null[string]{V: "v", Valid: true}, "v"},
	} {
		t.Run(fmt.Sprintf("%T(%[1]v)", c.in), func(t *testing.T) {
			assert.Equal(t, c.out, value[any](t, db, "SELECT ?", c.in))
		})
	}
}

// uuid is what packages of UUIDs have: text for other databases.
type uuid [16]byte

func (u uuid) String() string {
	return fmt.Sprintf("%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:])
}
func (u uuid) Value() (driver.Value, error) { return u.String(), nil }

// Servers before 2.10 crash when a parameter is a MessagePack extension.
func TestNewTypesGoInWhereTheServerCanTakeThem(t *testing.T) {
	rs := sharedSet(t)
	db := open(t, quiet)
	connectAll(t, rs, db)
	for _, c := range []struct {
		in      any
		sqlType string
		out     any
	}{
		{time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC), "DATETIME", time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC)},
		{big.NewInt(-12), "DECIMAL", "-12"},
		{uuid{0x6b, 15: 0xc8}, "UUID", "6b000000-0000-0000-0000-0000000000c8"},
		{[]int{1, 2}, "ARRAY", []any{int64(1), int64(2)}},
		{map[string]any{"a": 1}, "MAP", map[string]any{"a": int64(1)}},
	} {
		t.Run(c.sqlType, func(t *testing.T) {
			if rs.AtLeast(2, 10, 0) {
				assert.Equal(t, c.out, value[any](t, db, "SELECT :v", sql.Named("v", c.in)))
				return
			}
			requireRequests(t, rs, 0, func() {
				_, err := db.ExecContext(t.Context(), "SELECT :v", sql.Named("v", c.in))
				assert.ErrorContains(t, err, fmt.Sprintf("tntsql: parameter :v: %T as %s needs Tarantool 2.10.0 or later", c.in, c.sqlType))
			})
		})
	}
	assert.Equal(t, 1, value[int](t, db, "SELECT 1"))
}

func TestParametersOfEveryKind(t *testing.T) {
	db := open(t)
	a, b := sql.Named("a", "A"), sql.Named("b", "B")
	for _, c := range []struct {
		query string
		args  []any
		want  string
	}{
		{"SELECT ? || ?", []any{"A", "B"}, "AB"},
		{"SELECT $1 || $2", []any{"A", "B"}, "AB"},
		{"SELECT $2 || $1", []any{"A", "B"}, "BA"},
		{"SELECT $2 || $1 || $2", []any{"A", "B"}, "BAB"},
		{"SELECT :a || :b", []any{a, b}, "AB"},
		{"SELECT :a || :b", []any{b, a}, "AB"},
		{"SELECT @b || @a", []any{a, b}, "BA"},
		{"SELECT #a || #b", []any{a, b}, "AB"},
		{"SELECT :a || :b || :a", []any{a, b}, "ABA"},
		{"SELECT @a || #b || :a", []any{a, b}, "ABA"},
		{"SELECT :a || :b", []any{"A", "B"}, "AB"},
		{"SELECT '?' || ? || ':a' || \"$1\" FROM (SELECT '@' AS \"$1\")", []any{"A"}, "?A:a@"},
		{"SELECT /* ? */ ? -- ?", []any{"A"}, "A"},
		{"SELECT 'none'", nil, "none"},
	} {
		t.Run(c.query, func(t *testing.T) {
			assert.Equal(t, c.want, value[string](t, db, c.query, c.args...))
			stmt, err := db.PrepareContext(t.Context(), c.query)
			require.NoError(t, err)
			defer stmt.Close()
			var got string
			require.NoError(t, stmt.QueryRowContext(t.Context(), c.args...).Scan(&got))
			assert.Equal(t, c.want, got, "prepared")
		})
	}
}

// panics is a type of a user whose methods do not keep their promises.
type panics struct{}

func (panics) Value() (driver.Value, error) { panic("no value") }
func (panics) EncodeMsgpack(enc *msgpack.Encoder) error {
	_ = enc.EncodeArrayLen(3)
	panic("no msgpack")
}

type fails struct{}

func (fails) Value() (driver.Value, error) { return nil, errNoValue }

var errNoValue = errors.New("no value")

// recursive contains itself.
type recursive []any

func TestArgumentsThatDoNotFitAreErrorsBeforeAnythingIsSent(t *testing.T) {
	rs := sharedSet(t)
	db := open(t, quiet, "read_mode=rw")
	loop := recursive{nil}
	loop[0] = loop
	for _, c := range []struct {
		query string
		args  []any
		want  string
	}{
		{"SELECT ?", nil, "the text has 1 parameter, the call 0 arguments"},
		{"SELECT ?, ?", []any{1}, "the text has 2 parameters, the call 1 argument"},
		{"SELECT ?", []any{1, 2}, "the text has 1 parameter, the call 2 arguments"},
		{"SELECT 1", []any{1}, "the text has 0 parameters, the call 1 argument"},
		{"SELECT $1, $3", []any{1, 2}, "the text has 3 parameters, the call 2 arguments"},
		{"SELECT :a, :b, :a", []any{1, 2, 3}, "the text has 2 parameters, the call 3 arguments"},
		{"SELECT :a, :b", []any{sql.Named("a", 1)}, "parameter :b has no argument"},
		{"SELECT :a", []any{sql.Named("A", 1)}, "parameter :a has no argument"},
		{"SELECT :a", []any{sql.Named("a", 1), sql.Named("b", 2)}, `argument "b" is no parameter`},
		{"SELECT :a, :b", []any{sql.Named("a", 1), 2}, "parameter :b has no argument"},
		{"SELECT :a", []any{sql.Named("a", 1), 2}, "name all arguments or none"},
		{"SELECT ?", []any{sql.Named("a", 1)}, "named arguments need :name"},
		{"SELECT $1", []any{sql.Named("a", 1)}, "named arguments need :name"},
		{"SELECT ?, $2", []any{1, 2}, "mixes kinds of parameters"},
		{"SELECT ?, :a", []any{1, 2}, "mixes kinds of parameters"},
		{"SELECT $1, @a", []any{sql.Named("a", 1), sql.Named("b", 1)}, "mixes kinds of parameters"},
		{"SELECT ?", []any{make(chan int)}, "parameter 1: unsupported type chan int"},
		{"SELECT ?, ?", []any{1, struct{ A int }{1}}, "parameter 2: unsupported type struct"},
		{"SELECT ?", []any{loop}, "parameter 1: "},
		{"SELECT ?", []any{map[string]any{}}, "parameter 1: "},
		{"SELECT ?", []any{panics{}}, "no value"},
		{"SELECT ?", []any{&panics{}}, "no value"},
		{"SELECT ?", []any{fails{}}, "no value"},
		{"SELECT ?", []any{sql.Out{Dest: new(int)}}, "output parameters are not supported"},
	} {
		t.Run(fmt.Sprintf("%s of %T", c.query, c.args), func(t *testing.T) {
			requireRequests(t, rs, 0, func() {
				_, err := db.ExecContext(t.Context(), c.query, c.args...)
				assert.ErrorContains(t, err, c.want)
				assert.Error(t, db.QueryRowContext(t.Context(), c.query, c.args...).Scan(new(any)))
			})
			assert.Equal(t, 1, value[int](t, db, "SELECT 1"), "the connection goes on")
		})
	}
}

func TestAnErrorOfAValuerIsInTheChain(t *testing.T) {
	_, err := open(t).ExecContext(t.Context(), "SELECT ?", fails{})
	assert.ErrorIs(t, err, errNoValue)
}

func TestAPanickingEncoderOfACallIsAnErrorAndTheConnectionGoesOn(t *testing.T) {
	rs := sharedSet(t)
	db := open(t, quiet)
	connectAll(t, rs, db)
	for range 5 {
		requireRequests(t, rs, 0, func() {
			_, err := tntsql.Call(t.Context(), db, tntsql.ModeRW, "who", 1, struct{ P panics }{})
			assert.ErrorContains(t, err, "no msgpack")
		})
		reply, err := tntsql.Call(t.Context(), db, tntsql.ModeRW, "who")
		require.NoError(t, err)
		assert.Equal(t, []any{rs.UUID(0)}, reply.Values())
	}
}
