package faults

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/tntsql/tntsql/internal/failover"
)

// heads are those of the table of results.
var heads = []string{"scenario", "server", "operations", "faults", "unknown", "errors", "longest pause", "time", "violations"}

// cells are the texts of the table.
func cells(results []*Result) [][]string {
	rows := [][]string{heads}
	for _, r := range results {
		row := []string{r.Scenario.Name, r.Server.Version}
		if r.Skipped != "" {
			row = append(row, "–", "–", "–", "–", "–", "–", "not run")
		} else {
			row = append(row, failover.Thousands(r.Operations), failover.Thousands(r.Faults), failover.Thousands(r.Unknown),
				failover.Thousands(r.Errors), longest(r.Pause), failover.Duration(r.Took), failover.Thousands(r.broken()))
		}
		rows = append(rows, row)
	}
	return rows
}

func longest(pause time.Duration) string {
	if pause == 0 {
		return "–"
	}
	return failover.Duration(pause)
}

// Text writes the results for a terminal.
func Text(w io.Writer, results []*Result) error {
	var b strings.Builder
	b.WriteString(failover.PlainTable(cells(results)))
	for _, r := range results {
		about := r.Scenario.Name + " on " + r.Server.Version
		if r.Skipped != "" {
			fmt.Fprintf(&b, "\n%s: not run, %s", about, r.Skipped)
		}
		for _, note := range r.Notes {
			fmt.Fprintf(&b, "\n%s: %s", about, note)
		}
		for _, what := range r.Violations {
			fmt.Fprintf(&b, "\nFAIL  %s, seed %d: %s", about, r.Options.Seed, what)
		}
	}
	_, err := io.WriteString(w, b.String()+"\n")
	return err
}
