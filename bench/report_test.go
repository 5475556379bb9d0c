package bench

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func aReport() *Report {
	return &Report{
		Version: "3.8.0", Rounds: 3, Slice: time.Second,
		Measurements: []*Measurement{
			{Case: Cases[0], Goroutines: 1, Contenders: []Contender{inRounds(tntsqlName, 9), inRounds(v2Name, 9)}},
			{Case: Cases[0], Goroutines: 64, Contenders: []Contender{
				inRounds(tntsqlName, 21_000), inRounds(v2Name, 10_000), inRounds(v3Name, 15_000), inRounds(floorName, 1_000_000),
			}},
			{Case: Case{Name: besideScan, What: "a <case>", meanwhile: scan}, Goroutines: 64, Contenders: []Contender{
				inRounds(tntsqlName, 100), inRounds(v2Name, 300),
			}},
		},
		Selections: []Selection{{3, 4, 0}, {100, 51, 0}},
	}
}

func TestAimsAreReachedOrNot(t *testing.T) {
	var got []string
	for _, row := range aReport().aimRows() {
		got = append(got, strings.Join(row, "|"))
	}
	assert.Equal(t, []string{
		"point SELECT|64|tntsql|go-tarantool v2|throughput|≥ 2.00 ×|2.10 ×|yes",
		"point SELECT|64|tntsql|go-tarantool v3|throughput|≥ 1.60 ×|1.40 ×|no",
		"point SELECT|64|tntsql|floor|throughput|≥ 0.75 ×|0.02 ×|no",
		"point SELECT|1|tntsql|go-tarantool v2|p50|≤ 1.00 ×|1.00 ×|yes",
		"point SELECT beside a scan|64|tntsql|go-tarantool v2|p99|≤ 0.50 ×|3.00 ×|no",
		"selection of 100 instances|all cores|tntsql|–|time, allocations|≤ 50 ns, 0|51.0 ns, 0|no",
	}, got)
}

func TestTextIsATable(t *testing.T) {
	var b strings.Builder
	require.NoError(t, aReport().Text(&b))
	assert.Contains(t, b.String(), "\nwho              goroutines  per second     p50     p99  allocations  bytes  throughput ÷    p99 ÷\n")
	assert.Contains(t, b.String(), "\ngo-tarantool v2          64      10,000  1.0 ms  100 µs         30.0  2,000        2.10 ×   0.48 ×\n")
	assert.Contains(t, b.String(), "scans per second\n")
}

func TestMarkdownIsAPage(t *testing.T) {
	var b strings.Builder
	require.NoError(t, aReport().Markdown(&b, "plot.svg"))
	assert.Contains(t, b.String(), "](plot.svg)")
	assert.Contains(t, b.String(), "\n## point SELECT\n\nOne column of a row")
	assert.Contains(t, b.String(), "| --- | ---: |")
	assert.NotContains(t, b.String(), "%!")
	columns := 0
	for line := range strings.SplitSeq(b.String(), "\n") {
		switch {
		case !strings.HasPrefix(line, "|"):
			columns = 0
		case columns == 0:
			columns = strings.Count(line, "|")
		default:
			assert.Equal(t, columns, strings.Count(line, "|"), line)
		}
	}
}

func TestAPartOfARunIsReported(t *testing.T) {
	var b strings.Builder
	require.NoError(t, (&Report{Version: "3.8.0"}).Markdown(&b, "plot.svg"))
	require.NoError(t, (&Report{Version: "3.8.0"}).Plot(&b))
	assert.NotContains(t, b.String(), "Aims")
}

func TestPlotIsXML(t *testing.T) {
	var b strings.Builder
	require.NoError(t, aReport().Plot(&b))
	assert.Contains(t, b.String(), "point SELECT, 64")
	assert.Contains(t, b.String(), "2.10")
	d := xml.NewDecoder(strings.NewReader(b.String()))
	for {
		_, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		require.NoError(t, err)
	}
}

func TestFiguresHaveAUnitThatSuits(t *testing.T) {
	assert.Equal(t, "1,234,568", thousands(1234567.8))
	assert.Equal(t, "999", thousands(999))
	for seconds, want := range map[float64]string{
		3.25e-6: "3.2 µs", 64e-6: "64 µs", 0.00125: "1.2 ms", 0.25: "250 ms", 2: "2.0 s",
	} {
		assert.Equal(t, want, duration(seconds))
	}
}
