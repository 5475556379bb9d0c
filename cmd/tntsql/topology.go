package main

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tntsql/tntsql"
)

const (
	// lagBound is how old what is known of a replica's lag may be.
	lagBound = 300 * time.Millisecond
	// lagPatience is how long a lag is waited for: that of a replica whose master is
	// away is never known.
	lagPatience = time.Second
	// lookInterval is how often the topology is looked at while it is waited for.
	lookInterval = 10 * time.Millisecond
)

var errNoneUsable = errors.New("no instance can be used")

func (t *tool) topologyCommand() *cobra.Command {
	var watch bool
	cmd := &cobra.Command{
		Use:   "topology [DSN]",
		Short: "Show the instances: role, status, lag, latency, version, last error",
		Long: `Show a line for each instance of the cluster.

  ROLE        rw: the master; ro: a replica; - if it cannot be used
  STATUS      running; orphan: replicates from too few others; suspect: does not answer;
              down, login refused, ...: LAST ERROR says why
  LAG         how far it is behind the master, at most; - if that is not known
  LATENCY     the round trip to it from here
  IN FLIGHT   requests of this command that it has not answered

With discovery=replication in the DSN, that is also the instances which those of the DSN
replicate with. It exits with status 3 if no instance can be used.`,
		Example: `  tntsql topology tarantool://app@10.0.0.1,10.0.0.2,10.0.0.3/
  tntsql topology --watch                      # until Ctrl-C
  tntsql topology --watch | tee failover.log   # a table with its time at each change
  tntsql topology 'tarantool://app@10.0.0.1/?discovery=replication'`,
		Args: atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			dsn := ""
			if len(args) > 0 {
				dsn = args[0]
			}
			cfg, err := t.config(dsn)
			if err != nil {
				return err
			}
			return t.runTopology(cmd.Context(), cfg, watch)
		},
	}
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "go on until Ctrl-C: redrawn on a terminal, else a table for each change")
	return cmd
}

func (t *tool) runTopology(ctx context.Context, cfg *tntsql.Config, watch bool) error {
	// The bound has instances asked often enough that their lag is known.
	cfg.MaxLag = min(cfg.MaxLag, lagBound)
	changed := make(chan struct{}, 1)
	cfg.Trace = &tntsql.Trace{Topology: func(tntsql.Topology) {
		select {
		case changed <- struct{}{}:
		default:
		}
	}}
	c, err := connector(cfg)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }() // it never fails
	bounded, cancel := t.bounded(ctx)
	defer cancel()
	if watch {
		t.watch(bounded, c, changed)
		return nil
	}
	instances := t.settled(bounded, c)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	t.show(instances)
	if !slices.ContainsFunc(instances, usable) {
		return errNoneUsable
	}
	return nil
}

// settled returns the topology when each instance has been tried and the lag of the
// replicas is known, or as it is when the context ends.
func (t *tool) settled(ctx context.Context, c *tntsql.Connector) []tntsql.TopologyInstance {
	defer t.progress(func() string { return "waiting for " + strings.Join(untried(c), ", ") })()
	enough := time.Now().Add(lagPatience)
	tick := time.NewTicker(lookInterval)
	defer tick.Stop()
	for {
		instances := c.Topology().Instances
		if len(untried(c)) == 0 && (!slices.ContainsFunc(instances, lagMissing) || time.Now().After(enough)) {
			return instances
		}
		select {
		case <-ctx.Done():
			return instances
		case <-tick.C:
		}
	}
}

// untried are the addresses of the instances of which nothing is known yet.
func untried(c *tntsql.Connector) []string {
	var addresses []string
	for _, in := range c.Topology().Instances {
		if in.Status == "connecting" {
			addresses = append(addresses, in.Address)
		}
	}
	return addresses
}

func usable(in tntsql.TopologyInstance) bool {
	return in.Status == "running" || in.Status == "orphan" || in.Status == "suspect"
}

func lagMissing(in tntsql.TopologyInstance) bool { return usable(in) && in.Role == "ro" && in.Lag < 0 }
