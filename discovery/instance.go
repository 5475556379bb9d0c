// Package discovery turns what the servers say into who may serve which
// request. It is pure: no connection, no clock, no goroutine.
//
// It is part of tntsql's inside: no compatibility is promised.
package discovery

import (
	"slices"
	"time"
)

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
	StatusStandby = "standby" // no connection: another address of the instance is in use
	StatusDown    = "down"    // no connection
	// StatusShutdown is of an instance that has announced its end.
	StatusShutdown = "shutdown"

	// StatusConnecting is of an address that has not been tried yet, and
	// StatusRefused of one where the server refuses the user or password.
	StatusConnecting = "connecting"
	StatusRefused    = "login refused"
	// StatusUnresolved is of a name of which no address is known.
	StatusUnresolved = "unresolved"
)

// Instance is what is known of one instance.
type Instance struct {
	Address    string
	UUID       string // empty before it has been reached, unless it is a peer
	ReplicaSet string // its uuid; empty if the user may not see it
	Name       string // 3.x
	Version    string
	Role       Role
	// Status is one of the constants above, or whatever else the server
	// says (loading, hot_standby, …), which no mode picks.
	Status string
	// Term is the highest election term that it has seen.
	Term uint64
	// Schema counts the changes of its schema; 0 if it is not pushed.
	Schema uint64
	// Given tells that one of its addresses is not a peer's.
	Given bool
	// Peers are the members of its replica set as it lists them, itself among
	// them; empty if it has not told.
	Peers []Peer
	// Denied tells that the user may not call box.info, which tells Peers.
	Denied bool
	// Cover is a moment, in nanoseconds of the pool's clock: all that was
	// acknowledged before it is there.
	Cover int64
	// Latency is the smoothed round trip of its votes.
	Latency time.Duration
	// Since is when the role or the status last changed.
	Since time.Time
	// Err is why it is not connected, or the last error of a check.
	Err error
}

// ServerStatus is a server's word about itself. The words that this client gives are not
// its to say: they tell of connections.
func ServerStatus(word string) string {
	switch word {
	case StatusSuspect, StatusStandby, StatusDown, StatusShutdown, StatusConnecting, StatusRefused, StatusUnresolved:
		return "says " + word
	}
	return word
}

// Connected tells whether there is a connection to the instance.
func (i *Instance) Connected() bool {
	switch i.Status {
	case StatusConnecting, StatusDown, StatusRefused, StatusStandby, StatusUnresolved:
		return false
	}
	return true
}

// Answers tells whether it is connected and not suspect.
func (i *Instance) Answers() bool { return i.Connected() && i.Status != StatusSuspect }

// works tells how well its address does.
func (i *Instance) works() int {
	switch {
	case i.Answers():
		return 2
	case i.Connected():
		return 1
	}
	return 0
}

// SamePeers tells whether two states of an instance tell the same of its peers.
func (i *Instance) SamePeers(o *Instance) bool {
	return i.Denied == o.Denied && slices.Equal(i.Peers, o.Peers)
}

// Same tells whether two states of an instance differ in nothing that a
// choice depends on.
func (i *Instance) Same(o *Instance) bool {
	return i.Address == o.Address && i.UUID == o.UUID && i.ReplicaSet == o.ReplicaSet &&
		i.Role == o.Role && i.Status == o.Status && i.Term == o.Term
}
