package failover

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
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
	{"requests", func(r *Result) string { return Thousands(r.Driver.Writes + r.Driver.Reads) }},
	{"errors", func(r *Result) string { return Thousands(r.Driver.Errors()) }},
	{"unknown", func(r *Result) string { return Thousands(r.Driver.Unknown) }},
	{"twice", func(r *Result) string { return Thousands(r.Driver.Twice()) }},
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
	beside("gave up", func(f *Figures) string { return Thousands(f.Errors()) }),
	beside("twice", func(f *Figures) string { return Thousands(f.Twice()) }),
	beside("lost", func(f *Figures) string { return Thousands(f.AtLast.Lost) }),
}

func beside(head string, text func(*Figures) string) column {
	return column{head, func(r *Result) string { return text(&r.Driver) + " | " + text(r.Pool) }}
}

// lost is of the survivors of a failover, and of all if that differs.
func lost(r *Result) string {
	survivors, all := r.Driver.AtFailover.Lost, r.Driver.AtLast.Lost
	if survivors == all {
		return Thousands(all)
	}
	return Thousands(survivors) + " → " + Thousands(all)
}

func onceWritable(f *Figures) string {
	if len(f.AfterWritable) == 0 {
		return "–"
	}
	return Duration(Median(f.AfterWritable))
}

func rates(f *Figures) string {
	return Thousands(int(f.Before.Reads)) + " → " + Thousands(int(f.During.Reads))
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

// words is how many columns have words, which stand on the left.
const words = 2

// PlainTable writes a table for a terminal: its first row has the heads, its first two
// columns words.
func PlainTable(rows [][]string) string {
	return aligned(rows, "  ", "", "", "")
}

// MarkdownTable writes such a table in Markdown.
func MarkdownTable(rows [][]string) string {
	for i := range rows {
		for j := range rows[i] {
			rows[i][j] = strings.ReplaceAll(rows[i][j], "|", "/")
		}
	}
	var rule strings.Builder
	for j := range rows[0] {
		if j < words {
			rule.WriteString("| --- ")
		} else {
			rule.WriteString("| ---: ")
		}
	}
	return aligned(rows, " | ", "| ", " |", rule.String()+"|\n")
}

// aligned writes a table whose columns have the same width in all rows. The rule
// follows the heads.
func aligned(rows [][]string, between, left, right, rule string) string {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for j, cell := range row {
			widths[j] = max(widths[j], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for i, row := range rows {
		line := make([]string, len(row))
		for j, cell := range row {
			space := strings.Repeat(" ", widths[j]-utf8.RuneCountInString(cell))
			if j < words {
				line[j] = cell + space
			} else {
				line[j] = space + cell
			}
		}
		b.WriteString(strings.TrimRight(left+strings.Join(line, between)+right, " ") + "\n")
		if i == 0 {
			b.WriteString(rule)
		}
	}
	return b.String()
}

// Thousands writes an integer with commas.
func Thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
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
