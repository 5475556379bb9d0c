package faults

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"go.uber.org/goleak"

	"github.com/tntsql/tntsql"
	"github.com/tntsql/tntsql/internal/failover"
	"github.com/tntsql/tntsql/tarantooltest"
)

// The user of all scenarios. The password is what is searched for in all texts.
const (
	user     = "app"
	password = "c4nary-S3cret-9f1e"
)

// Trial is one run of a scenario.
type Trial struct {
	Server  failover.Server
	Options Options
	Rand    *rand.Rand

	mu      sync.Mutex
	result  *Result
	closers []func() error
}

// Run runs a scenario. A Result that is Skipped says why it was not run. The error is of
// the run itself.
func Run(s Scenario, o Options) (*Result, error) {
	server, err := failover.ServerOf("")
	if err != nil {
		return nil, err
	}
	if o.Heard == nil {
		o.Heard = NewHeard()
	}
	r := &Result{Scenario: s, Server: server, Options: o, Date: time.Now().Format(time.DateOnly)}
	if s.Needs != nil {
		r.Skipped = s.Needs(server)
	}
	if r.Skipped != "" {
		return r, nil
	}
	others, begun := goleak.IgnoreCurrent(), time.Now()
	t := &Trial{Server: server, Options: o, Rand: rand.New(rand.NewPCG(o.Seed, 0)), result: r}
	err = s.Run(t)
	if closing := t.close(); err == nil {
		err = closing
	}
	if err != nil {
		return nil, fmt.Errorf("%s on %s, seed %d: %w", s.Name, server, o.Seed, err)
	}
	if err := goleak.Find(append(failover.ProxyLinks, others)...); err != nil {
		t.Violation(LeavesNone, "goroutines are left after Close: %v", err)
	}
	r.Took = time.Since(begun)
	return r, nil
}

// Violation tells of a promise that did not hold.
func (t *Trial) Violation(p Promise, format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.result.violation(p, format, args...)
}

// Note adds a line to the results.
func (t *Trial) Note(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.result.Notes = append(t.result.Notes, fmt.Sprintf(format, args...))
}

// Count adds to the numbers of operations and of faults.
func (t *Trial) Count(operations, faults int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.result.Operations += operations
	t.result.Faults += faults
}

// Start starts a replica set that ends with the trial.
func (t *Trial) Start(options ...tarantooltest.Option) (*tarantooltest.ReplicaSet, error) {
	options = append([]tarantooltest.Option{tarantooltest.User(user, password)}, options...)
	set, err := tarantooltest.New(context.Background(), options...)
	if err == nil {
		t.Closing(set.Close)
	}
	return set, err
}

// Open opens a handle that ends with the trial, and whose every word is heard.
func (t *Trial) Open(cfg *tntsql.Config) (*sql.DB, *tntsql.Connector, error) {
	connector, err := tntsql.NewConnector(t.heard(cfg))
	if err != nil {
		return nil, nil, err
	}
	db := sql.OpenDB(connector)
	t.Closing(db.Close)
	return db, connector, nil
}

// ready waits for a master and for a replica.
func ready(connector *tntsql.Connector) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return errors.Join(connector.WaitReady(ctx, tntsql.ModeRW), connector.WaitReady(ctx, tntsql.ModeRO))
}

// heard is the Config with what hears all that the driver says.
func (t *Trial) heard(cfg *tntsql.Config) *tntsql.Config {
	heard := t.Options.Heard
	cfg = cfg.Clone()
	cfg.Logger = slog.New(slog.NewTextHandler(heard, &slog.HandlerOptions{Level: slog.LevelDebug}))
	trace := tntsql.Trace{}
	if cfg.Trace != nil {
		trace = *cfg.Trace
	}
	topology := trace.Topology
	trace.Topology = func(top tntsql.Topology) {
		heard.Say("%v %+v", top, top.Instances)
		if topology != nil {
			topology(top)
		}
	}
	trace.Retry = func(_ context.Context, r tntsql.TraceRetry) { heard.Say("%+v", r) }
	cfg.Trace = &trace
	heard.Say("%v %+v %#v", cfg, cfg, cfg)
	return cfg
}

// Closing has a function called when the trial ends, those that came last first.
func (t *Trial) Closing(f func() error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closers = append(t.closers, f)
}

// nested runs a part of the trial, at whose end is closed what it has opened.
func (t *Trial) nested(f func() error) error {
	outer := t.closers
	t.closers = nil
	err := f()
	closing := t.close()
	t.closers = outer
	return errors.Join(err, closing)
}

func (t *Trial) close() (first error) {
	for i := len(t.closers) - 1; i >= 0; i-- {
		if err := t.closers[i](); err != nil && first == nil {
			first = err
		}
	}
	t.closers = nil
	return first
}
