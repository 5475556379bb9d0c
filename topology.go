package tntsql

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/tntsql/tntsql/discovery"
	"github.com/tntsql/tntsql/pool"
)

// Topology is what a Connector knows of the cluster at one moment.
type Topology struct {
	// Instances are in the order of the DSN, each once, at the address that is
	// in use; then peers, ordered by uuid, then names without an address.
	Instances []TopologyInstance
}

// TopologyInstance is what is known of one instance. Servers before 2.10 tell
// ReplicaSet and the status "orphan" only to a user who may call box.info.
type TopologyInstance struct {
	Address    string
	UUID       string
	ReplicaSet string // its uuid
	Name       string // 3.x
	Version    string
	Role       string // "rw", "ro", or "unknown", also while there is no connection
	// Status is "running", "orphan", "suspect" (no answer for probe_timeout),
	// "connecting" (not tried yet), "down", "login refused", "shutdown",
	// "unresolved" (Address is a name, or "srv" and a name, of which no
	// address is known), or another status of box.info in which it serves
	// nothing.
	Status  string
	Latency time.Duration // smoothed round trip
	// Lag is an upper bound of how far it is behind its master; unknown if it is
	// negative. It grows between two checks, as nothing is known of that time, even
	// of a replica that has everything: up to 10 refresh_intervals on servers from
	// 2.10 on, one on older ones, a third of max_lag if that is set.
	Lag time.Duration
	// Cover is the moment before which it has everything that was acknowledged:
	// what a session's reads go by (read_after_write). It moves on while such reads want
	// to know, and with each check. Zero if it is not known.
	Cover    time.Time
	InFlight int // unanswered requests of this Connector
	// Schema counts the changes of its schema: a replica that has less than its
	// master does not have the latest DDL yet. 0 before 2.10.
	Schema uint64
	Since  time.Time // of this role and status
	Err    error     // why it is not running; a *Error if the server said it
}

// Topology returns what is known of the cluster now, without any I/O.
func (c *Connector) Topology() Topology {
	p, err := c.start()
	if err != nil {
		return Topology{}
	}
	snapshot := p.Snapshot().Known()
	list := topology(snapshot)
	for i := range list {
		list[i].InFlight, list[i].Lag = p.Load(list[i].UUID)
		list[i].Cover = pool.Moment(snapshot[i].Cover)
	}
	return Topology{Instances: list}
}

func topology(instances []discovery.Instance) []TopologyInstance {
	list := make([]TopologyInstance, len(instances))
	for i, in := range instances {
		list[i] = TopologyInstance{
			Address:    in.Address,
			UUID:       in.UUID,
			ReplicaSet: in.ReplicaSet,
			Name:       in.Name,
			Version:    in.Version,
			Role:       role(&in),
			Status:     in.Status,
			Latency:    in.Latency,
			Lag:        -1,
			Schema:     in.Schema,
			Since:      in.Since,
			Err:        known(in.Err),
		}
	}
	return list
}

func role(in *discovery.Instance) string {
	if !in.Connected() {
		return discovery.RoleUnknown.String()
	}
	return in.Role.String()
}

// reason is the text of Err, without this package's prefix.
func (in *TopologyInstance) reason() string { return bare(in.Err) }

// String is a table, a line an instance.
func (t Topology) String() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ADDRESS\tROLE\tSTATUS\tSINCE\tVERSION\tLATENCY\tLAG UP TO\tIN FLIGHT\tUUID\tERROR")
	for i := range t.Instances {
		in := &t.Instances[i]
		reason := ""
		if in.Err != nil {
			reason = in.reason()
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%d\t%s\t%s\n", in.Address, in.Role, in.Status, since(in.Since),
			orDash(in.Version), span(in.Latency), span(in.Lag), in.InFlight, orDash(in.UUID), reason)
	}
	_ = w.Flush() // a strings.Builder takes everything
	lines := strings.SplitAfter(b.String(), "\n")
	for i, line := range lines {
		if text, whole := strings.CutSuffix(line, "\n"); whole {
			lines[i] = strings.TrimRight(text, " ") + "\n"
		}
	}
	return strings.Join(lines, "")
}

func since(t time.Time) string { return time.Since(t).Round(time.Second).String() }

// span is a duration, or a dash for one that is not known.
func span(d time.Duration) string {
	if d <= 0 {
		return "-"
	}
	return d.Round(10 * time.Microsecond).String()
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
