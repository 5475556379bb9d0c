package faults

import (
	"context"
	"database/sql"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tntsql/tntsql"
)

const (
	manyCallersCount = 2_000
	// loadTime is how long the load lasts in the short form.
	loadTime = 8 * time.Second
	samples  = 120
	// openTransactions is how many there are at a time. On 3.8 UPDATEs of SQL in
	// transactions are in conflict whatever their rows, so that one of all of them
	// commits at a time, and take the longer the more of them are open, by a third power.
	openTransactions = 8
)

// Sample is what the process has at a moment.
type Sample struct {
	At                time.Duration
	Goroutines, Files int
	Heap              uint64 // bytes that are alive after a collection
	Operations        int64  // so far
}

var manyCallers = Scenario{
	Name:     "many-callers",
	What:     "2,000 goroutines with SetMaxOpenConns(0) read, write, call and begin transactions",
	Promises: []Promise{StaysFlat, LeavesNone},
	Run: func(t *Trial) error {
		set, err := t.Start()
		if err != nil {
			return err
		}
		if _, err := set.Lua(0, `
			box.execute('CREATE TABLE M (ID INTEGER PRIMARY KEY, N INTEGER)')
			for id = 0, ... - 1 do box.space.M:insert{id, 0} end`, manyCallersCount); err != nil {
			return err
		}
		cfg, err := tntsql.ParseDSN(set.DSN("read_mode=any"))
		if err != nil {
			return err
		}
		db, connector, err := t.Open(cfg)
		if err != nil {
			return err
		}
		db.SetMaxOpenConns(0)
		for _, mode := range []tntsql.Mode{tntsql.ModeRW, tntsql.ModeRO} {
			if err := connector.WaitReady(context.Background(), mode); err != nil {
				return err
			}
		}
		length := t.Options.scaled(loadTime)
		if t.Options.Load > 0 {
			length = t.Options.Load
		}
		m := &many{trial: t, db: db, streams: t.Server.AtLeast(2, 10), stop: make(chan struct{}), begun: make(chan struct{}, openTransactions)}
		course := m.run(length)
		t.result.Course = course
		t.Count(int(m.operations.Load()), 0)
		t.result.Errors = int(m.failed.Load())
		last := course[len(course)-1]
		t.Note("for %v, %.0f operations a second", length, float64(last.Operations)/last.At.Seconds())
		flat(t, course)
		return nil
	},
}

type many struct {
	trial      *Trial
	begun      chan struct{} // transactions
	db         *sql.DB
	streams    bool
	stop       chan struct{}
	operations atomic.Int64
	failed     atomic.Int64
}

func (m *many) run(length time.Duration) (course []Sample) {
	var callers sync.WaitGroup
	for id := range manyCallersCount {
		r := rand.New(rand.NewPCG(m.trial.Options.Seed, uint64(id)))
		callers.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-m.stop:
					return
				case <-time.After(time.Duration(r.Int64N(int64(100 * time.Millisecond)))):
				}
				if err := m.operation(id, n); err != nil {
					m.failed.Add(1)
					m.trial.Options.Heard.Error(err)
					m.trial.Violation(StaysFlat, "an operation failed: %v", err)
				}
				m.operations.Add(1)
			}
		})
	}
	begun := time.Now()
	ticker := time.NewTicker(length / samples)
	for n := range samples {
		<-ticker.C
		s := m.sample(begun)
		course = append(course, s)
		if n%(samples/10) == 0 {
			m.trial.Options.progress("%v of %v: %d operations, %d goroutines, %d file descriptors, %d KiB of heap",
				s.At.Round(time.Second), length, s.Operations, s.Goroutines, s.Files, s.Heap>>10)
		}
	}
	ticker.Stop()
	close(m.stop)
	callers.Wait()
	return course
}

func (m *many) sample(begun time.Time) Sample {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return Sample{
		At: time.Since(begun), Goroutines: runtime.NumGoroutine(), Files: openFiles(),
		Heap: stats.HeapAlloc, Operations: m.operations.Load(),
	}
}

// operation is one of a caller, who has a row of its own.
func (m *many) operation(id, n int) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	switch kind := n % 20; {
	case kind == 0:
		_, err := m.db.ExecContext(ctx, "UPDATE M SET N = ? WHERE ID = ?", n, id)
		return err
	case kind == 1:
		_, err := tntsql.Eval(ctx, m.db, tntsql.ModeAny, "return ...", n)
		return err
	case kind == 2 && m.streams:
		m.begun <- struct{}{}
		defer func() { <-m.begun }()
		return tntsql.RunTx(ctx, m.db, func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, "UPDATE M SET N = ? WHERE ID = ?", n, id)
			return err
		})
	case kind == 3:
		rows, err := m.db.QueryContext(ctx, "SELECT ID, N FROM M WHERE ID >= ? AND ID < ?", id, id+50)
		if err != nil {
			return err
		}
		rows.Next() // the rest of the rows is given up
		return rows.Close()
	}
	return m.db.QueryRowContext(ctx, "SELECT N FROM M WHERE ID = ?", id).Scan(new(int))
}

// flat compares the medians of the second quarter of a course and of the last.
func flat(t *Trial, course []Sample) {
	for _, figure := range []struct {
		what  string
		of    func(Sample) int
		slack int // that a figure may grow by, beside a tenth
	}{
		{"goroutines", func(s Sample) int { return s.Goroutines }, 50},
		{"file descriptors", func(s Sample) int { return s.Files }, 8},
		{"KiB of heap", func(s Sample) int { return int(s.Heap >> 10) }, 4 << 10},
	} {
		quarter := len(course) / 4
		early, late := median(course[quarter:2*quarter], figure.of), median(course[3*quarter:], figure.of)
		t.Note("%s: %d, at the end %d", figure.what, early, late)
		if late > early+early/10+figure.slack {
			t.Violation(StaysFlat, "%s grow: from %d to %d", figure.what, early, late)
		}
	}
}

func median(course []Sample, of func(Sample) int) int {
	values := make([]int, len(course))
	for i, s := range course {
		values[i] = of(s)
	}
	slices.Sort(values)
	return values[len(values)/2]
}
