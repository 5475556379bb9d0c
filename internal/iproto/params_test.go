package iproto

import (
	"database/sql/driver"
	"encoding/hex"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/vmihailenco/msgpack/v5"
)

func TestAppendExecute(t *testing.T) {
	positional := func(values ...any) []driver.NamedValue {
		args := make([]driver.NamedValue, len(values))
		for i, v := range values {
			args[i] = driver.NamedValue{Ordinal: i + 1, Value: v}
		}
		return args
	}
	named := func(name string, v any) driver.NamedValue { return driver.NamedValue{Name: name, Value: v} }

	for _, test := range []struct {
		name string
		args []driver.NamedValue
		want string
	}{
		{"no parameters", nil, "90"},
		{"positional", positional(int64(1), "a"), "9201a161"},
		{"sixteen", positional(make([]any, 16)...), "dc0010" + strings.Repeat("c0", 16)},
		{"named", []driver.NamedValue{named("id", int64(7))}, "9181a33a696407"},
		{"named with an underscore", []driver.NamedValue{named("_x", nil)}, "9181a33a5f78c0"},
		{"named with a colon", []driver.NamedValue{named(":id", int64(7))}, "9181a33a696407"},
		{"named with an at sign", []driver.NamedValue{named("@id", int64(7))}, "9181a340696407"},
		{"named with a hash", []driver.NamedValue{named("#id", int64(7))}, "9181a323696407"},
		{"map by name", []driver.NamedValue{named("m", map[string]int{"k": 1})}, "9181a23a6d81a16b01"},
	} {
		t.Run(test.name, func(t *testing.T) {
			b, err := AppendExecute([]byte{0xff}, "SELECT", test.args, v38)
			require.NoError(t, err)
			assert.Equal(t, "ff"+"82"+"40a653454c454354"+"41"+test.want, hex.EncodeToString(b))

			b, err = AppendExecuteID([]byte{0xff}, 0x6b65b35c, test.args, v38)
			require.NoError(t, err)
			assert.Equal(t, "ff"+"82"+"43ce6b65b35c"+"41"+test.want, hex.EncodeToString(b))
		})
	}
}

func TestParamErrorNamesTheParameter(t *testing.T) {
	args := []driver.NamedValue{{Value: int64(1)}, {Value: time.Time{}}}
	b, err := AppendExecute([]byte("before"), "SELECT ?, ?", args, v26)
	assert.EqualError(t, err, "parameter 2: time.Time as DATETIME needs Tarantool 2.10.0 or later, the server's version is 2.6.0")
	assert.Equal(t, "before", string(b))
	var param *ParamError
	require.ErrorAs(t, err, &param)
	assert.Equal(t, 2, param.Index)

	_, err = AppendExecuteID(nil, 1, []driver.NamedValue{{Name: "when", Value: time.Time{}}}, v26)
	assert.ErrorContains(t, err, "parameter :when: time.Time as DATETIME needs")

	_, err = AppendExecute(nil, "", []driver.NamedValue{{Value: broken{}}}, v38)
	assert.EqualError(t, errors.Unwrap(err), "no value today")
}

func TestPositionalMapIsRefused(t *testing.T) {
	large := map[string]int{}
	for i := range 20 {
		large[strings.Repeat("x", i)] = i
	}
	for _, m := range []any{map[string]int{}, map[string]any{"k": 1}, large, encoded{large}} {
		_, err := AppendExecute(nil, "SELECT ?", []driver.NamedValue{{Value: m}}, v38)
		assert.ErrorContains(t, err, "parameter 1: a map")
		assert.ErrorContains(t, err, "use sql.Named and :name")
	}
}

func TestAppendPrepareAndUnprepare(t *testing.T) {
	assert.Equal(t, "8140a3783d3f", hex.EncodeToString(AppendPrepare(nil, "x=?")))
	assert.Equal(t, "814305", hex.EncodeToString(AppendUnprepare(nil, 5)))
}

// Types of arguments of CALL and EVAL.
type (
	person struct {
		Name string    `msgpack:"name"`
		Age  int64     `json:"age"`
		Born time.Time `msgpack:",omitempty"`
	}
	custom    struct{ body []byte }
	byPointer struct{ n int }
)

func (c custom) EncodeMsgpack(m *msgpack.Encoder) error {
	if c.body == nil {
		panic("no body")
	}
	_, err := m.Writer().Write(c.body)
	return err
}

func (p *byPointer) EncodeMsgpack(m *msgpack.Encoder) error { return m.EncodeInt(int64(p.n)) }

func TestAppendCall(t *testing.T) {
	for _, test := range []struct {
		name   string
		args   []any
		server Version
		want   string
	}{
		{"no arguments", nil, v26, "90"},
		{"scalars", []any{1, "a", nil, []byte{1}}, v26, "9401a161c0c40101"},
		{"a map is a map", []any{map[string]int{"k": 1}}, v26, "9181a16b01"},
		{"a map with other keys", []any{map[int64]string{300: "x", 1: "y"}}, v26, "918201a179cd012ca178"},
		{"a struct", []any{person{Name: "Ann", Age: 300}}, v26, "9182" + "a46e616d65a3416e6e" + "a3616765cd012c"},
		{"a struct with a time", []any{person{Born: time.Unix(5, 7).UTC()}}, v38,
			"9183" + "a46e616d65a0" + "a361676500" + "a4426f726e" + "d8040500000000000000" + "07000000" + "00000000"},
		{"a custom encoder", []any{custom{[]byte{0x91, 0x05}}}, v26, "919105"},
		{"a custom encoder of a pointer", []any{byPointer{300}, &byPointer{1}}, v26, "92cd012c01"},
		{"a nil custom encoder", []any{(*byPointer)(nil)}, v26, "91c0"},
		{"a raw message", []any{msgpack.RawMessage{0xc3}}, v26, "91c3"},
		{"Lua of 2.6 knows DECIMAL and UUID", []any{Decimal("1"), UUID{1}}, v26,
			"92d501001c" + "d80201000000000000000000000000000000"},
		{"times in a struct", []any{struct{ Short, Middle, Long time.Time }{
			time.Unix(5, 0).UTC(), time.Unix(5, 7).UTC(), time.Unix(-5, 0).UTC()}}, v38,
			"9183" + "a553686f7274" + "d7040500000000000000" +
				"a64d6964646c65" + "d804050000000000000007000000" + "00000000" +
				"a44c6f6e67" + "d704fbffffffffffffff"},
		{"types of the server in a struct", []any{struct {
			D Decimal
			U UUID
			I Interval
		}{"1", UUID{1}, Interval{Month: 1}}}, v38,
			"9183" + "a144d501001c" + "a155d80201000000000000000000000000000000" + "a149c70506020101" + "0801"},
	} {
		t.Run(test.name, func(t *testing.T) {
			b, err := AppendCall([]byte{0xff}, "f", test.args, test.server)
			require.NoError(t, err)
			assert.Equal(t, "ff"+"82"+"22a166"+"21"+test.want, hex.EncodeToString(b))

			b, err = AppendEval([]byte{0xff}, "f", test.args, test.server)
			require.NoError(t, err)
			assert.Equal(t, "ff"+"82"+"27a166"+"21"+test.want, hex.EncodeToString(b))
		})
	}
}

func TestAppendCallRefuses(t *testing.T) {
	for _, test := range []struct {
		name   string
		arg    any
		server Version
		want   string
	}{
		{"a panicking encoder", custom{}, v38, "panic while iproto.custom was encoded: no body"},
		{"an encoder of nothing", custom{[]byte{}}, v38, "the bytes end inside a value"},
		{"an encoder of half a value", custom{[]byte{0x92, 1}}, v38, "malformed MessagePack"},
		{"an encoder of two values", custom{[]byte{1, 2}}, v38, "encoded as more than one value"},
		{"an encoder of an unknown extension", custom{[]byte{0xd4, 77, 0}}, v38, "extension type 77, which Tarantool does not know"},
		{"a time in a struct on 2.6", person{Born: time.Now()}, v26, "time.Time as DATETIME needs Tarantool 2.10.0"},
		{"an encoder of half a timestamp", custom{[]byte{0xd5, 0xff, 0, 0}}, v38, "timestamp of 2 bytes"},
		{"a Decimal in a struct that is none", struct{ D Decimal }{"x"}, v38, "not a decimal number"},
		{"an Interval in a struct that does not fit", struct{ I Interval }{Interval{Year: 1 << 40}}, v38, "have 32 bits"},
		{"a channel as a key", map[any]int{make(chan int): 1}, v38, "unsupported type chan int"},
		{"an encoder of an extension on 2.6", custom{[]byte{0xd6, 6, 1, 0, 1, 0}}, v26, "iproto.custom as INTERVAL needs Tarantool 2.10.0"},
		{"an array as a key", map[[2]int]string{{1, 2}: "x"}, v38, "a key of a map is [2]int: it must be text, a number or the like"},
		{"a struct as a key", map[struct{ A int }]int{{1}: 1}, v38, "a key of a map is struct"},
		{"a channel", make(chan int), v38, "unsupported type chan int"},
		{"a channel in a struct", struct{ C chan int }{make(chan int)}, v38, "chan int"},
		{"DATETIME on 2.6", time.Now(), v26, "time.Time as DATETIME needs Tarantool 2.10.0"},
		{"UUID on 2.3", UUID{}, Version{2, 3, 1}, "needs Tarantool 2.4.1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			b, err := AppendCall([]byte("before"), "f", []any{1, test.arg}, test.server)
			assert.ErrorContains(t, err, test.want)
			assert.ErrorContains(t, err, "parameter 2: ")
			assert.Equal(t, "before", string(b))

			b, err = AppendEval([]byte("before"), "f", []any{1, test.arg}, test.server)
			assert.ErrorContains(t, err, test.want)
			assert.Equal(t, "before", string(b))
		})
	}
}

func TestRequestsAreLimited(t *testing.T) {
	assert.NoError(t, checkSize(maxBody))
	assert.ErrorContains(t, checkSize(maxBody+1), "the server takes at most")
}
