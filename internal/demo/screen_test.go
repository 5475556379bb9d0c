package demo

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

var gap = regexp.MustCompile(` {2,}`)

// cells is what was shown, with one "|" between two cells and no other gaps.
func cells(out string) string {
	lines := strings.Split(out, "\n")
	for i, line := range lines {
		lines[i] = gap.ReplaceAllString(strings.TrimSpace(line), "|")
	}
	return strings.Join(lines, "\n")
}

func quote(s string) string { return regexp.QuoteMeta(s) }

func TestTable(t *testing.T) {
	rows := [][]cell{
		{{text: "a"}, {text: "10", right: true}, {text: "rw", style: readWrite}},
		{{text: "élan"}, {text: "1,000", right: true}, {text: "ro", style: readOnly}},
	}
	var out bytes.Buffer
	(&screen{w: &out}).table([]string{"WHAT", "N", "ROLE"}, rows)
	assert.Equal(t, "  WHAT      N  ROLE\n  a        10  rw\n  élan  1,000  ro\n", out.String())

	out.Reset()
	(&screen{w: &out, color: true}).table([]string{"WHAT", "N", "ROLE"}, rows[:1])
	assert.Equal(t, "  \x1b[1mWHAT\x1b[0m   \x1b[1mN\x1b[0m  \x1b[1mROLE\x1b[0m\n  a     10  \x1b[32mrw\x1b[0m\n", out.String())
}

func TestMilliseconds(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0:                                     "0.00 ms",
		123456 * time.Nanosecond:              "0.12 ms",
		999 * time.Microsecond:                "1.00 ms",
		9940 * time.Microsecond:               "9.9 ms",
		12600 * time.Microsecond:              "13 ms",
		15*time.Second + 400*time.Microsecond: "15,000 ms",
	} {
		assert.Equal(t, want, milliseconds(d))
	}
}

func TestThousands(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567"} {
		assert.Equal(t, want, thousands(n))
	}
}
