package pool

import (
	"context"
	"errors"

	protocol "github.com/tarantool/go-iproto"

	"github.com/tntsql/tntsql/internal/wire"
)

// encode appends the request's body to the buffer: by the id of a statement that
// the connection has prepared, if it has.
func (s *sent) encode(ctx context.Context, sel *selection, req *Request, buffer *[]byte) error {
	if req.Type == protocol.IPROTO_PREPARE {
		return nil // the connection does
	}
	if req.Text.SQL != "" && !sel.byText {
		s.use = s.conn.Use(req.Text)
	}
	encoded := false
	defer func() { // also if a Valuer of the user's ends the goroutine
		if !encoded {
			s.conn.Drop(s.use)
		}
	}()
	var err error
	if id, ok := s.use.ID(); ok {
		*buffer, err = req.Body.(PreparedBody).AppendID((*buffer)[:0], id, s.conn.Greeting().Version)
		s.in.pool.counts.byID.Add(1)
	} else {
		*buffer, err = req.Body.Append((*buffer)[:0], s.conn.Greeting().Version)
	}
	switch {
	case err != nil:
		return &bodyError{err}
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	encoded = true
	return nil
}

// byText sends a statement once more to the instance that no longer knows its id,
// and so has not run it. From here on it goes by text, wherever it moves to.
func (p *Pool) byText(ctx context.Context, s *selection, first *sent, req *Request, reply *Reply) (*sent, wire.Reply, error) {
	s.byText = true
	reply.Attempts--
	to := first.target
	to.roomless = !to.in.conns.budget.Try()
	second, err := to.start(ctx, s, req)
	if err != nil {
		var broken *bodyError
		if errors.As(err, &broken) {
			return first, wire.Reply{}, broken.error
		}
		return first, wire.Reply{}, &wire.Error{Err: err}
	}
	reply.Attempts++
	return p.await(ctx, s, second, req, reply)
}

// ranByText has the connection note that it has run the statement by its text: one
// that fails is not prepared, since it may be another client's settings by which a
// server would prepare it.
func (s *sent) ranByText(req *Request) {
	if _, byID := s.use.ID(); !byID && req.Text.SQL != "" && req.Type == protocol.IPROTO_EXECUTE {
		s.conn.UsedByText(req.Text)
	}
}

// prepared is the number of statements that connections keep prepared.
func (c *connections) prepared() (n int) {
	for _, conn := range c.data.all() {
		n += conn.Prepared()
	}
	return n
}
