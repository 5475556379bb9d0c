package layout

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Table has words in its first columns, which stand on the left, and figures in the
// others. Its first row has the heads.
type Table struct {
	Words int
	Rows  [][]string
}

// Plain writes the table for a terminal.
func (t *Table) Plain() string { return t.lines("", "  ", "", "") }

// Markdown writes the table in Markdown, to which "|" is the end of a cell.
func (t *Table) Markdown() string {
	escaped := Table{Words: t.Words}
	for _, row := range t.Rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = strings.ReplaceAll(cell, "|", "/")
		}
		escaped.Rows = append(escaped.Rows, cells)
	}
	rule := strings.Repeat("| --- ", t.Words) + strings.Repeat("| ---: ", len(t.Rows[0])-t.Words) + "|\n"
	return escaped.lines("| ", " | ", " |", rule)
}

// lines writes columns of the same width in all rows. The rule follows the heads.
func (t *Table) lines(left, between, right, rule string) string {
	widths := make([]int, len(t.Rows[0]))
	for _, row := range t.Rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for i, row := range t.Rows {
		cells := make([]string, len(row))
		for j, cell := range row {
			space := strings.Repeat(" ", widths[j]-utf8.RuneCountInString(cell))
			if j < t.Words {
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

// Thousands writes an integer with commas.
func Thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
