// Command tntsql is for people who operate Tarantool clusters: it shows the instances of
// one, runs a statement, and tells scripts whether an instance of a mode is there.
//
// "tntsql help" says how it is used.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/term"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	// A second Ctrl-C ends a clean-up that hangs.
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], console()))
}

// streams are what a command reads and writes.
type streams struct {
	in       io.Reader
	out, err io.Writer
	getenv   func(string) string
	// size is that of the terminal behind out, and false if there is none.
	size func() (width, height int, ok bool)
	// typed tells that in is a terminal.
	typed bool
}

func console() streams {
	out := int(os.Stdout.Fd())
	return streams{
		in:     os.Stdin,
		out:    os.Stdout,
		err:    os.Stderr,
		getenv: os.Getenv,
		size: func() (width, height int, ok bool) {
			width, height, err := term.GetSize(out)
			return width, height, err == nil
		},
		typed: term.IsTerminal(int(os.Stdin.Fd())),
	}
}
