package bench

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// table has words in its first columns, which stand on the left, and figures in
// the others.
type table struct {
	words int
	heads []string
	rows  [][]string
}

// text writes a table for a terminal.
func (t *table) text() string { return t.lines("", "  ", "", "") }

// markdown writes a table in Markdown.
func (t *table) markdown() string {
	rule := strings.Repeat("| --- ", t.words) + strings.Repeat("| ---: ", len(t.heads)-t.words) + "|\n"
	return t.lines("| ", " | ", " |", rule)
}

// lines writes columns of the same width in all rows. The rule follows the heads.
func (t *table) lines(left, between, right, rule string) string {
	widths := make([]int, len(t.heads))
	all := append([][]string{t.heads}, t.rows...)
	for _, row := range all {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for i, row := range all {
		cells := make([]string, len(row))
		for j, cell := range row {
			space := strings.Repeat(" ", widths[j]-utf8.RuneCountInString(cell))
			if j < t.words {
				cells[j] = cell + space
			} else {
				cells[j] = space + cell
			}
		}
		b.WriteString(strings.TrimRight(left+strings.Join(cells, between)+right, " ") + "\n")
		if i == 0 {
			b.WriteString(rule)
		}
	}
	return b.String()
}

// thousands writes a number without a fraction, with commas.
func thousands(f float64) string {
	s := strconv.FormatFloat(f, 'f', 0, 64)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// duration writes seconds in the unit that suits them.
func duration(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	switch {
	case d < 10*time.Microsecond:
		return fmt.Sprintf("%.1f µs", seconds*1e6)
	case d < time.Millisecond:
		return fmt.Sprintf("%.0f µs", seconds*1e6)
	case d < 100*time.Millisecond:
		return fmt.Sprintf("%.1f ms", seconds*1e3)
	case d < time.Second:
		return fmt.Sprintf("%.0f ms", seconds*1e3)
	}
	return fmt.Sprintf("%.1f s", seconds)
}
