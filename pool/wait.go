package pool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tntsql/tntsql/discovery"
	"github.com/tntsql/tntsql/internal/iproto"
)

// retryMissed is when an instance that looked healthy but could not be reached
// may be tried again though nothing new is known of it.
const retryMissed = 50 * time.Millisecond

// settling is how long a new pool looks for an instance of the role that a mode
// prefers before another serves.
const settling = 500 * time.Millisecond

// NoInstanceError tells that no instance of a mode was to be had in time.
type NoInstanceError struct {
	Mode   discovery.Mode
	Waited time.Duration
	// Instances is what was known of each, and of names that have none, when
	// the waiting ended.
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
	byText  bool // the request goes by no id of a prepared statement
	pool    *Pool
	mode    discovery.Mode
	timeout time.Duration // for all its waiting together
	after   int64         // the mark that a replica must cover
	yields  bool          // unless there is no writer
	waited  time.Duration
	missed  []string         // uuids that could not serve it when they were last tried, until something changes
	why     map[string]error // the last reason, by uuid
}

// miss notes an instance that could not serve though it looked as if it could.
func (s *selection) miss(uuid string, err error) {
	s.missed = append(s.missed, uuid)
	if s.why == nil {
		s.why = make(map[string]error)
	}
	s.why[uuid] = err
}

// left is how long it may still wait. Without any waiting, a connection may
// still be opened.
func (s *selection) left() time.Duration {
	if s.timeout <= 0 {
		return s.pool.options.ConnectTimeout - s.waited
	}
	return s.timeout - s.waited
}

// none is the end of the search.
func (s *selection) none(ctx context.Context) error {
	instances := s.pool.Snapshot().Known()
	for i := range instances {
		if in := &instances[i]; in.Err == nil {
			in.Err = s.reason(ctx, in)
		}
	}
	return &NoInstanceError{s.mode, s.waited, instances, ended(ctx)}
}

// reason is why an instance that is in no trouble did not serve, if there is more
// to say than its role.
func (s *selection) reason(ctx context.Context, in *discovery.Instance) error {
	o := &s.pool.options
	why := s.why[in.UUID]
	switch {
	case in.Status == discovery.StatusConnecting:
		return fmt.Errorf("not reached yet; connect_timeout is %v", o.ConnectTimeout)
	case why != nil && !errors.Is(why, context.Cause(ctx)):
		return why
	case in.Role == discovery.RoleRO && s.mode != discovery.ModeRW && in.Connected() && in.Cover < s.oldestCover():
		return s.behind(in)
	case o.Peers && in.Denied:
		return errDenied
	}
	return nil
}

// behind is what a replica lacks.
func (s *selection) behind(in *discovery.Instance) error {
	switch {
	case s.pool.options.MaxLag == 0 || in.Cover >= s.oldestLag():
		return errors.New("it may lack what the session has written (read_after_write)")
	case in.Cover == 0:
		return fmt.Errorf("its lag is not known, and max_lag is %v", s.pool.options.MaxLag)
	}
	lag := time.Duration(Now() - in.Cover)
	return fmt.Errorf("it lags by up to %v, and max_lag is %v", lag.Round(time.Millisecond), s.pool.options.MaxLag)
}

// ended is the context's error, and its cause if that is another.
func ended(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if errors.Is(cause, err) {
		return cause
	}
	return fmt.Errorf("%w: %w", err, cause)
}

// next returns an instance for the next attempt.
func (s *selection) next(ctx context.Context) (target, error) {
	if to, ok := s.try(s.pool.current.Load()); ok {
		return to, nil
	}
	begun := time.Now()
	to, err := s.wait(ctx)
	s.hasWaited(time.Since(begun))
	if errors.Is(err, errNone) {
		err = s.none(ctx)
	}
	return to, err
}

func (s *selection) hasWaited(d time.Duration) {
	s.waited += d
	s.pool.counts.waits.Add(1)
	s.pool.counts.waited.Add(int64(d))
}

func (s *selection) try(v *view) (target, bool) {
	var i int
	if len(s.missed) == 0 {
		i = s.pick(v)
	} else {
		i = s.pickOther(v)
	}
	if i < 0 || !v.Settled && v.Fallback(s.mode, i) && time.Since(s.pool.started) < settling {
		return target{}, false
	}
	return v.target(i), true
}

// lookForLeader has the instance that a refusal names as the leader asked
// first: 2.10 and newer say who it is.
func (s *selection) lookForLeader(refusal error) {
	var e *iproto.ServerError
	if !errors.As(refusal, &e) || len(e.Stack) == 0 {
		return
	}
	leader, _ := e.Stack[0].Fields["leader_uuid"].(string)
	v := s.pool.current.Load()
	for i := range v.Instances {
		if leader != "" && v.Instances[i].UUID == leader {
			signal(v.instances[i].asked)
		}
	}
}

// index is the number of the instance in the snapshot, or -1.
func (v *view) index(in *instance) int { return slices.Index(v.instances, in) }

// errNone is the end of the waiting.
var errNone = errors.New("no instance")

// wait sleeps until a snapshot has an instance of the mode, the time is over or
// the context ends. Only the instances' own goroutines look for one meanwhile,
// faster than usual.
func (s *selection) wait(ctx context.Context) (target, error) {
	p := s.pool
	over := time.NewTimer(s.left())
	defer over.Stop()
	if p.waiting.Add(1) == 1 {
		for _, in := range p.current.Load().members {
			signal(in.hurry)
		}
	}
	defer p.waiting.Add(-1)
	for {
		v := p.current.Load()
		if to, ok := s.try(v); ok {
			return to, nil
		}
		if v.Settled && (s.timeout <= 0 || v.Refused || s.hopeless(v)) {
			return target{}, errNone
		}
		var again <-chan time.Time
		switch {
		case len(s.missed) > 0:
			again = time.After(retryMissed)
		case s.after > 0: // so that the instances go on voting
			again = time.After(coverInterval)
		case !v.Settled:
			again = time.After(settling)
		}
		select {
		case <-v.next:
			s.missed = nil
		case <-again:
			s.missed = nil
		case <-over.C:
			return target{}, errNone
		case <-ctx.Done():
			return target{}, errNone
		case <-p.stopping:
			return target{}, ErrClosed
		}
	}
}

// SettingsError is an error of Greet that the next connection will get too.
type SettingsError struct{ Err error }

func (e *SettingsError) Error() string { return e.Err.Error() }
func (e *SettingsError) Unwrap() error { return e.Err }

// hopeless tells whether every instance of the mode has failed in a way in which
// it will fail again.
func (s *selection) hopeless(v *view) bool {
	tried := 0
	for _, class := range v.Classes(s.mode) {
		for _, i := range class {
			why := s.why[v.Instances[i].UUID]
			if !errors.As(why, new(*SettingsError)) && !errors.As(why, new(*UnsupportedError)) {
				return false
			}
			tried++
		}
	}
	return tried > 0
}

// told is the error of a search that has ended: what every instance said, if that is
// more than that there is none.
func (s *selection) told(err error) error {
	if !errors.As(err, new(*NoInstanceError)) || !s.hopeless(s.pool.current.Load()) {
		return err
	}
	for _, why := range s.why {
		if old := new(UnsupportedError); errors.As(why, &old) {
			return old
		}
	}
	return err
}

// Wait returns when there is an instance of the mode, with a *NoInstanceError
// if the time is over or the context ends before.
func (p *Pool) Wait(ctx context.Context, mode discovery.Mode, timeout time.Duration) error {
	s := selection{pool: p, mode: mode, timeout: timeout}
	_, err := s.next(ctx)
	return err
}
