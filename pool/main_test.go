package pool_test

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

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

func TestMain(m *testing.M) {
	_ = flag.Set("test.parallel", "8") // most tests here wait rather than work; -parallel still wins
	goleak.VerifyTestMain(m)
}

const (
	patience = 10 * time.Second
	tick     = time.Millisecond
)

// Versions of servers: the first two have no watchers, and the first accepts
// writes while it is read-only.
const (
	unguarded = "2.6.0"
	unwatched = "2.8.4"
	watched   = "3.8.0"
)

// server is a peer in a replica set.
type server struct {
	*fakepeer.Peer
	uuid string
}

func startServer(t testing.TB, number int, version string, options ...fakepeer.Option) *server {
	uuid := fmt.Sprintf("%08d-0000-4000-8000-000000000000", number)
	return &server{fakepeer.Start(t, nil, append([]fakepeer.Option{fakepeer.Instance(version, uuid)}, options...)...), uuid}
}

// startSet starts a master, number 0, and replicas.
func startSet(t testing.TB, version string, replicas int) []*server {
	set := []*server{startServer(t, 0, version)}
	for i := range replicas {
		set = append(set, startServer(t, i+1, version, fakepeer.ReadOnly()))
	}
	return set
}

// refuse answers as a read-only instance does.
var refuse = fakepeer.Replay("update, read-only")

func (s *server) onExecute(script fakepeer.Script) { s.On(protocol.IPROTO_EXECUTE, script) }

func (s *server) executed() int { return len(s.Requests(protocol.IPROTO_EXECUTE)) }

func (s *server) votes() int { return len(s.Requests(protocol.IPROTO_VOTE)) }

// sessions is how many connections have carried requests of the type.
func (s *server) sessions(typ protocol.Type) int {
	numbers := make(map[int]bool)
	for _, r := range s.Requests(typ) {
		numbers[r.Session] = true
	}
	return len(numbers)
}

// election is the value of box.election.
func election(term byte) []byte { return append([]byte("\x81\xa4term"), term) }

// switchOver makes another instance the only writable one.
func switchOver(from, to *server) {
	from.SetReadOnly(true)
	to.SetReadOnly(false)
}

func options(servers ...*server) pool.Options {
	o := pool.Options{
		Wire:             wire.Options{MaxResponse: 1 << 20, Logger: slog.New(slog.DiscardHandler)},
		Greet:            func(context.Context, *wire.Conn) error { return nil },
		ConnectTimeout:   time.Second,
		RefreshInterval:  time.Hour, // nothing here may hang on the poll
		ProbeTimeout:     time.Second,
		DeadTimeout:      time.Minute,
		CloseTimeout:     time.Second,
		ConnsPerInstance: 4,
		MaxInFlight:      512,
		Logger:           slog.New(slog.DiscardHandler),
	}
	for _, s := range servers {
		o.Candidates = append(o.Candidates, pool.Candidate{Address: s.Addr})
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

// openTold is openReady for servers with watchers, when all that they push at
// first has come.
func openTold(t testing.TB, o pool.Options) *pool.Pool {
	p := openReady(t, o)
	waitFor(t, p, func(s *discovery.Snapshot) bool {
		for _, in := range s.Instances {
			if in.Term == 0 || in.ReplicaSet == "" {
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

// outcome is what became of a request.
type outcome struct {
	pool.Reply
	err error
}

// begin sends a request in the background. It waits for far longer than any here
// takes.
func begin(ctx context.Context, p *pool.Pool, req *pool.Request) <-chan outcome {
	done := make(chan outcome, 1)
	go func() {
		ctx, cancel := context.WithTimeout(ctx, 2*patience)
		defer cancel()
		reply, err := p.Do(ctx, req)
		done <- outcome{reply, err}
	}()
	return done
}

// log keeps what was logged.
type log struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *log) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *log) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

func (l *log) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), text)
}
