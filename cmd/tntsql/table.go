package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/tntsql/tntsql"
)

// style is how a table is shown.
type style struct {
	color bool
	width int // of a line, at most; 0 is no bound
}

// style is that of the terminal, or plain where there is none.
func (t *tool) style() style {
	width, _, ok := t.size()
	if !ok {
		return style{}
	}
	return style{color: t.getenv("NO_COLOR") == "", width: width}
}

func (s style) paint(colors text.Colors, cell string) string {
	if !s.color {
		return cell
	}
	return colors.EscapeSeq() + cell + text.Reset.EscapeSeq()
}

// newTable is a table without borders, its columns two spaces apart.
func newTable(s style) table.Writer {
	w := table.NewWriter()
	look := table.StyleDefault
	look.Box.PaddingLeft, look.Box.PaddingRight = "", "  "
	look.Box.UnfinishedRow = "…"
	look.Options = table.OptionsNoBordersAndSeparators
	look.Format.Header = text.FormatDefault
	look.Size.WidthMax = s.width
	w.SetStyle(look)
	w.SuppressTrailingSpaces()
	return w
}

// topologyTable is a line for each instance.
func topologyTable(instances []tntsql.TopologyInstance, s style) string {
	w := newTable(s)
	heads := table.Row{"INSTANCE", "ROLE", "STATUS", "LAG", "LATENCY", "VERSION", "IN FLIGHT", "LAST ERROR"}
	for i := range heads {
		heads[i] = s.paint(text.Colors{text.Bold}, heads[i].(string))
	}
	w.AppendHeader(heads)
	for _, in := range instances {
		w.AppendRow(table.Row{
			instanceName(in), roleCell(in, s), statusCell(in, s), span(in.Lag, usable(in) && in.Lag >= 0), span(in.Latency, usable(in) && in.Latency > 0),
			orDash(printable(in.Version)), in.InFlight, lastError(in),
		})
	}
	return w.Render() + "\n"
}

// instanceName is the name where there is one, and the address.
func instanceName(in tntsql.TopologyInstance) string {
	return printable(tntsql.InstanceRef{Address: in.Address, Name: in.Name}.String())
}

// roleCell is a dash for an instance that is down: what is known is what it was.
func roleCell(in tntsql.TopologyInstance, s style) string {
	switch {
	case !usable(in):
	case in.Role == "rw":
		return s.paint(text.Colors{text.FgGreen}, in.Role)
	case in.Role == "ro":
		return s.paint(text.Colors{text.FgCyan}, in.Role)
	}
	return "-"
}

func statusCell(in tntsql.TopologyInstance, s style) string {
	status := printable(in.Status)
	if in.Status == "running" {
		return status
	}
	return s.paint(text.Colors{text.FgRed}, status)
}

func lastError(in tntsql.TopologyInstance) string {
	if in.Err == nil {
		return ""
	}
	return bare(in.Err)
}

// span is a duration to three digits, or a dash for one that is not known.
func span(d time.Duration, known bool) string {
	if !known {
		return "-"
	}
	unit := time.Duration(1)
	for d/unit >= 1000 {
		unit *= 10
	}
	return d.Round(unit).String()
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// printable has Go's escapes for what would move the cursor of a terminal, or change more.
func printable(s string) string {
	var b strings.Builder
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[0])
		case unicode.IsPrint(r):
			b.WriteRune(r)
		default:
			quoted := strconv.QuoteRune(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		}
		s = s[size:]
	}
	return b.String()
}

// show prints the topology.
func (t *tool) show(instances []tntsql.TopologyInstance) {
	fmt.Fprint(t.out, topologyTable(instances, t.style()))
}
