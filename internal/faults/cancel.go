package faults

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tntsql/tntsql"
	"github.com/tntsql/tntsql/tarantooltest"
)

const (
	cancelled     = 10_000               // queries
	cancelCallers = 64                   // at a time
	shortDeadline = 5 * time.Millisecond // at most
	longSleep     = 500 * time.Millisecond
	window        = 250 * time.Millisecond // in which the speed is measured
	windows       = 3                      // at least
	mostWindows   = 30
	fullSpeed     = 0.9 // of a new handle's
)

var cancellation = Scenario{
	Name:     "cancellation",
	What:     "10,000 queries with random deadlines of 0 to 5 ms, many of which take as long; then full speed with the same connections",
	Promises: []Promise{Cancels, LeavesNone},
	Run: func(t *Trial) error {
		set, err := t.Start(tarantooltest.InitLua(sleeperLua))
		if err != nil {
			return err
		}
		cfg, err := tntsql.ParseDSN(set.DSN())
		if err != nil {
			return err
		}
		d := newDials()
		cfg.Dial = d.dial
		db, connector, err := t.Open(cfg)
		if err != nil {
			return err
		}
		db.SetMaxIdleConns(cancelCallers)
		if err := connector.WaitReady(context.Background(), tntsql.ModeRW); err != nil {
			return err
		}
		before, err := speed(db)
		if err != nil {
			return err
		}
		_, closed := d.count()
		c := &cancelling{trial: t, db: db, cfg: cfg}
		c.run()
		c.leavesAtOnce()
		t.Count(cancelled, int(c.ended.Load()))
		t.Note("%d of %d queries were ended by their deadline, the slowest %v after it", c.ended.Load(), cancelled, time.Duration(c.late.Load()).Round(time.Millisecond))
		if err := c.answered(connector); err != nil {
			return err
		}
		if err := c.goesOn(before); err != nil {
			return err
		}
		err = t.hasAllRoom(Cancels, connector, set.Len()*cfg.MaxInFlight)
		sameConnections(t, d, closed)
		return err
	},
}

// sleeperLua is a function for SQL and for calls that takes milliseconds.
const sleeperLua = `
	rawset(_G, 'sleeper', function(ms) require('fiber').sleep(ms / 1000) return ms end)
	if not box.info.ro then
		box.schema.func.create('SLEEPER', {
			language = 'LUA', returns = 'integer', param_list = {'integer'}, exports = {'LUA', 'SQL'}, is_deterministic = false,
			if_not_exists = true,
			body = "function(ms) require('fiber').sleep(ms / 1000) return ms end",
		})
	end`

type cancelling struct {
	trial *Trial
	db    *sql.DB
	cfg   *tntsql.Config
	ended atomic.Int64
	late  atomic.Int64 // the longest time from a deadline to the return
}

func (c *cancelling) run() {
	var callers sync.WaitGroup
	for n := range cancelCallers {
		r := rand.New(rand.NewPCG(c.trial.Options.Seed, uint64(n)))
		callers.Go(func() {
			for range (cancelled + n) / cancelCallers {
				c.query(r)
			}
		})
	}
	callers.Wait()
}

func (c *cancelling) query(r *rand.Rand) {
	end := time.Now().Add(time.Duration(r.Int64N(int64(shortDeadline))))
	ctx, cancel := context.WithDeadline(context.Background(), end)
	defer cancel()
	var (
		want, have = r.IntN(5), -1
		err        error
	)
	switch r.IntN(4) {
	case 0:
		err = c.db.QueryRowContext(ctx, "SELECT ?", want).Scan(&have)
	case 1:
		err = c.db.QueryRowContext(ctx, "SELECT SLEEPER(?)", want).Scan(&have)
	case 2:
		have, err = sleep(ctx, c.db, want)
	default:
		err = c.db.QueryRowContext(ctx, "SELECT ? || ?", "", fmt.Sprint(want)).Scan(&have)
	}
	if err == nil {
		if have != want {
			c.trial.Violation(Cancels, "a query has another's answer, perhaps that of a cancelled one: %d where %d is right", have, want)
		}
		return
	}
	c.trial.Options.Heard.Error(err)
	if !errors.Is(err, context.DeadlineExceeded) {
		c.trial.Violation(Cancels, "a query with a deadline ended with another error: %v", err)
	}
	c.ended.Add(1)
	for late := int64(time.Since(end)); ; {
		longest := c.late.Load()
		if late <= longest || c.late.CompareAndSwap(longest, late) {
			return
		}
	}
}

// sleep calls sleeper, which gives back how long it was to sleep.
func sleep(ctx context.Context, db *sql.DB, ms int) (slept int, err error) {
	reply, err := tntsql.Call(ctx, db, tntsql.ModeAny, "sleeper", ms)
	if err == nil {
		err = reply.Decode(&slept)
	}
	return slept, err
}

// leavesAtOnce has queries that take much longer than their deadlines.
func (c *cancelling) leavesAtOnce() {
	for name, query := range map[string]func(context.Context) error{
		"query": func(ctx context.Context) error {
			return c.db.QueryRowContext(ctx, "SELECT SLEEPER(?)", longSleep.Milliseconds()).Scan(new(int))
		},
		"call": func(ctx context.Context) error {
			_, err := sleep(ctx, c.db, int(longSleep.Milliseconds()))
			return err
		},
	} {
		ctx, cancel := context.WithTimeout(context.Background(), shortDeadline)
		begun := time.Now()
		err := query(ctx)
		cancel()
		c.trial.Count(1, 1)
		if took := time.Since(begun); took > longSleep/2 {
			c.trial.Violation(Cancels, "a %s with a deadline of %v returned after %v: %v", name, shortDeadline, took, err)
		}
	}
}

// answered waits until the servers have answered everything.
func (c *cancelling) answered(connector *tntsql.Connector) error {
	for end := time.Now().Add(patience); inFlight(connector) > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			return fmt.Errorf("%d requests have no answer", inFlight(connector))
		}
	}
	return nil
}

// goesOn compares the handle with a new one, which tells its speed from that of the
// machine: a window of the one after a window of the other, until their medians agree.
func (c *cancelling) goesOn(before float64) error {
	cfg := c.cfg.Clone()
	cfg.Dial = nil
	other, _, err := c.trial.Open(cfg)
	if err != nil {
		return err
	}
	other.SetMaxIdleConns(cancelCallers)
	var same, fresh []float64
	for len(same) < mostWindows && (len(same) < windows || middle(same) < fullSpeed*middle(fresh)) {
		for _, handle := range []struct {
			db     *sql.DB
			speeds *[]float64
		}{{other, &fresh}, {c.db, &same}} {
			n, err := speed(handle.db)
			if err != nil {
				return err
			}
			*handle.speeds = append(*handle.speeds, n)
		}
	}
	c.trial.Note("%.0f queries a second before, %.0f after, and %.0f by a new handle", before, middle(same), middle(fresh))
	if middle(same) < fullSpeed*middle(fresh) {
		c.trial.Violation(Cancels, "%.0f queries a second after the cancellations, %.0f by a new handle", middle(same), middle(fresh))
	}
	return nil
}

func middle(speeds []float64) float64 {
	speeds = slices.Sorted(slices.Values(speeds))
	return speeds[len(speeds)/2]
}

func inFlight(connector *tntsql.Connector) (n int) {
	for _, in := range connector.Topology().Instances {
		n += in.InFlight
	}
	return n
}

func sameConnections(t *Trial, d *dials, before int) {
	made, closed := d.count()
	t.Note("%d connections were made in all, and %d closed", made, closed)
	if closed != before {
		t.Violation(Cancels, "cancellations closed %d connections", closed-before)
	}
}

// speed is how many queries there are in a second.
func speed(db *sql.DB) (float64, error) {
	var (
		callers sync.WaitGroup
		count   atomic.Int64
		failed  atomic.Pointer[error]
		begun   = time.Now()
	)
	for range cancelCallers {
		callers.Go(func() {
			for time.Since(begun) < window {
				if err := db.QueryRow("SELECT 1").Scan(new(int)); err != nil {
					failed.Store(&err)
					return
				}
				count.Add(1)
			}
		})
	}
	callers.Wait()
	if err := failed.Load(); err != nil {
		return 0, *err
	}
	return float64(count.Load()) / time.Since(begun).Seconds(), nil
}
