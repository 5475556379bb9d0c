package tntsql_test

import (
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tntsql/tntsql"
)

type (
	named   string
	kelvin  float64
	celsius float64
	flag    bool
	blob    []byte
	level   int8
	date    time.Time
	span    tntsql.Interval
	octet   uint8
	byValue struct{ v any }
	place   struct {
		X int   `json:"x"`
		Y int64 `msgpack:"y"`
	}
)

func (c celsius) Value() (driver.Value, error) { return float64(c) + 273.15, nil }
func (o octet) Value() (driver.Value, error)   { return fmt.Sprint(uint8(o)), nil }
func (b byValue) Value() (driver.Value, error) { return b.v, nil }

// uuid is what packages of UUIDs have: text for other databases.
type uuid [16]byte

func (u uuid) String() string {
	return fmt.Sprintf("%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:])
}
func (u uuid) Value() (driver.Value, error) { return u.String(), nil }

// money is what packages of decimals have.
type money struct {
	coefficient int64
	exponent    int32
}

func (m money) Coefficient() *big.Int        { return big.NewInt(m.coefficient) }
func (m money) Exponent() int32              { return m.exponent }
func (m money) Value() (driver.Value, error) { return "as text", nil }

type inOut struct{ in, out any }

func ptr[T any](v T) *T { return &v }

// parameterTypes are the lines of the table in docs/types.md, with values for each.
var parameterTypes = []struct {
	goType  string
	becomes string // the type of SQL, and what more there is to say
	values  []inOut
	refused string // the error; values are then refused by every server
}{
	{"`nil`", "NULL", []inOut{{nil, nil}}, ""},
	{"`bool`", "BOOLEAN", []inOut{{true, true}, {flag(false), false}}, ""},
	{"`int`, `int8` … `int64`", "INTEGER", []inOut{
		{-7, int64(-7)}, {int8(-128), int64(-128)}, {int16(300), int64(300)}, {int32(-70000), int64(-70000)}, {int64(math.MinInt64), int64(math.MinInt64)}, {level(3), int64(3)}}, ""},
	{"`uint`, `uint8` … `uint64`", "INTEGER, above `math.MaxInt64` too", []inOut{
		{uint(7), int64(7)}, {uint8(255), int64(255)}, {uint16(65535), int64(65535)}, {uint32(math.MaxUint32), int64(math.MaxUint32)}, {uint64(math.MaxUint64), uint64(math.MaxUint64)}}, ""},
	{"`float32`, `float64`", "DOUBLE", []inOut{
		{1.5, 1.5}, {3.0, 3.0}, {float32(0.25), 0.25}, {kelvin(2), 2.0}, {math.Inf(-1), math.Inf(-1)}, {math.SmallestNonzeroFloat64, math.SmallestNonzeroFloat64}}, ""},
	{"`string`", "STRING", []inOut{{"", ""}, {"grün\x00'", "grün\x00'"}, {named("n"), "n"}, {json.Number("1.5"), "1.5"}}, ""},
	{"`[]byte`", "VARBINARY", []inOut{{[]byte{0, 255}, []byte{0, 255}}, {[]byte{}, []byte{}}, {blob("b"), []byte("b")}}, ""},
	{"a nil slice, also a nil `[]byte`, or a nil map", "NULL", []inOut{{[]byte(nil), nil}, {blob(nil), nil}, {[]int(nil), nil}, {map[string]int(nil), nil}}, ""},
	{"an array of bytes, such as `[32]byte`", "VARBINARY", []inOut{{[4]byte{1, 2, 3, 4}, []byte{1, 2, 3, 4}}, {[16]byte{1}, append([]byte{1}, make([]byte, 15)...)}}, ""},
	{"`json.RawMessage`", "VARBINARY, as the bytes that it is", []inOut{{json.RawMessage(`{"a":1}`), []byte(`{"a":1}`)}}, ""},
	{"`time.Duration`", "INTEGER, in nanoseconds", []inOut{{90 * time.Second, int64(90e9)}}, ""},
	{"`time.Time`", "DATETIME", []inOut{{date(someTime), someTime}, {time.Date(2024, 2, 29, 12, 0, 0, 5, time.UTC), time.Date(2024, 2, 29, 12, 0, 0, 5, time.UTC)}}, ""},
	{"`tntsql.Decimal`", "DECIMAL", []inOut{{tntsql.Decimal(""), "0"}, {sql.Null[tntsql.Decimal]{V: "1.5", Valid: true}, "1.5"}, {tntsql.Decimal("1.50"), "1.50"}, {tntsql.Decimal("-1e3"), "-1000"}}, ""},
	{"`*big.Int`", "DECIMAL", []inOut{{big.NewInt(-12), "-12"}}, ""},
	{"`decimal.Decimal` of shopspring/decimal", "DECIMAL", []inOut{{money{150, -2}, "1.50"}, {ptr(money{15, 1}), "150"}}, ""},
	{"`tntsql.UUID`", "UUID", []inOut{{tntsql.UUID{0x6b, 15: 0xc8}, "6b000000-0000-0000-0000-0000000000c8"}}, ""},
	{"`uuid.UUID` of google/uuid, and every array of 16 bytes whose `String` is a UUID", "UUID", []inOut{{uuid{0x6b, 15: 0xc8}, "6b000000-0000-0000-0000-0000000000c8"}, {ptr(uuid{1}), "01000000-0000-0000-0000-000000000000"}}, ""},
	{"`tntsql.Interval`", "INTERVAL", []inOut{{span{Day: 1}, tntsql.Interval{Day: 1}}, {sql.Null[tntsql.Interval]{V: tntsql.Interval{Day: 1}, Valid: true}, tntsql.Interval{Day: 1}}, {tntsql.Interval{Month: 1, Day: -3}, tntsql.Interval{Month: 1, Day: -3}}}, ""},
	{"a slice or an array", "ARRAY", []inOut{
		{sql.Null[[]int]{V: []int{1}, Valid: true}, []any{int64(1)}}, {[]octet{1}, []any{"1"}},
		{[]int{1, 2}, []any{int64(1), int64(2)}}, {[2]string{"a", "b"}, []any{"a", "b"}}, {[]any{}, []any{}}, {[]any{nil, 1.0, []byte{1}, []uint64{math.MaxUint64}}, []any{nil, 1.0, []byte{1}, []any{uint64(math.MaxUint64)}}}}, ""},
	{"a map", "MAP, as a `sql.Named` argument for `:name`", []inOut{
		{map[string]any{"a": 1, "b": map[string]bool{"c": true}}, map[string]any{"a": int64(1), "b": map[string]any{"c": true}}}, {map[int]string{1: "x"}, map[any]any{int64(1): "x"}}, {map[string]int{}, map[string]any{}}}, ""},
	{"`tntsql.Doc[T]` of a struct or a map", "MAP, as a `sql.Named` argument for `:name`", []inOut{{tntsql.Doc[place]{V: place{1, math.MaxInt64}, Valid: true}, map[string]any{"x": int64(1), "y": int64(math.MaxInt64)}}}, ""},
	{"`tntsql.Doc[T]` of a slice", "ARRAY", []inOut{{tntsql.Doc[[]place]{V: []place{{1, 2}}, Valid: true}, []any{map[string]any{"x": int64(1), "y": int64(2)}}}}, ""},
	{"a `tntsql.Doc[T]` that is not `Valid`", "NULL", []inOut{{tntsql.Doc[place]{}, nil}}, ""},
	{"a pointer, also to a pointer", "what it points to", []inOut{{ptr(7), int64(7)}, {ptr(ptr("x")), "x"}, {ptr(ptr([]byte{1})), []byte{1}}, {ptr(celsius(0)), 273.15}}, ""},
	{"a nil pointer, or a pointer to one", "NULL, unless the pointer's type has a `Value` of its own", []inOut{{(*int)(nil), nil}, {ptr((*string)(nil)), nil}, {(*celsius)(nil), nil}, {(*time.Time)(nil), nil}}, ""},
	{"a `driver.Valuer`", "what its `Value` gives, which may be anything of this table", []inOut{{celsius(0), 273.15}, {byValue{"x"}, "x"}, {byValue{byValue{ptr(level(5))}}, int64(5)}, {byValue{nil}, nil}}, ""},
	{"`sql.NullString`, `sql.Null[T]` and the like", "the value, or NULL", []inOut{
		{sql.NullString{}, nil}, {sql.NullInt64{Int64: 5, Valid: true}, int64(5)}, {sql.Null[string]{V: "v", Valid: true}, "v"}, {sql.Null[level]{V: 5, Valid: true}, int64(5)}, {sql.Null[time.Time]{}, nil},
		{sql.Null[uint64]{V: math.MaxUint64, Valid: true}, uint64(math.MaxUint64)}, {ptr(sql.Null[*int]{Valid: true}), nil}}, ""},
	{"a type made from one of these", "what that becomes, unless it is a `driver.Valuer`; [not all](#types-of-your-own)", []inOut{{named("n"), "n"}, {kelvin(2), 2.0}, {level(-1), int64(-1)}, {blob{1}, []byte{1}}}, ""},
	{"a map for `?` or `$1`", "an error: the server would take it for named parameters", []inOut{{map[string]any{"a": 1}, nil}}, "can only be bound by name: use sql.Named and :name"},
	{"another struct", "an error: pass it as a `tntsql.Doc`", []inOut{{place{}, nil}, {&place{}, nil}, {[]any{place{}}, nil}}, "place: pass a struct as a tntsql.Doc"},
	{"a channel, a function, a complex number", "an error", []inOut{{make(chan int), nil}, {func() {}, nil}, {1i, nil}}, "unsupported type"},
	{"`sql.Out`", "an error: `tntsql.Call` returns what a procedure returns", []inOut{{sql.Out{Dest: new(int)}, nil}}, "output parameters are not supported"},
}

// needs210 tells of types that came with Tarantool 2.10.
func needs210(becomes string) bool {
	switch firstWord(becomes) {
	case "DATETIME", "DECIMAL", "UUID", "INTERVAL", "ARRAY", "MAP":
		return true
	}
	return false
}

func firstWord(text string) string {
	word, _, _ := strings.Cut(text, " ")
	return strings.TrimSuffix(word, ",")
}

func TestParametersOfEveryGoType(t *testing.T) {
	rs := sharedSet(t)
	db := open(t, quiet)
	connectAll(t, rs, db)
	for _, line := range parameterTypes {
		for _, v := range line.values {
			t.Run(fmt.Sprintf("%s/%T(%[2]v)", line.goType, v.in), func(t *testing.T) {
				refused := line.refused
				if refused == "" && needs210(line.becomes) && !rs.AtLeast(2, 10, 0) {
					refused = firstWord(line.becomes) + " needs Tarantool 2.10.0 or later, the server's version is 2."
				}
				if refused != "" {
					requireRequests(t, rs, 0, func() {
						_, err := db.ExecContext(t.Context(), "SELECT ?", v.in)
						if old := !rs.AtLeast(2, 10, 0) && err != nil && strings.Contains(err.Error(), "needs Tarantool 2.10.0"); !old {
							assert.ErrorContains(t, err, refused)
						}
					})
					return
				}
				var typ string
				var out any
				require.NoError(t, db.QueryRowContext(t.Context(), "SELECT TYPEOF(:v), :v", sql.Named("v", v.in)).Scan(&typ, &out))
				assert.Equal(t, v.out, out)
				if word := firstWord(line.becomes); word == strings.ToUpper(word) && rs.AtLeast(2, 10, 0) {
					assert.Equal(t, word, strings.ToUpper(typ)) // 2.6 says boolean of NULL, and unsigned
				}
				if firstWord(line.becomes) != "MAP" {
					assert.Equal(t, v.out, value[any](t, db, "SELECT ?", v.in), "without a name")
				}
			})
		}
	}
	assert.Equal(t, 1, value[int](t, db, "SELECT 1"))
}

const (
	typesDoc        = "docs/types.md"
	parametersBegin = "<!-- in:begin -->"
	parametersEnd   = "<!-- in:end -->"
)

// parametersMarkdown is the table of parameters in docs/types.md.
func parametersMarkdown() string {
	var b strings.Builder
	b.WriteString("\n| Go value | what the server gets | since |\n|---|---|---|\n")
	for _, line := range parameterTypes {
		since := ""
		if needs210(line.becomes) {
			since = "2.10"
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", line.goType, line.becomes, since)
	}
	return b.String()
}

// UPDATE_README=1 writes the table into docs/types.md.
func TestTheDocumentationHasTheTableOfParameterTypes(t *testing.T) {
	text, err := os.ReadFile(typesDoc)
	require.NoError(t, err)
	head, rest, hasBegin := strings.Cut(string(text), parametersBegin)
	table, tail, hasEnd := strings.Cut(rest, parametersEnd)
	require.True(t, hasBegin && hasEnd, "%s needs the lines %s and %s, in this order", typesDoc, parametersBegin, parametersEnd)
	want := parametersMarkdown()
	if os.Getenv("UPDATE_README") == "1" && table != want {
		require.NoError(t, os.WriteFile(typesDoc, []byte(head+parametersBegin+want+parametersEnd+tail), 0o644))
		return
	}
	assert.Equal(t, want, table, "run UPDATE_README=1 go test -run TestTheDocumentation .")
}
