package pool

import (
	"context"
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
)

// check asks the instance for its role and status and publishes them.
func (in *instance) check(ctx context.Context) {
	timeout := in.pool.options.ProbeTimeout
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("no answer within probe_timeout (%v)", timeout))
	defer cancel()
	start := time.Now()
	ballot, err := vote(ctx, in.control)
	if err != nil {
		in.failed(ctx, err)
		return
	}
	next := in.state
	next.Latency = smooth(next.Latency, time.Since(start))
	next.Role, next.Status, next.Err = discovery.RoleRW, discovery.StatusRunning, nil
	if ballot.ReadOnly {
		next.Role = discovery.RoleRO
	}
	if ballot.HasBooted && !ballot.Booted {
		next.Status = statusLoading
	}
	if err := in.inform(ctx, &next); err != nil {
		in.failed(ctx, err)
		return
	}
	in.state = next
	in.publish()
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

// inform adds what box.info says, where the user may call it: the status, and
// that an orphan is read-only, which its ballot on 2.6 does not tell.
func (in *instance) inform(ctx context.Context, next *discovery.Instance) error {
	if in.noInfo {
		return nil
	}
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
		in.noInfo = true
		return nil
	case protocol.ER_LOADING:
		next.Status = statusLoading
		return nil
	default:
		return iproto.ParseError(reply.Code, reply.Body)
	}
	info, err := iproto.ParseBoxInfo(reply.Body)
	if err != nil {
		return err
	}
	if info.ReadOnly {
		next.Role = discovery.RoleRO
	}
	if info.Status != "" {
		next.Status = info.Status
	}
	next.ReplicaSet, next.Name, next.Term = info.ReplicaSet, info.Name, info.Term
	return nil
}

// failed publishes that the check brought no answer. The instance may be busy:
// SQL does not yield, so a long SELECT stops the answers of a healthy server,
// and closing its connections would stop nothing. Only long silence on all of
// them ends them.
func (in *instance) failed(ctx context.Context, err error) {
	switch {
	case in.pool.ctx.Err() != nil:
	case in.control.Ended():
		in.lose(err)
	case ctx.Err() == nil: // an error of the server, or a reply beyond understanding
		in.state.Status, in.state.Err = discovery.StatusSuspect, err
		in.publish()
	case in.silent() > in.pool.options.DeadTimeout:
		in.data.closeAll()
		in.lose(fmt.Errorf("nothing heard for dead_timeout (%v)", in.pool.options.DeadTimeout))
	default:
		in.state.Status, in.state.Err = discovery.StatusSuspect, err
		in.publish()
	}
}

// silent is for how long nothing has come on any connection.
func (in *instance) silent() time.Duration {
	quiet := in.control.Silent()
	for _, c := range in.data.all() {
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
	signal(in.asked)
	select {
	case <-done:
		return nil
	case <-in.pool.ctx.Done():
		return ErrClosed
	case <-ctx.Done():
		return context.Cause(ctx)
	}
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
