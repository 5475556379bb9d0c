package tntsql

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/tntsql/tntsql/discovery"
)

// Topology is what a Connector knows of the cluster at one moment.
type Topology struct {
	Instances []TopologyInstance // in the order of the DSN
}

// TopologyInstance is what is known of one instance. What comes from box.info
// is empty if the user may not call it.
type TopologyInstance struct {
	Address    string
	UUID       string
	ReplicaSet string // its uuid; from box.info
	Name       string // 3.x; from box.info
	Version    string
	Role       string // "rw", "ro" or "unknown"
	// Status is "running", "orphan", "suspect" (no answer for probe_timeout),
	// "down", or another status of box.info in which it serves nothing.
	Status  string
	Latency time.Duration // smoothed round trip
	Since   time.Time     // of this role and status
	Err     error         // why it is down or suspect
}

// Topology returns what is known of the cluster now, without any I/O.
func (c *Connector) Topology() Topology {
	p, err := c.start()
	if err != nil {
		return Topology{}
	}
	return Topology{Instances: topology(p.Snapshot().Instances)}
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
			Role:       in.Role.String(),
			Status:     in.Status,
			Latency:    in.Latency,
			Since:      in.Since,
			Err:        in.Err,
		}
	}
	return list
}

// String is a table, a line an instance.
func (t Topology) String() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ADDRESS\tROLE\tSTATUS\tVERSION\tLATENCY\tUUID\tERROR")
	for _, in := range t.Instances {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%v\t%s\t", in.Address, in.Role, in.Status, in.Version,
			in.Latency.Round(10*time.Microsecond), in.UUID)
		if in.Err != nil {
			fmt.Fprint(w, bare(in.Err))
		}
		fmt.Fprintln(w)
	}
	_ = w.Flush() // a strings.Builder takes everything
	return b.String()
}
