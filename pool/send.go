package pool

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	protocol "github.com/tarantool/go-iproto"

	"github.com/tntsql/tntsql/discovery"
	"github.com/tntsql/tntsql/internal/iproto"
	"github.com/tntsql/tntsql/internal/verdict"
	"github.com/tntsql/tntsql/internal/wire"
)

// Body is what a request carries.
type Body interface {
	// Append encodes the body for a server of the version.
	Append(b []byte, server iproto.Version) ([]byte, error)
}

// PreparedBody is a Body of an EXECUTE that may also go by a statement's id.
type PreparedBody interface {
	Body
	AppendID(b []byte, id uint32, server iproto.Version) ([]byte, error)
}

// Request is one request to some instance.
type Request struct {
	Mode discovery.Mode
	Kind verdict.Kind
	Type protocol.Type
	Body Body // nil for a PREPARE
	// Text is that of a PREPARE. Of an EXECUTE, whose Body is a PreparedBody then,
	// it is set if connections may keep the statement prepared.
	Text wire.Text
	// Calls tells of a statement that it runs code of the user's, which may end a
	// transaction.
	Calls bool
	// Writes tells of a BEGIN that the transaction may write.
	Writes bool
	// Vain, if it is set, tells of an answer that it says nothing if the
	// instance is no longer writable: an UPDATE or DELETE of no rows.
	Vain func(body []byte) bool
	// Failure, if it is set, finds a server's error in the body of an answer that
	// is OK: what the statements of an EVAL came to.
	Failure func(body []byte) *iproto.ServerError
	// After, unless it is 0, is a mark: replicas serve it only if they have all
	// that was acknowledged before.
	After int64
	// Yields tells that the mark does not hold it back if there is no writer.
	Yields bool
	// Selection is how long it waits for an instance of its mode.
	Selection time.Duration
	// Timeout is from sending to the reply, for a context without a deadline;
	// 0 is no limit.
	Timeout time.Duration
}

// readsOnly tells that it waits for no quorum.
func (r *Request) readsOnly() bool {
	return r.Kind == verdict.Read || r.Kind == verdict.Begin && !r.Writes
}

// moves tells whether it may be sent once more while it is unanswered.
func (r *Request) moves() bool { return r.Kind == verdict.Read || r.Kind == verdict.Begin }

// Reply is the answer to a request, and how it came about. It is filled in as
// far as it goes when there is an error too.
type Reply struct {
	Body     []byte
	Served   *discovery.Instance // the last instance that it was sent to; nil if to none
	Attempts int                 // how many times it was sent
	Waited   time.Duration       // for an instance
}

// UnknownError tells that a request may have been applied, or may yet be.
type UnknownError struct{ Err error }

func (e *UnknownError) Error() string { return e.Err.Error() }
func (e *UnknownError) Unwrap() error { return e.Err }

// Reason is why a request is sent again.
type Reason string

const (
	ReasonUnsent  Reason = "unsent"  // it never left
	ReasonRefused Reason = "refused" // the instance cannot serve it now
	ReasonLost    Reason = "lost"    // the connection ended without an answer
	ReasonMoved   Reason = "moved"   // the instance or connection does not answer
)

// maxSent is how often a request is sent at most: one that a server chokes on
// must not take down the cluster.
const maxSent = 2

// Do sends the request to an instance of its mode, and again to another as far
// as package verdict allows it. A server's error is an *iproto.ServerError.
func (p *Pool) Do(ctx context.Context, req *Request) (Reply, error) {
	if err := p.enter(); err != nil {
		return Reply{}, err
	}
	defer p.leave()
	reply, sent, err := p.do(ctx, req)
	if err == nil && reply.Attempts == 1 {
		sent.recycle() // nobody else has it
	}
	return reply, err
}

// do returns also what was answered, if something was.
func (p *Pool) do(ctx context.Context, req *Request) (Reply, *sent, error) {
	p.counts.picks[req.Mode].Add(1)
	s := selection{pool: p, mode: req.Mode, timeout: req.Selection, after: req.After, yields: req.Yields}
	var reply Reply
	for {
		to, err := s.next(ctx)
		if err == nil {
			to, err = s.room(ctx, to)
		}
		reply.Waited = s.waited
		if err != nil {
			return reply, nil, s.told(err)
		}
		before := reply.Attempts
		sent, v, err := p.attempt(ctx, &s, to, req, &reply)
		switch {
		case err == nil || reply.Attempts == maxSent:
			return reply, sent, err
		case ctx.Err() != nil && reply.Attempts == 0 && v == verdict.Again:
			s.miss(to.known.UUID, err)
			return reply, nil, s.none(ctx)
		case ctx.Err() != nil:
			return reply, nil, err
		}
		switch v {
		case verdict.Again:
			s.miss(to.known.UUID, err)
			if errors.As(err, new(*UnsupportedError)) {
				continue
			}
			reason := ReasonLost
			if reply.Attempts <= before {
				reason = ReasonUnsent
			}
			p.resend(ctx, to.known, reason, err)
		case verdict.Refused:
			s.lookForLeader(err)
			s.miss(to.known.UUID, err)
			switch asked := to.in.ask(ctx); {
			case ctx.Err() != nil:
				return reply, nil, s.none(ctx)
			case asked != nil || req.Kind != verdict.Read && to.serves(req.Mode):
				return reply, nil, err
			}
			p.resend(ctx, to.known, ReasonRefused, err)
		default:
			return reply, nil, err
		}
	}
}

func (p *Pool) resend(ctx context.Context, from *discovery.Instance, reason Reason, err error) {
	p.counts.resent(reason)
	if p.options.Resending != nil {
		p.options.Resending(ctx, from, reason, err)
	}
}

// serves tells whether the mode may pick the instance, as it is known now, at
// whichever of its addresses.
func (to *target) serves(mode discovery.Mode) bool {
	v := to.in.pool.current.Load()
	for i := range v.Instances {
		if v.Instances[i].UUID == to.known.UUID {
			return v.Serves(mode, i)
		}
	}
	return false
}

// attempt sends the request to one instance and judges what became of it.
func (p *Pool) attempt(ctx context.Context, s *selection, to target, req *Request, reply *Reply) (*sent, verdict.Verdict, error) {
	sent, err := to.start(ctx, s, req)
	if err != nil {
		var broken *bodyError
		if errors.As(err, &broken) {
			return nil, verdict.Fail, broken.error
		}
		return nil, verdict.Unsent(req.Kind), err
	}
	reply.Attempts++
	reply.Served = to.known
	sent, answer, err := p.await(ctx, s, sent, req, reply)
	if answer.Unprepared {
		sent, answer, err = p.byText(ctx, s, sent, req, reply)
	}
	reply.Served = sent.known
	v, err := sent.judge(ctx, req, answer, err, reply)
	if err == nil {
		sent.ranByText(req)
	}
	if err != nil && !errors.As(err, new(*iproto.ServerError)) {
		p.abandon(sent)
	}
	return sent, v, err
}

// timeoutBeside is request_timeout for a context without a deadline, else 0.
func (r *Request) timeoutBeside(ctx context.Context) time.Duration {
	if _, bounded := ctx.Deadline(); bounded {
		return 0
	}
	return r.Timeout
}

// bound applies what is left of request_timeout to a context without a deadline.
func (r *Request) bound(ctx context.Context, passed time.Duration) (context.Context, context.CancelFunc) {
	timeout := r.timeoutBeside(ctx)
	if timeout <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, timeout-passed, &timeoutError{timeout})
}

// timeoutError is the end of request_timeout.
type timeoutError struct{ after time.Duration }

func (e *timeoutError) Error() string {
	return fmt.Sprintf("no answer within request_timeout (%v): %v", e.after, context.DeadlineExceeded)
}

func (e *timeoutError) Unwrap() error { return context.DeadlineExceeded }

// judge tells what follows from the answer, or from the error in place of one.
func (s *sent) judge(ctx context.Context, req *Request, answer wire.Reply, err error, reply *Reply) (verdict.Verdict, error) {
	switch {
	case err != nil:
		return req.failed(ctx, err)
	case answer.Code != 0 || iproto.HasError(answer.Body):
		return s.answered(req.Kind, iproto.ParseError(answer.Code, answer.Body))
	case req.Failure != nil:
		if e := req.Failure(answer.Body); e != nil {
			return s.answered(req.Kind, e)
		}
	}
	return s.accept(ctx, req, answer, reply)
}

// failed judges the error in place of an answer.
func (r *Request) failed(ctx context.Context, err error) (verdict.Verdict, error) {
	var failure *wire.Error
	switch {
	case !errors.As(err, &failure): // answered, with more than may be read
		return judged(verdict.Left(r.Kind), err)
	case !failure.Sent: // in the second place, after the first did nothing
		return verdict.Unsent(r.Kind), failure.Err
	case ctx.Err() != nil || errors.As(failure.Err, new(*timeoutError)):
		return judged(verdict.Left(r.Kind), failure.Err)
	default:
		return judged(verdict.Lost(r.Kind), failure.Err)
	}
}

// target is an instance that was picked, and what was known of it then.
type target struct {
	in       *instance
	known    *discovery.Instance
	view     *view
	roomless bool // no room was taken for the request
}

// target is the i-th instance of the view.
func (v *view) target(i int) target {
	return target{in: v.instances[i], known: &v.Instances[i], view: v}
}

// sent is a request on its way.
type sent struct {
	wire.Pending
	target
	group  *group
	conn   *wire.Conn
	use    wire.Use      // of a prepared statement
	stream *wire.Stream  // of a BEGIN
	front  *wire.Pending // the vote in front of it
}

var sents = sync.Pool{New: func() any { return new(sent) }}

func (s *sent) recycle() {
	*s = sent{}
	sents.Put(s)
}

// bodyError is a request that cannot be encoded for the server.
type bodyError struct{ error }

var buffers = sync.Pool{New: func() any { return new([]byte) }}

// maxBuffer is the largest buffer that is kept for later requests.
const maxBuffer = 64 << 10

func giveBack(buffer *[]byte) {
	if cap(*buffer) <= maxBuffer {
		buffers.Put(buffer)
	}
}

// start sends the request there, for which room was taken. An error means that
// it was not sent.
func (to target) start(ctx context.Context, s *selection, req *Request) (*sent, error) {
	buffer := buffers.Get().(*[]byte)
	sending := false
	defer func() { // also if a Valuer of the user's ends the goroutine
		if !sending && !to.roomless {
			to.in.conns.budget.Give(1)
		}
	}()
	out, err := to.ready(ctx, s, req, buffer)
	if err != nil {
		return nil, err
	}
	sending = true
	out.Pending, err = out.send(req, *buffer) // gives it back itself
	giveBack(buffer)
	to.in.stirred()
	return out, err
}

// ready does all that comes before the request is sent: it finds a connection
// and encodes the body into the buffer.
func (to target) ready(ctx context.Context, s *selection, req *Request, buffer *[]byte) (*sent, error) {
	if req.Kind == verdict.Begin && !to.hasStreams() {
		return nil, &UnsupportedError{to.known.Address, to.known.Version}
	}
	out := sents.Get().(*sent)
	out.target, out.group = to, to.in.conns.kind(req)
	conn, err := to.acquire(ctx, s, out.group, req.readsOnly())
	if err != nil {
		return nil, err
	}
	out.conn = conn
	if req.Kind == verdict.Begin {
		out.stream = conn.NewStream()
	}
	if err := out.encode(ctx, s, req, buffer); err != nil {
		return nil, err
	}
	if req.Mode == discovery.ModeRW && req.Kind != verdict.Read && acceptsWritesReadOnly(conn.Greeting().Version) {
		front, err := conn.Send(protocol.IPROTO_VOTE, iproto.EmptyBody, false)
		if err != nil {
			return nil, err
		}
		out.front = &front
	}
	return out, nil
}

func (s *sent) send(req *Request, body []byte) (wire.Pending, error) {
	switch {
	case s.stream != nil:
		return s.stream.Send(req.Type, body, !s.roomless)
	case req.Type == protocol.IPROTO_PREPARE:
		return s.conn.Prepare(req.Text, !s.roomless)
	case req.Text.SQL != "":
		return s.conn.Execute(s.use, body, !s.roomless)
	}
	return s.conn.Send(req.Type, body, !s.roomless)
}

// accept takes a successful answer, unless the instance's role makes it one
// that says nothing.
func (s *sent) accept(ctx context.Context, req *Request, answer wire.Reply, reply *Reply) (verdict.Verdict, error) {
	vain := req.Vain != nil && req.Mode == discovery.ModeRW && req.Vain(answer.Body)
	switch {
	case vain && !s.stillWritable(ctx):
		if req.Kind == verdict.Call {
			return verdict.Fail, errVain // the user's code may have done something
		}
		return verdict.Refused, errVain
	case !vain && s.front != nil:
		if err := s.voted(ctx); err != nil {
			return judged(verdict.Unknown, err)
		}
	}
	reply.Body = answer.Body
	return verdict.Fail, nil
}

func (s *sent) answered(k verdict.Kind, e *iproto.ServerError) (verdict.Verdict, error) {
	a := answerOf(e, s.conn.Greeting().Version)
	if a.Refusal() {
		signal(s.in.asked)
	}
	return judged(verdict.Answered(k, a), e)
}

// answerOf is what a verdict depends on.
func answerOf(e *iproto.ServerError, v iproto.Version) verdict.Answer {
	a := verdict.Answer{Code: e.Code, GivesReason: v.AtLeast(2, 10, 0)}
	if len(e.Stack) > 0 {
		a.Type = e.Stack[0].Type
		a.Reason, _ = e.Stack[0].Fields["reason"].(string)
	}
	return a
}

// judged marks the error of a request that may have been applied.
func judged(v verdict.Verdict, err error) (verdict.Verdict, error) {
	if v == verdict.Unknown {
		err = &UnknownError{err}
	}
	return v, err
}
