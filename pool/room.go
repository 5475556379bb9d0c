package pool

import (
	"context"
	"errors"
	"time"
)

var errNoRoom = errors.New("max_in_flight requests are unanswered")

// room takes room for the request: at the instance that was picked, else at
// another of the mode that has some and answers, else where it was picked, first
// come, first served.
func (s *selection) room(ctx context.Context, to target) (target, error) {
	for {
		if to.in.conns.budget.Try() {
			return to, nil
		}
		if other, ok := s.roomy(to.view, to.known.UUID); ok {
			return other, nil
		}
		if s.timeout <= 0 {
			s.miss(to.known.UUID, errNoRoom)
			return target{}, s.none(ctx)
		}
		got, err := s.queue(ctx, to)
		if err != nil {
			return target{}, err
		}
		if got {
			return to, nil
		}
		if to, err = s.next(ctx); err != nil {
			return target{}, err
		}
	}
}

// queue waits for room at the instance. Without any, and without an error, the
// instance is no longer the one to wait for.
func (s *selection) queue(ctx context.Context, to target) (bool, error) {
	begun := time.Now()
	defer func() { s.hasWaited(time.Since(begun)) }()
	over := time.NewTimer(s.left())
	defer over.Stop()
	budget := to.in.conns.budget
	turn := budget.Queue()
	for v := to.view; ; v = s.pool.current.Load() {
		if i := v.index(to.in); s.betterThan(v, i) || !v.Serves(s.mode, i) {
			return !budget.Withdraw(turn), nil
		}
		select {
		case <-turn:
			return true, nil
		case <-v.next:
			continue
		case <-over.C:
		case <-ctx.Done():
		}
		if budget.Withdraw(turn) {
			s.miss(to.known.UUID, errNoRoom)
			return false, s.none(ctx)
		}
		return true, nil
	}
}

// betterThan tells whether the i-th instance is gone, or another one of the mode
// answers and it does not.
func (s *selection) betterThan(v *view, i int) bool {
	if i < 0 {
		return true
	}
	if v.answering(i) {
		return false
	}
	j := s.pickOther(v, v.Instances[i].UUID)
	return j >= 0 && v.answering(j)
}

// roomy takes room at an instance of the mode that answers and has some, but
// for one.
func (s *selection) roomy(v *view, but string) (target, bool) {
	full := []string{but}
	for {
		i := s.pickOther(v, full...)
		if i < 0 {
			return target{}, false
		}
		other := v.target(i)
		if v.answering(i) && other.in.conns.budget.Try() {
			return other, true
		}
		full = append(full, other.known.UUID)
	}
}
