package iproto

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParseHeader(t *testing.T) {
	for _, test := range []struct {
		name, header string
		want         Header
	}{
		{"as 2.6 sends it", "83 00 ce00000000 01 cf0000000000000001 05 ce00000054", Header{0, 1, 84}},
		{"an error of 3.8", "83 00 ce00008007 01 cf0000000000000043 05 cf000000000000005f", Header{0x8007, 67, 95}},
		{"short integers", "83 00 cc80 01 05 05 cd0100", Header{128, 5, 256}},
		{"signed integers that are not negative", "82 00 d04c 01 d3000000000000000a", Header{76, 10, 0}},
		{"any sync", "82 01 cfffffffffffffffff 00 00", Header{0, math.MaxUint64, 0}},
		{"a type alone", "81 00 00", Header{}},
		{"unknown keys", "86 00 00 0a 05 7f c0 cd0100 a178 cf0000000100000000 cb3ff0000000000000 ff c3", Header{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			header := unhex(t, test.header)
			h, bodyAt, err := ParseHeader(append(header, 0x81, 0x30, 0x90))
			require.NoError(t, err)
			assert.Equal(t, test.want, h)
			assert.Equal(t, len(header), bodyAt)

			_, bodyAt, err = ParseHeader(header)
			require.NoError(t, err)
			assert.Equal(t, len(header), bodyAt)
		})
	}
}

func TestParseHeaderRefuses(t *testing.T) {
	for _, test := range []struct{ name, frame, want string }{
		{"nothing", "", "the bytes end"},
		{"no map", "91 00", "an array where a map is expected"},
		{"no type", "81 01 05", "header without a type"},
		{"empty", "80", "header without a type"},
		{"too many fields", "de0011" + strings.Repeat("7f00", 17), "header of 17 fields"},
		{"lying length", "dfffffffff 00 00", "a map of length 4294967295"},
		{"text as a key", "81 a100 00", "a key of the header is a string"},
		{"array as a key", "81 9100 00", "a key of the header is an array"},
		{"array as a value", "82 00 00 0a 9100", "an array in the header"},
		{"map as a value", "82 00 00 0a 80", "a map in the header"},
		{"extension as a value", "82 00 00 0a d40100", "an extension in the header"},
		{"negative type", "81 00 ff", "a negative integer in the header"},
		{"text as a type", "81 00 a100", "a string in the header"},
		{"type of over 32 bits", "81 00 cf0000000100000000", "an integer of at most 4294967295"},
		{"float as a sync", "82 00 00 01 cb3ff0000000000000", "a float in the header"},
	} {
		t.Run(test.name, func(t *testing.T) {
			h, _, err := ParseHeader(unhex(t, test.frame))
			assert.ErrorIs(t, err, ErrMalformed)
			assert.ErrorContains(t, err, test.want)
			assert.Zero(t, h)
		})
	}
}

func TestSkip(t *testing.T) {
	for _, test := range []struct {
		b        string
		maxDepth int
		want     int
	}{
		{"05", 0, 1},
		{"c0 05", 0, 1},
		{"a3616263 05", 0, 4},
		{"c70301 02150d 05", 0, 6},
		{"92 01 a161 05", 1, 4},
		{"91 91 91 05", 3, 4},
		{"82 01 90 02 81 c3 c2", 2, 7},
		{"dc0001 c0", 1, 4},
	} {
		n, err := Skip(unhex(t, test.b), test.maxDepth)
		require.NoError(t, err, test.b)
		assert.Equal(t, test.want, n, test.b)
	}
	for _, test := range []struct {
		b        string
		maxDepth int
		want     string
	}{
		{"", 9, "the bytes end"},
		{"90", 0, "nested too deep"},
		{"91 91 91 05", 2, "nested too deep"},
		{"81 05 80", 1, "nested too deep"},
		{"92 01", 9, "an array of length 2 in 2 bytes"},
		{"c1", 9, "no value begins with 0xc1"},
		{"cd01", 9, "the bytes end"},
		{"c60000", 9, "the bytes end"},
	} {
		n, err := Skip(unhex(t, test.b), test.maxDepth)
		assert.ErrorContains(t, err, test.want, test.b)
		assert.Zero(t, n)
	}
}
