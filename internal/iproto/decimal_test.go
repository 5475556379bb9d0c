package iproto

import (
	"encoding/hex"
	"math/big"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestDecimalBothWays(t *testing.T) {
	for _, test := range []struct{ text, data, back string }{
		{"0", "00 0c", "0"},
		{"-0", "00 0c", "0"},
		{"0.00", "02 0c", "0.00"},
		{"1", "00 1c", "1"},
		{"+1", "00 1c", "1"},
		{"-1", "00 1d", "-1"},
		{"12", "00 012c", "12"},
		{"00012", "00 012c", "12"},
		{"1.50", "02 150c", "1.50"},
		{"-0.001", "03 1d", "-0.001"},
		{".5", "01 5c", "0.5"},
		{"5.", "00 5c", "5"},
		{"1e3", "00 01000c", "1000"},
		{"1E+3", "00 01000c", "1000"},
		{"12.34e1", "01 01234c", "123.4"},
		{"12e-3", "03 012c", "0.012"},
		{"0e5", "00 0c", "0"},
		{"12345678901234567890123456789012345678", "00 012345678901234567890123456789012345678c", "12345678901234567890123456789012345678"},
		{"-0.12345678901234567890123456789012345678", "26 012345678901234567890123456789012345678d", "-0.12345678901234567890123456789012345678"},
		{"0.00000000000000000000000000000000000001", "26 1c", "0.00000000000000000000000000000000000001"},
		{"1e37", "00 010000000000000000000000000000000000000c", "1" + strings.Repeat("0", 37)},
	} {
		t.Run(test.text, func(t *testing.T) {
			b, err := appendDecimalText(nil, test.text, v211)
			require.NoError(t, err)
			s := scanner{b: b}
			k, n, err := s.head()
			require.NoError(t, err)
			require.Equal(t, kindExt, k)
			id, data := s.extension(n)
			assert.Equal(t, int8(extDecimal), id)
			assert.Equal(t, strings.ReplaceAll(test.data, " ", ""), hex.EncodeToString(data))

			text, err := decodeDecimal(data)
			require.NoError(t, err)
			assert.Equal(t, test.back, text)

			exact, _ := new(big.Rat).SetString(test.text)
			decoded, _ := new(big.Rat).SetString(text)
			assert.Zero(t, exact.Cmp(decoded))
		})
	}
}

func TestDecodeDecimalAsServersMayPackIt(t *testing.T) {
	for _, test := range []struct{ data, want string }{
		{"d0fd 1c", "1000"},                             // negative scale
		{"fd 012c", "12000"},                            // the same in a byte
		{"fd 0c", "0"},                                  // zero has no more zeros
		{"00 5a", "5"},                                  // all the signs
		{"00 5e", "5"},                                  //
		{"00 5f", "5"},                                  //
		{"00 5b", "-5"},                                 //
		{"00 0d", "0"},                                  // negative zero
		{"cc02 150c", "1.50"},                           // scale in two bytes
		{"00 00000000 00005c", "5"},                     // leading zeros
		{"cd03e8 15 0c", "150E-1000"},                   // far behind the point
		{"d1fc18 15 0c", "150E1000"},                    // far before it
		{"ce7fffffff 1c", "1E-2147483647"},              //
		{"d280000000 1d", "-1E2147483648"},              //
		{"64 1c", "0." + strings.Repeat("0", 99) + "1"}, // not yet far
	} {
		text, err := decodeDecimal(unhex(t, test.data))
		require.NoError(t, err, test.data)
		assert.Equal(t, test.want, text, test.data)
	}
}

func TestDecodeDecimalRefuses(t *testing.T) {
	for _, data := range []string{
		"", "00", "05", // no digits
		"00 01", "00 19", // no sign
		"00 cc", "00 a50c", // no digit in front of the sign
		"00 1c0c", "00 15 5c 0c", // a sign in the middle
		"a0 1c", "c0 1c", "cb3ff0000000000000 1c", // scale that is no integer
		"cf0000000080000000 1c", "d3ffffffff00000000 1c", // scale of over 32 bits
		"cd01", "d1", // cut
	} {
		_, err := decodeDecimal(unhex(t, data))
		assert.ErrorIs(t, err, ErrMalformed, data)
	}
}

func TestDecimalTextIsValidated(t *testing.T) {
	for _, text := range []string{
		"", "-", "+", ".", "-.", "e5", "1e", "1e+", "1e5.0", "1.2.3", "--1", "1-", "1,5", " 1", "1 ", "0x10", "1_000",
		"NaN", "Infinity", "١", "1e99999999999",
	} {
		_, err := appendDecimalText(nil, text, v38)
		assert.ErrorContains(t, err, "not a decimal number", text)
	}
	long := strings.Repeat("x", 1<<20)
	_, err := appendDecimalText(nil, long, v38)
	require.Error(t, err)
	assert.Less(t, len(err.Error()), 500)
}

func TestDecimalDigitsAreLimited(t *testing.T) {
	for _, test := range []struct {
		text       string
		v211, v3_8 bool
	}{
		{strings.Repeat("9", 38), true, true},
		{strings.Repeat("9", 39), false, true},
		{strings.Repeat("9", 76), false, true},
		{strings.Repeat("9", 77), false, false},
		{"0." + strings.Repeat("0", 38) + "1", false, true},
		{"1e38", false, true},
		{"1e76", false, false},
		{"1e2147483647", false, false},
		{"1e-2147483648", false, false},
		{"0e-2147483648", false, false},
		{strings.Repeat("0", 1000) + "1", true, true},
	} {
		_, err := appendDecimalText(nil, test.text, v211)
		assert.Equal(t, test.v211, err == nil, test.text)
		_, err = appendDecimalText(nil, test.text, v38)
		assert.Equal(t, test.v3_8, err == nil, test.text)
	}
}
