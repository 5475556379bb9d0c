package demo

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Styles are the parameters of terminals' escape sequences (SGR).
type style string

const (
	plain     style = ""
	bold      style = "1"
	faint     style = "2"
	readWrite style = "32" // green
	readOnly  style = "36" // cyan
	alarm     style = "1;31"
)

// screen is where the demo is shown. An error of the writer is kept to itself: who
// closes the window has seen enough.
type screen struct {
	w     io.Writer
	color bool
}

func (s *screen) printf(format string, args ...any) {
	_, _ = fmt.Fprintf(s.w, format, args...)
}

func (s *screen) title(text string) { s.printf("\n%s\n\n", s.paint(bold, text)) }

func (s *screen) paint(st style, text string) string {
	if !s.color || st == plain {
		return text
	}
	return "\x1b[" + string(st) + "m" + text + "\x1b[0m"
}

// cell is one cell of a table.
type cell struct {
	text  string
	style style
	right bool // aligned
}

func number(n int) cell { return cell{text: thousands(n), right: true} }

func duration(d time.Duration) cell { return cell{text: milliseconds(d), right: true} }

// table prints rows with aligned columns below their heads.
func (s *screen) table(heads []string, rows [][]cell) {
	top := make([]cell, len(heads))
	widths := make([]int, len(heads))
	for i, head := range heads {
		top[i] = cell{text: head, style: bold, right: len(rows) > 0 && rows[0][i].right}
		widths[i] = utf8.RuneCountInString(head)
		for _, row := range rows {
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i].text))
		}
	}
	for _, row := range slices.Insert(rows, 0, top) {
		var line strings.Builder
		for i, c := range row {
			padding := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c.text))
			line.WriteString("  ")
			switch {
			case c.right:
				line.WriteString(padding + s.paint(c.style, c.text))
			case i == len(row)-1:
				line.WriteString(s.paint(c.style, c.text))
			default:
				line.WriteString(s.paint(c.style, c.text) + padding)
			}
		}
		s.printf("%s\n", line.String())
	}
}

// milliseconds is a duration in the unit of the whole demo, to two digits below
// 10 ms.
func milliseconds(d time.Duration) string {
	ms := float64(d) / float64(time.Millisecond)
	switch {
	case ms < 1:
		return strconv.FormatFloat(ms, 'f', 2, 64) + " ms"
	case ms < 10:
		return strconv.FormatFloat(ms, 'f', 1, 64) + " ms"
	}
	return thousands(int(ms+0.5)) + " ms"
}

// thousands is a number with its thousands set off. It is not negative.
func thousands(n int) string {
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
