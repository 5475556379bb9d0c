package faults

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/tntsql/tntsql"
)

const (
	// hasty is how many of the changes, one of so many, have a deadline of some
	// milliseconds, and impatient how many have that as their handle's request_timeout.
	hasty     = 20
	impatient = 40
	// hastyTimeout is that.
	hastyTimeout = 3 * time.Millisecond
	// otherWays is how many of the changes, one of so many, are not by ExecContext.
	otherWays = 2
)

// changes are the ways in which a program may run a statement that changes one row,
// beside ExecContext. All of them make the same promises.
var changes = []func(*load, context.Context, string, ...any) error{
	(*load).retried, (*load).called, (*load).batched, (*load).transacted,
}

// change changes one row in one of the ways.
func (l *load) change(ctx context.Context, w *worker, text string, args ...any) error {
	if w.rand.IntN(impatient) == 0 {
		return one(l.c.Impatient.ExecContext(context.WithoutCancel(ctx), text, args...))
	}
	timeout := opTimeout
	if w.rand.IntN(hasty) == 0 {
		timeout = time.Duration(w.rand.IntN(5_000)) * time.Microsecond
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if w.rand.IntN(otherWays) == 0 {
		return changes[w.rand.IntN(len(changes))](l, ctx, text, args...)
	}
	return one(l.c.DB.ExecContext(ctx, text, args...))
}

// retried runs it again as long as the driver says that it may be.
func (l *load) retried(ctx context.Context, text string, args ...any) error {
	return tntsql.Retry(ctx, func(ctx context.Context) error { return one(l.c.DB.ExecContext(ctx, text, args...)) })
}

// executeLua runs a statement as a procedure does.
const executeLua = `
	local text, args = ...
	local result, err = box.execute(text, args)
	if result == nil then
		error(err)
	end
	return result.row_count`

func (l *load) called(ctx context.Context, text string, args ...any) error {
	reply, err := tntsql.Eval(ctx, l.c.DB, tntsql.ModeRW, executeLua, text, args)
	if err != nil {
		return err
	}
	var rows int64
	err = reply.Decode(&rows)
	return rowsChanged(rows, err)
}

func (l *load) batched(ctx context.Context, text string, args ...any) error {
	results, err := tntsql.ExecBatch(ctx, l.c.DB, tntsql.Query{SQL: text, Args: args})
	if err != nil {
		return err
	}
	return rowsChanged(results[0].RowsAffected, nil)
}

// transacted is a transaction, which is run again as long as the driver says that it may
// be. Servers before 2.10 have none.
func (l *load) transacted(ctx context.Context, text string, args ...any) error {
	if !l.c.Server.AtLeast(2, 10) {
		return l.retried(ctx, text, args...)
	}
	return tntsql.RunTx(ctx, l.c.DB, func(ctx context.Context, tx *sql.Tx) error { return one(tx.ExecContext(ctx, text, args...)) })
}

var errNoRow = errors.New("no row was changed")

// one is the error of a statement that shall change a row.
func one(result sql.Result, err error) error {
	if err != nil {
		return err
	}
	return rowsChanged(result.RowsAffected())
}

func rowsChanged(n int64, err error) error {
	if err == nil && n == 0 {
		err = errNoRow
	}
	return err
}
