package failover

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.uber.org/goleak"

	"github.com/tntsql/tntsql"
)

// startTimeout bounds how long the driver may take to know the replica set.
const startTimeout = 15 * time.Second

// Run runs a scenario against a replica set of its own. A Result that is
// Skipped says why it was not run. The error is of the run itself: which
// promises are broken the Result says.
func Run(s Scenario, o Options) (*Result, error) {
	server, err := ServerOf("")
	if err != nil {
		return nil, err
	}
	r := &Result{Scenario: s, Server: server, Options: o}
	if s.Upgrades && o.UpgradeTo == "" {
		r.Skipped = "it needs two binaries: -tarantool older,newer"
	} else if s.Needs != nil {
		r.Skipped = s.Needs(server)
	}
	if r.Skipped != "" {
		return r, nil
	}
	others := goleak.IgnoreCurrent()
	t := &Trial{scenario: &s, Server: server, Options: o}
	err = t.run(r)
	t.close()
	if err != nil {
		return nil, fmt.Errorf("%s on %s: %w", s.Name, server, err)
	}
	r.judge()
	if err := goleak.Find(append(ProxyLinks, others)...); err != nil {
		r.broken("goroutines are left after Close: %v", err)
	}
	return r, nil
}

// ProxyLinks are what toxiproxy itself leaves: of a link whose client went away while data
// was on its way, and of a proxy that was stuck.
var ProxyLinks = []goleak.Option{
	ofToxiproxy("/toxics.(*ToxicStub).Run"),
	ofToxiproxy(".(*ToxicLink).read"),
	ofToxiproxy(".(*ToxicLink).write"),
	ofToxiproxy(".(*ToxicLink).AddToxic"),
	ofToxiproxy(".(*ToxicLink).RemoveToxic"),
	ofToxiproxy(".(*ToxicLink).RemoveToxic.func1"),
	ofToxiproxy(".(*ToxicCollection).StartLink"),
	ofToxiproxy(".(*ToxicCollection).AddToxicJson"),
	ofToxiproxy(".(*ToxicCollection).ResetToxics"),
	ofToxiproxy(".(*Proxy).Stop"),
	ofToxiproxy(".(*Proxy).freeBlocker"),
}

func ofToxiproxy(function string) goleak.Option {
	return goleak.IgnoreAnyFunction("github.com/Shopify/toxiproxy/v2" + function)
}

func (t *Trial) run(r *Result) error {
	t.progress("starting a replica set")
	if err := t.start(); err != nil {
		return err
	}
	if err := t.warmUp(); err != nil {
		return err
	}
	if err := t.scenario.Disturb(t); err != nil {
		return err
	}
	t.progress("counting")
	if err := t.load.goesOn(); err != nil {
		r.broken("%v", err)
	}
	for _, l := range t.loads() {
		if err := l.end(); err != nil {
			return err // its workers still run: nothing can be counted
		}
	}
	r.Events, r.Notes, r.Suspects = t.events, t.notes, t.statuses.suspects()
	r.WaitingCPU = t.waitingCPU
	return t.count(r)
}

// start starts the replica set, what is before it, and the loads.
func (t *Trial) start() (err error) {
	if t.Set, err = startSet(t.scenario); err != nil {
		return err
	}
	statement := writeSQL(t.Server)
	if statement == updateSQL {
		if err := prefill(t.Set, writerCount+poolWriters, t.rows()); err != nil {
			return err
		}
	}
	if t.scenario.Prepare != nil {
		if err := t.scenario.Prepare(t); err != nil {
			return err
		}
	}
	if err := inStep(t.Set); err != nil {
		return err
	}
	if err := t.open(); err != nil {
		return err
	}
	if t.scenario.Beside {
		if t.pool, err = newNaivePool(t.Set, statement); err != nil {
			return err
		}
		t.beside = startLoad(t.pool, writerCount, poolWriters, poolReaders, t.Options.Pace, 0)
	}
	d := &database{t.DB, t.reads, statement}
	t.load = startLoad(d, 0, writerCount, readerCount, t.Options.Pace, t.scenario.WriteTimeout)
	return nil
}

// rows is how many rows each writer has for its UPDATEs.
func (t *Trial) rows() int { return max(2000, int(16000*t.Options.Scale)) }

// open opens the handles.
func (t *Trial) open() error {
	params := append([]string{fmt.Sprintf("probe_timeout=%v", t.Options.probe())}, t.scenario.Params...)
	dsn := t.Set.DSN(params...)
	if t.scenario.Proxied {
		for i := range t.Set.Len() {
			p, err := NewProxy(t.Set.Addr(i))
			if err != nil {
				return err
			}
			t.Proxies = append(t.Proxies, p)
			dsn = strings.Replace(dsn, t.Set.Addr(i), p.Addr(), 1)
		}
	}
	cfg, err := tntsql.ParseDSN(dsn)
	if err != nil {
		return err
	}
	cfg.Logger = t.Options.Logger
	cfg.Trace = &tntsql.Trace{Topology: t.statuses.see}
	if t.Connector, err = tntsql.NewConnector(cfg); err != nil {
		return err
	}
	t.DB = sql.OpenDB(t.Connector)
	t.DB.SetMaxIdleConns(writerCount + readerCount)
	t.reads = t.DB
	if n := t.scenario.MaxOpenConns; n > 0 {
		t.DB.SetMaxOpenConns(n)
		t.reads = sql.OpenDB(t.Connector.With(tntsql.Defaults{}))
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	return errors.Join(t.Connector.WaitReady(ctx, tntsql.ModeRW), t.Connector.WaitReady(ctx, tntsql.ModeRO))
}

// warmUp measures the load undisturbed.
func (t *Trial) warmUp() error {
	t.progress("warming up")
	for _, l := range t.loads() {
		if err := l.goesOn(); err != nil {
			return err
		}
	}
	t.before.from = t.load.now()
	t.Rest(2 * time.Second)
	t.before.to = t.load.now()
	for i := range t.Set.Len() {
		if _, err := t.Set.Lua(i, "observer.deaf = 0; observer.writable = {}"); err != nil {
			return err
		}
	}
	t.statuses.begin()
	return nil
}

// loads are those that have been started.
func (t *Trial) loads() (all []*load) {
	for _, l := range []*load{t.load, t.beside} {
		if l != nil {
			all = append(all, l)
		}
	}
	return all
}

// count works out the figures, and looks every write up twice: on the instances
// that the disturbances have left, and again when all are back.
func (t *Trial) count(r *Result) error {
	t.progress("looking every write up on every instance")
	r.Driver = t.figures(t.load)
	if err := inStep(t.Set); err != nil {
		return err
	}
	var err error
	if r.Driver.AtFailover, err = audit(t.Set, t.load.writers); err != nil {
		return err
	}
	if err := t.heal(); err != nil {
		return err
	}
	if r.Driver.AtLast, err = audit(t.Set, t.load.writers); err != nil {
		return err
	}
	if t.beside != nil {
		beside := t.figures(t.beside)
		beside.AtLast, err = audit(t.Set, t.beside.writers)
		r.Pool = &beside
	}
	return err
}

// heal has all instances run again.
func (t *Trial) heal() error {
	up := running(t.Set)
	for i := range t.Set.Len() {
		if !slices.Contains(up, i) {
			if err := t.Set.Restart(i); err != nil {
				return err
			}
		}
	}
	return inStep(t.Set)
}

// close ends everything, also after a run that failed in the middle.
func (t *Trial) close() {
	defer func() {
		for _, l := range t.loads() {
			_ = l.end() // with nothing left to wait for
		}
	}()
	for _, l := range t.loads() {
		l.halt()
	}
	if t.reads != nil && t.reads != t.DB {
		_ = t.reads.Close()
	}
	if t.DB != nil {
		_ = t.DB.Close()
	}
	if t.pool != nil {
		t.pool.close()
	}
	for _, p := range t.Proxies {
		_ = p.Close()
	}
	if t.Set != nil {
		_ = t.Set.Close()
	}
}
