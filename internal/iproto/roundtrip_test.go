package iproto

import (
	"bytes"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"math/big"
	"net"
	"net/netip"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Types whose text is not what their kind holds.
type (
	shout  string  // text in upper case
	digest [4]byte // text in another form
	key    string  // a Valuer and a Scanner
	ulid   [16]byte
	zeroed struct{} // its pointer takes nil
)

func (s shout) MarshalText() ([]byte, error) { return []byte(strings.ToUpper(string(s))), nil }
func (s *shout) UnmarshalText(text []byte) error {
	*s = shout(strings.ToLower(string(text)))
	return nil
}
func (d digest) MarshalText() ([]byte, error)     { return []byte("a digest"), nil }
func (d *digest) UnmarshalText(text []byte) error { return json.Unmarshal(text, d) }
func (k key) Value() (driver.Value, error)        { return "v:" + string(k), nil }
func (ulid) String() string                       { return "01ARZ3NDEKTSV4RRFFQ69G5FAV" }
func (u ulid) Value() (driver.Value, error)       { return u[:], nil }
func (*zeroed) Value() (driver.Value, error)      { return "nothing", nil }

func (k *key) Scan(src any) error {
	text, ok := strings.CutPrefix(src.(string), "v:")
	if !ok {
		return errors.New("no prefix")
	}
	*k = key(text)
	return nil
}

func TestTypesWithATextOfTheirOwnGoThereAndBack(t *testing.T) {
	_, network, err := net.ParseCIDR("10.0.0.0/8")
	require.NoError(t, err)
	for _, in := range []any{
		net.ParseIP("10.0.0.1"), []net.IP{net.IPv6loopback}, *network, netip.MustParseAddr("::1"),
		shout("Quiet"), digest{1, 2, 255}, []digest{{}}, map[shout]digest{"A": {1}},
		map[key]int{"a": 1}, []key{"b"}, struct{ K map[key]key }{map[key]key{"c": "d"}},
		sql.Null[netip.Addr]{V: netip.MustParseAddr("::1"), Valid: true}, []sql.Null[[3]byte]{{V: [3]byte{1}, Valid: true}, {}},
		sql.Null[big.Int]{V: *big.NewInt(7), Valid: true}, sql.Null[shout]{V: "x", Valid: true},
	} {
		t.Run(reflect.TypeOf(in).String(), func(t *testing.T) {
			out := reflect.New(reflect.TypeOf(in))
			require.NoError(t, DecodeData(dataBody(t, in), out.Interface()))
			assert.Equal(t, in, out.Elem().Interface())
		})
	}
	fromText, err := decodeAs[net.IP](t, "10.0.0.1")
	require.NoError(t, err)
	assert.True(t, net.IPv4(10, 0, 0, 1).Equal(fromText), "as text, which a Lua program would write")
}

func TestValuersOfBytesAndOfNil(t *testing.T) {
	for want, v := range map[string]any{"c41001000000000000000000000000000000": ulid{1}, "a76e6f7468696e67": (*zeroed)(nil)} {
		b, err := AppendValue(nil, v, v26)
		require.NoError(t, err)
		assert.Equal(t, unhex(t, want), b)
	}
}

func TestNothingOfAValueIsLost(t *testing.T) {
	_, err := AppendCall(nil, "f", []any{map[any]any{int64(1): "a", uint8(1): "b"}}, v38)
	assert.ErrorContains(t, err, "two keys of a map are encoded alike")
	_, err = decodeAs[json.RawMessage](t, []int{1, 2, 3})
	assert.ErrorContains(t, err, "cannot decode an array of 3 into json.RawMessage")
	var d Decimal
	assert.ErrorContains(t, d.Scan("no number"), "not a decimal number")
}

// A type of the user's may be large, and each element of an array is one.
func TestDecodingIntoLargeTypesIsBounded(t *testing.T) {
	const n = 20_000
	pairs := append([]byte{0x81, 0x30, 0x91}, appendMapLen(nil, n)...)
	for name, test := range map[string]struct {
		body []byte
		dst  any
	}{
		"slice": {dataBody(t, make([]any, n)), new([][1 << 17]int64)},
		"map":   {append(pairs, bytes.Repeat([]byte{0xa1, 'a', 0xc0}, n)...), new(map[string][1 << 17]int64)},
	} {
		t.Run(name, func(t *testing.T) {
			var err error
			assert.Less(t, allocated(func() { err = DecodeData(test.body, test.dst) }), uint64(slack))
			assert.ErrorContains(t, err, "would take over 1024 MiB")
		})
	}
}

// What is kept of an error does not keep its reply.
func TestErrorsKeepNothingOfALargeReply(t *testing.T) {
	long := appendString(nil, strings.Repeat("x", copyAbove))
	body := append([]byte{0x82, 0x31, 0xa1, 'e', 0x52, 0x81, 0x00, 0x92, 0x81, 0x03}, long...)
	body = append(body, 0x81, 0x03, 0xa1, 'f')
	e := ParseError(1, body)
	require.Len(t, e.Stack, 2)
	message, frame := e.Message, e.Stack[1].Message
	clear(body)
	assert.Equal(t, "e", message)
	assert.Equal(t, "f", frame)
}
