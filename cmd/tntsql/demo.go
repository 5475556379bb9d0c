package main

import (
	"github.com/spf13/cobra"

	"github.com/tntsql/tntsql/internal/demo"
)

func (t *tool) demoCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "Start three instances here and show what the driver does with them",
		Long: `Start three instances of Tarantool on 127.0.0.1, show which of them serves which
statement, move the master while four writers write, and stop the instances. Nothing is
left when it ends, by Ctrl-C too.

The binary is $TARANTOOL, else tarantool in PATH, version 2.6 or newer.`,
		Example: `  tntsql demo
  TARANTOOL=/opt/tarantool-3/bin/tarantool tntsql demo`,
		Args: atMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := t.bounded(cmd.Context())
			defer cancel()
			return demo.Run(ctx, t.out, demo.Options{Color: t.style().color})
		},
	}
}
