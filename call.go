package tntsql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"

	protocol "github.com/tarantool/go-iproto"

	"github.com/tntsql/tntsql/discovery"
	"github.com/tntsql/tntsql/internal/iproto"
	"github.com/tntsql/tntsql/internal/verdict"
	"github.com/tntsql/tntsql/pool"
)

// Execer is what Call, Eval and ExecBatch run on: *sql.DB, *sql.Conn, *sql.Tx, and what
// wraps them, as sqlx's handles do.
type Execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// Call calls a stored procedure on an instance of mode m, which only the caller
// can know: a procedure that writes needs ModeRW. Arguments are encoded as
// parameters of statements are, structs and maps too. A context's Mode has no
// say. In a transaction the call is a part of that, on its instance.
//
// A handle of another driver gets ErrNotTarantool.
func Call(ctx context.Context, on Execer, m Mode, fn string, args ...any) (*Reply, error) {
	return through(ctx, on, &invocation{kind: KindCall, mode: m, text: fn, args: args})
}

// Eval runs a Lua chunk as Call calls a procedure. The user needs execute on
// universe.
func Eval(ctx context.Context, on Execer, m Mode, expr string, args ...any) (*Reply, error) {
	return through(ctx, on, &invocation{kind: KindEval, mode: m, text: expr, args: args})
}

// Call is the function Call on this session.
func (c *Conn) Call(ctx context.Context, m Mode, fn string, args ...any) (*Reply, error) {
	inv := &invocation{kind: KindCall, mode: m, text: fn, args: args}
	err := c.invoke(ctx, inv)
	return inv.reply, err
}

// Eval is the function Eval on this session.
func (c *Conn) Eval(ctx context.Context, m Mode, expr string, args ...any) (*Reply, error) {
	inv := &invocation{kind: KindEval, mode: m, text: expr, args: args}
	err := c.invoke(ctx, inv)
	return inv.reply, err
}

// invocation is a CALL or EVAL on its way. It travels through database/sql as
// the only argument of an ExecContext, which every handle and wrapper has.
type invocation struct {
	kind Kind
	mode Mode
	text string
	args []any

	arrived bool // at this driver
	reply   *Reply
}

// carrier is the text that an invocation travels with: a comment, so that a
// driver which sends it to its server does no harm.
const carrier = "/* tntsql: a call, not a statement */"

// Value is asked for by other drivers' converters: refusing there keeps the
// text from being sent at all.
func (*invocation) Value() (driver.Value, error) { return nil, ErrNotTarantool }

func through(ctx context.Context, on Execer, inv *invocation) (*Reply, error) {
	err := carry(ctx, on, inv, &inv.arrived)
	return inv.reply, err
}

// carry has the driver's ExecContext get what is no statement, through whatever
// on is.
func carry(ctx context.Context, on Execer, what driver.Valuer, arrived *bool) error {
	_, err := on.ExecContext(ctx, carrier, what)
	switch {
	case *arrived || ended(err):
		return err
	case err == nil || errors.Is(err, ErrNotTarantool):
		return ErrNotTarantool
	}
	return fmt.Errorf("%w: %w", ErrNotTarantool, err)
}

// ended tells of an error that any handle may give before a driver is reached.
func ended(err error) bool {
	for _, end := range []error{context.Canceled, context.DeadlineExceeded, sql.ErrConnDone, sql.ErrTxDone, driver.ErrBadConn, ErrClosed} {
		if errors.Is(err, end) {
			return true
		}
	}
	// database/sql does not export the error of a closed DB.
	return err != nil && err.Error() == "sql: database is closed"
}

// carried is what the only argument of an ExecContext may be in place of a
// statement's.
type carried interface {
	driver.Valuer
	run(ctx context.Context, c *Conn) error
}

func carriedBy(args []driver.NamedValue) carried {
	if len(args) != 1 {
		return nil
	}
	what, _ := args[0].Value.(carried)
	return what
}

func (inv *invocation) run(ctx context.Context, c *Conn) error { return c.invoke(ctx, inv) }

func (c *Conn) invoke(ctx context.Context, inv *invocation) error {
	inv.arrived = true
	if !inv.mode.valid() {
		return invalidMode(inv.mode)
	}
	if c.connector.config.ReadOnly && (inv.mode == ModeRW || inv.mode == ModePreferRW) {
		return readOnlyHandle(fmt.Sprintf("%s under mode %s", inv.kind, inv.mode))
	}
	if c.tx != nil && c.tx.readOnly && (inv.mode == ModeRW || inv.mode == ModePreferRW) {
		return c.tx.refuse(fmt.Sprintf("%s under mode %s", inv.kind, inv.mode))
	}
	typ := protocol.IPROTO_CALL
	if inv.kind == KindEval {
		typ = protocol.IPROTO_EVAL
	}
	mode := inv.mode
	if c.tx != nil {
		mode = c.tx.mode
	}
	reply, err := c.send(ctx, inv.kind, inv.text, &pool.Request{
		Mode: discovery.Mode(mode),
		Kind: verdict.Call,
		Type: typ,
		Body: inv,
	})
	if err != nil {
		return err
	}
	values, err := iproto.ParseData(reply.Body)
	if err != nil {
		return c.unreadable(verdict.Call, reply, err)
	}
	inv.reply = &Reply{values: values, body: reply.Body, from: instanceRef(reply.Served)}
	return nil
}

// Append makes an invocation the body of its request.
func (inv *invocation) Append(b []byte, server iproto.Version) ([]byte, error) {
	if inv.kind == KindEval {
		return iproto.AppendEval(b, inv.text, inv.args, server)
	}
	return iproto.AppendCall(b, inv.text, inv.args, server)
}

// Reply is what a procedure or a chunk returned.
type Reply struct {
	values []any
	body   []byte
	from   InstanceRef
}

// Values are the returned values: int64 (uint64 above its range), float64,
// string, []byte, bool, nil, []any, map[string]any (map[any]any if keys are of
// other types), a decimal or uuid as its text, a datetime as time.Time.
func (r *Reply) Values() []any { return r.values }

// Decode stores the returned values, in order, in what dst points to: basic
// types, structs (tags "msgpack", then "json"), maps, slices. A nil skips one.
// More dst than values is an error, and so is a number that does not fit; more
// values are not.
func (r *Reply) Decode(dst ...any) error {
	if err := iproto.DecodeData(r.body, dst...); err != nil {
		return fmt.Errorf("tntsql: decode the reply of %s: %w", r.from, err)
	}
	return nil
}

// Instance is the instance that served the call.
func (r *Reply) Instance() InstanceRef { return r.from }
