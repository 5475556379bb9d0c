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
	"github.com/tntsql/tntsql/internal/wire"
)

const (
	infoFunction = "box.info"
	// statusLoading is the server's own word.
	statusLoading = "loading"
	// maxUnanswered is how many questions a server is asked that answers none, and
	// is not dead either: nothing takes one back.
	maxUnanswered = 64
)

var errLongAnswer = fmt.Errorf("its answer about itself is longer than %d KiB", controlReply>>10)

// check asks the instance for its role and status and publishes them.
func (in *instance) check() {
	ctx, cancel := in.probe()
	defer cancel()
	next, err := in.question(ctx, in.state)
	for err == nil {
		asked := next.Role
		if in.apply(&next) && next.Role != asked {
			// Pushed before or after the answer? Ask once more.
			next, err = in.question(ctx, next)
			continue
		}
		in.trust()
		in.state = next
		in.publish()
		return
	}
	in.failed(ctx, err)
}

// probe bounds a check by probe_timeout, of which a part may have passed since
// the instance last said anything, if a statement waits; but not where the link is
// that slow, nor where it is known to be slow already.
func (in *instance) probe() (context.Context, context.CancelFunc) {
	timeout := in.pool.options.ProbeTimeout
	left := max(timeout-min(in.conns.waiting(), in.silent()), timeout/2, min(timeout, 2*in.state.Latency))
	if in.state.Status == discovery.StatusSuspect {
		left = timeout
	}
	return context.WithTimeoutCause(in.ctx, left, fmt.Errorf("no answer within probe_timeout (%v)", timeout))
}

// question asks for all that is not pushed, and returns the state with the
// answers.
func (in *instance) question(ctx context.Context, state discovery.Instance) (discovery.Instance, error) {
	in.checked = time.Now()
	if in.control.InFlight() >= maxUnanswered {
		<-ctx.Done()
		return discovery.Instance{}, context.Cause(ctx)
	}
	sent := Now()
	ballot, err := vote(ctx, in.control)
	if err != nil {
		return discovery.Instance{}, err
	}
	in.answered = in.checked
	next := state
	if next.Status != discovery.StatusSuspect { // that would be the time in which it hung
		next.Latency = smooth(next.Latency, time.Since(in.checked))
	}
	next.Role, next.Err = roleOf(ballot.ReadOnly), in.conns.trouble()
	watched := in.control.Watches()
	if !watched {
		in.status = discovery.StatusRunning
	}
	if !watched && !in.state.Denied || in.wantsPeers() {
		if err := in.inform(ctx, &next); err != nil {
			return discovery.Instance{}, err
		}
	}
	next.Status = in.status
	if ballot.HasBooted && !ballot.Booted {
		next.Status = statusLoading
	}
	in.pool.covers.voted(&next, in.writes(&next), sent, ballot.VClock)
	return next, nil
}

// writes tells whether the writes of its replica set go to the instance.
func (in *instance) writes(state *discovery.Instance) bool {
	return state.Role == discovery.RoleRW && in.pool.Snapshot().Writes(state.ReplicaSet, state.UUID)
}

// vote asks for the ballot: the role and the vclock, which every version tells
// a user without any grant.
func vote(ctx context.Context, conn *wire.Conn) (iproto.Ballot, error) {
	reply, err := conn.Do(ctx, protocol.IPROTO_VOTE, iproto.EmptyBody)
	if err != nil {
		return iproto.Ballot{}, err
	}
	if reply.Code != 0 {
		return iproto.Ballot{}, iproto.ParseError(reply.Code, reply.Body)
	}
	return iproto.ParseBallot(reply.Body)
}

// inform adds what box.info says, where the user may call it: the peers, and what
// servers without watchers do not push: the status, and that an orphan is
// read-only, which its ballot on 2.6 does not tell.
func (in *instance) inform(ctx context.Context, next *discovery.Instance) error {
	in.relist, in.listed = false, in.checked
	body, err := iproto.AppendCall(nil, infoFunction, nil, in.control.Greeting().Version)
	if err != nil {
		return err
	}
	reply, err := in.control.Do(ctx, protocol.IPROTO_CALL, body)
	if err != nil {
		return err
	}
	switch protocol.Error(reply.Code) {
	case 0:
	case protocol.ER_ACCESS_DENIED, protocol.ER_NO_SUCH_PROC:
		next.Denied = true
		return nil
	case protocol.ER_LOADING:
		if !in.control.Watches() {
			in.status = statusLoading
		}
		return nil
	default:
		return iproto.ParseError(reply.Code, reply.Body)
	}
	info, err := iproto.ParseBoxInfo(reply.Body)
	if err != nil {
		return err
	}
	next.Denied = false
	if in.pool.options.Peers {
		next.Peers = peers(info)
	}
	if in.control.Watches() {
		return nil
	}
	if info.ReadOnly {
		next.Role = discovery.RoleRO
	}
	if info.Status != "" {
		in.status = discovery.ServerStatus(info.Status)
	}
	next.ReplicaSet, next.Name, next.Term = info.ReplicaSet, info.Name, info.Term
	return nil
}

// failed publishes that a check brought no answer. Closing the connections of
// an instance that is busy would stop nothing, so only long silence on all of
// them ends them.
func (in *instance) failed(ctx context.Context, err error) {
	if errors.Is(err, wire.ErrTooLarge) {
		err = errLongAnswer // max_response_size is for data
	}
	switch {
	case in.ctx.Err() != nil:
	case in.control.Ended():
		in.lose(err)
	case ctx.Err() != nil && in.silent() > in.pool.options.DeadTimeout:
		in.dead()
	default:
		in.suspect(err)
	}
}

// dead ends the connections of an instance that says nothing.
func (in *instance) dead() {
	err := fmt.Errorf("nothing heard for dead_timeout (%v)", in.pool.options.DeadTimeout)
	in.conns.closeAll(err)
	in.lose(err)
}

// silent is for how long nothing has come on any connection.
func (in *instance) silent() time.Duration {
	quiet := in.control.Silent()
	for _, c := range in.conns.all() {
		quiet = min(quiet, c.Silent())
	}
	return quiet
}

// smooth is an exponential average that the latest sample moves by an eighth.
func smooth(average, sample time.Duration) time.Duration {
	if average == 0 {
		return sample
	}
	return average + (sample-average)/8
}

// askers are callers that wait for the next check to end.
type askers struct {
	mu      sync.Mutex
	waiting []chan struct{}
}

// ask has the instance checked at once and waits until that is done. All who
// ask while one check is on its way share the next.
func (in *instance) ask(ctx context.Context) error {
	done := in.asks.add()
	in.recheck()
	select {
	case <-done:
		return nil
	case <-in.ctx.Done():
		return ErrClosed
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// recheck has the instance checked at once.
func (in *instance) recheck() {
	signal(in.asked)
	in.pool.counts.rechecks.Add(1)
}

func (a *askers) add() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := make(chan struct{})
	a.waiting = append(a.waiting, c)
	return c
}

// answers are the askers of one check.
type answers []chan struct{}

func (a *askers) take() answers {
	a.mu.Lock()
	defer a.mu.Unlock()
	taken := a.waiting
	a.waiting = nil
	return taken
}

func (a answers) send() {
	for _, c := range a {
		close(c)
	}
}
