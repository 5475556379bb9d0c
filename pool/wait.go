package pool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tntsql/tntsql/discovery"
)

// retryMissed is when an instance that looked healthy but could not be reached
// may be tried again though nothing new is known of it.
const retryMissed = 50 * time.Millisecond

// settling is how long a new pool looks for an instance of the role that a mode
// prefers before another serves.
const settling = 200 * time.Millisecond

// NoInstanceError tells that no instance of a mode was to be had in time.
type NoInstanceError struct {
	Mode   discovery.Mode
	Waited time.Duration
	// Instances is what was known of each when the waiting ended.
	Instances []discovery.Instance
	// Err is the context's error if that ended the waiting.
	Err error
}

func (e *NoInstanceError) Error() string {
	return fmt.Sprintf("no instance for mode %d after %v", e.Mode, e.Waited)
}

func (e *NoInstanceError) Unwrap() error { return e.Err }

// selection is one request's search for an instance.
type selection struct {
	pool    *Pool
	mode    discovery.Mode
	timeout time.Duration // for all its waiting together
	waited  time.Duration
	refused []string         // uuids: each serves a request once
	missed  []string         // uuids that could not be reached since the last change
	why     map[string]error // the last reason, by uuid
}

// miss notes an instance that could not be reached though it looked healthy.
func (s *selection) miss(uuid string, err error) {
	s.missed = append(s.missed, uuid)
	if s.why == nil {
		s.why = make(map[string]error)
	}
	s.why[uuid] = err
}

// none is the end of the search.
func (s *selection) none(ctx context.Context) error {
	instances := slices.Clone(s.pool.Snapshot().Instances)
	for i := range instances {
		if in := &instances[i]; in.Err == nil {
			in.Err = s.why[in.UUID]
		}
	}
	return &NoInstanceError{s.mode, s.waited, instances, ctx.Err()}
}

// next returns an instance for the next attempt.
func (s *selection) next(ctx context.Context) (*instance, *discovery.Instance, error) {
	if in, known := s.try(s.pool.current.Load()); in != nil {
		return in, known, nil
	}
	begun := time.Now()
	in, known, err := s.wait(ctx)
	s.waited += time.Since(begun)
	if errors.Is(err, errNone) {
		return nil, nil, s.none(ctx)
	}
	return in, known, err
}

func (s *selection) try(v *view) (*instance, *discovery.Instance) {
	turn := s.pool.turns[s.mode].Add(1)
	var i int
	if len(s.refused)+len(s.missed) == 0 {
		i = v.Pick(s.mode, turn)
	} else {
		i = v.PickOther(s.mode, turn, slices.Concat(s.refused, s.missed))
	}
	if i < 0 || !v.Settled && v.Fallback(s.mode, i) && time.Since(s.pool.opened) < settling {
		return nil, nil
	}
	return s.pool.instances[i], &v.Instances[i]
}

// errNone is the end of the waiting.
var errNone = errors.New("no instance")

// wait sleeps until a snapshot has an instance of the mode, the time is over or
// the context ends. Only the instances' own goroutines look for one meanwhile,
// faster than usual.
func (s *selection) wait(ctx context.Context) (*instance, *discovery.Instance, error) {
	p := s.pool
	timeout := s.timeout - s.waited
	if s.timeout <= 0 {
		timeout = p.options.ConnectTimeout // unless it is settled before
	}
	over := time.NewTimer(timeout)
	defer over.Stop()
	if p.waiting.Add(1) == 1 {
		for _, in := range p.instances {
			signal(in.hurry)
		}
	}
	defer p.waiting.Add(-1)
	for {
		v := p.current.Load()
		if in, known := s.try(v); in != nil {
			return in, known, nil
		}
		if s.timeout <= 0 && v.Settled {
			return nil, nil, errNone
		}
		var again <-chan time.Time
		switch {
		case len(s.missed) > 0:
			again = time.After(retryMissed)
		case !v.Settled:
			again = time.After(settling)
		}
		select {
		case <-v.next:
			s.missed = nil
		case <-again:
			s.missed = nil
		case <-over.C:
			return nil, nil, errNone
		case <-ctx.Done():
			return nil, nil, errNone
		case <-p.stopping:
			return nil, nil, ErrClosed
		}
	}
}

// Wait returns when there is an instance of the mode, with a *NoInstanceError
// if the time is over or the context ends before.
func (p *Pool) Wait(ctx context.Context, mode discovery.Mode, timeout time.Duration) error {
	s := selection{pool: p, mode: mode, timeout: timeout}
	_, _, err := s.next(ctx)
	return err
}
