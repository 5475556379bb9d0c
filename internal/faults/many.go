package faults

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tntsql/tntsql"
)

const (
	manyCallersCount = 2_000
	// loadTime is how long the load lasts in the short form.
	loadTime = 8 * time.Second
	// samples are taken in that time, or fewer, as each stops all callers for a moment, but
	// no fewer than fewest.
	samples = 40
	fewest  = 16
	// openTransactions is how many there are at a time. On 3.8 UPDATEs of SQL in
	// transactions are in conflict whatever their rows, so that one of all of them
	// commits at a time, and take the longer the more of them are open, by a third power.
	openTransactions = 8
	// uniqueOneOf is how many of the operations, one of so many, have a text of their own.
	uniqueOneOf = 40
)

// A name of 4 KiB in a text of 12 KiB: as long as the driver remembers them, and the
// text short enough to be prepared.
var (
	uniqueName = strings.Repeat("n", 4<<10)
	uniqueEnd  = strings.Repeat("x", 8<<10)
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
		cfg, err := tntsql.ParseDSN(set.DSN("read_mode=any", "stmt_cache=16"))
		if err != nil {
			return err
		}
		db, connector, err := t.Open(cfg)
		if err != nil {
			return err
		}
		db.SetMaxOpenConns(0)
		if err := ready(connector); err != nil {
			return err
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
		if failed := m.failed.Load(); failed > 0 {
			t.Note("%d operations ran out of time, or failed", failed)
		}
		flat(t, course)
		return nil
	},
}

type many struct {
	trial      *Trial
	gate       sync.RWMutex  // held while there must be no operation
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
				m.attempt(id, n)
			}
		})
	}
	begun := time.Now()
	ticker := time.NewTicker(length / samples)
	for n := 0; len(course) < fewest || time.Since(begun) < length; n++ {
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

// sample waits until no operation goes on, and all that it has begun has ended: what is
// there then beside the callers is kept.
func (m *many) sample(begun time.Time) Sample {
	m.gate.Lock()
	defer m.gate.Unlock()
	settle(runtime.NumGoroutine)
	runtime.GC()
	runtime.GC() // what is in a sync.Pool outlives one
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return Sample{
		At: time.Since(begun), Goroutines: runtime.NumGoroutine(), Files: openFiles(),
		Heap: stats.HeapAlloc, Operations: m.operations.Load(),
	}
}

// settle waits until a number does not fall any more.
func settle(count func() int) {
	const quiet, most = 3, 100 // looks
	lowest := count()
	for still, looks := 0, 0; still < quiet && looks < most; looks++ {
		time.Sleep(time.Millisecond)
		if n := count(); n < lowest {
			lowest, still = n, 0
		} else {
			still++
		}
	}
}

// attempt makes an operation. On a machine that others use, too, one may run out of time,
// which is no matter of what is kept.
func (m *many) attempt(id, n int) {
	m.gate.RLock()
	defer m.gate.RUnlock()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	m.operations.Add(1)
	err := m.operation(ctx, id, n)
	if err == nil {
		return
	}
	m.failed.Add(1)
	m.trial.Options.Heard.Error(err)
	if ctx.Err() == nil && !errors.Is(err, tntsql.ErrNoInstance) {
		m.trial.Violation(StaysFlat, "an operation failed: %v", err)
	}
}

// operation is one of a caller, who has a row of its own.
func (m *many) operation(ctx context.Context, id, n int) error {
	switch kind := n % 20; {
	case kind == 0:
		_, err := m.db.ExecContext(ctx, "UPDATE M SET N = ? WHERE ID = ?", n, id)
		return err
	case kind == 1:
		var got int
		reply, err := tntsql.Eval(ctx, m.db, tntsql.ModeAny, "return ...", id)
		if err == nil {
			err = reply.Decode(&got)
		}
		if err == nil && got != id {
			err = fmt.Errorf("the answer of caller %d for caller %d", got, id)
		}
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
	case n%uniqueOneOf == 4:
		return m.unique(ctx, id, n)
	}
	var got int
	err := m.db.QueryRowContext(ctx, "SELECT ID FROM M WHERE ID = ?", id).Scan(&got)
	if err == nil && got != id {
		err = fmt.Errorf("the row of caller %d for caller %d", got, id)
	}
	return err
}

// unique has a text, and a name of a column, that no other operation has: what is
// remembered of them must not add up. They are so long that a cache is full before the
// first sample that counts.
func (m *many) unique(ctx context.Context, id, n int) error {
	name := fmt.Sprintf("%d_%d_%s", id, n, uniqueName)
	stmt, err := m.db.PrepareContext(ctx, fmt.Sprintf(`SELECT ID AS "%s" FROM M WHERE ID = ? -- %s`, name, uniqueEnd))
	if err != nil {
		return err
	}
	defer func() { _ = stmt.Close() }()
	for range 2 { // a connection prepares what comes twice
		rows, err := stmt.QueryContext(ctx, id)
		if err != nil {
			return err
		}
		columns, err := rows.Columns()
		if err == nil && columns[0] != name {
			err = fmt.Errorf("another query's columns: %.40s", columns[0])
		}
		if err := errors.Join(err, rows.Close()); err != nil {
			return err
		}
	}
	return nil
}

// flat compares the lowest figures of the second quarter of a course and of the last: what
// is kept for good raises them, and what comes and goes does not.
func flat(t *Trial, course []Sample) {
	for _, figure := range []struct {
		what  string
		of    func(Sample) int
		slack int // that a figure may grow by
	}{
		{"goroutines", func(s Sample) int { return s.Goroutines }, 10},
		{"file descriptors", func(s Sample) int { return s.Files }, 2},
		{"KiB of heap", func(s Sample) int { return int(s.Heap >> 10) }, 1 << 10},
	} {
		quarter := len(course) / 4
		early, late := lowest(course[quarter:2*quarter], figure.of), lowest(course[3*quarter:], figure.of)
		t.Note("%s: %d, at the end %d", figure.what, early, late)
		if late > early+figure.slack {
			t.Violation(StaysFlat, "%s grow: from %d to %d in %d operations", figure.what, early, late,
				course[len(course)-1].Operations-course[quarter].Operations)
		}
	}
}

func lowest(course []Sample, of func(Sample) int) int {
	least := of(course[0])
	for _, s := range course {
		least = min(least, of(s))
	}
	return least
}
