package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/tntsql/tntsql"
)

// redrawInterval is how often the table on a terminal is drawn while no role or status
// changes: lag and latency do.
const redrawInterval = time.Second

// The alternate screen of a terminal, which leaves what was on it as it was.
const (
	enterScreen = "\x1b[?1049h\x1b[?25l" // and hide the cursor
	leaveScreen = "\x1b[?25h\x1b[?1049l"
	toTop       = "\x1b[H"
	clearLine   = "\x1b[K"
	clearBelow  = "\x1b[J"
)

// watch shows the topology until the context ends.
func (t *tool) watch(ctx context.Context, c *tntsql.Connector, changed <-chan struct{}) {
	if _, _, ok := t.size(); ok {
		t.watchScreen(ctx, c, changed)
	} else {
		t.watchLog(ctx, c, changed)
	}
}

// watchScreen draws over the table before, and leaves the last one.
func (t *tool) watchScreen(ctx context.Context, c *tntsql.Connector, changed <-chan struct{}) {
	fmt.Fprint(t.out, enterScreen)
	tick := time.NewTicker(redrawInterval)
	defer tick.Stop()
	for ctx.Err() == nil {
		fmt.Fprint(t.out, t.frame(c.Topology().Instances))
		select {
		case <-ctx.Done():
		case <-changed:
		case <-tick.C:
		}
	}
	fmt.Fprint(t.out, leaveScreen)
	t.show(c.Topology().Instances)
}

// frame is a table as the whole screen, cut to its height.
func (t *tool) frame(instances []tntsql.TopologyInstance) string {
	text := fmt.Sprintf("%s   Ctrl-C ends\n\n%s", time.Now().Format(time.DateTime), topologyTable(instances, t.style()))
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if _, height, ok := t.size(); ok && height > 0 && len(lines) > height {
		lines = lines[:height]
	}
	return toTop + strings.Join(lines, clearLine+"\r\n") + clearLine + clearBelow
}

// watchLog writes a table with its time whenever a role, a status or the membership has
// changed.
func (t *tool) watchLog(ctx context.Context, c *tntsql.Connector, changed <-chan struct{}) {
	written := ""
	for instances := t.settled(ctx, c); ctx.Err() == nil; instances = c.Topology().Instances {
		if now := states(instances); now != written {
			fmt.Fprintf(t.out, "%s\n%s\n", time.Now().Format(time.RFC3339Nano), topologyTable(instances, t.style()))
			written = now
		}
		select {
		case <-ctx.Done():
		case <-changed:
		}
	}
}

// states is what counts as a change when it differs: not the lag, nor the latency.
func states(instances []tntsql.TopologyInstance) string {
	var b strings.Builder
	for _, in := range instances {
		fmt.Fprintf(&b, "%s %s %s %s\n", in.Address, in.UUID, in.Role, in.Status)
	}
	return b.String()
}
