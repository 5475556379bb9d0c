package tntsql

import (
	"context"
	"database/sql/driver"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	protocol "github.com/tarantool/go-iproto"

	"github.com/tntsql/tntsql/discovery"
	"github.com/tntsql/tntsql/internal/iproto"
	"github.com/tntsql/tntsql/internal/sqltext"
	"github.com/tntsql/tntsql/internal/verdict"
	"github.com/tntsql/tntsql/internal/wire"
	"github.com/tntsql/tntsql/pool"
)

// Conn is a session: what sql.Conn.Raw hands out, for Call and Eval. It is no
// socket: all sessions of a Connector share its connections, and each statement
// goes to the instance that its kind and Mode ask for.
type Conn struct {
	connector *Connector
	pool      *pool.Pool
	closed    atomic.Bool
	onClose   func() error
	tx        *tx // the open transaction
	own       session
}

var (
	_ driver.Conn               = (*Conn)(nil)
	_ driver.ConnPrepareContext = (*Conn)(nil)
	_ driver.ConnBeginTx        = (*Conn)(nil)
	_ driver.QueryerContext     = (*Conn)(nil)
	_ driver.ExecerContext      = (*Conn)(nil)
	_ driver.Pinger             = (*Conn)(nil)
	_ driver.SessionResetter    = (*Conn)(nil)
	_ driver.Validator          = (*Conn)(nil)
	_ driver.NamedValueChecker  = (*Conn)(nil)
)

// QueryContext runs a statement for its rows.
func (c *Conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	r, err := c.execute(ctx, query, args, false)
	if err != nil {
		return nil, err
	}
	return &rows{result: r}, nil
}

// ExecContext runs a statement for its effects.
func (c *Conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if what := carriedBy(args); what != nil {
		return driver.ResultNoRows, what.run(ctx, c)
	}
	r, err := c.execute(ctx, query, args, true)
	if err != nil {
		return nil, err
	}
	return result{affected: r.Affected, ids: r.GeneratedIDs}, nil
}

// execute sends one statement to the instance that it belongs to. effects tells
// that it was sent by Exec.
func (c *Conn) execute(ctx context.Context, query string, args []driver.NamedValue, effects bool) (iproto.Result, error) {
	if info := infoFrom(ctx); info != nil {
		*info = Info{} // what it says is of the statement before
	}
	text := c.connector.texts.Get(query)
	mode, err := c.route(ctx, text, effects)
	if err != nil {
		return iproto.Result{}, err
	}
	if args, err = bind(text, args); err != nil {
		return iproto.Result{}, fmt.Errorf("tntsql: %w", err)
	}
	return c.run(ctx, query, text, mode, args)
}

// run sends a statement whose arguments are bound.
func (c *Conn) run(ctx context.Context, query string, text *sqltext.Statement, mode Mode, args []driver.NamedValue) (iproto.Result, error) {
	e := executions.Get().(*execution)
	e.statement = statement{query, args}
	req := &e.Request
	*req = pool.Request{
		Mode:  discovery.Mode(mode),
		Kind:  effectOf(text),
		Type:  protocol.IPROTO_EXECUTE,
		Body:  &e.statement,
		Calls: text.UserCall != "",
	}
	if c.connector.keepsPrepared(text) && c.tx == nil {
		req.Text = wire.Text{SQL: query, Params: text.Params, Literals: text.Literals, Read: true}
	}
	if isVain(text) {
		req.Vain = noRows
	}
	reply, err := c.send(ctx, kindOf(text), query, req)
	if text.Kind == sqltext.DDL && c.tx == nil {
		c.changedSchema(err)
	}
	if err != nil {
		return iproto.Result{}, err
	}
	if reply.Attempts == 1 && c.tx == nil {
		e.recycle() // nobody else has it
	}
	r, err := iproto.ParseExecute(reply.Body, c.connector.columns)
	if err != nil {
		return iproto.Result{}, c.unreadable(effectOf(text), reply, err)
	}
	if info := infoFrom(ctx); info != nil {
		info.GeneratedIDs = r.GeneratedIDs
		if r.Columns != nil {
			info.Autoincrement = slices.Clone(r.Columns.Autoincrement)
		}
	}
	return r, nil
}

// execution is a request for a statement.
type execution struct {
	pool.Request
	statement
}

var executions = sync.Pool{New: func() any { return new(execution) }}

func (e *execution) recycle() {
	*e = execution{}
	executions.Put(e)
}

// isVain tells of statements that find no row on an instance that is read-only or
// lags, and say so rather than fail.
func isVain(s *sqltext.Statement) bool { return s.Verb == "UPDATE" || s.Verb == "DELETE" }

// noRows tells of a reply that no row was changed.
func noRows(body []byte) bool {
	r, err := iproto.ParseExecute(body, nil)
	return err == nil && r.Columns == nil && r.Affected == 0
}

// unreadable is a reply beyond understanding: the server has run the statement, and
// outside a transaction applied it.
func (c *Conn) unreadable(k verdict.Kind, reply pool.Reply, err error) error {
	from := instanceRef(reply.Served)
	if k != verdict.Read && c.tx == nil {
		return &OutcomeUnknownError{Instance: from, Err: err}
	}
	return fmt.Errorf("tntsql: reply of %s: %w", from, err)
}

// statement is the body of an EXECUTE.
type statement struct {
	text string
	args []driver.NamedValue
}

func (s *statement) Append(b []byte, server iproto.Version) ([]byte, error) {
	return iproto.AppendExecute(b, s.text, s.args, server)
}

func (s *statement) AppendID(b []byte, id uint32, server iproto.Version) ([]byte, error) {
	return iproto.AppendExecuteID(b, id, s.args, server)
}

// send has the pool serve a request and reports to the context's Info.
func (c *Conn) send(ctx context.Context, kind Kind, query string, req *pool.Request) (pool.Reply, error) {
	if c.closed.Load() {
		return pool.Reply{}, driver.ErrBadConn
	}
	c.bound(req)
	if c.connector.config.Trace == nil && infoFrom(ctx) == nil {
		return c.do(ctx, req)
	}
	return c.observe(ctx, TraceStart{Query: query, Kind: kind, Mode: Mode(req.Mode)}, func() (pool.Reply, error) {
		return c.do(ctx, req)
	})
}

// bound sets the timeouts of the handle.
func (c *Conn) bound(req *pool.Request) {
	cfg := c.connector.config
	req.Selection = cfg.SelectionTimeout
	if cfg.RequestTimeout != NoLimit {
		req.Timeout = cfg.RequestTimeout
	}
}

// do has the request served by the session's transaction, or by the pool.
func (c *Conn) do(ctx context.Context, req *pool.Request) (pool.Reply, error) {
	if c.tx != nil {
		c.tx.joined(c.sessionOf(ctx))
		reply, err := c.tx.Do(ctx, req)
		return reply, outward(ctx, err, reply.Served)
	}
	mode := Mode(req.Mode)
	c.marked(ctx, req)
	reply, err := c.pool.Do(ctx, req)
	if err = outward(ctx, err, reply.Served); err != nil && (req.Kind == verdict.Call || req.Calls) {
		err = partly(err)
	}
	if req.Kind != verdict.Read {
		c.wrote(ctx, mode, reply.Served, err)
	}
	return reply, err
}

// observe reports what f does to the Trace and to the context's Info.
func (c *Conn) observe(ctx context.Context, begin TraceStart, f func() (pool.Reply, error)) (pool.Reply, error) {
	return c.traced(ctx, infoFrom(ctx), begin, f)
}

func (c *Conn) traced(ctx context.Context, info *Info, begin TraceStart, f func() (pool.Reply, error)) (pool.Reply, error) {
	trace := c.connector.config.Trace
	if trace != nil && trace.Start != nil {
		trace.Start(ctx, begin)
	}
	start := time.Now()
	reply, err := f()
	served := Info{
		Instance: instanceRef(reply.Served),
		Mode:     begin.Mode,
		Kind:     begin.Kind,
		Attempts: reply.Attempts,
		Wait:     reply.Waited,
		Duration: time.Since(start),
	}
	if info != nil {
		*info = served
	}
	if trace != nil && trace.Done != nil {
		trace.Done(ctx, served, err)
	}
	return reply, err
}

// PrepareContext returns a statement that is sent when it is used. The first time
// that a text is prepared, outside a transaction, some instance is asked about it:
// an error of the syntax, or an unknown table, is reported here. Where no instance
// answers, the use will tell. There is no I/O after that.
func (c *Conn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	if c.closed.Load() {
		return nil, driver.ErrBadConn
	}
	text := c.connector.texts.Get(query)
	if err := c.prepare(ctx, query, text); err != nil {
		return nil, err
	}
	return &stmt{conn: c, query: query, text: text}, nil
}

// Prepare is PrepareContext.
func (c *Conn) Prepare(query string) (driver.Stmt, error) {
	return c.PrepareContext(context.Background(), query)
}

// Ping asks an instance of the context's Mode, else of read_mode.
func (c *Conn) Ping(ctx context.Context) error {
	mode, err := c.readMode(ctx, "")
	if err != nil {
		return err
	}
	_, err = c.send(ctx, KindPing, "", &pool.Request{
		Mode: discovery.Mode(mode),
		Kind: verdict.Read,
		Type: protocol.IPROTO_PING,
		Body: emptyBody{},
	})
	return err
}

type emptyBody struct{}

func (emptyBody) Append(b []byte, _ iproto.Version) ([]byte, error) {
	return append(b, iproto.EmptyBody...), nil
}

// Close ends the session and rolls back what it has left open. Connections belong
// to the Connector and stay.
func (c *Conn) Close() error {
	if c.closed.Swap(true) {
		return nil
	}
	c.quit()
	if c.onClose == nil {
		return nil
	}
	return c.onClose()
}

// ResetSession waits for nothing: all that a session has on a server is an open
// transaction, which is rolled back.
func (c *Conn) ResetSession(context.Context) error {
	if c.closed.Load() {
		return driver.ErrBadConn
	}
	c.quit()
	c.own.mark.Store(0) // another user's session begins
	return nil
}

// IsValid is false once the session is closed, and while it has an open
// transaction: it is not for others then.
func (c *Conn) IsValid() bool { return !c.closed.Load() && c.tx == nil }
