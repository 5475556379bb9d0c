package iproto

import (
	"encoding/hex"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func zone(t testing.TB, name string) *time.Location {
	loc, err := time.LoadLocation(name)
	if err != nil {
		t.Skipf("this host has no time zone %s: %v", name, err)
	}
	return loc
}

// extensionData is what is inside an appended extension.
func extensionData(t testing.TB, b []byte, want int8) []byte {
	s := scanner{b: b}
	k, n, err := s.head()
	require.NoError(t, err)
	require.Equal(t, kindExt, k)
	id, data := s.extension(n)
	require.Equal(t, want, id)
	return data
}

func TestTimeBothWays(t *testing.T) {
	moscow, berlin, pacific := zone(t, "Europe/Moscow"), zone(t, "Europe/Berlin"), zone(t, "US/Pacific")
	for _, test := range []struct {
		name string
		in   time.Time
		data string
		zone string // of the time that comes back
	}{
		{"epoch", time.Unix(0, 0).UTC(), "0000000000000000", "UTC"},
		{"nanoseconds", time.Unix(1, 123456789).UTC(), "0100000000000000 15cd5b07 0000 0000", "UTC"},
		{"before the epoch", time.Unix(-1, 1).UTC(), "ffffffffffffffff 01000000 0000 0000", "UTC"},
		{"the zero time", time.Time{}, "00096e88f1ffffff", "UTC"},
		{"a zone", time.Date(2024, 7, 1, 12, 30, 0, 0, moscow), "1877826600000000 00000000 b400 b303", "Europe/Moscow"},
		{"summer", time.Date(2024, 7, 1, 12, 30, 0, 0, berlin), "2885826600000000 00000000 7800 9f03", "Europe/Berlin"},
		{"winter", time.Date(2024, 1, 1, 12, 30, 0, 0, berlin), "38a2926500000000 00000000 3c00 9f03", "Europe/Berlin"},
		{"an alias", time.Date(2024, 1, 1, 12, 30, 0, 0, pacific), "c820936500000000 00000000 20fe f702", "America/Los_Angeles"},
		{"an offset", time.Date(2024, 1, 1, 1, 2, 3, 0, time.FixedZone("", -5*3600)), "5b55926500000000 00000000 d4fe 0000", ""},
		{"an abbreviation", time.Date(2024, 1, 1, 1, 2, 3, 0, time.FixedZone("MSK", 3*3600)), "dbe4916500000000 00000000 b400 ee00", "MSK"},
		{"an abbreviation with another offset", time.Date(2024, 1, 1, 1, 2, 3, 0, time.FixedZone("MSK", 3600)), "fb00926500000000 00000000 3c00 0000", ""},
		{"an unknown zone", time.Date(2024, 1, 1, 1, 2, 3, 0, time.FixedZone("Mars/Base", 3600)), "fb00926500000000 00000000 3c00 0000", ""},
		{"the first year", time.Date(-5879610, 6, 22, 0, 0, 0, 0, time.UTC), "80b76c883157ffff", "UTC"},
		{"the last year", time.Date(5879611, 7, 11, 0, 0, 0, 0, time.UTC), "00666b88b1a80000", "UTC"},
	} {
		t.Run(test.name, func(t *testing.T) {
			b, err := appendTime(nil, test.in)
			require.NoError(t, err)
			data := extensionData(t, b, extDatetime)
			assert.Equal(t, strings.ReplaceAll(test.data, " ", ""), hex.EncodeToString(data))

			out, err := decodeTime(data)
			require.NoError(t, err)
			assert.True(t, test.in.Equal(out), "%v is %v", test.in, out)
			assert.Equal(t, test.zone, out.Location().String())
			_, offset := test.in.Zone()
			_, decoded := out.Zone()
			assert.Equal(t, offset, decoded)
		})
	}
}

func TestLocalTimeIsSentWithItsOffset(t *testing.T) {
	local := time.Date(2024, 1, 1, 1, 2, 3, 0, time.Local)
	b, err := appendTime(nil, local)
	require.NoError(t, err)
	out, err := decodeTime(extensionData(t, b, extDatetime))
	require.NoError(t, err)
	assert.True(t, local.Equal(out))
	_, want := local.Zone()
	_, offset := out.Zone()
	assert.Equal(t, want, offset)
}

func TestAppendTimeRefuses(t *testing.T) {
	for _, test := range []struct {
		name string
		in   time.Time
		want string
	}{
		{"a year before DATETIME", time.Date(-5879610, 6, 21, 0, 0, 0, 0, time.UTC), "the year -5879610 is out of the range"},
		{"a year after DATETIME", time.Date(5879611, 7, 12, 0, 0, 0, 0, time.UTC), "the year 5879611 is out of the range"},
		{"an offset with seconds", time.Date(1900, 1, 1, 0, 0, 0, 0, time.FixedZone("LMT", 1172)), "the offset 19m32s of LMT has seconds"},
		{"an offset too far east", time.Date(2024, 1, 1, 0, 0, 0, 0, time.FixedZone("", 15*3600)), "-12:00 to +14:00"},
		{"an offset too far west", time.Date(2024, 1, 1, 0, 0, 0, 0, time.FixedZone("", -13*3600)), "-12:00 to +14:00"},
	} {
		t.Run(test.name, func(t *testing.T) {
			b, err := appendTime([]byte("before"), test.in)
			assert.ErrorContains(t, err, test.want)
			assert.Equal(t, "before", string(b))
		})
	}
}

func TestDecodeTimeTrustsTheOffset(t *testing.T) {
	zone(t, "Europe/Moscow")
	for _, test := range []struct {
		name, data string
		zone       string
		offset     int
	}{
		{"another offset than the zone's", "7877826600000000 00000000 f000 b303", "Europe/Moscow", 4 * 3600},
		{"an abbreviation that the host does not know", "7877826600000000 00000000 b400 ee00", "MSK", 3 * 3600},
		{"a number without a zone", "7877826600000000 00000000 3c00 ff03", "", 3600},
		{"a negative number", "7877826600000000 00000000 3c00 ffff", "", 3600},
	} {
		t.Run(test.name, func(t *testing.T) {
			out, err := decodeTime(unhex(t, test.data))
			require.NoError(t, err)
			name := out.Location().String()
			_, offset := out.Zone()
			assert.Equal(t, test.zone, name)
			assert.Equal(t, test.offset, offset)
			assert.Equal(t, int64(1719826296), out.Unix())
		})
	}
}

func TestDecodeTimeRefuses(t *testing.T) {
	for _, data := range []string{
		"", "00", "00000000000000", "000000000000000000", "000000000000000000000000", "0000000000000000000000000000000000",
		"ffffffffffffff7f",                    // seconds
		"0000000000000080",                    //
		"0000000000000000 ffffffff 0000 0000", // negative nanoseconds
		"0000000000000000 00943577 0000 0000", // 2e9 of them
		"0000000000000000 00000000 4903 0000", // 841 minutes
		"0000000000000000 00000000 2ffd 0000", // -721
	} {
		_, err := decodeTime(unhex(t, data))
		assert.ErrorIs(t, err, ErrMalformed, data)
	}
}

func TestZoneTable(t *testing.T) {
	table := zones()
	assert.Len(t, table.names, 290+340)
	assert.Len(t, table.indexes, 340+215)
	for name, index := range table.indexes {
		assert.NotEmpty(t, table.names[index], name)
	}
	for name, abbreviation := range table.offsets {
		assert.Equal(t, name, table.names[abbreviation.index])
	}
	assert.Equal(t, "Europe/Moscow", zoneName(947))
	assert.Equal(t, int16(947), zoneIndex("W-SU", 180))
	assert.Zero(t, zoneIndex("BST", 60), "an ambiguous abbreviation")
}
