package faults

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/tntsql/tntsql/internal/failover"
	"github.com/tntsql/tntsql/internal/layout"
)

// heads are those of the table of results.
var heads = []string{"scenario", "server", "operations", "faults", "unknown", "errors", "longest pause", "time", "violations"}

// cells are the texts of the table.
func cells(results []*Result) [][]string {
	rows := [][]string{slices.Clone(heads)}
	for _, r := range results {
		row := []string{r.Scenario.Name, r.Server.Version}
		if r.Skipped != "" {
			row = append(row, "–", "–", "–", "–", "–", "–", "not run")
		} else {
			row = append(row, layout.Thousands(r.Operations), layout.Thousands(r.Faults), layout.Thousands(r.Unknown),
				layout.Thousands(r.Errors), longest(r.Pause), failover.Duration(r.Took), layout.Thousands(r.broken()))
		}
		rows = append(rows, row)
	}
	return rows
}

// table has words in its first two columns.
func table(rows [][]string) *layout.Table { return &layout.Table{Words: 2, Rows: rows} }

func longest(pause time.Duration) string {
	if pause == 0 {
		return "–"
	}
	return failover.Duration(pause)
}

// notes are what was noted, which reads of sessions tell something, and where the longest
// pause was.
func (r *Result) notes() []string {
	notes := slices.Clone(r.Notes)
	if r.UnknownInserts > 0 {
		notes = append(notes, fmt.Sprintf("%s of %s INSERTs of unknown outcome had been applied",
			layout.Thousands(r.AppliedInserts), layout.Thousands(r.UnknownInserts)))
	}
	if r.OwnReads > 0 {
		notes = append(notes, fmt.Sprintf("%s of %s reads of sessions were answered by another instance than their write",
			layout.Thousands(r.OwnReadsOnOthers), layout.Thousands(r.OwnReads)))
	}
	if faults := r.paused(); faults != "" {
		notes = append(notes, fmt.Sprintf("longest pause, %s: %s", longest(r.Pause), faults))
	}
	return notes
}

// Text writes the results for a terminal.
func Text(w io.Writer, results []*Result) error {
	var b strings.Builder
	b.WriteString(table(cells(results)).Plain())
	for _, r := range results {
		about := r.Scenario.Name + " on " + r.Server.Version
		if r.Skipped != "" {
			fmt.Fprintf(&b, "\n%s: not run, %s", about, r.Skipped)
		}
		for _, note := range r.notes() {
			fmt.Fprintf(&b, "\n%s: %s", about, note)
		}
		for _, what := range r.Violations {
			fmt.Fprintf(&b, "\nFAIL  %s, seed %d: %s", about, r.Options.Seed, what)
		}
	}
	_, err := io.WriteString(w, b.String()+"\n")
	return err
}
