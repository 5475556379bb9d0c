// Package discovery turns what the servers say into who may serve which
// request. It is pure: no connection, no clock, no goroutine.
//
// It is part of tntsql's inside: no compatibility is promised.
package discovery

import "time"

// Role is what an instance is in effect, whatever its configuration says.
type Role uint8

const (
	RoleUnknown Role = iota
	RoleRW
	RoleRO
)

func (r Role) String() string {
	switch r {
	case RoleRW:
		return "rw"
	case RoleRO:
		return "ro"
	}
	return "unknown"
}

// Statuses of an instance: those of box.info.status that serve requests, and
// those that this client gives to one that says nothing.
const (
	StatusRunning = "running"
	StatusOrphan  = "orphan"  // read-only for want of a quorum; answers
	StatusSuspect = "suspect" // connected, but has not answered for probe_timeout
	StatusDown    = "down"    // no connection
)

// Instance is what is known of one instance.
type Instance struct {
	Address    string
	UUID       string
	ReplicaSet string // its uuid; empty if the user may not see it
	Name       string // 3.x
	Version    string
	Role       Role
	// Status is one of the constants above, or whatever else the server
	// says (loading, hot_standby, …), which no mode picks.
	Status string
	// Term is the highest election term that it has seen.
	Term uint64
	// Latency is the smoothed round trip of its votes.
	Latency time.Duration
	// Since is when the role or the status last changed.
	Since time.Time
	// Err is why it is not connected, or the last error of a check.
	Err error
}

// Same tells whether two states of an instance differ in nothing that a
// choice depends on.
func (i *Instance) Same(o *Instance) bool {
	return i.Address == o.Address && i.UUID == o.UUID && i.ReplicaSet == o.ReplicaSet &&
		i.Role == o.Role && i.Status == o.Status && i.Term == o.Term
}
