// Command tntsql-bench measures tntsql beside go-tarantool, and writes a page and a
// plot.
//
//	tntsql-bench [-run regexp] [-quick] [-out directory]
//	tntsql-bench -profile case [-goroutines n]
//
// The server's binary is $TARANTOOL, else tarantool in PATH.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"syscall"
	"time"

	"github.com/tntsql/tntsql/bench"
)

type flags struct {
	out, run, profile string
	quick, list       bool
	rounds            int
	slice             time.Duration
	goroutines        int
}

func main() {
	var f flags
	flag.StringVar(&f.out, "out", "", "write bench-VERSION.md and .svg, or the profiles, to this `directory`")
	flag.StringVar(&f.run, "run", "", "run only what matches this `regexp`, such as \"INSERT/64\": case and goroutines")
	flag.BoolVar(&f.quick, "quick", false, "one round of short slices: shows that it works, not how fast")
	flag.BoolVar(&f.list, "list", false, "print the cases and exit")
	flag.IntVar(&f.rounds, "rounds", 7, "how many turns each contender has")
	flag.DurationVar(&f.slice, "slice", 250*time.Millisecond, "how long a turn is")
	flag.StringVar(&f.profile, "profile", "", "run tntsql alone in this `case`, and write cpu.pprof and allocs.pprof")
	flag.IntVar(&f.goroutines, "goroutines", 64, "how many run at once under -profile")
	flag.Usage = func() {
		fmt.Fprint(os.Stderr, `usage: tntsql-bench [flags]

Starts a server and measures tntsql and its peers on it by turns: about six minutes. Nothing else
should run meanwhile. TARANTOOL=/path/to/tarantool chooses the binary.

`)
		flag.PrintDefaults()
	}
	flag.Parse()
	log.SetOutput(io.Discard) // go-tarantool's pool
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, f)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, f flags) error {
	switch {
	case f.list:
		for _, c := range bench.Cases {
			fmt.Printf("%-26s %s\n", c.Name, c.What)
		}
		return nil
	case f.rounds < 1 || f.slice <= 0 || f.goroutines < 1:
		return errors.New("-rounds, -slice and -goroutines must be positive")
	case f.profile != "":
		return profile(ctx, f)
	}
	return measure(ctx, f)
}

func measure(ctx context.Context, f flags) error {
	o := bench.Options{Rounds: f.rounds, Slice: f.slice}
	if f.quick {
		o.Rounds, o.Slice = 1, 20*time.Millisecond
	}
	if f.run != "" {
		chosen, err := regexp.Compile(f.run)
		if err != nil {
			return err
		}
		o.Run = chosen
	}
	begun := time.Now()
	o.Progress = func(what string) { fmt.Fprintf(os.Stderr, "%6.1f s  %s\n", time.Since(begun).Seconds(), what) }
	report, err := bench.Run(ctx, o)
	if err != nil {
		return err
	}
	if err := report.Text(os.Stdout); err != nil || f.out == "" {
		return err
	}
	name := "bench-" + report.Version
	return errors.Join(
		write(f.out, name+".md", func(w io.Writer) error { return report.Markdown(w, name+".svg") }),
		write(f.out, name+".svg", report.Plot))
}

func profile(ctx context.Context, f flags) error {
	const length = 10 * time.Second
	directory := f.out
	if directory == "" {
		directory = "."
	}
	return write(directory, "cpu.pprof", func(cpu io.Writer) error {
		return write(directory, "allocs.pprof", func(allocations io.Writer) error {
			s, err := bench.Profile(ctx, f.profile, f.goroutines, length, cpu, allocations)
			if err == nil {
				fmt.Printf("%d operations in %v, p50 %v, p99 %v\n", s.Operations, s.Elapsed.Round(time.Millisecond), s.P50, s.P99)
			}
			return err
		})
	})
}

// write writes a file.
func write(directory, name string, content func(io.Writer) error) error {
	if err := os.MkdirAll(directory, 0o750); err != nil {
		return err
	}
	file, err := os.Create(filepath.Join(directory, name))
	if err != nil {
		return err
	}
	return errors.Join(content(file), file.Close())
}
