package tntsql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"time"

	protocol "github.com/tarantool/go-iproto"

	"github.com/tntsql/tntsql/discovery"
	"github.com/tntsql/tntsql/internal/iproto"
	"github.com/tntsql/tntsql/internal/sqltext"
	"github.com/tntsql/tntsql/internal/verdict"
	"github.com/tntsql/tntsql/pool"
)

// LevelReadConfirmed is Tarantool's isolation level read-confirmed, for
// sql.TxOptions: the transaction sees only what is confirmed, which on
// synchronous spaces is what a quorum has. database/sql has no name for it.
const LevelReadConfirmed sql.IsolationLevel = 100

// isolations are the levels that the server has, as database/sql calls them.
var isolations = map[sql.IsolationLevel]iproto.Isolation{
	sql.LevelDefault:       iproto.DefaultIsolation,
	sql.LevelReadCommitted: iproto.ReadCommitted,
	LevelReadConfirmed:     iproto.ReadConfirmed,
	sql.LevelSnapshot:      iproto.BestEffort,
	sql.LevelLinearizable:  iproto.Linearizable,
}

func isolation(level driver.IsolationLevel) (iproto.Isolation, error) {
	if i, ok := isolations[sql.IsolationLevel(level)]; ok {
		return i, nil
	}
	return 0, fmt.Errorf("tntsql: Tarantool has no isolation level %q; it has sql.LevelDefault (box.cfg's, under which transactions that are in conflict fail), "+
		"sql.LevelReadCommitted, tntsql.LevelReadConfirmed, sql.LevelSnapshot (best-effort) and sql.LevelLinearizable",
		sql.IsolationLevel(level))
}

var errTxOpen = errors.New("tntsql: a transaction is open on this session; Tarantool has none within another: use SAVEPOINT")

// tx is the open transaction of a session. Its statements, calls and savepoints
// run in one stream of one instance.
type tx struct {
	*pool.Tx
	conn     *Conn
	ctx      context.Context // BeginTx's
	mode     Mode
	readOnly bool
	sessions []*session // that have had statements in it
}

// joined notes whose statement runs in the transaction.
func (t *tx) joined(s *session) {
	if s != nil && !slices.Contains(t.sessions, s) {
		t.sessions = append(t.sessions, s)
	}
}

// BeginTx opens a transaction on a read-write instance, or under ModeRO on what
// that picks. A read-only transaction is opened where read_mode says, on a replica
// if possible for read_mode=any; the driver refuses to write in it.
//
// The server rolls it back after tx_timeout, or at the deadline of ctx if that is
// earlier. When ctx ends, so does the transaction. Servers before 2.10 have no
// transactions over the network: ErrTxUnsupported.
func (c *Conn) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	switch {
	case c.closed.Load():
		return nil, driver.ErrBadConn
	case c.tx != nil:
		return nil, errTxOpen
	}
	level, err := isolation(o.Isolation)
	if err != nil {
		return nil, err
	}
	readOnly := o.ReadOnly || c.connector.config.ReadOnly
	mode, err := c.txMode(ctx, readOnly)
	if err != nil {
		return nil, err
	}
	req := &pool.Request{
		Mode:   discovery.Mode(mode),
		Kind:   verdict.Begin,
		Type:   protocol.IPROTO_BEGIN,
		Body:   &begin{c.txTimeout(ctx), level},
		Writes: !readOnly && mode != ModeRO,
	}
	c.bound(req)
	c.marked(ctx, req)
	begun := false
	defer func() {
		if !begun { // a Trace has panicked
			c.quit()
		}
	}()
	opened := &tx{conn: c, ctx: ctx, mode: mode, readOnly: readOnly}
	_, err = c.observe(ctx, TraceStart{Query: "BEGIN", Kind: KindTx, Mode: mode}, func() (reply pool.Reply, err error) {
		if opened.Tx, reply, err = c.pool.Begin(ctx, req); err == nil {
			c.tx = opened
		}
		return reply, outward(ctx, err, reply.Served)
	})
	if err != nil {
		return nil, err
	}
	begun = true
	return opened, nil
}

// Begin is BeginTx.
func (c *Conn) Begin() (driver.Tx, error) {
	return c.BeginTx(context.Background(), driver.TxOptions{})
}

// txMode is where a transaction begins.
func (c *Conn) txMode(ctx context.Context, readOnly bool) (Mode, error) {
	mode, asked, err := askedMode(ctx, "")
	switch {
	case err != nil:
		return 0, err
	case !readOnly:
		return writing(mode), nil
	case !asked && c.connector.config.ReadMode == ModeAny:
		return ModePreferRO, nil
	}
	return c.readMode(ctx, "")
}

// txTimeout is when the server gives a transaction up.
func (c *Conn) txTimeout(ctx context.Context) time.Duration {
	timeout := c.connector.config.TxTimeout
	if deadline, ok := ctx.Deadline(); ok {
		timeout = min(timeout, max(time.Until(deadline), time.Millisecond))
	}
	return timeout
}

// begin is the body of a BEGIN.
type begin struct {
	timeout time.Duration
	level   iproto.Isolation
}

func (b *begin) Append(out []byte, _ iproto.Version) ([]byte, error) {
	return iproto.AppendBegin(out, b.timeout, b.level), nil
}

// check asks whether the transaction is still there after code of the user's.
func (c *Conn) check(ctx context.Context) error {
	return outward(ctx, c.tx.Check(ctx), c.tx.Served())
}

// admit tells whether a statement may run in the transaction.
func (t *tx) admit(s *sqltext.Statement) error {
	switch {
	case s.Kind == sqltext.Session:
		return fmt.Errorf("%w: %s: %s", ErrSessionStatement, s.Verb, sessionAdvice(s.Verb))
	case t.readOnly && s.Kind != sqltext.Read && s.Kind != sqltext.Savepoint:
		return t.refuse(describe(s))
	}
	return nil
}

func (t *tx) refuse(what string) error {
	return fmt.Errorf("%w: %s in a read-only transaction", ErrReadOnlyHandle, what)
}

// Commit commits. It waits for the server's answer until BeginTx's context ends,
// or dead_timeout if that has no deadline. With an ErrOutcomeUnknown the
// transaction may have been committed, with any other error it was not.
func (t *tx) Commit() error {
	t.conn.leave(t)
	defer t.Tx.Rollback() // a Trace has panicked
	_, err := t.conn.observe(t.ctx, TraceStart{Query: "COMMIT", Kind: KindTx, Mode: t.mode}, func() (pool.Reply, error) {
		served := t.Served()
		err := outward(t.ctx, t.Tx.Commit(t.ctx), served)
		t.mark(err)
		return pool.Reply{Served: served, Attempts: 1}, err
	})
	return err
}

// mark marks the sessions whose statements it has committed.
func (t *tx) mark(err error) {
	if t.readOnly || t.mode == ModeRO || !applied(err) {
		return
	}
	t.joined(t.conn.sessionOf(t.ctx))
	for _, s := range t.sessions {
		s.wrote(pool.Now())
	}
}

// Rollback rolls back. It returns at once: ROLLBACK is sent in the background,
// once the server has answered all that was sent before, whatever state the
// context is in.
func (t *tx) Rollback() error {
	t.conn.leave(t)
	defer t.Tx.Rollback() // a Trace has panicked
	// When a context ends, database/sql rolls back in a goroutine of its own: the Info
	// that the context has may be the caller's again.
	_, err := t.conn.traced(t.ctx, nil, TraceStart{Query: "ROLLBACK", Kind: KindTx, Mode: t.mode}, func() (pool.Reply, error) {
		t.Tx.Rollback()
		return pool.Reply{Served: t.Served(), Attempts: 1}, nil
	})
	return err
}

// leave ends the session's part in a transaction.
func (c *Conn) leave(t *tx) {
	if c.tx == t {
		c.tx = nil
	}
}

// quit rolls back a transaction that its user has left open.
func (c *Conn) quit() {
	if c.tx != nil {
		c.tx.Tx.Rollback()
		c.tx = nil
	}
}
