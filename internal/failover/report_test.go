package failover

import (
	"encoding/xml"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// results are two runs, the second of which has broken a promise.
func results() []*Result {
	figures := Figures{
		Writes: 1200, Reads: 34567, Unknown: 32, AtFailover: Audit{Lost: 12},
		Pauses: []time.Duration{9 * ms, 31 * ms}, AfterWritable: []time.Duration{400 * time.Microsecond},
		ReadP99: 2 * ms, ReadMax: 1500 * ms, Before: Rates{Reads: 5000}, During: Rates{Reads: 4900},
		Timeline: Timeline{
			span:   span{0, 20 * time.Second},
			Pauses: []Event{{span: span{time.Second, 2 * time.Second}}},
			Reads:  []time.Duration{ms, 2 * ms, 0, 5 * ms, 0, 40 * time.Second},
		},
	}
	pool := figures
	pool.AtLast.Twice = 8
	server := Server{Version: "2.6.0", major: 2, minor: 6}
	return []*Result{
		{Scenario: hung, Server: server, Driver: figures, Pool: &pool, Events: []Event{{"x", span{0, time.Second}}}, Broken: []string{"it <failed>"}},
		{Scenario: busy, Server: server, Skipped: "no"},
		{Scenario: switchover, Server: server, Driver: figures, Notes: []string{"noted"}},
	}
}

func TestTextIsATable(t *testing.T) {
	var b strings.Builder
	require.NoError(t, Text(&b, results()))
	lines := strings.Split(b.String(), "\n")
	assert.Equal(t, "scenario    server  requests  errors  unknown  twice    lost  write pause    max  once writable  read p99    max        reads/s", lines[0])
	assert.Equal(t, "switchover  2.6.0     35,767       0       32      0  12 → 0       9.0 ms  31 ms         400 µs    2.0 ms  1.5 s  5,000 → 4,900    ok", lines[1])
	assert.Equal(t, "hung        2.6.0     35,767       0       32      0  12 → 0       9.0 ms  31 ms         400 µs    2.0 ms  1.5 s  5,000 → 4,900  FAIL", lines[2])
	assert.Contains(t, b.String(), "FAIL  hung on 2.6.0: it <failed>")
	assert.Contains(t, b.String(), "0 | 8")
	assert.NotContains(t, b.String(), "busy")
}

func TestMarkdownIsATable(t *testing.T) {
	var b strings.Builder
	require.NoError(t, Markdown(&b, results(), "plot.svg"))
	assert.Contains(t, b.String(), "| switchover | 2.6.0  |   35,767 |")
	assert.Contains(t, b.String(), "\n| --- | --- | ---: |")
	assert.Contains(t, b.String(), "](plot.svg)")
	assert.Contains(t, b.String(), "- 2.6.0: ok; noted\n")
	assert.Contains(t, b.String(), "- 2.6.0: FAIL; it <failed>\n")
	for line := range strings.SplitSeq(b.String(), "\n") {
		if strings.HasPrefix(line, "| hung") || strings.HasPrefix(line, "| switchover") {
			assert.Contains(t, []int{len(columns) + 1, len(besideColumns) + 1}, strings.Count(line, "|"), line)
		}
	}
}

func TestPlotIsWellFormed(t *testing.T) {
	var b strings.Builder
	require.NoError(t, Plot(&b, results()))
	d := xml.NewDecoder(strings.NewReader(b.String()))
	elements := map[string]int{}
	for {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		if start, ok := token.(xml.StartElement); ok {
			elements[start.Name.Local]++
		}
	}
	assert.Equal(t, 1, elements["svg"])
	assert.Equal(t, 9, elements["polyline"], "the line of reads is broken where there are none")
	assert.Contains(t, b.String(), ">FAIL<")
	assert.Contains(t, b.String(), ">Tarantool 2.6.0<")
	assert.NotContains(t, b.String(), "NaN")
}

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0:                       "0 µs",
		250 * time.Microsecond:  "250 µs",
		1234 * time.Microsecond: "1.2 ms",
		45 * ms:                 "45 ms",
		2345 * ms:               "2.3 s",
	} {
		assert.Equal(t, want, Duration(d))
	}
}
