package bench

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/tntsql/tntsql/internal/layout"
)

// Text writes the aims and all measurements for a terminal.
func (r *Report) Text(w io.Writer) error {
	var b strings.Builder
	if t := r.aimTable(); len(t.Rows) > 1 {
		b.WriteString(t.Plain())
	}
	for _, name := range r.names() {
		fmt.Fprintf(&b, "\n%s\n\n%s", name, r.caseTable(name).Plain())
	}
	if len(r.Selections) > 0 {
		fmt.Fprintf(&b, "\n%s\n\n%s", selection, r.selectionTable().Plain())
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Markdown writes the report as a page, beside which is the plot.
func (r *Report) Markdown(w io.Writer, plot string) error {
	var b strings.Builder
	fmt.Fprintf(&b, `# tntsql beside go-tarantool, on Tarantool %s

Made by `+"`make bench`"+` on a machine of %d cores with %s, the server on it too: %d rounds, in each of which every contender had a slice
of %v, in rotating order. A ratio is the median of the rounds' ratios, another figure the median of the rounds. All contenders
use the same server, table and rows, and check what they get. The server has its default configuration, but MVCC for transactions and batches.

- **tntsql** has the defaults of its DSN and of `+"`database/sql`"+`. With a deadline, each operation has a context of its own with a timeout.
- **%s** is go-tarantool %s, one connection, statements by text. **by prepared id** and **pool** are the same version.
- **%s** is go-tarantool %s, likewise.
- **%s** is go-tarantool v2's connection with requests that were encoded beforehand and replies that are not decoded; reads are by prepared id.
- **allocations** and **bytes** are those of the whole process, for each operation.
- **throughput ÷** and **p99 ÷** are tntsql's divided by those of the line.
`, r.Version, runtime.NumCPU(), runtime.Version(), r.Rounds, r.Slice,
		v2Name, dependency("github.com/tarantool/go-tarantool/v2"), v3Name, dependency("github.com/tarantool/go-tarantool/v3"), floorName)
	if t := r.aimTable(); len(t.Rows) > 1 {
		fmt.Fprintf(&b, "\n## Aims\n\n%s", t.Markdown())
	}
	fmt.Fprintf(&b, "\n![Throughput](%s)\n", plot)
	for _, name := range r.names() {
		t := r.caseTable(name)
		fmt.Fprintf(&b, "\n## %s\n\n%s.\n\n%s", name, r.what(name), t.Markdown())
	}
	if len(r.Selections) > 0 {
		fmt.Fprintf(&b, "\n## %s\n\nAn instance for a read, chosen from the snapshot of the cluster, on all cores at once.\n\n%s",
			selection, r.selectionTable().Markdown())
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// dependency is the version of a module that this program was built with.
func dependency(path string) string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == path {
				return m.Version
			}
		}
	}
	return "of an unknown version"
}

// names are those of the cases, in order.
func (r *Report) names() (names []string) {
	for _, m := range r.Measurements {
		if len(names) == 0 || names[len(names)-1] != m.Case.Name {
			names = append(names, m.Case.Name)
		}
	}
	return names
}

func (r *Report) what(name string) string {
	for _, m := range r.Measurements {
		if m.Case.Name == name {
			return strings.ToUpper(m.Case.What[:1]) + m.Case.What[1:]
		}
	}
	return ""
}

func (r *Report) aimTable() *layout.Table {
	return &layout.Table{Words: aimWords, Rows: append([][]string{aimHeads}, r.aimRows()...)}
}

// caseTable has a line for each contender at each number of goroutines.
func (r *Report) caseTable(name string) *layout.Table {
	heads := []string{"who", "goroutines", "per second", "p50", "p99", "allocations", "bytes", "throughput ÷", "p99 ÷"}
	t := &layout.Table{Words: 1, Rows: [][]string{heads}}
	for _, m := range r.Measurements {
		if m.Case.Name != name {
			continue
		}
		if m.Case.meanwhile != "" && len(t.Rows[0]) == 9 {
			t.Rows[0] = append(t.Rows[0], "scans per second")
		}
		for i := range m.Contenders {
			t.Rows = append(t.Rows, m.row(&m.Contenders[i]))
		}
	}
	return t
}

func (m *Measurement) row(c *Contender) []string {
	row := []string{c.Name, fmt.Sprint(m.Goroutines), thousands(c.median((*Sample).throughput)),
		duration(c.median((*Sample).p50)), duration(c.median((*Sample).p99))}
	if m.Case.meanwhile == "" {
		row = append(row, fmt.Sprintf("%.1f", c.median((*Sample).mallocs)), thousands(c.median((*Sample).bytes)))
	} else {
		row = append(row, "–", "–") // those of the scans among them
	}
	if ours := m.contender(tntsqlName); ours != nil && c != ours {
		row = append(row, fmt.Sprintf("%.2f ×", ours.ratio(c, (*Sample).throughput)), fmt.Sprintf("%.2f ×", ours.ratio(c, (*Sample).p99)))
	} else {
		row = append(row, "", "")
	}
	if m.Case.meanwhile != "" {
		row = append(row, thousands(c.median((*Sample).meanwhile)))
	}
	return row
}

func (r *Report) selectionTable() *layout.Table {
	t := &layout.Table{Rows: [][]string{{"instances", "time", "allocations"}}}
	for _, s := range r.Selections {
		t.Rows = append(t.Rows, []string{fmt.Sprint(s.Instances), fmt.Sprintf("%.1f ns", s.Nanoseconds), fmt.Sprintf("%.0f", s.Mallocs)})
	}
	return t
}
