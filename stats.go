package tntsql

import (
	"time"

	"github.com/tntsql/tntsql/discovery"
)

// Stats are counters of a Connector since its first use. All handles over one
// pool count together.
type Stats struct {
	// Picks are the requests by the mode that they were routed by.
	Picks map[Mode]uint64
	// Resent are the requests that were sent again, by the reason.
	Resent ResentStats
	// Rechecks are the times that an error had an instance asked for its role.
	Rechecks uint64
	// Reconnects are the control connections that were lost.
	Reconnects uint64
	// Marked are the reads that went to a read-write instance since no replica was
	// known to have what their session had written (read_after_write).
	Marked uint64
	// ByID are the reads that went by the id of a prepared statement, and Prepared is
	// how many statements the servers keep prepared for this pool now (stmt_cache).
	ByID     uint64
	Prepared int
	// Waits are how often a request waited for an instance of its mode, or for
	// room there (max_in_flight), and Waited is the time of all of them together.
	Waits  uint64
	Waited time.Duration
}

// ResentStats are requests that were sent again.
type ResentStats struct {
	Unsent  uint64 // never left: another instance was picked
	Refused uint64 // the instance was read-only or loading
	Lost    uint64 // reads whose connection ended
	Moved   uint64 // reads that waited for an instance or connection in vain
}

// Stats returns the counters, without any I/O.
func (c *Connector) Stats() Stats {
	p, err := c.start()
	if err != nil {
		return Stats{}
	}
	counts := p.Counts()
	picks := make(map[Mode]uint64)
	for mode := discovery.ModeAny; mode <= discovery.ModePreferRO; mode++ {
		picks[Mode(mode)] = counts.Picks[mode]
	}
	return Stats{
		Picks: picks,
		Resent: ResentStats{
			Unsent:  counts.Unsent,
			Refused: counts.Refused,
			Lost:    counts.Lost,
			Moved:   counts.Moved,
		},
		Rechecks:   counts.Rechecks,
		Reconnects: counts.Reconnects,
		Marked:     counts.Marked,
		ByID:       counts.ByID,
		Prepared:   counts.Prepared,
		Waits:      counts.Waits,
		Waited:     counts.Waited,
	}
}
