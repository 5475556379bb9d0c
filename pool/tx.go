package pool

import (
	"context"
	"errors"
	"fmt"

	protocol "github.com/tarantool/go-iproto"

	"github.com/tntsql/tntsql/discovery"
	"github.com/tntsql/tntsql/internal/iproto"
	"github.com/tntsql/tntsql/internal/verdict"
	"github.com/tntsql/tntsql/internal/wire"
)

// UnsupportedError tells that the server has no transactions over IPROTO: 2.10
// and newer have.
type UnsupportedError struct{ Address, Version string }

func (e *UnsupportedError) Error() string { return "Tarantool " + e.Version + " has no streams" }

// TxError tells that a transaction is over, or can only be rolled back.
type TxError struct {
	// Again tells that all of it may be tried again as it is: its connection or
	// its instance's role was lost before a COMMIT was sent.
	Again bool
	Err   error // why
}

func (e *TxError) Error() string { return e.Err.Error() }
func (e *TxError) Unwrap() error { return e.Err }

var (
	errOver = errors.New("it has been committed or rolled back")
	// errEnded is what 114 tells: there is no transaction in the stream.
	errEnded = errors.New("a statement of it has ended it, as OR ROLLBACK and RAISE(ROLLBACK) do")
	// ErrEndedByCode is the same after the user's code ran in it.
	ErrEndedByCode = errors.New("code that it called has ended it, by box.commit() or box.rollback()")
	errDemoted     = errors.New("its instance is no longer writable, and would commit it all the same, as Tarantool before 3.0 does")
	errStale       = errors.New("its instance is no longer writable, and nothing was changed")
)

// Tx is an open transaction: a stream of one connection to one instance. It has
// one user at a time. Nothing is sent in the stream while a request there is
// unanswered: the server runs a stream in order, so whatever stands behind a
// request would be done whatever becomes of that, and nothing can be withdrawn.
type Tx struct {
	pool *Pool
	target
	ctx    context.Context // Begin's, with which it ends
	stream *wire.Stream
	writes bool

	over     bool
	broken   *TxError      // why it can only be rolled back
	pending  *wire.Pending // whose caller has left
	doubtful bool          // it may have ended without a word
	called   bool          // by code of the user's
	wrote    bool
}

// Begin opens a transaction on an instance of the request's mode. The request's
// Kind is verdict.Begin.
func (p *Pool) Begin(ctx context.Context, req *Request) (*Tx, Reply, error) {
	if err := p.enter(); err != nil {
		return nil, Reply{}, err
	}
	if req.Writes {
		// The role may have changed since the instance was picked.
		req.Vain = func([]byte) bool { return true }
	}
	reply, sent, err := p.do(ctx, req)
	if err != nil {
		p.leave()
		return nil, reply, unbegun(ctx, reply, err)
	}
	sent.in.conns.open.Add(1)
	return &Tx{pool: p, target: sent.target, ctx: ctx, stream: sent.stream, writes: req.Writes}, reply, nil
}

// unbegun marks the error of a BEGIN that was sent in vain: nothing is lost by
// beginning again, unless a server refuses or there is none.
func unbegun(ctx context.Context, reply Reply, err error) error {
	if ctx.Err() != nil || reply.Attempts == 0 ||
		errors.As(err, new(*iproto.ServerError)) || errors.As(err, new(*NoInstanceError)) {
		return err
	}
	return &TxError{true, err}
}

// Served is the instance that it is on.
func (t *Tx) Served() *discovery.Instance { return t.known }

// Do runs a statement or a call. The error is a *TxError if the transaction
// cannot go on.
func (t *Tx) Do(ctx context.Context, req *Request) (Reply, error) {
	reply := Reply{Served: t.known}
	ctx, cancel := req.bound(ctx, 0)
	defer cancel()
	if err := t.usable(ctx); err != nil {
		return reply, err
	}
	buffer := buffers.Get().(*[]byte)
	defer giveBack(buffer)
	var err error
	// Before there is room to lose: a Valuer of the user's may end the goroutine.
	if *buffer, err = req.Body.Append((*buffer)[:0], t.stream.Greeting().Version); err != nil {
		return reply, err
	}
	if !t.in.conns.budget.Take(ctx) {
		return reply, context.Cause(ctx)
	}
	if ctx.Err() != nil {
		t.in.conns.budget.Give(1)
		return reply, context.Cause(ctx)
	}
	reply.Attempts = 1
	answer, err := t.ask(ctx, req.Type, *buffer, true)
	t.called = req.Calls || req.Kind == verdict.Call
	t.doubtful = err != nil || t.called
	t.wrote = t.wrote || req.Kind != verdict.Read
	switch {
	case err != nil && t.called && t.broken == nil:
		// A conflict, say, may be run again, but not what it has committed before.
		if ended := t.probe(ctx); errors.Is(ended, ErrEndedByCode) {
			t.broken = &TxError{Err: fmt.Errorf("%w: %w", ErrEndedByCode, err)}
			return reply, t.broken
		}
		if t.broken != nil && t.broken.Again { // lost without an answer
			t.broken = &TxError{Err: t.broken.Err}
			return reply, t.broken
		}
		return reply, err
	case err != nil:
		return reply, err
	case t.writes && req.Vain != nil && t.in.mail.readOnly.Load() && req.Vain(answer):
		t.in.recheck()
		t.broken = &TxError{true, errStale}
		return reply, t.broken
	}
	reply.Body = answer
	return reply, nil
}

// Check tells whether the transaction goes on.
func (t *Tx) Check(ctx context.Context) error { return t.usable(ctx) }

// usable tells whether a further statement, or COMMIT, makes sense.
func (t *Tx) usable(ctx context.Context) error {
	switch {
	case t.over:
		return &TxError{Err: errOver}
	case t.broken != nil:
		return t.broken
	case t.stream.Ended():
		t.broken = &TxError{true, lost(t.stream.Err())}
		return t.broken
	case t.ctx.Err() != nil:
		t.broken = &TxError{Err: ended(t.ctx)}
		return t.broken
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case t.doubtful:
		return t.probe(ctx)
	}
	return nil
}

func lost(err error) error { return fmt.Errorf("connection lost: %w", err) }

// savepoint makes the server tell whether there is a transaction: an error ends
// none, but for those that do so without a word, after which the rest would be
// committed statement by statement.
const savepoint = `SAVEPOINT "tntsql: is there a transaction?"`

func (t *Tx) probe(ctx context.Context) error {
	body, err := iproto.AppendExecute(nil, savepoint, nil, t.stream.Greeting().Version)
	if err == nil {
		_, err = t.ask(ctx, protocol.IPROTO_EXECUTE, body, false)
	}
	var server *iproto.ServerError
	switch {
	case err == nil:
		t.doubtful = false
		return nil
	case t.broken != nil:
	case errors.As(err, &server) && protocol.Error(server.Code) == protocol.ER_NO_TRANSACTION:
		t.broken = &TxError{Err: errEnded}
		if t.called {
			t.broken.Err = ErrEndedByCode
		}
	default:
		t.broken = &TxError{Err: err}
	}
	return t.broken
}

// ask sends a request in the stream and waits for its answer. If that does not
// come, the transaction is broken.
func (t *Tx) ask(ctx context.Context, typ protocol.Type, body []byte, counted bool) ([]byte, error) {
	answer, err := t.send(ctx, typ, body, counted)
	var failure *wire.Error
	switch {
	case err == nil && answer.Code == 0 && !iproto.HasError(answer.Body):
		return answer.Body, nil
	case err == nil:
		return nil, t.refused(iproto.ParseError(answer.Code, answer.Body))
	case !errors.As(err, &failure):
		return nil, err
	case t.pending != nil:
		t.broken = &TxError{Err: failure.Err}
	default:
		t.broken = &TxError{true, failure.Err}
	}
	return nil, t.broken
}

// refused takes an error of the server in, which may tell of the instance's role.
func (t *Tx) refused(e *iproto.ServerError) *iproto.ServerError {
	if (verdict.Answer{Code: e.Code}).Refusal() {
		t.in.recheck()
	}
	return e
}

// send sends a request in the stream. If the context ends before its answer
// comes, it stays pending.
func (t *Tx) send(ctx context.Context, typ protocol.Type, body []byte, counted bool) (wire.Reply, error) {
	p, err := t.stream.Send(typ, body, counted)
	if err != nil {
		return wire.Reply{}, err
	}
	t.in.stirred()
	select {
	case <-p.Done():
		return p.Reply()
	case <-ctx.Done():
	case <-t.ctx.Done():
		ctx = t.ctx
	}
	t.pending = &p
	return wire.Reply{}, &wire.Error{Sent: true, Err: ended(ctx)}
}

// Break leaves nothing but to roll back.
func (t *Tx) Break(err error) {
	if t.broken == nil {
		t.broken = &TxError{Err: err}
	}
}

// Commit ends the transaction. The error is an *UnknownError if it may have been
// committed; with any other error it was not.
func (t *Tx) Commit(ctx context.Context) error {
	if _, bounded := ctx.Deadline(); !bounded {
		timeout := t.pool.options.DeadTimeout
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, timeout, fmt.Errorf("no answer within dead_timeout (%v)", timeout))
		defer cancel()
	}
	err := t.usable(ctx)
	if err == nil && t.wrote && t.commitsDemoted() {
		t.in.recheck()
		err = &TxError{true, errDemoted}
	}
	if err != nil {
		t.Rollback()
		if errors.Is(err, ErrEndedByCode) {
			err = &UnknownError{err}
		}
		return err
	}
	answer, err := t.send(ctx, protocol.IPROTO_COMMIT, iproto.EmptyBody, false)
	defer t.end()
	var failure *wire.Error
	switch {
	case err == nil && answer.Code == 0 && !iproto.HasError(answer.Body):
		return nil
	case err == nil:
		e := t.refused(iproto.ParseError(answer.Code, answer.Body))
		_, err = judged(verdict.Answered(verdict.Commit, answerOf(e, t.stream.Greeting().Version)), e)
		return err
	case errors.As(err, &failure) && !failure.Sent:
		return &TxError{true, failure.Err}
	default:
		_, err = judged(verdict.Lost(verdict.Commit), err)
		return err
	}
}

// commitsDemoted tells of a former master that commits what 3.0 and newer refuse.
func (t *Tx) commitsDemoted() bool {
	return t.writes && t.in.mail.readOnly.Load() && !t.stream.Greeting().Version.AtLeast(3, 0, 0)
}

// Rollback ends the transaction. It returns at once: ROLLBACK is sent when the
// stream has no unanswered request, whatever state any context is in. One that
// cannot be sent, or is not confirmed, leaves the transaction to its timeout on
// the server.
func (t *Tx) Rollback() {
	if t.over {
		return
	}
	t.over = true
	t.pool.rollback(t.stream, t.pending)
	t.close()
}

// rollback sends ROLLBACK once the request before it is answered.
func (p *Pool) rollback(stream *wire.Stream, after *wire.Pending) {
	send := func() { _, _ = stream.Send(protocol.IPROTO_ROLLBACK, iproto.EmptyBody, false) }
	if after == nil {
		send()
		return
	}
	p.spawn(func() {
		select {
		case <-after.Done():
			send()
		case <-p.ctx.Done():
		}
	})
}

// abandon rolls back a transaction that was opened for nobody.
func (p *Pool) abandon(s *sent) {
	if s.stream != nil {
		p.rollback(s.stream, &s.Pending)
	}
}

// hasStreams tells whether the server's version has.
func (to target) hasStreams() bool {
	v, ok := iproto.ParseVersion(to.known.Version)
	return ok && v.AtLeast(2, 10, 0)
}

// end is after a COMMIT.
func (t *Tx) end() {
	t.over = true
	t.close()
}

func (t *Tx) close() {
	t.in.conns.open.Add(-1)
	t.pool.leave()
}
