package iproto

import (
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/vmihailenco/msgpack/v5"
)

type (
	base struct {
		ID   uint64 `msgpack:"id"`
		Name string `json:"name,omitempty"`
	}
	Visible struct{ Deep int }
	nested  struct {
		base
		*Visible
		At      time.Time `msgpack:"at"`
		Zero    time.Time `msgpack:",omitempty"`
		Cost    Decimal
		Owner   UUID
		Other   otherID
		Span    Interval
		Data    []byte
		JSON    json.RawMessage
		Null    sql.NullString
		Count   sql.Null[int64]
		Addr    netip.Addr
		Big     *big.Int
		Loose   any
		Lines   []base
		Pair    [2]int8
		Hash    [3]byte
		ByName  map[string]*base
		ByID    map[int16]string
		Wait    time.Duration
		Ratio   float32
		Hidden  string `msgpack:"-"`
		private int    //nolint:unused // it is not sent
	}
	// scanned scans the text of a plain column, as those for other databases do.
	scanned struct{ A int }
	tuple   struct {
		_msgpack struct{} `msgpack:",as_array"` //nolint:unused // msgpack looks for it
		ID       int
		Name     string
	}
)

func (id *otherID) Scan(src any) error {
	text, ok := src.(string)
	if !ok {
		return errors.New("an ID is text")
	}
	parsed, err := ParseUUID(text)
	*id = otherID(parsed)
	return err
}

func (s *scanned) Scan(src any) error {
	text, ok := src.(string)
	if !ok {
		return errors.New("no text")
	}
	s.A = len(text)
	return nil
}

// document scans itself, and says what it is as a parameter.
type document struct{ A int }

func (*document) Scan(any) error                { return errors.New("no document of mine") }
func (d document) Value() (driver.Value, error) { return map[string]any{"A": d.A}, nil }

type (
	left      struct{ ID int }
	right     struct{ ID int }
	ambiguous struct {
		left
		right
	}
	hidden struct {
		amount // a decimal
		Unit   string
	}
	// pointed has a Value only by its address.
	pointed struct {
		link *pointed //nolint:unused // it would not be sent
		Name string
	}
)

func (p *pointed) Value() (driver.Value, error) { return p.Name, nil }

func decodeAs[T any](t testing.TB, v any) (out T, err error) {
	t.Helper()
	err = DecodeData(dataBody(t, v), &out)
	return out, err
}

func TestStructsGoThereAndBack(t *testing.T) {
	in := nested{
		base: base{ID: math.MaxUint64}, Visible: &Visible{Deep: math.MinInt64},
		At: time.Date(2024, 7, 1, 2, 3, 4, 5, zone(t, "Europe/Berlin")), Cost: "1.50", Owner: UUID{1}, Other: otherID{2},
		Span: Interval{Month: 1}, Data: []byte{0, 255}, JSON: json.RawMessage(`{}`), Null: sql.NullString{String: "x", Valid: true},
		Addr: netip.MustParseAddr("::1"), Big: big.NewInt(-7), Loose: []any{int64(1), uint64(math.MaxUint64)}, Lines: []base{{1, "a"}, {2, ""}},
		Pair: [2]int8{-128, 127}, Hash: [3]byte{1, 2, 3}, ByName: map[string]*base{"k": {3, "c"}, "nil": nil},
		ByID: map[int16]string{-1: "x"}, Wait: time.Second, Ratio: 0.25,
	}
	out, err := decodeAs[nested](t, in)
	require.NoError(t, err)
	assert.True(t, in.At.Equal(out.At))
	assert.Equal(t, in.At.Location().String(), out.At.Location().String())
	out.At = in.At
	assert.Equal(t, in, out)

	plain, err := Plain(in)
	require.NoError(t, err)
	fields := plain.(map[string]any)
	assert.Equal(t, Decimal("1.50"), fields["Cost"])
	assert.Equal(t, UUID{1}, fields["Owner"])
	assert.Equal(t, UUID{2}, fields["Other"])
	assert.Equal(t, Decimal("-7"), fields["Big"])
	assert.Equal(t, "x", fields["Null"])
	assert.Equal(t, uint64(math.MaxUint64), fields["id"])
	assert.Equal(t, int64(math.MinInt64), fields["Deep"])
	assert.Nil(t, fields["Count"])
	for _, absent := range []string{"name", "Zero", "Hidden", "private", "base", "Visible"} {
		assert.NotContains(t, fields, absent)
	}
	var back nested
	require.NoError(t, Convert(plain, &back))
	back.At = in.At
	assert.Equal(t, in, back)
}

func TestFieldsOfEmbeddedStructs(t *testing.T) {
	type outer struct {
		base
		Name  string `json:"name"` // hides the embedded one
		Named base   `msgpack:"named"`
		Self  *outer
	}
	plain, err := Plain(outer{base: base{1, "in"}, Name: "out", Named: base{2, "b"}})
	require.NoError(t, err)
	assert.Equal(t, map[string]any{
		"id": int64(1), "name": "out", "named": map[string]any{"id": int64(2), "name": "b"}, "Self": nil,
	}, plain)

	without, err := Plain(struct {
		*Visible
		A int
	}{A: 1})
	require.NoError(t, err)
	assert.Equal(t, map[string]any{"A": int64(1)}, without)
	with, err := decodeAs[struct {
		*Visible
		A int
	}](t, map[string]any{"Deep": 5, "A": 1})
	require.NoError(t, err)
	assert.Equal(t, 5, with.Deep)

	_, err = decodeAs[struct{ *base }](t, map[string]any{"id": 1})
	assert.ErrorContains(t, err, "field id: ", "a pointer that reflection cannot set")
}

func TestDecodingTakesNumbersThatFit(t *testing.T) {
	check := func(want any, got any, err error) {
		t.Helper()
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
	small, err := decodeAs[int8](t, -128)
	check(int8(-128), small, err)
	whole, err := decodeAs[int](t, 3.0)
	check(3, whole, err)
	unsigned, err := decodeAs[uint64](t, uint64(math.MaxUint64))
	check(uint64(math.MaxUint64), unsigned, err)
	power, err := decodeAs[uint64](t, float64(1<<63))
	check(uint64(1<<63), power, err)
	float, err := decodeAs[float64](t, int64(1)<<53)
	check(float64(1<<53), float, err)
	negative, err := decodeAs[float64](t, math.MinInt64)
	check(float64(math.MinInt64), negative, err)
	price, err := decodeAs[Decimal](t, 10)
	check(Decimal("10"), price, err)
	infinite, err := decodeAs[float32](t, math.Inf(1))
	check(float32(math.Inf(1)), infinite, err)
	text, err := decodeAs[label](t, []byte("x"))
	check(label("x"), text, err)
	bytes, err := decodeAs[blob](t, "x")
	check(blob("x"), bytes, err)
	octets, err := decodeAs[[2]octet](t, []byte{1, 2})
	check([2]octet{1, 2}, octets, err)
	pointers, err := decodeAs[**int](t, 5)
	check(5, **pointers, err)
	array, err := decodeAs[tuple](t, []any{1, "a", "more"})
	check(tuple{ID: 1, Name: "a"}, array, err)
	fields, err := decodeAs[scanned](t, map[string]any{"A": 7})
	check(scanned{7}, fields, err)
	column, err := decodeAs[scanned](t, "text")
	check(scanned{4}, column, err)
	null, err := decodeAs[sql.Null[base]](t, map[string]any{"id": 7})
	check(sql.Null[base]{V: base{ID: 7}, Valid: true}, null, err)
	day, err := decodeAs[date](t, time.Unix(5, 0).UTC())
	check(date(time.Unix(5, 0).UTC()), day, err)
	length, err := decodeAs[span](t, Interval{Day: 1})
	check(span{Day: 1}, length, err)
	ratio, err := decodeAs[float64](t, Decimal("-1.50"))
	check(-1.5, ratio, err)
	level, err := decodeAs[int8](t, Decimal("-128.00"))
	check(int8(-128), level, err)
	most, err := decodeAs[uint64](t, Decimal("18446744073709551615"))
	check(uint64(math.MaxUint64), most, err)
	zero, err := decodeAs[map[string]int](t, map[string]any{"a": nil})
	check(map[string]int{"a": 0}, zero, err)
}

func TestDecodingRefusesWhatDoesNotFit(t *testing.T) {
	for _, test := range []struct {
		v    any
		dst  any
		want string
	}{
		{300, new(int8), "cannot decode 300 into int8"},
		{-129, new(int8), "cannot decode -129 into int8"},
		{-1, new(uint64), "cannot decode -1 into uint64"},
		{256, new(uint8), "cannot decode 256 into uint8"},
		{uint64(math.MaxUint64), new(int64), "cannot decode 18446744073709551615 into int64"},
		{uint64(1) << 63, new(time.Duration), "cannot decode 9223372036854775808 into time.Duration"},
		{1.5, new(int), "cannot decode 1.5 into int"},
		{float64(1 << 63), new(int64), "into int64"},
		{math.Inf(1), new(uint64), "cannot decode +Inf into uint64"},
		{math.NaN(), new(int), "cannot decode NaN into int"},
		{1e300, new(float32), "cannot decode 1e+300 into float32"},
		{int64(1)<<53 + 1, new(float64), "cannot decode 9007199254740993 into float64"},
		{uint64(math.MaxUint64), new(float64), "into float64"},
		{int64(math.MinInt64) + 1, new(float64), "into float64"},
		{1, new(string), "cannot decode an unsigned integer into string"},
		{1, new(bool), "cannot decode an unsigned integer into bool"},
		{true, new(int), "cannot decode a boolean into int"},
		{"1", new(int), "cannot decode a string into int"},
		{"abcd", new([3]byte), "cannot decode a string into [3]uint8"},
		{[]int{1, 2}, new([3]int), "cannot decode an array of 2 into [3]int"},
		{[]int{1}, new(map[string]int), "cannot decode an array of 1 into map[string]int"},
		{map[string]int{}, new([]int), "cannot decode a map into []int"},
		{map[string]any{"A": 1}, new(struct{ A string }), "field A: cannot decode an unsigned integer into string"},
		{[]any{1, "x"}, new([]int), "element 2: cannot decode a string into int"},
		{map[string]any{"k": "x"}, new(map[string]int), "key k: cannot decode a string into int"},
		{map[int]int{300: 1}, new(map[int8]int), "a key: cannot decode 300 into int8"},
		{map[string]any{"id": "x"}, new(sql.Null[base]), "field id: cannot decode a string into uint64"},
		{map[string]any{"A": 1}, new(document), "no document of mine"},
		{map[string]any{"ID": 1}, new(ambiguous), "two fields with the name ID"},
		{Decimal("1.5"), new(int), "cannot decode 1.5 into int"},
		{Decimal("300"), new(int8), "cannot decode 300 into int8"},
		{Decimal("-1"), new(uint8), "cannot decode -1 into uint8"},
		{Decimal("1e39"), new(float32), "cannot decode 1000000000000000000000000000000000000000 into float32"},
		{"1.5", new(float64), "cannot decode a string into float64"},
		{Interval{}, new(Decimal), "cannot scan tntsql.Interval into a DECIMAL"},
		{5, new([]UUID), "cannot decode an unsigned integer into []tntsql.UUID"},
		{true, new(Decimal), "cannot scan bool into a DECIMAL"},
		{UUID{1}, new(int), "cannot decode tntsql.UUID into int"},
		{Interval{Day: 1}, new(string), "cannot decode tntsql.Interval into string"},
		{time.Unix(0, 0), new(string), "cannot decode time.Time into string"},
		{5, new(otherID), "an ID is text"},
		{5, new(error), "cannot decode int64 into error"},
		{"x", new(chan int), "cannot decode a string into chan int"},
		{[]int{1}, new(cyclic), "contains itself"},
	} {
		err := DecodeData(dataBody(t, test.v), test.dst)
		assert.ErrorContains(t, err, "value 1: ", "%T into %T", test.v, test.dst)
		assert.ErrorContains(t, err, test.want, "%T into %T", test.v, test.dst)
	}
}

// A method that is promoted from an embedded type would be for that field alone.
func TestEmbeddedTypesBesideOtherFieldsAreFields(t *testing.T) {
	type visit struct {
		time.Time
		Name string
	}
	type moment struct{ time.Time }
	type entry struct {
		sql.NullString
		UUID
		Age int
	}
	at := time.Unix(5, 0).UTC()
	for _, test := range []struct{ in, want, back any }{
		{visit{at, "Ann"}, map[string]any{"Time": at, "Name": "Ann"}, new(visit)},
		{entry{sql.NullString{String: "x", Valid: true}, UUID{1}, 7}, map[string]any{"NullString": "x", "UUID": UUID{1}, "Age": int64(7)}, new(entry)},
		{moment{at}, at, new(moment)},
		{struct {
			sql.NullString
			cache int
		}{NullString: sql.NullString{String: "x", Valid: true}}, "x", nil},
		{pointed{Name: "n"}, "n", nil},
	} {
		plain, err := Plain(test.in)
		require.NoError(t, err)
		assert.Equal(t, test.want, plain)
		if test.back != nil {
			require.NoError(t, Convert(plain, test.back))
			assert.Equal(t, test.in, reflect.ValueOf(test.back).Elem().Interface())
		}
	}
}

func TestStructsThatWouldLoseDataAreRefused(t *testing.T) {
	for _, test := range []struct {
		v    any
		want string
	}{
		{ambiguous{}, "iproto.ambiguous has two fields with the name ID"},
		{struct {
			A int `json:"x"`
			B int `msgpack:"x"`
		}{}, "has two fields with the name x"},
		{struct{ a int }{1}, "struct { a int } has no exported fields"},
		{hidden{}, "iproto.hidden embeds iproto.amount, which is not exported: give the field a name"},
	} {
		_, err := Plain(test.v)
		assert.ErrorContains(t, err, test.want)
	}
}

func TestEmptyFieldsAreOmitted(t *testing.T) {
	type options struct {
		Any    any       `json:",omitempty"`
		At     time.Time `json:",omitempty"`
		List   []int     `json:",omitempty"`
		Number *int      `json:",omitempty"`
	}
	for _, test := range []struct {
		in   options
		want map[string]any
	}{
		{options{List: []int{}}, map[string]any{}},
		{options{Any: (*time.Time)(nil)}, map[string]any{"Any": nil}},
		{options{Any: 0, Number: new(int)}, map[string]any{"Any": int64(0), "Number": int64(0)}},
	} {
		plain, err := Plain(test.in)
		require.NoError(t, err)
		assert.Equal(t, test.want, plain)
	}
}

func TestTextThatIsANumberIsOneInValuesOfRows(t *testing.T) {
	var f float64
	require.NoError(t, Convert("-1.50", &f))
	assert.InDelta(t, -1.5, f, 0)
	require.NoError(t, Convert("1E300", &f))
	assert.InEpsilon(t, 1e300, f, 0)
	for _, text := range []string{"", "x", "NaN", "inf", "0x10", "1_0", "1e999"} {
		assert.ErrorContains(t, Convert(text, &f), "cannot decode a string into float64", text)
	}
}

func TestStructsWithOptionsOfMsgpackAreItsOwn(t *testing.T) {
	b, err := AppendCall(nil, "f", []any{tuple{ID: 1, Name: "a"}}, v38)
	require.NoError(t, err)
	assert.Equal(t, unhex(t, "82 22 a166 21 91 92 01 a161"), b)
}

func TestWhatIsDecodedSharesNoBytesThatCanBeWritten(t *testing.T) {
	body := dataBody(t, []byte("binary"), "string")
	before := string(body)
	var binary, text []byte
	require.NoError(t, DecodeData(body, &binary, &text))
	clear(binary)
	clear(text)
	assert.Equal(t, before, string(body))
}

func TestDecodingEndsAtAnyDepth(t *testing.T) {
	deep := unhex(t, "81 30 91"+strings.Repeat("91", MaxDepth-2)+"c0")
	type list []*list
	var typed list
	require.NoError(t, DecodeData(deep, &typed))
	type raw struct{ R msgpack.RawMessage }
	got, err := decodeAs[raw](t, map[string]any{"R": []int{1}})
	require.NoError(t, err)
	assert.Equal(t, msgpack.RawMessage{0x91, 0x01}, got.R)
}
