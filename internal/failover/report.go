package failover

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
)

// Text writes the results for a terminal.
func Text(w io.Writer, results []*Result) error {
	ran, compared := sorted(results)
	var b strings.Builder
	b.WriteString(table(columns, ran).Plain())
	if len(compared) > 0 {
		b.WriteString("\nThe driver | go-tarantool's pool with a naive retry loop, in the same run:\n\n")
		b.WriteString(table(besideColumns, compared).Plain())
	}
	for _, r := range ran {
		for _, what := range r.Broken {
			fmt.Fprintf(&b, "\nFAIL  %s on %s: %s\n", r.Scenario.Name, r.Server, what)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Markdown writes the results as a page, beside which is the plot.
func Markdown(w io.Writer, results []*Result, plot string) error {
	ran, compared := sorted(results)
	var b strings.Builder
	fmt.Fprintf(&b, `# What callers notice of a failover

Each line is a run against a replica set of three instances on one machine (%d cores, %s) with %d writers and %d readers
through one `+"`sql.DB`"+`, each of whom rests %v between two requests. Every request is counted with its whole wait. Every write has
an id of its own and is looked for on every instance afterwards.

- **errors** are those that callers saw; **unknown** are writes in flight whose outcome is unknown, `+"`ErrOutcomeUnknown`"+`.
- **lost** are acknowledged writes that are missing on some instance: on the survivors → with all instances back.
- **write pause** is the time without an acknowledged write at each disturbance, median and max; **once writable** is the part of it after
  the new master had become writable, by its own clock, in the median.
- **read p99** and **reads/s** are of the disturbances; **max** is of all since the first of them.

`, runtime.NumCPU(), runtime.Version(), writerCount, readerCount, ran[0].Options.Pace)
	b.WriteString(table(columns, ran).Markdown())
	if len(compared) > 0 {
		fmt.Fprintf(&b, `
## Beside go-tarantool's pool

The driver / go-tarantool v2's `+"`pool`"+` in the same run, with %d writers and %d readers, CheckTimeout %v, request timeout %v and a loop that
tries again %v after any error.

`, poolWriters, poolReaders, poolCheck, poolTimeout, poolPause)
		b.WriteString(table(besideColumns, compared).Markdown())
	}
	fmt.Fprintf(&b, "\n![Pauses of writes and the p99 of reads](%s)\n", plot)
	writeScenarios(&b, ran)
	_, err := io.WriteString(w, b.String())
	return err
}

// writeScenarios writes what was done, what was noted, and what is broken.
func writeScenarios(b *strings.Builder, ran []*Result) {
	b.WriteString("\n## The scenarios\n")
	name := ""
	for _, r := range ran {
		if r.Scenario.Name != name {
			name = r.Scenario.Name
			fmt.Fprintf(b, "\n**%s**: %s.\n\n", name, r.Scenario.What)
		}
		line := []string{r.Server.Version + ": " + verdict(r)}
		line = append(line, r.Notes...)
		line = append(line, r.Broken...)
		fmt.Fprintf(b, "- %s\n", strings.Join(line, "; "))
	}
}

// sorted are the results that there are, by scenario and then by server, and
// those of them that have a pool to compare with.
func sorted(results []*Result) (ran, compared []*Result) {
	for _, r := range results {
		if r.Skipped == "" {
			ran = append(ran, r)
		}
	}
	order := func(r *Result) int {
		return slices.IndexFunc(Scenarios, func(s Scenario) bool { return s.Name == r.Scenario.Name })
	}
	slices.SortStableFunc(ran, func(a, b *Result) int { return order(a) - order(b) })
	for _, r := range ran {
		if r.Pool != nil {
			compared = append(compared, r)
		}
	}
	return ran, compared
}
