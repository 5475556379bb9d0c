// Command failover-report runs the scenarios of package failover against real
// replica sets, prints a table, and writes a page and a plot.
//
//	failover-report [-run names] [-tarantool binaries] [-out directory]
//
// Its exit status is 1 if a promise is broken.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tntsql/tntsql/internal/failover"
)

// binaryVariable names the binary that package tarantooltest starts.
const binaryVariable = "TARANTOOL"

type flags struct {
	run, tarantool, out string
	scale               float64
	pace                time.Duration
	verbose, list       bool
}

func main() {
	var f flags
	flag.StringVar(&f.run, "run", "", "run the scenarios of these `names` only, separated by commas")
	flag.StringVar(&f.tarantool, "tarantool", os.Getenv(binaryVariable),
		"the Tarantool `binaries` to run with, separated by commas, oldest first; a rolling upgrade needs two (default tarantool in PATH)")
	flag.StringVar(&f.out, "out", "", "write failover.md and failover.svg to this `directory`")
	flag.Float64Var(&f.scale, "scale", 1, "multiply all durations and repetitions")
	flag.DurationVar(&f.pace, "pace", 5*time.Millisecond, "how long a worker rests between two requests")
	flag.BoolVar(&f.verbose, "v", false, "print what the driver logs")
	flag.BoolVar(&f.list, "list", false, "print the scenarios and exit")
	flag.Usage = func() {
		fmt.Fprint(os.Stderr, `usage: failover-report [flags]

Starts replica sets, kills, stops and cuts off their instances under load, and prints what callers
of the driver noticed: about five minutes for each binary. Nothing else should run meanwhile.
`)
		flag.PrintDefaults()
	}
	flag.Parse()
	log.SetOutput(io.Discard) // go-tarantool's pool
	if err := report(f); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func report(f flags) error {
	scenarios, err := failover.Choose(failover.Scenarios, func(s failover.Scenario) string { return s.Name }, f.run)
	if err != nil {
		return err
	}
	if f.list {
		for _, s := range scenarios {
			fmt.Printf("%-26s %s\n", s.Name, s.What)
		}
		return nil
	}
	results, failed := runAll(f, scenarios)
	if len(results) == 0 {
		return errors.Join(append(failed, errors.New("no scenario was run"))...)
	}
	fmt.Println()
	if err := failover.Text(os.Stdout, results); err != nil {
		return err
	}
	if f.out != "" {
		if err := write(f.out, results); err != nil {
			return err
		}
	}
	if slices.ContainsFunc(results, func(r *failover.Result) bool { return !r.OK() }) {
		failed = append(failed, errors.New("promises are broken"))
	}
	return errors.Join(failed...)
}

// runAll runs every scenario with every binary. Those that fail to run, or are
// not for a server, are left out.
func runAll(f flags, scenarios []failover.Scenario) (results []*failover.Result, failed []error) {
	binaries := strings.Split(f.tarantool, ",")
	for i, binary := range binaries {
		if binary != "" {
			if err := os.Setenv(binaryVariable, binary); err != nil {
				return nil, []error{err}
			}
		}
		o := failover.Options{Scale: f.scale, Slack: 1, Pace: f.pace}
		if i+1 < len(binaries) {
			o.UpgradeTo = binaries[i+1]
		}
		if f.verbose {
			o.Logger = slog.New(slog.NewTextHandler(os.Stderr, nil))
		}
		for _, s := range scenarios {
			r, err := runOne(s, o)
			if err != nil {
				failed = append(failed, err)
			} else if r.Skipped == "" {
				results = append(results, r)
			}
		}
	}
	return results, failed
}

func runOne(s failover.Scenario, o failover.Options) (*failover.Result, error) {
	begun := time.Now()
	o.Progress = func(what string) {
		fmt.Fprintf(os.Stderr, "%6.1f s  %s: %s\n", time.Since(begun).Seconds(), s.Name, what)
	}
	r, err := failover.Run(s, o)
	switch {
	case err != nil:
		o.Progress(err.Error())
	case r.Skipped != "":
		o.Progress("not on " + r.Server.Version + ": " + r.Skipped)
	case r.OK():
		o.Progress("ok on " + r.Server.Version)
	default:
		o.Progress("FAIL on " + r.Server.Version + ": " + strings.Join(r.Broken, "; "))
	}
	return r, err
}

// write writes the page and the plot.
func write(directory string, results []*failover.Result) error {
	const page, plot = "failover.md", "failover.svg"
	if err := os.MkdirAll(directory, 0o750); err != nil {
		return err
	}
	return errors.Join(
		writeFile(filepath.Join(directory, page), func(w io.Writer) error { return failover.Markdown(w, results, plot) }),
		writeFile(filepath.Join(directory, plot), func(w io.Writer) error { return failover.Plot(w, results) }),
	)
}

func writeFile(name string, content func(io.Writer) error) error {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(content(file), file.Close())
}
