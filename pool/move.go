package pool

import (
	"context"
	"time"

	"github.com/tntsql/tntsql/discovery"
	"github.com/tntsql/tntsql/internal/wire"
)

// oldestPatience is how many probe timeouts the oldest read of a connection
// waits before it moves: it is probably what holds the server up, and would
// hold up the next one too.
const oldestPatience = 5

// await waits for the answer to a request. A read that waits for an instance or
// a connection which does not answer is sent once more elsewhere, and the first
// answer counts.
func (p *Pool) await(ctx context.Context, s *selection, first *sent, req *Request, reply *Reply) (*sent, wire.Reply, error) {
	moves := req.moves() && reply.Attempts < maxSent
	alarms := wire.Alarms{Stalled: moves, Pinned: moves, Timeout: req.timeoutBeside(ctx)}
	for move := false; !move; {
		switch first.Wait(ctx, alarms) {
		case wire.Answered:
			answer, err := first.Reply()
			return first, answer, err
		case wire.Left:
			return first, wire.Reply{}, left(ctx)
		case wire.Expired:
			return first, wire.Reply{}, &wire.Error{Sent: true, Err: &timeoutError{req.Timeout}}
		case wire.Pinned:
			alarms.Pinned, move = false, first.Behind()
		case wire.Stalled:
			move = true
		}
	}
	ctx, cancel := req.bound(ctx, first.Age())
	defer cancel()
	second := p.move(ctx, s, first, req)
	if second == nil {
		return wait(ctx, first)
	}
	reply.Attempts++
	p.resend(ctx, first.known, ReasonMoved, nil)
	winner, answer, err := race(ctx, first, second)
	if winner == first {
		p.abandon(second)
	} else {
		p.abandon(first)
	}
	return winner, answer, err
}

func left(ctx context.Context) error { return &wire.Error{Sent: true, Err: context.Cause(ctx)} }

func wait(ctx context.Context, only *sent) (*sent, wire.Reply, error) {
	select {
	case <-only.Done():
		answer, err := only.Reply()
		return only, answer, err
	case <-ctx.Done():
		return only, wire.Reply{}, left(ctx)
	}
}

// race waits for the first answer. A connection that ends is none.
func race(ctx context.Context, first, second *sent) (*sent, wire.Reply, error) {
	select {
	case <-first.Done():
	case <-second.Done():
		first, second = second, first
	case <-ctx.Done():
		return first, wire.Reply{}, left(ctx)
	}
	answer, err := first.Reply()
	if err != nil {
		return wait(ctx, second)
	}
	return first, answer, nil
}

// move sends a read that waits in vain once more: to another connection of its
// instance if that answers, else to another instance, never to a suspect one.
// It returns nil if the first answer comes, or the context ends, before it can.
func (p *Pool) move(ctx context.Context, s *selection, first *sent, req *Request) *sent {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answered := first.Done() // taken here: once it is answered, first may be another's
	go func() {
		select {
		case <-answered: // though the second waits for room or a connection
			cancel()
		case <-ctx.Done():
		}
	}()
	if !first.patient(ctx, p.options.ProbeTimeout) {
		return nil
	}
	for {
		v := p.current.Load()
		opening := first.reopening(v, req)
		if opening == nil {
			if to, ok := s.aside(v, first, req); ok {
				if second, err := to.start(ctx, s, req); err == nil {
					return second
				}
			}
		}
		select {
		case <-opening:
		case <-v.next:
		case <-time.After(asideAgain):
		case <-ctx.Done():
			return nil
		}
	}
}

// asideAgain is when a read that found no place to move to looks again.
const asideAgain = 20 * time.Millisecond

// patient waits until a read may move: the oldest of its connection not while a
// large reply, which may be its own, is on its way. It is false if ctx ends before.
func (s *sent) patient(ctx context.Context, probe time.Duration) bool {
	for left := oldestPatience*probe - s.conn.Waiting(); s.Oldest(); left = probe {
		over := time.NewTimer(left)
		select {
		case <-over.C:
		case <-ctx.Done():
			over.Stop()
			return false
		}
		if !s.conn.Receiving() || s.conn.Silent() >= probe {
			break
		}
	}
	return true
}

// answering tells whether the instance, the i-th of the view, is not suspect.
func (v *view) answering(i int) bool {
	return v.Instances[i].Status == discovery.StatusRunning || v.Instances[i].Status == discovery.StatusOrphan
}

// reopening waits for another connection to an instance that answers, where one
// may be had and all that there are are held up. It is nil where none is needed.
func (s *sent) reopening(v *view, req *Request) <-chan struct{} {
	i := v.index(s.in)
	if i < 0 || !v.answering(i) || s.group.free(req.readsOnly()) != nil {
		return nil
	}
	return s.group.open(req.readsOnly())
}

// aside picks where a read moves to, and takes room there. On its own instance
// it takes its own with it: the server does not read the connection that it comes
// from, so all room there could be taken by reads that wait for room.
func (s *selection) aside(v *view, from *sent, req *Request) (target, bool) {
	i := v.index(from.in)
	if i < 0 {
		return s.roomy(v, "")
	}
	if v.answering(i) && from.group.free(req.readsOnly()) != nil {
		to := v.target(i)
		to.roomless = !from.Yield() && !from.in.conns.budget.Try()
		return to, true
	}
	return s.roomy(v, v.Instances[i].UUID)
}
