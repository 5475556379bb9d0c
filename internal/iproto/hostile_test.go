package iproto

import (
	"bytes"
	"database/sql/driver"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// seeds returns the bytes of a fuzz target's seeds, bodies of real replies.
func seeds(t testing.TB, target string) map[string][]byte {
	files, err := filepath.Glob(filepath.Join("testdata", "fuzz", target, "*"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	bodies := map[string][]byte{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for line := range strings.Lines(string(text)) {
			if quoted, ok := strings.CutPrefix(strings.TrimSpace(line), "[]byte("); ok {
				body, err := strconv.Unquote(strings.TrimSuffix(quoted, ")"))
				require.NoError(t, err)
				bodies[filepath.Base(file)] = []byte(body)
			}
		}
	}
	return bodies
}

// readAll reads a reply to EXECUTE to its end.
func readAll(body []byte) error {
	r, err := ParseExecute(body, nil)
	if err != nil {
		return err
	}
	if r.Columns == nil {
		return nil
	}
	row := make([]driver.Value, len(r.Columns.Names))
	for err == nil {
		err = r.Next(row)
	}
	if err != io.EOF {
		return err
	}
	return nil
}

func TestTruncatedBodiesAreErrors(t *testing.T) {
	for target, parse := range map[string]func(body []byte) error{
		"FuzzParseExecute": func(body []byte) error {
			if _, err := ParsePrepare(body, nil); err == nil {
				return nil
			}
			return readAll(body)
		},
		"FuzzParseBallot": func(body []byte) error { _, err := ParseBallot(body); return err },
		"FuzzParseData":   func(body []byte) error { _, err := ParseData(body); return err },
		"FuzzParseError": func(body []byte) error {
			require.NotEmpty(t, ParseError(3, body).Message)
			_, err := Skip(body, MaxDepth)
			return err
		},
	} {
		for name, body := range seeds(t, target) {
			t.Run(target+"/"+name, func(t *testing.T) {
				require.Equal(t, strings.HasSuffix(name, "unhashable-key"), parse(body) != nil)
				for n := range body {
					// The copy makes a read behind the end a panic.
					assert.Error(t, parse(bytes.Clone(body[:n:n])), "cut to %d bytes", n)
				}
			})
		}
	}
}

func TestDeepNestingIsAnError(t *testing.T) {
	for _, open := range []string{"91", "81 01", "81 a161", "dd00000001"} {
		deep := unhex(t, strings.Repeat(open, 10_000)+"c0")
		_, err := Skip(deep, MaxDepth)
		assert.ErrorIs(t, err, ErrMalformed)

		assert.ErrorIs(t, readAll(oneRow(deep)), ErrMalformed)
		_, err = ParseData(append([]byte{0x81, 0x30, 0x91}, deep...))
		assert.ErrorIs(t, err, ErrMalformed)
		_, err = ParseBallot(append([]byte{0x81, 0x29, 0x81, 0x50}, deep...))
		assert.ErrorIs(t, err, ErrMalformed)
		_, _, err = ParseHeader(append([]byte{0x81, 0x00}, deep...))
		assert.ErrorIs(t, err, ErrMalformed)
		assert.NotNil(t, ParseError(3, append([]byte{0x81, 0x52}, deep...)))
		assert.False(t, HasError(append([]byte{0x82, 0x50}, deep...)))
	}
}

// slack is for what does not grow with a body.
const slack = 64 << 10

// allocated returns how many bytes f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestLyingLengthsDoNotAllocate(t *testing.T) {
	const size = 1 << 20
	padding := make([]byte, size) // a million zeros, well-formed as such
	for _, test := range []struct{ name, body string }{
		{"array", "81 30 dd%"},
		{"array in an array", "81 30 91 dd%"},
		{"many arrays", "81 30 91" + strings.Repeat("dd%", 200)},
		{"map", "81 30 91 df%"},
		{"many maps", "81 30 91" + strings.Repeat("df% a161", 200)},
		{"string", "81 30 91 db%"},
		{"binary", "81 30 91 c6%"},
		{"extension", "81 30 91 c9% 01"},
		{"columns", "82 30 90 32 dd%"},
		{"rows", "82 32 91 82 00 a161 01 a162 30 dd%"},
		{"generated ids", "81 42 81 01 dd%"},
		{"vclock", "81 29 81 02 df%"},
		{"error stack", "81 52 81 00 dd%"},
		{"error fields", "81 52 81 00 91 81 06 df%"},
	} {
		// A length that is more than there is, one that the bytes might
		// hold, if nothing else followed, and one of a half of them.
		for _, length := range []string{"ffffffff", "00100000", "00080000"} {
			t.Run(test.name+" "+length, func(t *testing.T) {
				body := append(unhex(t, strings.ReplaceAll(test.body, "%", length)), padding...)
				for name, parse := range map[string]func(){
					"EXECUTE": func() { _ = readAll(body) },
					"PREPARE": func() { _, _ = ParsePrepare(body, nil) },
					"VOTE":    func() { _, _ = ParseBallot(body) },
					"info":    func() { _, _ = ParseBoxInfo(body) },
					"error":   func() { _ = ParseError(3, body) },
				} {
					assert.LessOrEqual(t, allocated(parse), uint64(8*len(body)+slack), name)
				}
			})
		}
		body := append(unhex(t, strings.ReplaceAll(test.body, "%", "ffffffff")), padding...)
		assert.LessOrEqual(t, allocated(func() { _, _ = ParseData(body) }), uint64(slack), test.name)
	}
}

// Arrays and maps are counted before they are made. The count must not be below what
// they take, and what it does not cover is refused.
func TestNestedValuesTakeWhatIsCounted(t *testing.T) {
	if raceDetector {
		t.Skip("with the race detector a small allocation takes more bytes")
	}
	pairs := func(n int, pair string) string {
		var b strings.Builder
		fmt.Fprintf(&b, "de%04x", n)
		for i := range n {
			fmt.Fprintf(&b, strings.ReplaceAll(pair, "#", "%04x"), i)
		}
		return b.String()
	}
	for name, value := range map[string]string{
		"nil": "c0", "small integers": "05", "integers": "cf00ffffffffffffff", "doubles": "cb3ff8000000000000",
		"empty strings": "a0", "short strings": "a161", "binaries": "c40161", "empty arrays": "90", "arrays": "91c0",
		"deep arrays": strings.Repeat("91", 200) + "c0", "empty maps": "80", "maps": "81a16101",
		"maps of 8": pairs(8, "a2#01"), "maps of 9": pairs(9, "a2#01"), "maps of 900": pairs(900, "a2#01"), "maps of 1000 numbers": pairs(1000, "cd#01"),
		"one key many times": "de0064" + strings.Repeat("a16101", 100), "mixed maps": "82a1610101a161", "maps of numbers": "810101",
		"maps that get mixed": pairs(100, "a2#01")[:6] + pairs(99, "a2#01")[6:] + "01a161",
		"decimals":            "c70301 02 150d", "long decimals": "c71501 00" + strings.Repeat("99", 19) + "9c", "uuids": "d802 64d22e4dac924a23899ae59f34af5479",
		"datetimes": "d704 0100000000000000", "datetimes with a zone": "d804 0100000000000000 00000000 d200 0000",
		"intervals": "c70506 02 0101 0801", "errors": "c70903 8100 91 8103 a3626164",
	} {
		t.Run(name, func(t *testing.T) {
			one := unhex(t, value)
			body := bytes.Repeat(one, 1+100_000/len(one)) // strings are copied
			body = append(appendArrayLen(nil, len(body)/len(one)), body...)
			const room = 1 << 40
			var err error
			s := scanner{b: body, room: room}
			got := allocated(func() { _, err = s.nested() })
			require.NoError(t, err)
			assert.LessOrEqual(t, got, uint64(room-s.room+slack))

			s = scanner{b: body, room: (room - s.room) / 2}
			_, err = s.nested()
			assert.ErrorContains(t, err, "would take over")
		})
	}
}

// TestRowsTakeLittleMemory counts everything that is allocated for all the
// rows, which the garbage collector may free row by row: the box that an
// interface needs, and copies of short strings.
func TestRowsTakeLittleMemory(t *testing.T) {
	if raceDetector {
		t.Skip("with the race detector a small allocation takes more bytes")
	}
	for name, value := range map[string]string{
		"nil": "c0", "small integers": "05", "integers": "cd0100", "negative": "e0", "doubles": "cb3ff8000000000000",
		"short strings": "a161", "empty strings": "a0", "short binaries": "c40161", "decimals": "c70301 02 150d",
	} {
		t.Run(name, func(t *testing.T) {
			one := unhex(t, value)
			const columns = 1000
			body := appendArrayLen([]byte{0x82, 0x32}, columns)
			for range columns {
				body = append(body, 0x82, 0x00, 0xa1, 'A', 0x01, 0xa1, 'a')
			}
			rows := 200_000 / len(one) / columns
			body = appendArrayLen(append(body, 0x30), rows)
			for range rows {
				body = append(appendArrayLen(body, columns), bytes.Repeat(one, columns)...)
			}
			var err error
			got := allocated(func() { err = readAll(body) })
			require.NoError(t, err)
			assert.LessOrEqual(t, got, uint64(9*len(body)+slack))
		})
	}
}

// An error within an error within an error is no array or map, so nothing else bounds how
// deep they are.
func TestErrorsWithinErrorsTakeLittle(t *testing.T) {
	inner := unhex(t, "81 00 91 81 03 a3626164")
	for range 3_000 {
		inner = append(unhex(t, "81 00 91 82 03 a3626164 06 81 a161"), appendExt(nil, extError, inner)...)
	}
	value := appendExt(nil, extError, inner)
	for name, read := range map[string]func() error{
		"row":  func() error { return readAll(oneRow(value)) },
		"call": func() error { _, err := ParseData(append([]byte{0x81, 0x30, 0x91}, value...)); return err },
		"error": func() error {
			assert.Equal(t, "bad (code 3)", ParseError(3, append([]byte{0x81, 0x52}, inner...)).Error())
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			var err error
			assert.LessOrEqual(t, allocated(func() { err = read() }), uint64(8*len(value)+slack))
			assert.NoError(t, err)
		})
	}
}

func TestFieldsOfErrorsTakeLittle(t *testing.T) {
	maps := append(appendArrayLen(unhex(t, "82 31 a3626164 52 81 00 91 81 06 81 a161"), 1<<20), bytes.Repeat([]byte{0x80}, 1<<20)...)
	got := allocated(func() { assert.EqualError(t, ParseError(3, maps), "bad (code 3)") })
	assert.LessOrEqual(t, got, uint64(2*errorRoom))
}

func TestWhatIsKeptOfAServerIsShort(t *testing.T) {
	long := strings.Repeat("x", maxName+1)
	for name, info := range map[string]map[string]any{
		"status": {"status": long}, "status of two lines": {"status": "running\nrunning"}, "name": {"name": long},
		"version": {"version": long}, "uuid": {"uuid": long}, "replica set": {"cluster": map[string]any{"uuid": long}},
		"name that is not UTF-8": {"name": "\xff"}, "colours": {"status": "\x1b[31m"},
	} {
		info["ro"] = false
		_, err := ParseBoxInfo(dataBody(t, info))
		assert.ErrorIs(t, err, ErrMalformed, name)
	}
	for key, value := range map[string]map[string]any{
		StatusKey: {"is_ro": false, "status": "running\n"},
		IDKey:     {"replicaset_uuid": long},
	} {
		raw, err := encode(value)
		require.NoError(t, err)
		_, err = ParseInstanceEvent(key, raw)
		assert.ErrorIs(t, err, ErrMalformed, key)
	}
	vclock := append([]byte{0x81, 0x29, 0x81, 0x02}, appendMapLen(nil, maxComponents+1)...)
	for i := range maxComponents + 1 {
		vclock = append(appendUint(vclock, uint64(i)), 1)
	}
	_, err := ParseBallot(vclock)
	assert.ErrorIs(t, err, ErrMalformed)
	for _, uri := range []string{long + ":3301", "a b:3301", "a/b:3301", "h\n:3301", "unix/:/" + long, "unix/:/a\x00b", "[::1]x:3301"} {
		assert.Empty(t, peerAddress(uri), "%.40q", uri)
	}
}
