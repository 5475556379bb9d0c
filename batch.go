package tntsql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync/atomic"
	"time"

	protocol "github.com/tarantool/go-iproto"

	"github.com/tntsql/tntsql/discovery"
	"github.com/tntsql/tntsql/internal/iproto"
	"github.com/tntsql/tntsql/internal/sqltext"
	"github.com/tntsql/tntsql/internal/verdict"
	"github.com/tntsql/tntsql/pool"
)

// Query is a statement of a batch, with its arguments.
type Query struct {
	SQL  string
	Args []any
}

// BatchResult is what one statement of a batch did.
type BatchResult struct {
	RowsAffected int64
	GeneratedIDs []int64 // by AUTOINCREMENT, in the order of the rows
	Rows         [][]any // of a SELECT; nil if there is no result set
}

// ExecBatch runs statements as one transaction, all or nothing, on the read-write
// instance, or under ModeRO on a replica (for its local and temporary spaces): in
// one request where the user may EVAL (execute on universe), on every version and
// with the default configuration; else, on Tarantool 2.10 and newer, in a
// transaction statement by statement, as also for arguments that would change in
// Lua: slices, maps, and []byte before 3.0. Where neither can be, it fails with
// ErrBatchUnsupported.
//
// DDL is a part of the batch, unless that runs as a transaction.
//
// In an open transaction the statements join that, under a savepoint.
//
// A statement that fails is a *BatchError, and nothing is stored. With an
// ErrOutcomeUnknown all of it may have been stored, or nothing. An error that
// IsRetryable may pass: call it within Retry where others write the same rows.
func ExecBatch(ctx context.Context, on Execer, qs ...Query) ([]BatchResult, error) {
	if len(qs) == 0 {
		return nil, nil
	}
	b := &batch{queries: qs}
	err := carry(ctx, on, b, &b.arrived)
	return b.results, err
}

// batch is an ExecBatch on its way, and the body of its EVAL.
type batch struct {
	queries    []Query
	arrived    bool
	texts      []*sqltext.Statement
	statements []iproto.BatchStatement
	answer     batchAnswer
	results    []BatchResult
}

// batchAnswer is what the script of an EVAL answered.
type batchAnswer struct {
	results []iproto.BatchResult
	failed  *iproto.BatchFailure
	err     error // why it cannot be read
}

// Value is asked for by other drivers, as an invocation's is.
func (*batch) Value() (driver.Value, error) { return nil, ErrNotTarantool }

func (b *batch) run(ctx context.Context, c *Conn) error {
	b.arrived = true
	if info := infoFrom(ctx); info != nil {
		defer func() { info.Kind = KindBatch }()
	}
	if err := b.bind(c); err != nil {
		return err
	}
	if c.tx != nil {
		return b.join(ctx, c)
	}
	if c.connector.noEval.holds() {
		if err := b.instead(ctx, c, "", errEvalDenied); !errors.Is(err, ErrBatchUnsupported) {
			return err
		}
	}
	err := b.eval(ctx, c)
	var (
		changes *iproto.LuaError
		denied  *Error
	)
	switch {
	case errors.As(err, &changes):
		return b.instead(ctx, c, changes.Server.String(),
			fmt.Errorf("query %d of the batch: %w", changes.Statement, changes.Param))
	case errors.As(err, &denied) && b.answer.failed == nil && protocol.Error(denied.Code) == protocol.ER_ACCESS_DENIED:
		c.connector.noEval.note()
		return b.instead(ctx, c, "", errEvalDenied)
	}
	return err
}

var errEvalDenied = errors.New("the user may not EVAL, which an administrator grants: box.schema.user.grant(user, 'execute', 'universe')")

// instead runs the batch as a transaction, for want of an EVAL.
func (b *batch) instead(ctx context.Context, c *Conn, version string, why error) error {
	err := b.transact(ctx, c)
	switch {
	case errors.Is(err, ErrTxUnsupported):
	case hasCode(err, protocol.ER_TRANSACTION_YIELD) || slices.ContainsFunc(b.texts, isDDL):
		return &insteadError{err, why} // as an EVAL it might have worked
	default:
		return err
	}
	if version != "" {
		version = " " + version
	}
	return fmt.Errorf("%w here: %w; and Tarantool%s has no transactions over the network, as 2.10 and newer have",
		ErrBatchUnsupported, why, version)
}

func isDDL(s *sqltext.Statement) bool { return s.Kind == sqltext.DDL }

// insteadError is of a batch that ran as a transaction.
type insteadError struct{ err, why error }

func (e *insteadError) Error() string {
	return fmt.Sprintf("%s; the batch ran as a transaction, as %s", e.err, bare(e.why))
}

func (e *insteadError) Unwrap() error { return e.err }

// bind checks all statements before any of them is sent.
func (b *batch) bind(c *Conn) error {
	// database/sql, and handles that wrap others, may run it once more.
	*b = batch{queries: b.queries, arrived: true}
	for i, q := range b.queries {
		text := c.connector.texts.Get(q.SQL)
		args, err := named(q.Args)
		if err == nil {
			args, err = bind(text, args)
		}
		switch {
		case err != nil:
		case text.Kind == sqltext.Session, text.Kind == sqltext.Savepoint:
			err = fmt.Errorf("%w: %s: %s", ErrSessionStatement, text.Verb, batchAdvice(text.Verb))
		case c.connector.config.ReadOnly && text.Kind != sqltext.Read:
			err = readOnlyHandle(describe(text))
		}
		if err != nil {
			return b.failure(i, err)
		}
		b.texts = append(b.texts, text)
		b.statements = append(b.statements, iproto.BatchStatement{Text: q.SQL, Args: args, Calls: text.UserCall != ""})
	}
	return nil
}

func batchAdvice(verb string) string {
	if isSetting(verb) {
		return sessionAdvice(verb)
	}
	return "a batch is one transaction by itself"
}

func (b *batch) failure(i int, err error) error {
	return &BatchError{Index: i, Query: b.queries[i], Err: err}
}

// named are the arguments as database/sql hands them on.
func named(args []any) ([]driver.NamedValue, error) {
	all := make([]driver.NamedValue, len(args))
	for i, arg := range args {
		all[i] = driver.NamedValue{Ordinal: i + 1, Value: arg}
		switch v := arg.(type) {
		case sql.NamedArg:
			all[i].Name, all[i].Value = v.Name, v.Value
		case sql.Out:
			return nil, errOutput
		}
	}
	return all, nil
}

// eval runs the batch as one EVAL.
func (b *batch) eval(ctx context.Context, c *Conn) error {
	mode, err := b.mode(ctx, c)
	if err != nil {
		return err
	}
	effect := verdict.Write
	if slices.ContainsFunc(b.statements, func(s iproto.BatchStatement) bool { return s.Calls }) {
		effect = verdict.Call
	}
	reply, err := c.send(ctx, KindBatch, "", &pool.Request{
		Mode:    discovery.Mode(mode),
		Kind:    effect,
		Type:    protocol.IPROTO_EVAL,
		Body:    b,
		Vain:    b.vain,
		Failure: b.failureIn,
	})
	if slices.ContainsFunc(b.texts, isDDL) {
		c.changedSchema(err)
	}
	var unsent *iproto.BatchParamError
	switch {
	case errors.As(err, &unsent):
		return b.failure(unsent.Statement, unsent.Err)
	case err != nil && b.answer.failed != nil && !errors.Is(err, ErrNoInstance):
		return b.failure(b.answer.failed.Statement, err)
	case err != nil:
		return err
	case b.answer.err != nil:
		return c.unreadable(verdict.Write, reply, b.answer.err)
	case b.answer.failed != nil:
		return b.failure(b.answer.failed.Statement, &OutcomeUnknownError{Instance: instanceRef(reply.Served), Err: errBatchEnded})
	}
	for _, r := range b.answer.results {
		b.results = append(b.results, BatchResult{r.Affected, r.GeneratedIDs, r.Rows})
	}
	return nil
}

var errBatchEnded = errors.New("a function that the statement calls has ended the transaction, and may have committed it")

// Append makes a batch the body of its EVAL.
func (b *batch) Append(out []byte, server iproto.Version) ([]byte, error) {
	b.answer = batchAnswer{} // of the instance before, which refused it
	return iproto.AppendBatch(out, b.statements, server)
}

// failureIn reads the answer, and returns the error of the statement that failed.
func (b *batch) failureIn(body []byte) *iproto.ServerError {
	results, failed, err := iproto.ParseBatch(body)
	switch {
	case err != nil:
	case failed != nil && failed.Statement >= len(b.queries):
		failed, err = nil, fmt.Errorf("statement %d of %d has failed", failed.Statement, len(b.queries))
	case failed == nil && len(results) != len(b.queries):
		err = fmt.Errorf("%d results of %d statements", len(results), len(b.queries))
	}
	b.answer = batchAnswer{results, failed, err}
	if failed == nil {
		return nil
	}
	return failed.Err
}

// vain tells that no row was changed where some should be.
func (b *batch) vain([]byte) bool {
	if b.answer.err != nil || b.answer.failed != nil {
		return false
	}
	changes := false
	for i, s := range b.texts {
		switch {
		case s.Kind == sqltext.Read:
		case !isVain(s) || b.answer.results[i].Affected != 0:
			return false
		default:
			changes = true
		}
	}
	return changes
}

// mode is where the batch runs.
func (b *batch) mode(ctx context.Context, c *Conn) (Mode, error) {
	if c.connector.config.ReadOnly {
		return c.readMode(ctx, "")
	}
	mode, _, err := askedMode(ctx, "")
	return writing(mode), err
}

// transact runs the batch in a transaction of its own.
func (b *batch) transact(ctx context.Context, c *Conn) error {
	defer c.quit() // unless it is committed
	tx, err := c.BeginTx(ctx, driver.TxOptions{})
	if err != nil {
		return err
	}
	results, err := b.statementByStatement(ctx, c)
	if err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	b.results = results
	return nil
}

const (
	batchSavepoint = `SAVEPOINT "tntsql: before the batch"`
	batchUndo      = `ROLLBACK TO SAVEPOINT "tntsql: before the batch"`
	batchRelease   = `RELEASE SAVEPOINT "tntsql: before the batch"`
)

// join runs the batch in the open transaction. If it cannot be undone there, the
// transaction can only be rolled back.
func (b *batch) join(ctx context.Context, c *Conn) error {
	if _, err := c.execute(ctx, batchSavepoint, nil, true); err != nil {
		return err
	}
	results, failed := b.statementByStatement(ctx, c)
	if failed == nil {
		_, err := c.execute(ctx, batchRelease, nil, true)
		if err != nil {
			c.tx.Break(err)
			return err
		}
		b.results = results
		return nil
	}
	_, err := c.execute(ctx, batchUndo, nil, true)
	if err == nil {
		_, err = c.execute(ctx, batchRelease, nil, true)
	}
	if err != nil {
		c.tx.Break(failed)
	}
	return failed
}

func (b *batch) statementByStatement(ctx context.Context, c *Conn) ([]BatchResult, error) {
	results := make([]BatchResult, len(b.statements))
	for i, s := range b.statements {
		mode, err := c.route(ctx, b.texts[i], true)
		var r iproto.Result
		if err == nil {
			r, err = c.run(ctx, s.Text, b.texts[i], mode, s.Args)
		}
		if err == nil {
			results[i], err = collect(r)
		}
		if err == nil && s.Calls {
			err = c.check(ctx)
		}
		if errors.Is(err, pool.ErrEndedByCode) { // it may have committed what was before
			err = &OutcomeUnknownError{Instance: instanceRef(c.tx.Served()), Err: err}
		}
		if err != nil {
			return nil, b.failure(i, err)
		}
	}
	return results, nil
}

// collect reads all rows of a result.
func collect(r iproto.Result) (BatchResult, error) {
	out := BatchResult{RowsAffected: r.Affected, GeneratedIDs: r.GeneratedIDs}
	if r.Columns == nil {
		return out, nil
	}
	out.Rows = [][]any{}
	for {
		row := make([]driver.Value, len(r.Columns.Names))
		err := r.Next(row)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return BatchResult{}, fmt.Errorf("tntsql: %w", err)
		}
		values := make([]any, len(row))
		for i, v := range row {
			values[i] = v
		}
		out.Rows = append(out.Rows, values)
	}
}

// denial remembers for a while that a user may not do something.
type denial struct{ at atomic.Int64 }

const denialHolds = time.Minute

func (d *denial) note() { d.at.Store(time.Now().UnixNano()) }

func (d *denial) holds() bool { return time.Since(time.Unix(0, d.at.Load())) < denialHolds }
