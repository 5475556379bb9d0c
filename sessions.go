package tntsql

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/tntsql/tntsql/discovery"
	"github.com/tntsql/tntsql/pool"
)

// session is whose reads see whose writes: a mark, the moment, by the pool's clock,
// at which the answer to its latest write arrived. Its reads go where everything is
// that was acknowledged before.
type session struct{ mark atomic.Int64 }

func (s *session) wrote(at int64) {
	for {
		was := s.mark.Load()
		if was >= at || s.mark.CompareAndSwap(was, at) {
			return
		}
	}
}

type sessionKey struct{}

// WithSession returns a context that begins a session: its reads see all that was
// written under it, on whatever instance they run (read_after_write). ModeRO is not
// held back. Contexts made from it belong to the same session, and it may be used by
// any number of goroutines. A request of a web server is a good session.
//
// It costs no request per statement. Until a replica is known to have what the session
// wrote, its reads of the modes any and prefer_* go to the master, and wait for one if
// there is none.
//
// A sql.Conn that the program holds is a session by itself, but not for statements
// whose context has one.
func WithSession(ctx context.Context) context.Context {
	return context.WithValue(ctx, sessionKey{}, new(session))
}

// sessionOf is the session that a statement belongs to; nil without one.
func (c *Conn) sessionOf(ctx context.Context) *session {
	switch c.connector.config.ReadAfterWrite {
	case ReadAfterWriteOff:
		return nil
	case ReadAfterWriteAll:
		return &c.connector.everybody
	}
	if s, ok := ctx.Value(sessionKey{}).(*session); ok {
		return s
	}
	return &c.own
}

// marked sets the mark that the request must see. DDL marks all sessions, also that of
// a statement whose program has begun none: without a master that alone does not hold
// it back.
func (c *Conn) marked(ctx context.Context, req *pool.Request) {
	s, mode := c.sessionOf(ctx), Mode(req.Mode)
	if s == nil || mode == ModeRO || mode == ModeRW {
		return
	}
	own := s.mark.Load()
	req.After = max(own, c.connector.schema.mark.Load())
	req.Yields = own == 0 && s == &c.own
}

// wrote marks the session after a request that may have written, also if it is not
// known whether it has. What ran under ModeAny or on a replica has written nothing that
// replicates.
func (c *Conn) wrote(ctx context.Context, mode Mode, served *discovery.Instance, err error) {
	s := c.sessionOf(ctx)
	if s != nil && mode != ModeAny && (served == nil || served.Role != discovery.RoleRO) && applied(err) {
		s.wrote(pool.Now())
	}
}

// changedSchema marks all sessions after DDL: a read of a table that a replica does
// not have yet would fail.
func (c *Conn) changedSchema(err error) {
	if applied(err) {
		c.connector.schema.wrote(pool.Now())
	}
}

// applied tells whether a write was applied, or may have been.
func applied(err error) bool {
	return err == nil || errors.Is(err, ErrOutcomeUnknown) || isPartly(err)
}
