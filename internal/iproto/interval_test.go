package iproto

import (
	"encoding/hex"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestIntervalBothWays(t *testing.T) {
	for _, test := range []struct {
		v          Interval
		data, text string
	}{
		{Interval{Adjust: AdjustExcess}, "00", "+0 seconds"},
		{Interval{}, "01 0801", "+0 seconds"},
		{Interval{Adjust: AdjustLast}, "01 0802", "+0 seconds"},
		{Interval{Year: 1, Month: -2, Week: 3, Day: 4, Hour: 5, Min: -6, Sec: 7, Nsec: 8},
			"09 0001 01fe 0203 0304 0405 05fa 0607 0708 0801",
			"+1 years, -2 months, 3 weeks, 4 days, 5 hours, -6 minutes, 7 seconds, 8 nanoseconds"},
		{Interval{Day: -300, Adjust: AdjustExcess}, "01 03d1fed4", "-300 days"},
		{Interval{Sec: math.MaxInt64, Adjust: AdjustExcess}, "01 06cf7fffffffffffffff", "+9223372036854775807 seconds"},
		{Interval{Nsec: math.MinInt32, Adjust: AdjustExcess}, "01 07d280000000", "-2147483648 nanoseconds"},
	} {
		b, err := appendInterval(nil, test.v)
		require.NoError(t, err)
		data := extensionData(t, b, extInterval)
		assert.Equal(t, strings.ReplaceAll(test.data, " ", ""), hex.EncodeToString(data))
		v, err := decodeInterval(data)
		require.NoError(t, err)
		assert.Equal(t, test.v, v)
		assert.Equal(t, test.text, v.String())
	}
}

func TestDecodeIntervalRefuses(t *testing.T) {
	for _, data := range []string{
		"", "01", "01 00", "02 0001", // cut
		"01 0901", "01 ff01", "01 ccff01", // no such field
		"01 00a0", "01 00c0", "01 00cb3ff0000000000000", // no integer
		"01 00cfffffffffffffffff", // above int64
		"01 0803", "01 08ff",      // no such adjustment
	} {
		_, err := decodeInterval(unhex(t, data))
		assert.ErrorIs(t, err, ErrMalformed, data)
	}
}
