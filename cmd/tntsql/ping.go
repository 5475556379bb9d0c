package main

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tntsql/tntsql"
)

func (t *tool) pingCommand() *cobra.Command {
	var modeName string
	cmd := &cobra.Command{
		Use:   "ping [DSN]",
		Short: "Tell whether an instance of a mode answers",
		Long: `Ask an instance of the mode whether it is there, and say which one answered.

While there is none it waits, for --timeout or else the DSN's selection_timeout (15s), and
then exits with status 3 and says what is wrong with each instance.`,
		Example: `  tntsql ping tarantool://app@10.0.0.1,10.0.0.2/
  tntsql ping --mode rw --timeout 2s           # is there a master?
  until tntsql ping --mode rw; do :; done      # wait for one
  tntsql ping --mode ro 2>/dev/null || page "no replica"`,
		Args: atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			mode, err := parseMode(modeName)
			if err != nil {
				return err
			}
			dsn := ""
			if len(args) > 0 {
				dsn = args[0]
			}
			cfg, err := t.config(dsn)
			if err != nil {
				return err
			}
			return t.runPing(cmd.Context(), cfg, mode)
		},
	}
	cmd.Flags().StringVarP(&modeName, "mode", "m", "", modeUsage)
	return cmd
}

func (t *tool) runPing(ctx context.Context, cfg *tntsql.Config, mode tntsql.Mode) error {
	if mode != 0 {
		cfg.ReadMode = mode
	}
	c, err := connector(cfg)
	if err != nil {
		return err
	}
	db := sql.OpenDB(c)
	defer func() { _ = db.Close() }() // it never fails
	ctx, cancel := t.bounded(ctx)
	defer cancel()
	defer t.progress(func() string { return awaited(c, cfg.ReadMode) })()
	ctx, info := tntsql.Capture(ctx)
	if err := db.PingContext(ctx); err != nil {
		return err
	}
	fmt.Fprintf(t.out, "%s (%s) answered in %s\n", printable(info.Instance.String()), info.Instance.Role,
		span(info.Duration-info.Wait, true))
	return nil
}

// awaited says whose answer, or which instance, is waited for.
func awaited(c *tntsql.Connector, mode tntsql.Mode) string {
	instances := c.Topology().Instances
	if slices.ContainsFunc(instances, func(in tntsql.TopologyInstance) bool { return usable(in) && serves(in, mode) }) {
		return "waiting for the answer"
	}
	states := make([]string, len(instances))
	for i, in := range instances {
		states[i] = instanceName(in) + " is " + printable(in.Status)
		if usable(in) {
			states[i] += ", " + in.Role
		}
	}
	return fmt.Sprintf("waiting for an instance of mode %s: %s", mode, strings.Join(states, "; "))
}

// serves tells whether an instance has a role that the mode accepts.
func serves(in tntsql.TopologyInstance, mode tntsql.Mode) bool {
	switch mode {
	case tntsql.ModeRW:
		return in.Role == "rw"
	case tntsql.ModeRO:
		return in.Role == "ro"
	}
	return true
}
