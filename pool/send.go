package pool

import (
	"context"
	"errors"
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

// Request is one request to some instance.
type Request struct {
	Mode discovery.Mode
	Kind verdict.Kind
	Type protocol.Type
	Body Body
	// Selection is how long it waits for an instance of its mode.
	Selection time.Duration
	// Timeout is from sending to the reply, for a context without a deadline;
	// 0 is no limit.
	Timeout time.Duration
}

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
	s := selection{pool: p, mode: req.Mode, timeout: req.Selection}
	var reply Reply
	for {
		in, known, err := s.next(ctx)
		reply.Waited = s.waited
		if err != nil {
			return reply, err
		}
		v, err := in.send(ctx, req, &reply)
		if reply.Attempts > 0 {
			reply.Served = known
		}
		if err == nil || reply.Attempts == maxSent || ctx.Err() != nil {
			return reply, err
		}
		switch v {
		case verdict.Again:
			s.miss(known.UUID, err)
		case verdict.Refused:
			if in.ask(ctx) != nil || req.Kind != verdict.Read && in.serves(req.Mode) {
				return reply, err
			}
			s.refused = append(s.refused, known.UUID)
		default:
			return reply, err
		}
	}
}

// serves tells whether the mode may pick the instance, as it is known now.
func (in *instance) serves(mode discovery.Mode) bool {
	return in.pool.Snapshot().Serves(mode, in.index)
}

var buffers = sync.Pool{New: func() any { return new([]byte) }}

// maxBuffer is the largest buffer that is kept for later requests.
const maxBuffer = 64 << 10

// send sends the request to this instance, once, and judges what became of it.
func (in *instance) send(ctx context.Context, req *Request, reply *Reply) (verdict.Verdict, error) {
	conn, err := in.acquire(ctx)
	if err != nil {
		return verdict.Unsent(req.Kind), err
	}
	buffer := buffers.Get().(*[]byte)
	body, err := req.Body.Append((*buffer)[:0], conn.Greeting().Version)
	if err != nil {
		return verdict.Fail, err
	}
	if _, bounded := ctx.Deadline(); req.Timeout > 0 && !bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, req.Timeout)
		defer cancel()
	}
	// go-tarantool has copied the body when Do returns, whatever Do returns.
	answer, err := conn.Do(ctx, req.Type, body)
	if cap(body) <= maxBuffer {
		*buffer = body
		buffers.Put(buffer)
	}
	var failure *wire.Error
	if errors.As(err, &failure) && !failure.Sent {
		return verdict.Unsent(req.Kind), failure.Err
	}
	reply.Attempts++
	switch {
	case err == nil && answer.Code == 0 && !iproto.HasError(answer.Body):
		reply.Body = answer.Body
		return verdict.Fail, nil
	case err == nil:
		return in.answered(req.Kind, iproto.ParseError(answer.Code, answer.Body), conn)
	case failure == nil: // answered, with more than may be read
		return judged(verdict.Left(req.Kind), err)
	case ctx.Err() != nil:
		return judged(verdict.Left(req.Kind), failure.Err)
	default:
		return judged(verdict.Lost(req.Kind), failure.Err)
	}
}

func (in *instance) answered(k verdict.Kind, e *iproto.ServerError, conn *wire.Conn) (verdict.Verdict, error) {
	a := verdict.Answer{Code: e.Code, GivesReason: conn.Greeting().Version.AtLeast(2, 10, 0)}
	if len(e.Stack) > 0 {
		a.Type = e.Stack[0].Type
		a.Reason, _ = e.Stack[0].Fields["reason"].(string)
	}
	if a.Refusal() {
		signal(in.asked)
	}
	return judged(verdict.Answered(k, a), e)
}

// judged marks the error of a request that may have been applied.
func judged(v verdict.Verdict, err error) (verdict.Verdict, error) {
	if v == verdict.Unknown {
		err = &UnknownError{err}
	}
	return v, err
}
