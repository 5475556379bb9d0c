package iproto

import (
	"database/sql"
	"database/sql/driver"
	"encoding/hex"
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	v26  = Version{2, 6, 0}
	v211 = Version{2, 11, 9}
	v38  = Version{3, 8, 0}
)

// Types as users have them.
type (
	status  int16
	label   string
	date    time.Time
	span    Interval
	grade   uint8 // its Value is text
	octet   byte
	blob    []byte
	otherID [16]byte // like google/uuid: a UUID whose Value is text
	nullID  struct {
		ID    otherID
		Valid bool
	}
	amount struct {
		coefficient int64
		exponent    int32
	} // like shopspring's decimal
	nullCash struct {
		Cash  amount
		Valid bool
	}
	encoded struct{ value any }
	broken  struct{}
	panicky struct{}
	endless struct{}
	cyclic  *cyclic
)

func (id otherID) String() string              { return UUID(id).String() }
func (otherID) Value() (driver.Value, error)   { return "an id", nil }
func (nullID) Value() (driver.Value, error)    { return "an id", nil }
func (a amount) Coefficient() *big.Int         { return big.NewInt(a.coefficient) }
func (a amount) Exponent() int32               { return a.exponent }
func (amount) Value() (driver.Value, error)    { return "an amount", nil }
func (nullCash) Value() (driver.Value, error)  { return "an amount", nil }
func (e encoded) Value() (driver.Value, error) { return e.value, nil }
func (g grade) Value() (driver.Value, error)   { return string(rune('A' + g)), nil }
func (broken) Value() (driver.Value, error)    { return nil, errors.New("no value today") }
func (panicky) Value() (driver.Value, error)   { panic("as users do") }
func (e endless) Value() (driver.Value, error) { return e, nil }

func TestAppendValue(t *testing.T) {
	for _, test := range []struct {
		name string
		v    any
		want string
	}{
		{"nil", nil, "c0"},
		{"false", false, "c2"},
		{"true", true, "c3"},

		{"int64 0", int64(0), "00"},
		{"int64 1", int64(1), "01"},
		{"int64 127", int64(127), "7f"},
		{"int64 128", int64(128), "cc80"},
		{"int64 255", int64(255), "ccff"},
		{"int64 256", int64(256), "cd0100"},
		{"int64 65535", int64(65535), "cdffff"},
		{"int64 65536", int64(65536), "ce00010000"},
		{"int64 1<<31", int64(1) << 31, "ce80000000"},
		{"int64 1<<32", int64(1) << 32, "cf0000000100000000"},
		{"int64 1<<40", int64(1) << 40, "cf0000010000000000"},
		{"int64 max", int64(math.MaxInt64), "cf7fffffffffffffff"},
		{"int64 -1", int64(-1), "ff"},
		{"int64 -32", int64(-32), "e0"},
		{"int64 -33", int64(-33), "d0df"},
		{"int64 -128", int64(-128), "d080"},
		{"int64 -129", int64(-129), "d1ff7f"},
		{"int64 -32768", int64(-32768), "d18000"},
		{"int64 -32769", int64(-32769), "d2ffff7fff"},
		{"int64 min32", int64(math.MinInt32), "d280000000"},
		{"int64 min32-1", int64(math.MinInt32) - 1, "d3ffffffff7fffffff"},
		{"int64 min", int64(math.MinInt64), "d38000000000000000"},
		{"int", 300, "cd012c"},
		{"int8", int8(127), "7f"},
		{"int8 negative", int8(-128), "d080"},
		{"int16", int16(300), "cd012c"},
		{"int32", int32(70000), "ce00011170"},
		{"uint", uint(5), "05"},
		{"uint8", uint8(200), "ccc8"},
		{"uint16", uint16(65535), "cdffff"},
		{"uint32", uint32(math.MaxUint32), "ceffffffff"},
		{"uint64 high bit", uint64(1) << 63, "cf8000000000000000"},
		{"uint64 max", uint64(math.MaxUint64), "cfffffffffffffffff"},
		{"duration", 2 * time.Second, "ce77359400"},
		{"named int", status(-7), "f9"},

		{"float64", 3.0, "cb4008000000000000"},
		{"float32", float32(1.5), "cb3ff8000000000000"},
		{"string", "añ", "a361c3b1"},
		{"empty string", "", "a0"},
		{"named string", label("x"), "a178"},
		{"bytes", []byte{1, 2}, "c4020102"},
		{"empty bytes", []byte{}, "c400"},
		{"nil bytes", []byte(nil), "c0"},
		{"named bytes", blob{9}, "c40109"},
		{"nil named bytes", blob(nil), "c0"},
		{"raw json", json.RawMessage(`{}`), "c4027b7d"},
		{"byte array", [3]byte{1, 2, 3}, "c403010203"},
		{"array of named bytes", [2]octet{1, 2}, "c4020102"},
		{"slice of named bytes", []octet{1, 2}, "c4020102"},
		{"nil raw json", json.RawMessage(nil), "c0"},

		{"slice", []int{1, -1, 300}, "9301ffcd012c"},
		{"slice of anything", []any{nil, "x", []any{}}, "93c0a17890"},
		{"array", [2]bool{true, false}, "92c3c2"},
		{"nil slice", []int(nil), "c0"},
		{"map in the order of keys", map[string]any{"b": 1, "a": []byte{1}}, "82a161c40101a16201"},
		{"map with a named key", map[label]int{"k": 1}, "81a16b01"},
		{"map with other keys", map[any]int{1: 2, "a": 3}, "820102a16103"},
		{"nil map", map[string]int(nil), "c0"},

		{"pointer", new(int8), "00"},
		{"nil pointer", (*int8)(nil), "c0"},
		{"valuer", encoded{int64(5)}, "05"},
		{"pointer to a valuer", &encoded{uint8(5)}, "05"},
		{"nil pointer to a valuer", (*encoded)(nil), "c0"},
		{"valuer of a valuer", encoded{encoded{"x"}}, "a178"},
		{"sql.NullString", sql.NullString{String: "x", Valid: true}, "a178"},
		{"invalid sql.NullInt64", sql.NullInt64{Int64: 3}, "c0"},

		{"UUID", UUID{1, 15: 2}, "d80201000000000000000000000000000002"},
		{"another package's UUID", otherID{1, 15: 2}, "d80201000000000000000000000000000002"},
		{"pointer to it", &otherID{1, 15: 2}, "d80201000000000000000000000000000002"},
		{"nullable UUID", nullID{otherID{1, 15: 2}, true}, "d80201000000000000000000000000000002"},
		{"null UUID", nullID{}, "c0"},
		{"pointer to a null UUID", &nullID{}, "c0"},
		{"16 bytes without String", [16]byte{1}, "c41001000000000000000000000000000000"},

		{"Decimal", Decimal("-1.50"), "c70301" + "02" + "150d"},
		{"another package's decimal", amount{-150, -2}, "c70301" + "02" + "150d"},
		{"pointer to it", &amount{7, 2}, "c70301" + "00" + "700c"},
		{"nullable decimal", nullCash{amount{5, 0}, true}, "d501" + "00" + "5c"},
		{"null decimal", nullCash{}, "c0"},
		{"Decimal without text", Decimal(""), "d501" + "00" + "0c"},
		{"big.Int", big.NewInt(-12), "c70301" + "00" + "012d"},
		{"nil big.Int", (*big.Int)(nil), "c0"},
		{"time", time.Unix(1, 0).UTC(), "d7040100000000000000"},
		{"interval", Interval{Month: 1}, "c70506" + "02" + "0101" + "0801"},
		{"type made from a time", date(time.Unix(1, 0).UTC()), "d7040100000000000000"},
		{"type made from an interval", &span{Month: 1}, "c70506" + "02" + "0101" + "0801"},
		{"slice of valuers of a byte", []grade{0, 1}, "92a141a142"},
		{"array of valuers of a byte", [1]grade{2}, "91a143"},

		{"sql.Null of a large integer", sql.Null[uint64]{V: math.MaxUint64, Valid: true}, "cfffffffffffffffff"},
		{"sql.Null of a slice", &sql.Null[[]int]{V: []int{1}, Valid: true}, "9101"},
		{"sql.Null of a Decimal", sql.Null[Decimal]{V: "5", Valid: true}, "d501" + "00" + "5c"},
		{"sql.Null of an interval", sql.Null[Interval]{V: Interval{Month: 1}, Valid: true}, "c70506" + "02" + "0101" + "0801"},
		{"sql.Null that is NULL", sql.Null[Interval]{}, "c0"},
	} {
		t.Run(test.name, func(t *testing.T) {
			b, err := AppendValue([]byte("before"), test.v, v38)
			require.NoError(t, err)
			assert.Equal(t, "before", string(b[:6]))
			assert.Equal(t, test.want, hex.EncodeToString(b[6:]))
		})
	}
}

func TestAppendValueRefuses(t *testing.T) {
	var self any
	loop := []any{nil}
	loop[0] = loop
	self = loop
	var pointer cyclic
	pointer = &pointer

	for _, test := range []struct {
		name   string
		v      any
		server Version
		want   string
	}{
		{"DECIMAL on 2.6", Decimal("1"), v26, "tntsql.Decimal as DECIMAL needs Tarantool 2.10.0 or later, the server's version is 2.6.0"},
		{"another package's decimal on 2.6", amount{}, v26, "iproto.amount as DECIMAL needs Tarantool 2.10.0"},
		{"big.Int on 2.6", big.NewInt(1), v26, "*big.Int as DECIMAL needs Tarantool 2.10.0"},
		{"UUID on 2.6", UUID{}, v26, "tntsql.UUID as UUID needs Tarantool 2.10.0"},
		{"time on 2.6", time.Now(), v26, "time.Time as DATETIME needs Tarantool 2.10.0"},
		{"pointer to a time on 2.6", &time.Time{}, v26, "time.Time as DATETIME needs Tarantool 2.10.0"},
		{"time of a valuer on 2.6", encoded{time.Time{}}, v26, "time.Time as DATETIME needs Tarantool 2.10.0"},
		{"INTERVAL on 2.6", Interval{}, v26, "tntsql.Interval as INTERVAL needs Tarantool 2.10.0"},
		{"ARRAY on 2.6", []int{1}, v26, "[]int as ARRAY needs Tarantool 2.10.0"},
		{"MAP on 2.6", map[string]int{}, v26, "map[string]int as MAP needs Tarantool 2.10.0"},
		{"UUID on an unknown version", UUID{}, Version{}, "the server's version is unknown"},
		{"struct", struct{ A int }{}, v38, "unsupported type struct { A int }"},
		{"channel", make(chan int), v38, "unsupported type chan int"},
		{"complex", 1i, v38, "unsupported type complex128"},
		{"function", func() {}, v38, "unsupported type func()"},
		{"channel as a key", map[any]int{make(chan int): 1}, v38, "unsupported type chan int"},
		{"channel inside", []any{map[string]any{"a": make(chan int)}}, v38, "unsupported type chan int"},
		{"failing valuer", broken{}, v38, "no value today"},
		{"panicking valuer", panicky{}, v38, "panic while iproto.panicky was encoded: as users do"},
		{"panicking valuer inside", []any{panicky{}}, v38, "as users do"},
		{"valuer of itself", endless{}, v38, "contains itself"},
		{"slice of itself", self, v38, "contains itself"},
		{"pointer to itself", pointer, v38, "contains itself"},
		{"text that is no decimal", Decimal("1.2.3"), v38, "not a decimal number"},
		{"too many digits", Decimal("123456789012345678901234567890123456789"), v211, "a DECIMAL of Tarantool 2.11.9 has at most 38 digits"},
		{"too large big.Int", new(big.Int).Lsh(big.NewInt(1), 500), v38, "at most 76 digits"},
		{"unknown adjustment", Interval{Adjust: 3}, v38, "unknown adjustment 3"},
		{"too many years", Interval{Year: 1 << 31}, v38, "have 32 bits"},
	} {
		t.Run(test.name, func(t *testing.T) {
			b, err := AppendValue([]byte("before"), test.v, test.server)
			assert.ErrorContains(t, err, test.want)
			assert.Equal(t, "before", string(b))
		})
	}
}

func TestAppendValueTakesTheDeepestValue(t *testing.T) {
	nest := func(depth int) any {
		var v any = []any{}
		for range depth - 1 {
			v = []any{v}
		}
		return v
	}
	b, err := AppendValue(nil, nest(MaxDepth), v38)
	require.NoError(t, err)
	n, err := Skip(b, MaxDepth)
	require.NoError(t, err)
	assert.Equal(t, len(b), n)

	_, err = AppendValue(nil, nest(MaxDepth+1), v38)
	assert.ErrorIs(t, err, errTooDeep)
}

// ringOfMsgpack is encoded by msgpack, which goes into what is embedded.
type ringOfMsgpack struct {
	_msgpack struct{} `msgpack:",as_array"` //nolint:unused // msgpack looks for it
	link
	Keys map[any]int
}

type link struct{ Next *ringOfMsgpack }

func TestStructsThatContainThemselvesAreRefused(t *testing.T) {
	type node struct {
		Next  *node
		Named map[string]any
	}
	ring := &node{}
	ring.Next = ring
	holder := node{Named: map[string]any{}}
	holder.Named["self"] = holder
	embedding := &ringOfMsgpack{}
	embedding.Next = embedding
	key := ringOfMsgpack{Keys: map[any]int{embedding: 1}}
	for name, v := range map[string]any{
		"by a pointer":          ring,
		"by value":              *ring,
		"by a map":              holder,
		"in a slice of others":  []any{1, ring},
		"by an embedded struct": embedding,
		"by a key of a map":     key,
	} {
		_, err := AppendCall(nil, "f", []any{v}, v38)
		assert.ErrorIs(t, err, errTooDeep, name)
	}
	_, err := AppendCall(nil, "f", []any{ring}, v38)
	assert.EqualError(t, err, "parameter 1: iproto.node: "+errTooDeep.Error(), "without a path as long as the value is deep")
	_, err = AppendCall(nil, "f", []any{node{Next: &node{Next: &node{}}}}, v38)
	assert.NoError(t, err)
}

func TestLengthsAreReadAsTheyWereAppended(t *testing.T) {
	for _, n := range []int{0, 15, 16, 31, 32, 255, 256, 65535, 65536} {
		for want, b := range map[kind][]byte{
			kindStr:   appendString(nil, strings.Repeat("x", n)),
			kindBin:   appendBinary(nil, make([]byte, n)),
			kindArray: append(appendArrayLen(nil, n), make([]byte, n)...),
			kindMap:   append(appendMapLen(nil, n), make([]byte, 2*n)...),
		} {
			s := scanner{b: b}
			k, length, err := s.head()
			require.NoError(t, err)
			assert.Equal(t, want, k)
			assert.Equal(t, uint64(n), length)
			size, err := Skip(b, 1)
			require.NoError(t, err)
			assert.Equal(t, len(b), size)
		}
	}
	for _, n := range []int{1, 2, 3, 4, 8, 16, 17, 255, 256, 65535, 65536} {
		b := appendExt(nil, 1, make([]byte, n))
		size, err := Skip(b, 0)
		require.NoError(t, err)
		assert.Equal(t, len(b), size)
	}
}
