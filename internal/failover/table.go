package failover

import (
	"fmt"
	"time"

	"github.com/tntsql/tntsql/internal/layout"
)

// column is a column of a table.
type column struct {
	head string
	text func(*Result) string
}

// columns are those of the report. Words stand on the left, figures on the right.
var columns = []column{
	{"scenario", func(r *Result) string { return r.Scenario.Name }},
	{"server", func(r *Result) string { return r.Server.Version }},
	{"requests", func(r *Result) string { return layout.Thousands(r.Driver.Writes + r.Driver.Reads) }},
	{"errors", func(r *Result) string { return layout.Thousands(r.Driver.Errors()) }},
	{"unknown", func(r *Result) string { return layout.Thousands(r.Driver.Unknown) }},
	{"twice", func(r *Result) string { return layout.Thousands(r.Driver.Twice()) }},
	{"lost", lost},
	{"write pause", func(r *Result) string { return Duration(Median(r.Driver.Pauses)) }},
	{"max", func(r *Result) string { return Duration(Longest(r.Driver.Pauses)) }},
	{"once writable", func(r *Result) string { return onceWritable(&r.Driver) }},
	{"read p99", func(r *Result) string { return Duration(r.Driver.ReadP99) }},
	{"max", func(r *Result) string { return Duration(r.Driver.ReadMax) }},
	{"reads/s", func(r *Result) string { return rates(&r.Driver) }},
	{"", verdict},
}

// besideColumns compare the driver with go-tarantool's pool in the same run.
var besideColumns = []column{
	columns[0], columns[1],
	beside("write pause", func(f *Figures) string { return Duration(Median(f.Pauses)) }),
	beside("max", func(f *Figures) string { return Duration(Longest(f.Pauses)) }),
	beside("once writable", onceWritable),
	beside("read p99", func(f *Figures) string { return Duration(f.ReadP99) }),
	beside("max", func(f *Figures) string { return Duration(f.ReadMax) }),
	beside("reads/s", rates),
	beside("gave up", func(f *Figures) string { return layout.Thousands(f.Errors()) }),
	beside("twice", func(f *Figures) string { return layout.Thousands(f.Twice()) }),
	beside("lost", func(f *Figures) string { return layout.Thousands(f.AtLast.Lost) }),
}

func beside(head string, text func(*Figures) string) column {
	return column{head, func(r *Result) string { return text(&r.Driver) + " | " + text(r.Pool) }}
}

// lost is of the survivors of a failover, and of all if that differs.
func lost(r *Result) string {
	survivors, all := r.Driver.AtFailover.Lost, r.Driver.AtLast.Lost
	if survivors == all {
		return layout.Thousands(all)
	}
	return layout.Thousands(survivors) + " → " + layout.Thousands(all)
}

func onceWritable(f *Figures) string {
	if len(f.AfterWritable) == 0 {
		return "–"
	}
	return Duration(Median(f.AfterWritable))
}

func rates(f *Figures) string {
	return layout.Thousands(int(f.Before.Reads)) + " → " + layout.Thousands(int(f.During.Reads))
}

func verdict(r *Result) string {
	if r.OK() {
		return "ok"
	}
	return "FAIL"
}

// cells are the texts of a table, its heads first.
func cells(columns []column, results []*Result) [][]string {
	rows := make([][]string, 1, len(results)+1)
	for _, c := range columns {
		rows[0] = append(rows[0], c.head)
	}
	for _, r := range results {
		var row []string
		for _, c := range columns {
			row = append(row, c.text(r))
		}
		rows = append(rows, row)
	}
	return rows
}

// table has words in the columns of the scenario and of the server.
func table(columns []column, results []*Result) *layout.Table {
	return &layout.Table{Words: 2, Rows: cells(columns, results)}
}

// Duration writes a duration in two or three digits, in the unit that suits it.
func Duration(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return fmt.Sprintf("%d µs", d.Microseconds())
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.1f ms", d.Seconds()*1000)
	case d < time.Second:
		return fmt.Sprintf("%.0f ms", d.Seconds()*1000)
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}
