package main

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tntsql/tntsql"
)

// The statuses that the command exits with.
const (
	exitDone        = 0
	exitFailed      = 1
	exitMisused     = 2
	exitNoInstance  = 3
	exitUnknown     = 4
	exitInterrupted = 130
)

const rootHelp = `tntsql shows the instances of a Tarantool cluster, runs a statement on the right one,
and tells scripts whether an instance of a mode is there.

The cluster is named by a DSN with its instances, or some of them:

  tarantool://[user@]host[:port][,host[:port]...]/[?parameter=value&...]

It is the argument DSN or, where that is left out, the variable TNTSQL_DSN. A password
in the argument is refused, since everyone on the machine can read it in the list of
processes. The password is that of --password-file, else of the variable
TNTSQL_PASSWORD, else of the DSN in TNTSQL_DSN.`

const rootExamples = `  export TNTSQL_DSN=tarantool://app@10.0.0.1,10.0.0.2,10.0.0.3/
  export TNTSQL_PASSWORD=...            # or: --password-file /run/secrets/tarantool

  tntsql topology --watch               # who is the master, who lags, who is down
  tntsql query "SELECT * FROM users"    # on any instance; a write goes to the master
  tntsql ping --mode rw || alert        # is there a master?
  tntsql demo                           # see the driver follow a master that moves`

const exitHelp = `
Exit status:
  0    done
  1    failed; a statement was not applied
  2    wrong usage, a wrong DSN; nothing was sent
  3    no instance of the mode in time
  4    outcome unknown: a write was sent and has no answer, look before you repeat it
  130  interrupted by Ctrl-C
`

// tool is what the commands share.
type tool struct {
	streams
	passwordFile string
	timeout      time.Duration
	verbose      bool
	begun        bool // arguments and flags were accepted
}

// usageError is a mistake in the command line, or in what stands for a part of it.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// run runs the command with the arguments and returns its exit status.
func run(ctx context.Context, args []string, s streams) int {
	t := &tool{streams: s}
	root := t.root()
	root.SetArgs(args)
	root.SetIn(s.in)
	root.SetOut(s.out)
	root.SetErr(s.err)
	command, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitDone
	}
	status := t.status(ctx, err)
	if status == exitInterrupted {
		return status
	}
	fmt.Fprintf(s.err, "tntsql: %s\n", t.explain(err))
	if status == exitMisused {
		fmt.Fprintf(s.err, "See: %s --help\n", command.CommandPath())
	}
	return status
}

func (t *tool) root() *cobra.Command {
	root := &cobra.Command{
		Use:           "tntsql",
		Short:         "Look into a Tarantool cluster, and run SQL on it",
		Long:          rootHelp,
		Example:       rootExamples,
		Version:       version(),
		SilenceErrors: true,
		SilenceUsage:  true,
		PersistentPreRun: func(*cobra.Command, []string) {
			t.begun = true
		},
	}
	root.SetUsageTemplate(root.UsageTemplate() + exitHelp)
	flags := root.PersistentFlags()
	flags.StringVar(&t.passwordFile, "password-file", "", "read the password from the first line of this `file`")
	flags.DurationVar(&t.timeout, "timeout", 0, "give up after this, such as 2s (default: the timeouts of the DSN)")
	flags.BoolVarP(&t.verbose, "verbose", "v", false, "tell on stderr what happens to instances and connections")
	root.AddCommand(t.topologyCommand(), t.queryCommand(), t.pingCommand(), t.demoCommand())
	return root
}

// version is that of the module, where the build knows it.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

// bounded ends the context after --timeout.
func (t *tool) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if t.timeout <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, t.timeout)
}

// status is what the command exits with after an error.
func (t *tool) status(ctx context.Context, err error) int {
	var usage usageError
	switch {
	case errors.Is(err, tntsql.ErrOutcomeUnknown):
		return exitUnknown
	case ctx.Err() != nil:
		return exitInterrupted
	case errors.Is(err, tntsql.ErrNoInstance), errors.Is(err, errNoneUsable):
		return exitNoInstance
	case errors.As(err, &usage), !t.begun:
		return exitMisused
	}
	return exitFailed
}

// explain is the text of an error, without the driver's prefix.
func (t *tool) explain(err error) string {
	var none *tntsql.NoInstanceError
	switch {
	case errors.As(err, &none):
		text := fmt.Sprintf("no instance for mode %s", none.Mode)
		if none.Waited > 0 {
			text += fmt.Sprintf(" after %v", none.Waited.Round(time.Millisecond))
		}
		return text + "\n\n" + strings.TrimSuffix(topologyTable(none.Instances, style{}), "\n")
	case errors.Is(err, context.DeadlineExceeded) && t.timeout > 0:
		return fmt.Sprintf("%s (--timeout %v)", bare(err), t.timeout)
	}
	return bare(err)
}

// bare is an error's text for one line of a terminal, without the driver's prefix.
func bare(err error) string {
	text := strings.TrimPrefix(err.Error(), "tntsql: ")
	return printable(strings.Join(strings.Fields(text), " ")) // cobra's suggestions have lines of their own
}

// atMost bounds the number of arguments.
func atMost(n int) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) > n {
			return usagef("%d arguments, want at most %d: quote what has spaces", len(args), n)
		}
		return nil
	}
}
