package faults

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tntsql/tntsql/internal/layout"
)

// The files of a report.
const (
	pageFile   = "reliability.md"
	plotFile   = "reliability.svg"
	recordFile = "reliability.jsonl"
)

// WritePage takes the results into the record of a directory, and writes the page of all
// of it, and the plot that it shows.
func WritePage(directory string, fresh []*Result) error {
	if err := os.MkdirAll(directory, 0o750); err != nil {
		return err
	}
	record := filepath.Join(directory, recordFile)
	old, err := readRecord(record)
	if err != nil {
		return err
	}
	results := merged(old, fresh)
	return errors.Join(
		writeFile(record, func(w io.Writer) error { return writeRecord(w, results) }),
		writeFile(filepath.Join(directory, pageFile), func(w io.Writer) error { return Page(w, results) }),
		writeFile(filepath.Join(directory, plotFile), func(w io.Writer) error { return Plot(w, results) }),
	)
}

func writeFile(name string, content func(io.Writer) error) error {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(content(file), file.Close())
}

// Page writes the promises and the results in Markdown.
func Page(w io.Writer, results []*Result) error {
	var b strings.Builder
	fmt.Fprintf(&b, `# Reliability

What this driver promises, and the figures of the fault suite that tests it: the last run of each scenario with each server,
with %s on %d cores that the servers shared with it. The command writes this page:

`+"```sh\n"+`make faults                                                     # a short run, in under three minutes; it writes nothing
make faults FAULTS="-long -out ../../docs"                      # half an hour for three binaries: -tarantool a,b,c
make faults FAULTS="-run many-callers -load 1h -out ../../docs" # one scenario; -list prints them
make faults FAULTS=%-44q # the same sequences of faults again
make faults FAULTS="-run random -fault stall"                   # some faults only; -list prints them, too
`+"```"+`

TARANTOOL=/path/to/tarantool is another binary. A seed gives the same faults in the same order, for as long as its run lasts (**scale**); what
the callers do at that moment is up to the machine, so what was broken once may take some runs to break again.

A load of INSERTs, UPDATEs of shared counters, sessions that read what they wrote, and linearizable transactions goes on, by
all ways to run a statement (Exec, Retry, Eval, ExecBatch, RunTx), while instances and networks break; every operation is
recorded with its times, its outcome and its instance. Afterwards each INSERT is looked for on every instance, where each time
that it was applied left a row of its own; counters are summed up; sessions are followed; and
[porcupine](https://github.com/anishathalye/porcupine) looks for an order of the transactions. Faults come without a pause.

## Promises

`, runtime.Version(), runtime.NumCPU(), fmt.Sprintf("-seed %d -run random", results[0].Options.Seed))
	b.WriteString(table(promiseCells(results)).Markdown())
	b.WriteString(`
- **unknown** are writes that ended with ` + "`ErrOutcomeUnknown`" + `: [what to do about them](failover.md#unknown-outcomes); **errors** are all others that callers saw, most of them while nobody
  could have served them: with the password changed, the grants revoked, or the memory full.
- What an asynchronous space loses with its master, if that does not come back, is counted by **survivors** and no violation:
  [what a failover may lose](failover.md#what-a-failover-may-lose).
- **longest pause** is the longest time without an acknowledged write, in all faults; an election takes seconds.
- **scale** is what the times of random sequences and of loads, and the sizes that take long, are multiplied with: 1 in the short form,
  10 in the long one.

## What it does not show

- The loss of power, full disks, clocks that differ: all is on one machine, whose kernel keeps what a killed server has written.
- Replication that stays broken; two masters at once.
- That ` + "`LINEARIZABLE`" + ` is more than a server's other levels: with strict fencing no run has told them apart, so that the level which
  is sent is tested by itself.
- Vinyl spaces; and with faults TLS, discovery and names of hosts.

That the checks find what they look for is tested by histories and by tables that were tampered with: ` + "`internal/faults/history`" + ` and
` + "`scenario_test.go`" + `. How go-tarantool's pool fares is in [Beside go-tarantool](comparison.md#measured).

## Scenarios

`)
	b.WriteString(table(runCells(results)).Markdown())
	fmt.Fprintf(&b, "\n![Goroutines, file descriptors and heap under load](%s)\n", plotFile)
	writeScenarios(&b, results)
	b.WriteString(`
## The faults

The longest pause of each by itself, from breaking to mending it. Of three instances, a random one is stopped or restarted, or has its
network broken: where it is not the master, writes do not notice. A master that is killed has another promoted at once, but with elections
the others must find out first. A stop takes up to 1.5 s, a stall up to 2 s, and 0.3 s to 0.6 s pass before memory, password and grants are
given back.

`)
	b.WriteString((&layout.Table{Words: 1, Rows: faultCells(results)}).Markdown())
	b.WriteString("\nA new one takes ten lines: see the [package](../internal/faults/doc.go).\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// runCells are the cells of the results, and what it takes to run them again.
func runCells(results []*Result) [][]string {
	rows := cells(results)
	rows[0] = append(rows[0], "date", "commit", "scale", "seed")
	for i, r := range results {
		rows[i+1] = append(rows[i+1], r.Date, r.Commit, strconv.FormatFloat(r.Options.Scale, 'g', -1, 64), strconv.FormatUint(r.Options.Seed, 10))
	}
	return rows
}

// promiseCells are the texts of the table of promises.
func promiseCells(results []*Result) [][]string {
	rows := [][]string{{"promise", "tested by", "operations", "faults", "unknown", "violations", "longest pause"}}
	for _, p := range promises {
		var (
			names                               []string
			operations, faults, unknown, broken int
			pause                               time.Duration
		)
		for _, r := range results {
			if r.Skipped != "" || !slices.Contains(r.Scenario.Promises, p) {
				continue
			}
			if !slices.Contains(names, r.Scenario.Name) {
				names = append(names, r.Scenario.Name)
			}
			operations, faults, unknown, broken = operations+r.Operations, faults+r.Faults, unknown+r.Unknown, broken+r.Broken[p]
			pause = max(pause, r.Pause)
		}
		if len(names) > 0 {
			rows = append(rows, []string{
				string(p), strings.Join(names, ", "), layout.Thousands(operations), layout.Thousands(faults),
				layout.Thousands(unknown), layout.Thousands(broken), longest(pause),
			})
		}
	}
	return rows
}

// faultCells are the longest pauses of faults that were injected by themselves.
func faultCells(results []*Result) [][]string {
	results = slices.DeleteFunc(slices.Clone(results), func(r *Result) bool {
		return r.Skipped != "" || r.Scenario.Name != alone.Name && r.Scenario.Name != aloneElections.Name
	})
	rows := [][]string{{"fault"}}
	for _, r := range results {
		head := r.Server.Version
		if r.Scenario.Name == aloneElections.Name {
			head += ", elections"
		}
		rows[0] = append(rows[0], head)
	}
	for _, f := range Faults {
		row := []string{f.Name}
		for _, r := range results {
			row = append(row, longest(r.Pauses[f.Name]))
		}
		rows = append(rows, row)
	}
	return rows
}

// writeScenarios writes what was done, noted and broken.
func writeScenarios(b *strings.Builder, results []*Result) {
	for _, s := range Scenarios {
		about := false
		for _, r := range results {
			if r.Scenario.Name != s.Name {
				continue
			}
			if !about {
				fmt.Fprintf(b, "\n**%s**: %s.\n\n", s.Name, s.What)
				about = true
			}
			verdict := []string{"ok"}
			if r.Skipped != "" {
				verdict = []string{"not run: " + r.Skipped}
			} else if !r.OK() {
				verdict = append([]string{"**broken**"}, r.Violations...)
			}
			fmt.Fprintf(b, "- %s: %s\n", r.Server.Version, strings.Join(append(verdict, r.notes()...), "; "))
		}
	}
}
