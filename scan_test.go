package tntsql_test

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tntsql/tntsql"
)

// scanInto has the value of a one-row query scanned into dst, a pointer. Rows let it be
// a RawBytes, too, which seen gets before they are closed.
func scanInto(t testing.TB, db *sql.DB, v, dst any, seen func()) error {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), "SELECT :v", sql.Named("v", v))
	require.NoError(t, err)
	defer rows.Close()
	require.True(t, rows.Next())
	if err := rows.Scan(dst); err != nil {
		return err
	}
	seen()
	return nil
}

func TestValuesScanIntoTheNaturalTypes(t *testing.T) {
	rs := sharedSet(t)
	db := open(t)
	// The wanted values are of the types to scan into.
	for _, c := range []struct {
		newer bool
		in    any
		want  []any
	}{
		{false, 7, []any{7, int8(7), int64(7), uint(7), uint64(7), float64(7), "7", level(7), time.Duration(7),
			[]byte("7"), sql.RawBytes("7"), ptr(7), ptr(ptr("7")), sql.NullInt64{Int64: 7, Valid: true}, sql.NullInt16{Int16: 7, Valid: true},
			sql.Null[uint8]{V: 7, Valid: true}, sql.NullFloat64{Float64: 7, Valid: true}, sql.NullString{String: "7", Valid: true}, tntsql.Decimal("7")}},
		{false, 1, []any{true, sql.NullBool{Bool: true, Valid: true}}},
		{false, int64(math.MinInt64), []any{int64(math.MinInt64), "-9223372036854775808", sql.Null[int64]{V: math.MinInt64, Valid: true}}},
		{false, uint64(math.MaxUint64), []any{uint64(math.MaxUint64), "18446744073709551615", sql.Null[uint64]{V: math.MaxUint64, Valid: true}, ptr(uint64(math.MaxUint64))}},
		{false, 1.5, []any{1.5, tntsql.Decimal("1.5"), float32(1.5), kelvin(1.5), "1.5", []byte("1.5"), sql.NullFloat64{Float64: 1.5, Valid: true}, ptr(1.5)}},
		{false, 3.0, []any{3.0, 3, "3"}},
		{false, "text", []any{"text", []byte("text"), sql.RawBytes("text"), named("text"), ptr("text"), sql.NullString{String: "text", Valid: true}, sql.Null[string]{V: "text", Valid: true}}},
		{false, "42", []any{42, 42.0, uint8(42), sql.NullInt64{Int64: 42, Valid: true}}},
		{false, []byte{0, 255}, []any{[]byte{0, 255}, sql.RawBytes{0, 255}, "\x00\xff", blob{0, 255}, ptr([]byte{0, 255}), sql.Null[[]byte]{V: []byte{0, 255}, Valid: true}, json.RawMessage{0, 255}}},
		{false, true, []any{true, flag(true), "true", []byte("true"), ptr(true), sql.NullBool{Bool: true, Valid: true}, sql.Null[bool]{V: true, Valid: true}}},
		{false, nil, []any{(*int)(nil), (*string)(nil), (*time.Time)(nil), (**int)(nil), []byte(nil), sql.RawBytes(nil), sql.NullInt64{}, sql.NullTime{}, sql.Null[string]{},
			sql.Null[tntsql.UUID]{}, sql.Null[tntsql.Decimal]{}, sql.Null[tntsql.Interval]{}, tntsql.Doc[place]{}, tntsql.Doc[[]int]{}}},
		{true, tntsql.Decimal("-1.50"), []any{"-1.50", tntsql.Decimal("-1.50"), -1.5, []byte("-1.50"), sql.NullString{String: "-1.50", Valid: true}, sql.Null[tntsql.Decimal]{V: "-1.50", Valid: true}, sql.NullFloat64{Float64: -1.5, Valid: true}, ptr(tntsql.Decimal("-1.50"))}},
		{true, tntsql.Decimal("12"), []any{12, int64(12), big.NewInt(12).String()}},
		{true, tntsql.UUID{1}, []any{"01000000-0000-0000-0000-000000000000", tntsql.UUID{1}, ptr(tntsql.UUID{1}), sql.Null[tntsql.UUID]{V: tntsql.UUID{1}, Valid: true}, []byte("01000000-0000-0000-0000-000000000000")}},
		{true, someTime, []any{someTime, ptr(someTime), sql.NullTime{Time: someTime, Valid: true}, sql.Null[time.Time]{V: someTime, Valid: true}, "2024-02-29T12:30:45.123456789Z", []byte("2024-02-29T12:30:45.123456789Z")}},
		{true, tntsql.Interval{Day: 1}, []any{tntsql.Interval{Day: 1}, ptr(tntsql.Interval{Day: 1}), sql.Null[tntsql.Interval]{V: tntsql.Interval{Day: 1}, Valid: true}}},
		{true, []any{1, uint64(math.MaxUint64)}, []any{[]any{int64(1), uint64(math.MaxUint64)}, tntsql.Doc[[]uint64]{V: []uint64{1, math.MaxUint64}, Valid: true}, tntsql.Doc[[2]any]{V: [2]any{int64(1), uint64(math.MaxUint64)}, Valid: true}, tntsql.Doc[any]{V: []any{int64(1), uint64(math.MaxUint64)}, Valid: true}}},
		{true, map[string]any{"x": 1, "y": int64(math.MinInt64)}, []any{map[string]any{"x": int64(1), "y": int64(math.MinInt64)}, tntsql.Doc[place]{V: place{1, math.MinInt64}, Valid: true}, tntsql.Doc[*place]{V: &place{1, math.MinInt64}, Valid: true},
			tntsql.Doc[map[string]int64]{V: map[string]int64{"x": 1, "y": math.MinInt64}, Valid: true}, sql.Null[tntsql.Doc[place]]{V: tntsql.Doc[place]{V: place{1, math.MinInt64}, Valid: true}, Valid: true}}},
		{true, map[string]any{"F": tntsql.Decimal("1.5"), "I": tntsql.Decimal("2")}, []any{
			tntsql.Doc[measures]{V: measures{1.5, 2}, Valid: true}, sql.Null[tntsql.Doc[measures]]{V: tntsql.Doc[measures]{V: measures{1.5, 2}, Valid: true}, Valid: true}}},
		{true, map[int]string{1: "x"}, []any{map[any]any{int64(1): "x"}, tntsql.Doc[map[uint8]string]{V: map[uint8]string{1: "x"}, Valid: true}}},
	} {
		if c.newer && !rs.AtLeast(2, 10, 0) {
			continue
		}
		for _, want := range c.want {
			t.Run(fmt.Sprintf("%T(%[1]v) into %T", c.in, want), func(t *testing.T) {
				dst := reflect.New(reflect.TypeOf(want))
				require.NoError(t, scanInto(t, db, c.in, dst.Interface(), func() {
					assert.Equal(t, want, dst.Elem().Interface())
				}))
			})
		}
	}
}

func TestValuesThatDoNotFitAreErrorsOfScan(t *testing.T) {
	rs := sharedSet(t)
	db := open(t)
	for _, c := range []struct {
		newer bool
		in    any
		dst   any
		want  string
	}{
		{false, 300, new(int8), "out of range"},
		{false, -1, new(uint64), "invalid syntax"},
		{false, uint64(1 << 63), new(int64), "out of range"},
		{false, 1.5, new(int), "invalid syntax"},
		{false, "text", new(int), "invalid syntax"},
		{false, "2024-02-29", new(time.Time), "unsupported Scan"},
		{false, nil, new(int), "converting NULL to int is unsupported"},
		{false, "{}", new(json.RawMessage), "unsupported Scan"}, // it takes bytes only
		{false, nil, new(json.RawMessage), "unsupported Scan"},
		{false, true, new(tntsql.Decimal), "cannot scan bool into a DECIMAL"},
		{false, nil, new(string), "converting NULL to string is unsupported"},
		{false, nil, new(time.Time), "unsupported Scan"},
		{false, nil, new(tntsql.UUID), "cannot scan <nil> into a UUID"},
		{false, "x", new(tntsql.UUID), `not a UUID: "x"`},
		{false, 5, new(tntsql.Doc[string]), ": *tntsql.Doc[string]: cannot decode an unsigned integer into string"},
		{true, tntsql.Decimal("1.5"), new(int), "invalid syntax"},
		{true, tntsql.Interval{}, new(string), "unsupported Scan"},
		{true, []int{1}, new([]int), "unsupported Scan"}, // a Doc[[]int] does it
		{true, []int{1, 300}, new(tntsql.Doc[[]int8]), "element 2: cannot decode 300 into int8"},
		{true, []any{1.5}, new(tntsql.Doc[[]int]), "element 1: cannot decode 1.5 into int"},
		{true, map[string]any{"x": "one"}, new(tntsql.Doc[place]), "field x: cannot decode a string into int"},
		{true, map[string]any{"x": nil, "y": uint64(1 << 63)}, new(tntsql.Doc[place]), "field y: cannot decode 9223372036854775808 into int64"},
		{true, map[string]any{"x": tntsql.Decimal("1.5")}, new(tntsql.Doc[place]), "field x: cannot decode a string into int"},
		{true, map[string]any{}, new(tntsql.Doc[[]int]), "cannot decode a map into []int"},
		{true, map[string]any{"D": map[string]any{"x": "one"}}, new(tntsql.Doc[struct{ D tntsql.Doc[place] }]), "field D: *tntsql.Doc[github.com/tntsql/tntsql_test.place]: field x: "},
		{true, map[string]any{"D": true}, new(tntsql.Doc[struct{ D tntsql.Decimal }]), "cannot scan bool into a DECIMAL"},
		{true, tntsql.Interval{}, new(tntsql.Doc[tntsql.Decimal]), "*tntsql.Doc[tntsql.Decimal]: cannot scan tntsql.Interval into a DECIMAL"},
	} {
		if c.newer && !rs.AtLeast(2, 10, 0) {
			continue
		}
		err := scanInto(t, db, c.in, c.dst, func() {})
		assert.ErrorContains(t, err, c.want, "%T(%[1]v) into %T", c.in, c.dst)
	}
}

// order has what documents of programs have.
type order struct {
	ID      uint64                      `json:"id"`
	Note    *string                     `msgpack:"note,omitempty"`
	Lines   []line                      `json:"lines"`
	Total   tntsql.Decimal              `json:"total"`
	Owner   uuid                        `json:"owner"`
	Sum     money                       `json:"sum"`
	Placed  time.Time                   `json:"placed"`
	Wait    tntsql.Interval             `json:"wait"`
	Retry   time.Duration               `json:"retry"`
	Seal    []byte                      `json:"seal"`
	Coupon  sql.NullString              `json:"coupon"`
	Address tntsql.Doc[place]           `json:"address"`
	Labels  map[string]map[int64]string `json:"labels"`
	Loose   any                         `json:"loose"`
	Secret  string                      `json:"-"`
}

type measures struct {
	F float64
	I uint8
}

type line struct {
	Name  string
	Count int64 `msgpack:"count"`
}

func (u *uuid) Scan(src any) error {
	id, err := tntsql.ParseUUID(fmt.Sprint(src))
	*u = uuid(id)
	return err
}

func (m *money) Scan(src any) error {
	text := fmt.Sprint(src)
	n, ok := new(big.Int).SetString(text[:len(text)-3]+text[len(text)-2:], 10)
	if !ok {
		return fmt.Errorf("no money: %s", text)
	}
	*m = money{n.Int64(), -2}
	return nil
}

func TestDocumentsAreStoredAsTheyAre(t *testing.T) {
	newTypes(t)
	rs := sharedSet(t)
	db := open(t, "read_mode=rw")
	name := table(t, rs, "ID INTEGER PRIMARY KEY, M MAP, A ARRAY, X ANY")
	in := order{
		ID: math.MaxUint64, Lines: []line{{"a", math.MinInt64}, {"b", math.MaxInt64}}, Total: "12345678901234567890.10", Owner: uuid{1, 15: 2}, Sum: money{1990, -2},
		Placed: time.Date(2024, 7, 1, 10, 0, 0, 5, location(t, "Europe/Berlin")), Wait: tntsql.Interval{Month: 1}, Retry: time.Minute, Seal: []byte{0, 255},
		Address: tntsql.Doc[place]{V: place{1, 2}, Valid: true}, Labels: map[string]map[int64]string{"k": {1 << 40: "v"}}, Loose: []any{int64(1), 2.0}, Secret: "not sent",
	}
	doc := tntsql.Doc[order]{V: in, Valid: true}
	list := tntsql.Doc[[]line]{V: in.Lines, Valid: true}
	mustExec(t, db, "INSERT INTO "+name+" VALUES (1, :m, :a, :m)", sql.Named("m", doc), sql.Named("a", list))

	// The server has values of its own types.
	types := lua(t, rs, 0, `
		local m = box.space[...]:get(1)[2]
		local decimal, uuid, datetime = require('decimal'), require('uuid'), require('datetime')
		return {decimal.is_decimal(m.total), uuid.is_uuid(m.owner), decimal.is_decimal(m.sum), datetime.is_datetime(m.placed), tostring(m.wait) == '+1 months',
			m.placed.tz == 'Europe/Berlin', m.coupon == nil, m.note == nil and m.Secret == nil, m.address.x == 1, m.id == 18446744073709551615ULL}`, name)
	assert.Equal(t, []any{true, true, true, true, true, true, true, true, true, true}, types)

	for _, column := range []string{"M", "X"} {
		out := value[tntsql.Doc[order]](t, db, "SELECT "+column+" FROM "+name+" WHERE ID = 1")
		requireSameTime(t, in.Placed, out.V.Placed)
		out.V.Placed, out.V.Secret = in.Placed, in.Secret
		assert.Equal(t, doc, out)
	}
	assert.Equal(t, list, value[tntsql.Doc[[]line]](t, db, "SELECT A FROM "+name+" WHERE ID = 1"))

	// What comes out as any goes in again.
	plain := value[any](t, db, "SELECT M FROM "+name+" WHERE ID = 1")
	mustExec(t, db, "INSERT INTO "+name+" VALUES (2, :m, NULL, NULL)", sql.Named("m", plain))
	assert.Equal(t, plain, value[any](t, db, "SELECT M FROM "+name+" WHERE ID = 2"))
}

func TestDocumentsOfLuaFitGoTypes(t *testing.T) {
	newTypes(t)
	rs := sharedSet(t)
	db := open(t, "read_mode=rw")
	name := table(t, rs, "ID INTEGER PRIMARY KEY, M MAP")
	lua(t, rs, 0, `
		local decimal, uuid, datetime = require('decimal'), require('uuid'), require('datetime')
		box.space[...]:insert{1, {id = 7, note = 'n', lines = {{Name = 'a', count = 3.0}}, total = 10, owner = uuid.fromstr('6ba7b810-9dad-11d1-80b4-00c04fd430c8'),
			sum = decimal.new('19.90'), placed = datetime.new{year = 2024}, coupon = 'half', unknown = {1, 2, 3}}}`, name)
	out := value[tntsql.Doc[order]](t, db, "SELECT M FROM "+name+" WHERE ID = 1")
	assert.Equal(t, order{
		ID: 7, Note: ptr("n"), Lines: []line{{"a", 3}}, Total: "10", Owner: uuid{0x6b, 0xa7, 0xb8, 0x10, 0x9d, 0xad, 0x11, 0xd1, 0x80, 0xb4, 0x00, 0xc0, 0x4f, 0xd4, 0x30, 0xc8},
		Sum: money{1990, -2}, Placed: time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC), Coupon: sql.NullString{String: "half", Valid: true},
	}, out.V)
}

func TestDocumentsThatCannotBeSent(t *testing.T) {
	rs := sharedSet(t)
	db := open(t, quiet)
	connectAll(t, rs, db)
	for _, c := range []struct {
		in   any
		want string
	}{
		{tntsql.Doc[chan int]{V: make(chan int), Valid: true}, "tntsql: parameter :v: tntsql.Doc[chan int]: unsupported type chan int"},
		{tntsql.Doc[struct{ C func() }]{Valid: true}, "unsupported type func()"},
		{tntsql.Doc[struct{ P panics }]{Valid: true}, "no value"},
		{tntsql.Doc[struct{ D tntsql.Decimal }]{V: struct{ D tntsql.Decimal }{"x"}, Valid: true}, `field D: not a decimal number`},
	} {
		requireRequests(t, rs, 0, func() {
			_, err := db.ExecContext(t.Context(), "SELECT :v", sql.Named("v", c.in))
			assert.ErrorContains(t, err, c.want)
		})
	}
}

// What a struct has beside a type that it embeds is stored, too.
func TestEmbeddedTypesAreFieldsOfDocuments(t *testing.T) {
	newTypes(t)
	rs := sharedSet(t)
	db := open(t, "read_mode=rw")
	name := table(t, rs, "ID INTEGER PRIMARY KEY, M MAP")
	type visit struct {
		time.Time
		sql.NullString
		Count sql.Null[uint64]
		Cost  tntsql.Decimal
		Day   date
	}
	in := visit{someTime, sql.NullString{String: "x", Valid: true}, sql.Null[uint64]{V: math.MaxUint64, Valid: true}, "", date(someTime)}
	mustExec(t, db, "INSERT INTO "+name+" VALUES (1, :m)", sql.Named("m", tntsql.Doc[visit]{V: in, Valid: true}))
	assert.Equal(t, map[string]any{"Time": someTime, "NullString": "x", "Count": uint64(math.MaxUint64), "Cost": "0", "Day": someTime},
		value[any](t, db, "SELECT M FROM "+name+" WHERE ID = 1"))
	in.Cost = "0"
	assert.Equal(t, in, value[tntsql.Doc[visit]](t, db, "SELECT M FROM "+name+" WHERE ID = 1").V)
}
