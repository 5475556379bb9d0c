package demo

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tntsql/tntsql"
)

// write is one write that a server acknowledged.
type write struct {
	at       time.Duration // since the start
	took     time.Duration
	attempts int
	address  string // of the instance
}

// counter is one writer's: it adds 1 to the row of its id, again and again. So
// the row tells whether an acknowledged write was lost, or applied twice.
type counter struct {
	id      int
	writes  []write
	unknown int // writes that may or may not have been applied
	failed  int // writes that were not
	err     error
}

const addOne = "UPDATE counter SET n = n + 1 WHERE id = ?"

// run writes until it is stopped, or until the context ends.
func (c *counter) run(ctx context.Context, db *sql.DB, start time.Time, stopped *atomic.Bool) {
	for !stopped.Load() && ctx.Err() == nil {
		ctx, info := tntsql.Capture(ctx)
		_, err := db.ExecContext(ctx, addOne, c.id)
		switch {
		case err == nil:
			c.writes = append(c.writes, write{time.Since(start), info.Duration, info.Attempts, info.Instance.Address})
		case errors.Is(err, tntsql.ErrOutcomeUnknown):
			c.unknown++
			c.err = err
		default:
			c.failed++
			c.err = err
		}
	}
}

// writers are counters that run at once.
type writers struct {
	counters []*counter
	start    time.Time
	stopped  atomic.Bool
	running  sync.WaitGroup
}

func startWriters(ctx context.Context, db *sql.DB, n int) *writers {
	w := &writers{start: time.Now()}
	for id := range n {
		c := &counter{id: id}
		w.counters = append(w.counters, c)
		w.running.Go(func() { c.run(ctx, db, w.start, &w.stopped) })
	}
	return w
}

// stop waits until the write of each writer that is under way has ended.
func (w *writers) stop() {
	w.stopped.Store(true)
	w.running.Wait()
}

// acknowledged are the writes of all, in the order of their acknowledgement.
func (w *writers) acknowledged() []write {
	var all []write
	for _, c := range w.counters {
		all = append(all, c.writes...)
	}
	slices.SortFunc(all, func(a, b write) int { return int(a.at - b.at) })
	return all
}

// err is the last error of one of the writers that had any.
func (w *writers) err() error {
	for _, c := range w.counters {
		if c.err != nil {
			return c.err
		}
	}
	return nil
}

// handover is the time between the last acknowledgement of the first master and the
// first of the next. It is false if there was no next.
func handover(all []write) (time.Duration, bool) {
	for i := range len(all) - 1 {
		if all[i].address != all[i+1].address {
			return all[i+1].at - all[i].at, true
		}
	}
	return 0, false
}

// byMaster splits the writes by the instance that served them, in the order in which
// these took over.
func byMaster(all []write) [][]write {
	var groups [][]write
	for _, x := range all {
		i := slices.IndexFunc(groups, func(g []write) bool { return g[0].address == x.address })
		if i < 0 {
			i = len(groups)
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], x)
	}
	return groups
}

// timeline draws how many writes were acknowledged in each of the columns that
// follow one another from a time on: a bar each, and a space where there were none.
func timeline(all []write, from, column time.Duration, columns int) string {
	counts := make([]int, columns)
	for _, x := range all {
		if i := int((x.at - from) / column); x.at >= from && i < columns {
			counts[i]++
		}
	}
	bars := []rune("▁▂▃▄▅▆▇█")
	most := slices.Max(counts)
	var b strings.Builder
	for _, n := range counts {
		if n == 0 {
			b.WriteByte(' ')
			continue
		}
		b.WriteRune(bars[(n*len(bars)-1)/most])
	}
	return b.String()
}
