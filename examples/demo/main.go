// Command demo starts three Tarantool instances on the loopback interface and
// shows what the driver does with them. The binary is $TARANTOOL, else tarantool in
// PATH. Nothing is left when it ends, by Ctrl-C too.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/tntsql/tntsql/internal/demo"
)

func main() {
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: demo\n\nStarts three Tarantool instances on 127.0.0.1, shows what the driver does with them, and stops them.\n"+
			"TARANTOOL=/path/to/tarantool chooses the binary; NO_COLOR=1 leaves out colours.")
	}
	flag.Parse()
	os.Exit(run())
}

func run() int {
	// A reader that has seen enough, such as head, ends the demo like Ctrl-C.
	ctx, done := signal.NotifyContext(context.Background(), syscall.SIGPIPE)
	defer done()
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	// A second Ctrl-C ends a clean-up that hangs.
	defer context.AfterFunc(ctx, stop)()

	err := demo.Run(ctx, os.Stdout, demo.Options{Color: isTerminal(os.Stdout) && os.Getenv("NO_COLOR") == ""})
	switch {
	case err == nil:
		return 0
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		fmt.Fprintln(os.Stderr, "\nInterrupted; the instances are gone.")
		return 130
	}
	fmt.Fprintln(os.Stderr, err)
	return 1
}

func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
