package tntsql

import (
	"context"

	"github.com/tntsql/tntsql/discovery"
	"github.com/tntsql/tntsql/pool"
)

// Trace is told what the driver does. Functions that are nil cost a comparison.
// They run in the caller's goroutine, with the statement's context, and must
// not block. The rollback that the end of a context causes runs in one of
// database/sql's.
type Trace struct {
	// Start is called before a statement or call is routed to an instance.
	Start func(ctx context.Context, s TraceStart)
	// Done is called when it has ended, with how it was served.
	Done func(ctx context.Context, info Info, err error)
	// Retry is called before it is sent again.
	Retry func(ctx context.Context, r TraceRetry)
	// Topology is called after a change of a role, a status or the membership,
	// from the driver's own goroutines, one call at a time.
	Topology func(t Topology)
}

// TraceStart is a statement or call that begins.
type TraceStart struct {
	// Query is the statement's text, the procedure's name or the Lua chunk;
	// empty for a ping. Parameters are not part of it.
	Query string
	Kind  Kind
	Mode  Mode
}

// TraceRetry is a statement or call that is sent again.
type TraceRetry struct {
	// From is the instance that it was sent to, or was to be sent to.
	From InstanceRef
	// Reason is "unsent", "refused", "lost" or "moved", as in Stats.
	Reason string
	Err    error // nil for "moved"
}

// traced has the pool report to the Trace and the log.
func (c *cluster) traced(o *pool.Options) {
	t := c.config.Trace
	if t == nil {
		t = &Trace{}
	}
	o.Resending = func(ctx context.Context, from *discovery.Instance, reason pool.Reason, err error) {
		c.logger.DebugContext(ctx, "sent again", "reason", string(reason), "from", from.Address, "error", err)
		if t.Retry != nil {
			if err != nil {
				err = outward(ctx, err, from)
			}
			t.Retry(ctx, TraceRetry{From: instanceRef(from), Reason: string(reason), Err: err})
		}
	}
	if t.Topology != nil {
		o.Changed = func(s *discovery.Snapshot) { t.Topology(Topology{Instances: topology(s.Known())}) }
	}
}
