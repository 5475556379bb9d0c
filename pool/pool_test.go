package pool_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	protocol "github.com/tarantool/go-iproto"
	"go.uber.org/goleak"

	"github.com/tntsql/tntsql/discovery"
	"github.com/tntsql/tntsql/internal/fakepeer"
	"github.com/tntsql/tntsql/internal/iproto"
	"github.com/tntsql/tntsql/internal/verdict"
	"github.com/tntsql/tntsql/internal/wire"
	"github.com/tntsql/tntsql/pool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	patience = 10 * time.Second
	tick     = time.Millisecond
)

// server is a peer whose role can be switched, and which can fall silent.
type server struct {
	*fakepeer.Peer
	uuid     string
	readOnly atomic.Bool
	mute     atomic.Bool                     // answers nothing
	execute  atomic.Pointer[fakepeer.Script] // instead of the ordinary answer
}

func startServer(t testing.TB, number int, readOnly bool) *server {
	s := &server{uuid: fmt.Sprintf("%08d-0000-4000-8000-000000000000", number)}
	s.readOnly.Store(readOnly)
	s.Peer = fakepeer.Start(t, s.script, fakepeer.Instance(s.uuid))
	return s
}

func (s *server) script(session *fakepeer.Session, r fakepeer.Request) bool {
	if s.mute.Load() {
		return true
	}
	switch r.Type {
	case protocol.IPROTO_VOTE:
		session.Reply(r.Sync, 0, fakepeer.Ballot(s.readOnly.Load()))
		return true
	case protocol.IPROTO_EXECUTE:
		if script := s.execute.Load(); script != nil {
			return (*script)(session, r)
		}
	}
	return false
}

func (s *server) onExecute(script fakepeer.Script) { s.execute.Store(&script) }

func (s *server) executed() int { return len(s.Requests(protocol.IPROTO_EXECUTE)) }

// startSet starts a master, number 0, and replicas.
func startSet(t testing.TB, replicas int) []*server {
	set := []*server{startServer(t, 0, false)}
	for i := range replicas {
		set = append(set, startServer(t, i+1, true))
	}
	return set
}

func options(servers ...*server) pool.Options {
	o := pool.Options{
		Wire:             wire.Options{MaxResponse: 1 << 20, Logger: slog.New(slog.DiscardHandler)},
		ConnectTimeout:   time.Second,
		RefreshInterval:  time.Hour, // nothing here may hang on the poll
		ProbeTimeout:     time.Second,
		DeadTimeout:      time.Minute,
		CloseTimeout:     time.Second,
		ConnsPerInstance: 4,
		Logger:           slog.New(slog.DiscardHandler),
	}
	for _, s := range servers {
		o.Addresses = append(o.Addresses, s.Addr)
	}
	return o
}

func open(t testing.TB, o pool.Options) *pool.Pool {
	p := pool.Open(o)
	t.Cleanup(p.Close)
	return p
}

// openReady opens a pool that knows all of its instances.
func openReady(t testing.TB, o pool.Options) *pool.Pool {
	p := open(t, o)
	waitFor(t, p, func(s *discovery.Snapshot) bool {
		for _, in := range s.Instances {
			if in.Status != discovery.StatusRunning {
				return false
			}
		}
		return true
	})
	return p
}

func waitFor(t testing.TB, p *pool.Pool, condition func(*discovery.Snapshot) bool) {
	t.Helper()
	require.Eventually(t, func() bool { return condition(p.Snapshot()) }, patience, tick)
}

type empty struct{}

func (empty) Append(b []byte, _ iproto.Version) ([]byte, error) { return append(b, 0x80), nil }

func request(m discovery.Mode, k verdict.Kind) *pool.Request {
	return &pool.Request{Mode: m, Kind: k, Type: protocol.IPROTO_EXECUTE, Body: empty{}, Selection: patience}
}

func TestRequestsGoToInstancesOfTheirMode(t *testing.T) {
	set := startSet(t, 2)
	p := openReady(t, options(set...))
	for range 10 {
		reply, err := p.Do(t.Context(), request(discovery.ModeRW, verdict.Write))
		require.NoError(t, err)
		assert.Equal(t, set[0].uuid, reply.Served.UUID)
		assert.Equal(t, 1, reply.Attempts)
		_, err = p.Do(t.Context(), request(discovery.ModeRO, verdict.Read))
		require.NoError(t, err)
	}
	assert.Equal(t, 10, set[0].executed())
	assert.Equal(t, 5, set[1].executed(), "replicas by turns")
	assert.Equal(t, 5, set[2].executed(), "replicas by turns")
}

func TestWaitingRequestWakesWhenAnInstanceIsPromoted(t *testing.T) {
	set := startSet(t, 1)
	set[0].readOnly.Store(true)
	p := openReady(t, options(set...))
	done := make(chan error, 1)
	go func() {
		reply, err := p.Do(t.Context(), request(discovery.ModeRW, verdict.Write))
		if err == nil && (reply.Served.UUID != set[1].uuid || reply.Waited == 0) {
			err = fmt.Errorf("served by %s after %v", reply.Served.UUID, reply.Waited)
		}
		done <- err
	}()
	votes := len(set[1].Requests(protocol.IPROTO_VOTE))
	require.Eventually(t, func() bool { return len(set[1].Requests(protocol.IPROTO_VOTE)) > votes+2 }, patience, tick,
		"while a request waits, roles are asked for")
	set[1].readOnly.Store(false)
	require.NoError(t, <-done)
}

func TestNobodyIsPolledWhileNobodyWaits(t *testing.T) {
	set := startSet(t, 0)
	p := openReady(t, options(set...))
	votes := len(set[0].Requests(protocol.IPROTO_VOTE))
	for range 100 {
		_, err := p.Do(t.Context(), request(discovery.ModeAny, verdict.Read))
		require.NoError(t, err)
	}
	assert.Len(t, set[0].Requests(protocol.IPROTO_VOTE), votes)
}

func TestNoInstanceErrorListsAll(t *testing.T) {
	set := startSet(t, 1)
	set[0].readOnly.Store(true)
	o := options(set...)
	o.Addresses = append(o.Addresses, closedPort(t))
	p := open(t, o)
	req := request(discovery.ModeRW, verdict.Write)
	req.Selection = 100 * time.Millisecond
	_, err := p.Do(t.Context(), req)
	var none *pool.NoInstanceError
	require.ErrorAs(t, err, &none)
	assert.GreaterOrEqual(t, none.Waited, req.Selection)
	require.Len(t, none.Instances, 3)
	assert.Equal(t, discovery.RoleRO, none.Instances[0].Role)
	assert.Equal(t, discovery.StatusDown, none.Instances[2].Status)
	assert.ErrorContains(t, none.Instances[2].Err, "refused")

	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err = p.Do(ctx, request(discovery.ModeRW, verdict.Write))
	require.ErrorAs(t, err, &none)
	assert.ErrorIs(t, err, context.DeadlineExceeded)
}

func closedPort(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	return l.Addr().String()
}

func refuse(s *fakepeer.Session, r fakepeer.Request) bool {
	s.Error(r.Sync, protocol.ER_READONLY, "Can't modify data because this instance is in read-only mode.")
	return true
}

func TestRefusedWriteGoesToTheNewMaster(t *testing.T) {
	set := startSet(t, 1)
	p := openReady(t, options(set...))
	set[0].readOnly.Store(true)
	set[0].onExecute(refuse)
	set[1].readOnly.Store(false)
	reply, err := p.Do(t.Context(), request(discovery.ModeRW, verdict.Write))
	require.NoError(t, err)
	assert.Equal(t, set[1].uuid, reply.Served.UUID)
	assert.Equal(t, 2, reply.Attempts)
}

func TestRefusedWriteFailsIfTheRefuserIsStillWritable(t *testing.T) {
	set := startSet(t, 1)
	p := openReady(t, options(set...))
	set[0].onExecute(refuse) // as a user's function may answer
	_, err := p.Do(t.Context(), request(discovery.ModeRW, verdict.Write))
	var server *iproto.ServerError
	require.ErrorAs(t, err, &server)
	assert.EqualValues(t, protocol.ER_READONLY, server.Code)
	assert.Equal(t, 1, set[0].executed())
	assert.Zero(t, set[1].executed())
}

func TestRefusedCallFailsAndTheRoleIsAskedFor(t *testing.T) {
	set := startSet(t, 1)
	p := openReady(t, options(set...))
	set[0].readOnly.Store(true)
	set[0].onExecute(refuse)
	_, err := p.Do(t.Context(), request(discovery.ModeRW, verdict.Call))
	require.Error(t, err)
	assert.Equal(t, 1, set[0].executed())
	waitFor(t, p, func(s *discovery.Snapshot) bool { return s.Instances[0].Role == discovery.RoleRO })
}

func TestManyRefusalsShareChecks(t *testing.T) {
	const callers = 100
	set := startSet(t, 1)
	p := openReady(t, options(set...))
	set[0].readOnly.Store(true)
	set[1].readOnly.Store(false)
	var arrived sync.WaitGroup
	arrived.Add(callers)
	set[0].onExecute(func(s *fakepeer.Session, r fakepeer.Request) bool {
		go func() { // all refusals at once
			arrived.Done()
			arrived.Wait()
			refuse(s, r)
		}()
		return true
	})
	votes := len(set[0].Requests(protocol.IPROTO_VOTE))
	errs := make(chan error)
	for range callers {
		go func() {
			_, err := p.Do(t.Context(), request(discovery.ModeRW, verdict.Write))
			errs <- err
		}()
	}
	for range callers {
		require.NoError(t, <-errs)
	}
	assert.Less(t, len(set[0].Requests(protocol.IPROTO_VOTE))-votes, callers/2)
}

func cut(s *fakepeer.Session, _ fakepeer.Request) bool {
	s.Close()
	return true
}

func TestLostRequest(t *testing.T) {
	for name, tt := range map[string]struct {
		kind    verdict.Kind
		sent    int
		unknown bool
		fails   bool
	}{
		"a read is sent once more":                {kind: verdict.Read, sent: 1},
		"a write is not, and its outcome unknown": {kind: verdict.Write, sent: 1, unknown: true, fails: true},
		"nor is a call":                           {kind: verdict.Call, sent: 1, unknown: true, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set := startSet(t, 1)
			p := openReady(t, options(set...))
			set[0].onExecute(cut)
			reply, err := p.Do(t.Context(), request(discovery.ModePreferRW, tt.kind))
			assert.Equal(t, tt.fails, err != nil)
			var unknown *pool.UnknownError
			assert.Equal(t, tt.unknown, errors.As(err, &unknown))
			assert.Equal(t, 1, set[0].executed())
			if !tt.fails {
				assert.Equal(t, 2, reply.Attempts)
				assert.Equal(t, set[1].uuid, reply.Served.UUID)
			}
		})
	}
}

func TestReadIsSentTwiceAtMost(t *testing.T) {
	set := startSet(t, 3)
	p := openReady(t, options(set...))
	for _, s := range set {
		s.onExecute(cut)
	}
	reply, err := p.Do(t.Context(), request(discovery.ModeAny, verdict.Read))
	require.Error(t, err)
	assert.Equal(t, 2, reply.Attempts)
	var sent int
	for _, s := range set {
		sent += s.executed()
	}
	assert.Equal(t, 2, sent)
}

func TestUnsentRequestGoesElsewhere(t *testing.T) {
	set := startSet(t, 1)
	o := options(set...)
	var refused atomic.Int32
	o.Greet = func(_ context.Context, c *wire.Conn) error {
		if c.Greeting().UUID == set[0].uuid {
			refused.Add(1)
			return errors.New("no data connection here")
		}
		return nil
	}
	p := openReady(t, o)
	reply, err := p.Do(t.Context(), request(discovery.ModePreferRW, verdict.Write))
	require.NoError(t, err)
	assert.Equal(t, set[1].uuid, reply.Served.UUID)
	assert.Equal(t, 1, reply.Attempts, "what was not sent does not count")
	assert.Positive(t, refused.Load())
}

func TestSlowStatementHoldsUpNobodyElse(t *testing.T) {
	set := startSet(t, 0)
	p := openReady(t, options(set...))
	arrived := make(chan *fakepeer.Session, 1)
	answer := make(chan struct{})
	set[0].onExecute(func(s *fakepeer.Session, r fakepeer.Request) bool {
		arrived <- s
		go func() {
			<-answer
			s.Answer(r)
		}()
		return true
	})
	done := make(chan error, 1)
	go func() {
		_, err := p.Do(t.Context(), request(discovery.ModeAny, verdict.Read))
		done <- err
	}()
	slow := <-arrived

	set[0].onExecute(func(s *fakepeer.Session, r fakepeer.Request) bool {
		arrived <- s
		return false
	})
	require.Eventually(t, func() bool {
		_, err := p.Do(t.Context(), request(discovery.ModeAny, verdict.Read))
		return assert.NoError(t, err) && <-arrived != slow
	}, patience, tick, "others go to another connection")
	close(answer)
	require.NoError(t, <-done)
}

func TestDataConnectionsAreFew(t *testing.T) {
	set := startSet(t, 0)
	o := options(set...)
	o.ConnsPerInstance = 2
	var opened atomic.Int32
	o.Greet = func(context.Context, *wire.Conn) error { opened.Add(1); return nil }
	p := openReady(t, o)
	errs := make(chan error)
	const callers = 200
	for range callers {
		go func() {
			_, err := p.Do(t.Context(), request(discovery.ModeAny, verdict.Read))
			errs <- err
		}()
	}
	for range callers {
		require.NoError(t, <-errs)
	}
	assert.LessOrEqual(t, opened.Load(), int32(2))
}

func TestSilentInstanceIsSuspectThenGivenUp(t *testing.T) {
	set := startSet(t, 1)
	o := options(set...)
	o.RefreshInterval, o.ProbeTimeout, o.DeadTimeout = 10*time.Millisecond, 50*time.Millisecond, 200*time.Millisecond
	p := openReady(t, o)
	status := func(want string) func(*discovery.Snapshot) bool {
		return func(s *discovery.Snapshot) bool { return s.Instances[0].Status == want }
	}
	set[0].mute.Store(true)
	waitFor(t, p, status(discovery.StatusSuspect))
	reply, err := p.Do(t.Context(), request(discovery.ModeAny, verdict.Read))
	require.NoError(t, err)
	assert.Equal(t, set[1].uuid, reply.Served.UUID, "a suspect is picked last")
	waitFor(t, p, status(discovery.StatusDown))
	set[0].mute.Store(false)
	waitFor(t, p, status(discovery.StatusRunning))
}

func TestLostControlConnectionIsMadeAnew(t *testing.T) {
	set := startSet(t, 0)
	p := openReady(t, options(set...))
	for range 3 {
		before := p.Snapshot().Instances[0].Since
		set[0].Cut()
		waitFor(t, p, func(s *discovery.Snapshot) bool {
			in := s.Instances[0]
			return in.Since != before && in.Status == discovery.StatusRunning
		})
	}
}

func TestCloseWaitsForRequestsInFlight(t *testing.T) {
	set := startSet(t, 0)
	p := pool.Open(options(set...))
	arrived := make(chan func(), 1)
	set[0].onExecute(func(s *fakepeer.Session, r fakepeer.Request) bool {
		arrived <- func() { s.Answer(r) }
		return true
	})
	done := make(chan error, 1)
	go func() {
		_, err := p.Do(t.Context(), request(discovery.ModeRW, verdict.Write))
		done <- err
	}()
	answer := <-arrived
	closed := make(chan struct{})
	go func() {
		p.Close()
		close(closed)
	}()
	require.Eventually(t, func() bool {
		_, err := p.Do(t.Context(), request(discovery.ModeRO, verdict.Read))
		return errors.Is(err, pool.ErrClosed)
	}, patience, tick, "new requests, and those that wait, are refused")
	answer()
	require.NoError(t, <-done)
	<-closed
}

func TestCloseIsBounded(t *testing.T) {
	set := startSet(t, 0)
	o := options(set...)
	o.CloseTimeout = 50 * time.Millisecond
	p := pool.Open(o)
	arrived := make(chan struct{})
	set[0].onExecute(func(*fakepeer.Session, fakepeer.Request) bool { close(arrived); return true })
	done := make(chan error, 1)
	go func() {
		_, err := p.Do(context.Background(), request(discovery.ModeRW, verdict.Write))
		done <- err
	}()
	<-arrived
	p.Close()
	p.Close() // once more does no harm
	var unknown *pool.UnknownError
	assert.ErrorAs(t, <-done, &unknown)
}

func TestWaitReturnsWhenAnInstanceIsThere(t *testing.T) {
	set := startSet(t, 0)
	p := open(t, options(set...))
	require.NoError(t, p.Wait(t.Context(), discovery.ModeRW, patience))
	var none *pool.NoInstanceError
	assert.ErrorAs(t, p.Wait(t.Context(), discovery.ModeRO, 0), &none)
}

func TestPickAllocatesNothing(t *testing.T) {
	set := startSet(t, 2)
	p := openReady(t, options(set...))
	assert.Zero(t, testing.AllocsPerRun(1000, func() {
		if err := p.Wait(t.Context(), discovery.ModeRO, 0); err != nil {
			t.Error(err)
		}
	}))
}

// BenchmarkPick is what it costs to find an instance that is there.
func BenchmarkPick(b *testing.B) {
	set := []*server{startServer(b, 0, false), startServer(b, 1, true), startServer(b, 2, true)}
	p := openReady(b, options(set...))
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := p.Wait(context.Background(), discovery.ModePreferRO, 0); err != nil {
				b.Error(err)
				return
			}
		}
	})
}
