package faults

import (
	"context"
	"database/sql"
	"errors"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/tntsql/tntsql"
	"github.com/tntsql/tntsql/tarantooltest"
)

const (
	// hostileTimeout is the deadline of each query of a hostile server, hostileGrace how
	// much later it may return on a busy machine.
	hostileTimeout = 700 * time.Millisecond
	hostileGrace   = 10 * time.Second
	// hostileAtATime is how many of them there are at a time.
	hostileAtATime = 4
	// hostileQueries is how often each is asked, and how often the others beside it.
	hostileQueries = 3
	// hostileMemory is what all of them together may make the process take: a reply of
	// max_response_size, and frames of some MiB.
	hostileMemory = 256 << 20
	// clearError is how long the text of an error may be.
	clearError = 5 << 10
)

var hostileServer = Scenario{
	Name:     "hostile-server",
	What:     "servers that send garbage, lie about lengths, nest, never end, answer what was not asked, or keep silent",
	Promises: []Promise{Withstands, LeavesNone},
	Run: func(t *Trial) error {
		set, err := t.Start(tarantooltest.Instances(1))
		if err != nil {
			return err
		}
		runtime.GC()
		peak := watchMemory()
		var (
			running sync.WaitGroup
			room    = make(chan struct{}, hostileAtATime)
			failed  = make([]error, len(hostiles))
		)
		for i, h := range hostiles {
			room <- struct{}{}
			running.Go(func() {
				defer func() { <-room }()
				failed[i] = h.meet(t, set)
			})
		}
		running.Wait()
		most := peak()
		t.Note("%d hostile servers; the heap grew by %d MiB at most", len(hostiles), most>>20)
		if most > hostileMemory {
			t.Violation(Withstands, "the heap grew by %d MiB", most>>20)
		}
		return errors.Join(failed...)
	},
}

// watchMemory looks at the heap until the function is called that tells by how much it
// grew at most.
func watchMemory() func() uint64 {
	var (
		stats         runtime.MemStats
		stop, stopped = make(chan struct{}), make(chan struct{})
		most          uint64
	)
	runtime.ReadMemStats(&stats)
	before := stats.HeapAlloc
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			case <-time.After(5 * time.Millisecond):
			}
			runtime.ReadMemStats(&stats)
			most = max(most, stats.HeapAlloc)
		}
	}()
	return func() uint64 {
		close(stop)
		<-stopped
		return max(most, before) - before
	}
}

// meet asks the hostile server, by itself and beside a real one.
func (h hostile) meet(t *Trial, set *tarantooltest.ReplicaSet) error {
	address, closing, err := h.listen()
	if err != nil {
		return err
	}
	defer closing()
	params := []string{"connect_timeout=300ms", "probe_timeout=200ms", "dead_timeout=500ms", "close_timeout=500ms"}
	only := strings.Replace(set.DSN(append(params, "selection_timeout=300ms")...), set.Addr(0), address, 1)
	if err := h.handle(t, only, h.ask); err != nil {
		return err
	}
	both := strings.Replace(set.DSN(append(params, "selection_timeout=1m")...), set.Addr(0), address+","+set.Addr(0), 1)
	return h.handle(t, both, h.askBeside)
}

func (h hostile) handle(t *Trial, dsn string, ask func(*Trial, *sql.DB)) error {
	cfg, err := tntsql.ParseDSN(dsn)
	if err != nil {
		return err
	}
	d := newDials()
	cfg.Dial = d.dial
	connector, err := tntsql.NewConnector(t.heard(cfg))
	if err != nil {
		return err
	}
	db := sql.OpenDB(connector)
	ask(t, db)
	t.Options.Heard.Say("%v %+v", connector.Topology(), connector.Topology())
	err = db.Close()
	d.allClosed(t, h.name)
	return err
}

// ask has queries that the hostile server must answer, and their errors looked at.
func (h hostile) ask(t *Trial, db *sql.DB) {
	for n := range hostileQueries {
		begun := time.Now()
		ctx, cancel := context.WithTimeout(context.Background(), hostileTimeout)
		var err error
		if n%2 == 0 {
			var value any
			err = db.QueryRowContext(ctx, "SELECT 1").Scan(&value)
		} else {
			_, err = db.ExecContext(tntsql.WithMode(ctx, tntsql.ModeRO), "INSERT INTO T VALUES (1)")
		}
		cancel()
		took := time.Since(begun)
		t.Count(1, 1)
		switch {
		case took > hostileTimeout+hostileGrace:
			t.Violation(Withstands, "%s: a query with a deadline of %v took %v", h.name, hostileTimeout, took)
		case err == nil && h.fails:
			t.Violation(Withstands, "%s: a query succeeded", h.name)
		case err != nil:
			t.Options.Heard.Error(err)
			text := err.Error()
			ours := strings.HasPrefix(text, "tntsql: ") || errors.Is(err, sql.ErrNoRows)
			if !ours || len(text) > clearError {
				t.Violation(Withstands, "%s: no clear error: %.200s", h.name, text)
			}
		}
	}
}

// askBeside has queries that a real server answers, as if the hostile one were not there.
func (h hostile) askBeside(t *Trial, db *sql.DB) {
	for range hostileQueries {
		ctx, cancel := context.WithTimeout(tntsql.WithMode(context.Background(), tntsql.ModeRW), patience)
		begun := time.Now()
		var n int
		err := db.QueryRowContext(ctx, "SELECT 40 + ?", 2).Scan(&n)
		cancel()
		t.Count(1, 0)
		if err != nil || n != 42 {
			t.Violation(Withstands, "%s: the real instance beside it: %d, %v", h.name, n, err)
		}
		if took := time.Since(begun); took > hostileGrace {
			t.Violation(Withstands, "%s: the real instance beside it took %v", h.name, took)
		}
	}
}

// hostile is a server that does one thing wrong.
type hostile struct {
	name string
	// fails tells that a query of it cannot succeed.
	fails bool
	// listen starts it.
	listen func() (address string, closing func(), err error)
}
