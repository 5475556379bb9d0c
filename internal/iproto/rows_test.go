package iproto

import (
	"database/sql/driver"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func unhex(t testing.TB, text string) []byte {
	b, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
	require.NoError(t, err)
	return b
}

// oneRow is the body of a reply with one row of one column.
func oneRow(value []byte) []byte {
	return append([]byte{0x82, 0x32, 0x91, 0x82, 0x00, 0xa1, 'A', 0x01, 0xa3, 'a', 'n', 'y', 0x30, 0x91, 0x91}, value...)
}

func TestNextDecodesEveryType(t *testing.T) {
	for _, test := range []struct {
		name, value string
		want        any
	}{
		{"nil", "c0", nil},
		{"false", "c2", false},
		{"true", "c3", true},
		{"fixint 0", "00", int64(0)},
		{"fixint 127", "7f", int64(127)},
		{"uint8", "ccff", int64(255)},
		{"uint16", "cdffff", int64(65535)},
		{"uint32", "ceffffffff", int64(math.MaxUint32)},
		{"uint64 of int64", "cf7fffffffffffffff", int64(math.MaxInt64)},
		{"uint64 above int64", "cf8000000000000000", uint64(1) << 63},
		{"uint64 max", "cfffffffffffffffff", uint64(math.MaxUint64)},
		{"negative fixint", "e0", int64(-32)},
		{"int8", "d080", int64(-128)},
		{"int8, not negative", "d07f", int64(127)},
		{"int16", "d18000", int64(-32768)},
		{"int32", "d280000000", int64(math.MinInt32)},
		{"int32, not negative", "d27fffffff", int64(math.MaxInt32)},
		{"int64", "d38000000000000000", int64(math.MinInt64)},
		{"int64, not negative", "d37fffffffffffffff", int64(math.MaxInt64)},
		{"float32", "ca3fc00000", 1.5},
		{"float64", "cb3ff8000000000000", 1.5},
		{"fixstr", "a161", "a"},
		{"empty string", "a0", ""},
		{"str8", "d90161", "a"},
		{"str16", "da000161", "a"},
		{"str32", "db0000000161", "a"},
		{"string that is no UTF-8", "a2ff00", "\xff\x00"},
		{"bin8", "c4020001", []byte{0, 1}},
		{"empty bin", "c400", []byte{}},
		{"bin16", "c5000101", []byte{1}},
		{"bin32", "c60000000101", []byte{1}},
		{"array", "93 01 a161 c0", []any{int64(1), "a", nil}},
		{"empty array", "90", []any{}},
		{"array16", "dc0001 05", []any{int64(5)}},
		{"array32", "dd00000001 05", []any{int64(5)}},
		{"map", "82 a161 01 a162 91c2", map[string]any{"a": int64(1), "b": []any{false}}},
		{"empty map", "80", map[string]any{}},
		{"map16", "de0001 a161 01", map[string]any{"a": int64(1)}},
		{"map32", "df00000001 a161 01", map[string]any{"a": int64(1)}},
		{"map with other keys", "83 a161 01 02 c0 c3 03", map[any]any{"a": int64(1), int64(2): nil, true: int64(3)}},
		{"map with a nil key", "81 c0 01", map[any]any{nil: int64(1)}},
		{"map in a map", "81 a161 81 01 02", map[string]any{"a": map[any]any{int64(1): int64(2)}}},
		{"decimal", "c70301 02 150d", "-1.50"},
		{"uuid", "d802 64d22e4dac924a23899ae59f34af5479", "64d22e4d-ac92-4a23-899a-e59f34af5479"},
		{"uuid as ext8", "c71002 64d22e4dac924a23899ae59f34af5479", "64d22e4d-ac92-4a23-899a-e59f34af5479"},
		{"error", "c70903 8100 91 8103 a3626164", "bad"},
		{"datetime", "d704 0100000000000000", time.Unix(1, 0).UTC()},
		{"interval", "c70506 02 0101 0801", Interval{Month: 1}},
		{"extensions inside", "91 81 a161 c70301 02 150d", []any{map[string]any{"a": "-1.50"}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			r, err := ParseExecute(oneRow(unhex(t, test.value)), nil)
			require.NoError(t, err)
			require.Equal(t, 1, r.Len())
			dest := make([]driver.Value, 1)
			require.NoError(t, r.Next(dest))
			assert.Equal(t, test.want, dest[0])
			assert.Equal(t, io.EOF, r.Next(dest))
		})
	}
}

func TestNextRefusesBrokenValues(t *testing.T) {
	for _, test := range []struct{ name, value, want string }{
		{"no such code", "c1", "no value begins with 0xc1"},
		{"unknown extension", "d44d00", "extension type 77"},
		{"compressed value", "d40500", "extension type 5"},
		{"key that is an array", "81 9101 01", "a key of a map is []interface {}"},
		{"key that is a map", "81 80 01", "a key of a map is map[string]interface {}"},
		{"key that is binary", "82 a161 01 c40101 01", "a key of a map is []uint8"},
		{"long string", "d9ff61", "a string of length 255"},
		{"long array", "dd7fffffff01", "an array of length 2147483647"},
		{"long map", "dfffffffff01", "a map of length 4294967295"},
		{"long extension", "c9ffffffff01", "an extension of length 4294967295"},
		{"uuid of 4 bytes", "d602 01020304", "UUID of 4 bytes"},
		{"error without a stack", "d503 8105", "malformed"},
		{"nested too deep", strings.Repeat("91", MaxDepth+1) + "c0", "nested too deep"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r, err := ParseExecute(oneRow(unhex(t, test.value)), nil)
			require.NoError(t, err)
			dest := make([]driver.Value, 1)
			err = r.Next(dest)
			assert.ErrorContains(t, err, test.want)
			assert.ErrorContains(t, err, "row 1: column 1: ")
			assert.Equal(t, err, r.Next(dest), "an error must not become the end of the rows")
			assert.Equal(t, 1, r.Len())
		})
	}
}

func TestNextRefusesRowsOfAnotherLength(t *testing.T) {
	body := oneRow([]byte{0x01})
	for _, columns := range []int{0, 2} {
		r, err := ParseExecute(body, nil)
		require.NoError(t, err)
		err = r.Next(make([]driver.Value, columns))
		assert.ErrorIs(t, err, ErrMalformed)
		assert.ErrorContains(t, err, fmt.Sprintf("1 values for %d columns", columns))
	}
}

func TestNextReadsRowByRow(t *testing.T) {
	// The second row is broken; the first is read all the same.
	body := append(oneRow(nil)[:13], unhex(t, "92 9101 9191")...)
	r, err := ParseExecute(body, nil)
	require.NoError(t, err)
	dest := make([]driver.Value, 1)
	require.NoError(t, r.Next(dest))
	assert.Equal(t, int64(1), dest[0])
	assert.ErrorContains(t, r.Next(dest), "row 2: ")
}

func TestBytesAreCutToTheirCapacity(t *testing.T) {
	for _, value := range []string{"c4020102", "91c4020102", "81a161c4020102"} {
		r, err := ParseExecute(append(oneRow(unhex(t, value)), 0xee), nil)
		require.NoError(t, err)
		dest := make([]driver.Value, 1)
		require.NoError(t, r.Next(dest))
		var data []byte
		switch v := dest[0].(type) {
		case []byte:
			data = v
		case []any:
			data = v[0].([]byte)
		case map[string]any:
			data = v["a"].([]byte)
		}
		assert.Len(t, data, 2)
		assert.Equal(t, 2, cap(data))
	}
}

func TestSmallValuesOfLargeBodiesAreCopied(t *testing.T) {
	inside := func(body []byte, p *byte) bool {
		at := uintptr(unsafe.Pointer(p))
		from := uintptr(unsafe.Pointer(unsafe.SliceData(body)))
		return at >= from && at < from+uintptr(len(body))
	}
	for _, test := range []struct {
		name       string
		size, body int
		copied     bool
	}{
		{"a small value of a small body", 10, 60 << 10, false},
		{"a small value of a large body", 10, 100 << 10, true},
		{"less than a quarter", 24 << 10, 100 << 10, true},
		{"over a quarter", 26 << 10, 100 << 10, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			filler := make([]byte, test.body-test.size)
			value := appendArrayLen(nil, 3)
			value = appendString(value, strings.Repeat("x", test.size))
			value = appendBinary(value, make([]byte, test.size))
			value = appendBinary(value, filler[:len(filler)-test.size])
			body := append(oneRow(nil)[:14:14], value...)
			r, err := ParseExecute(body, nil)
			require.NoError(t, err)
			dest := make([]driver.Value, 3)
			require.NoError(t, r.Next(dest))
			text, data := dest[0].(string), dest[1].([]byte)
			assert.Equal(t, test.copied, !inside(body, unsafe.StringData(text)))
			assert.Equal(t, test.copied, !inside(body, unsafe.SliceData(data)))
			assert.Equal(t, test.size, cap(data))
		})
	}
}

func TestParseExecuteOfRowCounts(t *testing.T) {
	r, err := ParseExecute(unhex(t, "81 42 81 00 05"), nil)
	require.NoError(t, err)
	assert.Equal(t, Result{Affected: 5}, r)
	assert.Equal(t, io.EOF, r.Next(nil))

	r, err = ParseExecute(unhex(t, "81 42 82 00 03 01 93 01 ff cd012c"), nil)
	require.NoError(t, err)
	assert.Equal(t, Result{Affected: 3, GeneratedIDs: []int64{1, -1, 300}}, r)
}

func TestParseExecuteSkipsUnknownKeys(t *testing.T) {
	r, err := ParseExecute(unhex(t, "83 7f 9101 a178 81a179c0 42 83 05 c0 00 05 06 90"), nil)
	require.NoError(t, err)
	assert.Equal(t, Result{Affected: 5}, r)

	// Rows need not be last.
	r, err = ParseExecute(unhex(t, "83 30 91 91 07 32 91 84 07 9105 00 a141 a178 c3 01 a3616e79 7f c0"), nil)
	require.NoError(t, err)
	assert.Equal(t, []string{"A"}, r.Columns.Names)
	dest := make([]driver.Value, 1)
	require.NoError(t, r.Next(dest))
	assert.Equal(t, int64(7), dest[0])
}

func TestParseExecuteRefuses(t *testing.T) {
	for _, test := range []struct{ name, body, want string }{
		{"nothing", "", "the bytes end inside a value"},
		{"no map", "93010203", "an array where a map is expected"},
		{"empty map", "80", "neither rows nor a row count"},
		{"rows without columns", "81 30 91 91 01", "without the other"},
		{"columns without rows", "81 32 91 82 00 a141 01 a141", "without the other"},
		{"more rows than bytes", "82 32 91 82 00 a141 01 a0 30 dd00001000 9101", "an array of length 4096"},
		{"more values than bytes", "82 32 92 82 00 a141 01 a0 82 00 a141 01 a0 30 92 9101 90", "2 rows of 2 columns in 3 bytes"},
		{"row count that is no number", "81 42 81 00 a131", "a string where an unsigned integer is expected"},
		{"negative row count", "81 42 81 00 ff", "a negative integer where"},
		{"row count above int64", "81 42 81 00 cfffffffffffffffff", "a row count of 18446744073709551615"},
		{"generated id that is no number", "81 42 82 00 01 01 91 a131", "a generated id is a string"},
		{"column that is no map", "82 32 91 a5 00000000 00 30 90", "a string where a map is expected"},
		{"column name that is no string", "82 32 91 82 00 05 01 a0 30 90", "an unsigned integer where a string is expected"},
		{"cut in the columns", "82 32 92 81 00 a141", "the bytes end inside a value"},
		{"more columns than bytes", "82 32 92 81 00 a0 82 00 a0 01 a0 30 90", "2 columns in 9 bytes"},
		{"lying number of columns", "82 32 dd00ffffff 81 00 a141 30 90", "an array of length 16777215"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := ParseExecute(unhex(t, test.body), NewColumnCache(1<<20, false))
			assert.ErrorIs(t, err, ErrMalformed)
			assert.ErrorContains(t, err, test.want)
		})
	}
}

func TestParseExecuteAllocates(t *testing.T) {
	body := manyRows(2)
	columns := NewColumnCache(1<<20, true)
	assert.LessOrEqual(t, testing.AllocsPerRun(100, func() { _, _ = ParseExecute(body, columns) }), 1.0)
}

func TestNextAllocatesForBoxingOnly(t *testing.T) {
	body := manyRows(1000) // small enough for views
	require.Less(t, len(body), copyAbove)
	columns := NewColumnCache(1<<20, true)
	dest := make([]driver.Value, 3)
	allocs := testing.AllocsPerRun(10, func() {
		r, err := ParseExecute(body, columns)
		for err == nil {
			err = r.Next(dest)
		}
	})
	assert.LessOrEqual(t, allocs, 3.0*1000)
}

func TestParsePrepare(t *testing.T) {
	p, err := ParsePrepare(unhex(t, "85 43 ce6b65b35c 34 02 33 92 8200a13f01a3414e59 8200a23a7801a3414e59 7f c0 32 91 8200a2494401a7696e7465676572"),
		NewColumnCache(1<<20, true))
	require.NoError(t, err)
	assert.Equal(t, uint32(0x6b65b35c), p.ID)
	assert.Equal(t, 2, p.Params)
	assert.Equal(t, []string{"id"}, p.Columns.Names)
	assert.Equal(t, []string{"integer"}, p.Columns.Types)

	p, err = ParsePrepare(unhex(t, "83 43 05 34 00 33 90"), nil)
	require.NoError(t, err)
	assert.Equal(t, Prepared{ID: 5}, p)

	for _, broken := range []string{"", "80", "81 43 05", "81 34 00", "82 43 cf0000000100000000 34 00", "82 43 a0 34 00", "82 43 05 34 ff", "82 43 05 34"} {
		_, err := ParsePrepare(unhex(t, broken), nil)
		assert.ErrorIs(t, err, ErrMalformed, broken)
	}
}
