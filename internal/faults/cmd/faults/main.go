// Command faults runs the scenarios of package faults against real servers, prints the
// figures, and writes a page and a plot.
//
//	faults [-run names] [-tarantool binaries] [-long] [-seed n] [-out directory]
//
// Its exit status is 1 if a promise is broken.
package main

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/tntsql/tntsql/internal/failover"
	"github.com/tntsql/tntsql/internal/faults"
)

// binaryVariable names the binary that package tarantooltest starts.
const binaryVariable = "TARANTOOL"

// longScale makes a run with three binaries take half an hour.
const longScale = 10

type flags struct {
	run, fault     string
	tarantool, out string
	scale          float64
	load           time.Duration
	seed           uint64
	long, list     bool
}

func main() {
	var f flags
	flag.StringVar(&f.run, "run", "", "run the scenarios of these `names` only, separated by commas")
	flag.StringVar(&f.fault, "fault", "", "inject only the faults whose names contain this `text`, in the scenarios that inject any")
	flag.StringVar(&f.tarantool, "tarantool", os.Getenv(binaryVariable),
		"the Tarantool `binaries` to run with, separated by commas (default tarantool in PATH)")
	flag.StringVar(&f.out, "out", "", "take the results into reliability.jsonl, .md and .svg in this `directory`")
	flag.BoolVar(&f.long, "long", false, "the long form: half an hour for three binaries")
	flag.Float64Var(&f.scale, "scale", 1, "multiply the time of the random sequences and of the load, and the sizes that take long")
	flag.DurationVar(&f.load, "load", 0, "how long the load of many callers lasts, such as 1h (default 8s, times the scale)")
	flag.Uint64Var(&f.seed, "seed", 0, "the `seed` of a run that was printed (default a random one)")
	flag.BoolVar(&f.list, "list", false, "print the scenarios and the faults and exit")
	flag.Usage = func() {
		fmt.Fprint(os.Stderr, `usage: faults [flags]

Starts replica sets and hostile servers, breaks what can break under load, and prints whether the driver
kept its promises: under three minutes for each binary, or about ten with -long.
`)
		flag.PrintDefaults()
	}
	flag.Parse()
	if f.long {
		f.scale = longScale
	}
	if f.seed == 0 {
		f.seed = rand.Uint64N(1_000_000)
	}
	if err := report(f); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func report(f flags) error {
	scenarios, err := failover.Choose(faults.Scenarios, func(s faults.Scenario) string { return s.Name }, f.run)
	if err != nil {
		return err
	}
	if f.list {
		for _, s := range scenarios {
			fmt.Printf("%-24s %s\n", s.Name, s.What)
		}
		fmt.Println("\nfaults, for -fault:")
		for _, fault := range faults.Faults {
			fmt.Println(fault.Name)
		}
		return nil
	}
	switch {
	case !slices.ContainsFunc(faults.Faults, func(fault faults.Fault) bool { return strings.Contains(fault.Name, f.fault) }):
		return fmt.Errorf("no fault has %q in its name: -list prints them", f.fault)
	case f.fault != "" && f.out != "":
		return errors.New("-out is for all faults: leave out -fault")
	}
	results, failed := runAll(f, scenarios)
	if len(results) == 0 {
		return errors.Join(append(failed, errors.New("no scenario was run"))...)
	}
	fmt.Println()
	if err := faults.Text(os.Stdout, results); err != nil {
		return err
	}
	if slices.ContainsFunc(results, func(r *faults.Result) bool { return !r.OK() }) {
		failed = append(failed, errors.New("promises are broken"))
	}
	return errors.Join(failed...)
}

// headCommit is the commit that is checked out, "" outside a repository.
func headCommit() string {
	out, err := exec.Command("git", "describe", "--always", "--exclude=*", "--dirty").Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

// runAll runs every scenario with every binary.
func runAll(f flags, scenarios []faults.Scenario) (results []*faults.Result, failed []error) {
	commit := headCommit()
	for binary := range strings.SplitSeq(f.tarantool, ",") {
		if binary != "" {
			if err := os.Setenv(binaryVariable, binary); err != nil {
				return nil, []error{err}
			}
		}
		o := faults.Options{Scale: f.scale, Fault: f.fault, Load: f.load, Seed: f.seed, Heard: faults.NewHeard()}
		for _, s := range scenarios {
			r, err := runOne(s, o)
			if err != nil {
				failed = append(failed, err)
				continue
			}
			r.Commit = commit
			results = append(results, r)
			if f.out != "" { // at once: the next may take an hour
				failed = append(failed, faults.WritePage(f.out, []*faults.Result{r}))
			}
		}
	}
	return results, failed
}

func runOne(s faults.Scenario, o faults.Options) (*faults.Result, error) {
	begun := time.Now()
	o.Progress = func(what string) {
		line := fmt.Sprintf("%6.1f s  %s: %s\n", time.Since(begun).Seconds(), s.Name, what)
		fmt.Fprint(os.Stderr, line)
		o.Heard.Say("%s", line)
	}
	o.Progress(fmt.Sprintf("seed %d", o.Seed))
	r, err := faults.Run(s, o)
	switch {
	case err != nil:
		o.Progress(err.Error())
	case r.Skipped != "":
		o.Progress("not on " + r.Server.Version + ": " + r.Skipped)
	case r.OK():
		o.Progress("ok on " + r.Server.Version)
	default:
		o.Progress("FAIL on " + r.Server.Version + ": " + strings.Join(r.Violations, "; "))
	}
	return r, err
}
