package faults

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tntsql/tntsql"
	"github.com/tntsql/tntsql/internal/failover"
	"github.com/tntsql/tntsql/internal/faults/history"
)

// group is a part of a load that is checked by itself.
type group int

const (
	logged  group = iota // INSERTs, each with an id of its own
	counted              // UPDATEs of counters that all share
	own                  // sessions, each with a register of its own
	ordered              // linearizable transactions on shared registers
	groups
)

var groupNames = [groups]string{"inserts", "counters", "sessions", "transactions"}

func (g group) String() string { return groupNames[g] }

// workers is how many each group has.
var workers = [groups]int{logged: 12, counted: 4, own: 8, ordered: 6}

const (
	// opTimeout is the deadline of most operations; some have a much shorter one.
	opTimeout = 5 * time.Second
	// registerTime is how long the linearizable registers are used before others are:
	// the history of each must be short enough to be checked.
	registerTime = 250 * time.Millisecond
	// readBack is for how long those that were used before are read: longer than an
	// election takes.
	readBack = 5 * time.Second
	// registers is how many are used at a time.
	registers = 2
	// linearizableTimeout is for the check of one register.
	linearizableTimeout = 20 * time.Second
	// pace is how long a worker rests after each operation.
	pace = 3 * time.Millisecond
)

// load is workers of all groups on one handle, and what they saw.
type load struct {
	c       *Cluster
	began   time.Time
	stop    chan struct{}
	ending  sync.Once
	running sync.WaitGroup
	workers []*worker
	values  atomic.Int64 // the last that was written

	acknowledged [groups]atomic.Int64
	injected     []injection // one after the other

	mu    sync.Mutex
	lossy []history.Span
}

// worker makes one operation after the other, which are its own until the load has ended.
type worker struct {
	number int
	group  group
	rand   *rand.Rand
	ops    []history.Op
	errors map[string]int
	// replicas is how many of its reads they have served.
	replicas int
}

// start starts a load. Its operations have values that no earlier one had.
func (c *Cluster) start() {
	l := &load{c: c, began: time.Now(), stop: make(chan struct{})}
	l.values.Store(c.values)
	for g, n := range workers {
		if group(g) == ordered && !(c.synchronous && c.elects) {
			continue
		}
		for range n {
			w := &worker{number: len(l.workers), group: group(g), errors: make(map[string]int)}
			w.rand = rand.New(rand.NewPCG(c.trial.Options.Seed, uint64(w.number)))
			l.workers = append(l.workers, w)
			l.running.Go(func() { l.work(w) })
		}
	}
	c.load = l
}

func (l *load) work(w *worker) {
	steps := [groups]func(*worker){logged: l.insert, counted: l.add, own: l.session(), ordered: l.transaction}
	for {
		select {
		case <-l.stop:
			return
		case <-time.After(pace):
		}
		steps[w.group](w)
	}
}

// do makes an operation, which may set its value.
func (l *load) do(ctx context.Context, w *worker, op history.Op, f func(ctx context.Context, op *history.Op) error) {
	ctx, info := tntsql.Capture(ctx)
	op.Session, op.Begun = w.number, time.Since(l.began)
	err := f(ctx, &op)
	if op.Kind == history.Read && info.Instance.Role == tntsql.ModeRO.String() {
		w.replicas++
	}
	op.Ended, op.Instance = time.Since(l.began), info.Instance.Address
	if err == nil {
		l.acknowledged[w.group].Add(1)
	} else {
		op.Outcome = history.Failed
		if errors.Is(err, tntsql.ErrOutcomeUnknown) {
			op.Outcome = history.Unknown
		}
		w.errors[kindOf(err)]++
		l.c.trial.Options.Heard.Error(err)
	}
	w.ops = append(w.ops, op)
}

func kindOf(err error) string {
	var refused *tntsql.Error
	switch {
	case errors.Is(err, tntsql.ErrOutcomeUnknown):
		return "outcome unknown"
	case errors.Is(err, context.DeadlineExceeded):
		return "deadline"
	case errors.Is(err, tntsql.ErrNoInstance):
		return "no instance"
	case errors.As(err, &refused):
		return refused.Name
	case errors.Is(err, errNoRow):
		return "no row"
	}
	return "connection"
}

// insert stores a row for each time that it is applied: whatever instances do so, and
// whatever they replicate to each other, none of the rows hides another.
func (l *load) insert(w *worker) {
	l.do(context.Background(), w, history.Op{Kind: history.Insert, Key: l.values.Add(1)}, func(ctx context.Context, op *history.Op) error {
		return l.change(ctx, w, "INSERT INTO LOG (ID, OP) VALUES (UNIQUE_ID(), ?)", op.Key)
	})
}

func (l *load) add(w *worker) {
	l.do(context.Background(), w, history.Op{Kind: history.Add, Key: w.rand.Int64N(counterCount)}, func(ctx context.Context, op *history.Op) error {
		return l.change(ctx, w, "UPDATE K SET N = N + 1 WHERE ID = ?", op.Key)
	})
}

// session writes a register and reads it back, in one session of the driver: at once, when
// only the master is known to have what was written, and sometimes for so long that
// replicas serve the reads.
func (l *load) session() func(*worker) {
	const (
		few, many = 4, 40
		between   = 5 * time.Millisecond
		patient   = 3 // one of so many
	)
	ctx := tntsql.WithSession(context.Background())
	return func(w *worker) {
		ctx, cancel := context.WithTimeout(ctx, opTimeout)
		defer cancel()
		key := int64(w.number)
		l.do(ctx, w, history.Op{Kind: history.Write, Key: key, Value: l.values.Add(1)}, func(ctx context.Context, op *history.Op) error {
			return l.change(ctx, w, "UPDATE REG SET V = ? WHERE ID = ?", op.Value, op.Key)
		})
		reads := few
		if w.rand.IntN(patient) == 0 {
			reads = many
		}
		for n := range reads {
			if n >= few {
				time.Sleep(between)
			}
			l.do(ctx, w, history.Op{Kind: history.Read, Key: key}, func(ctx context.Context, op *history.Op) error {
				return l.read(ctx, l.c.DB, op)
			})
		}
	}
}

// onOthers is how many reads of sessions there are, and how many of them another instance
// answered than the one that took the session's last write.
func (l *load) onOthers() (others, reads int) {
	for _, w := range l.workers {
		var written string
		for _, op := range w.ops {
			switch {
			case w.group != own || op.Outcome != history.Done:
			case op.Kind == history.Write:
				written = op.Instance
			default:
				reads++
				if op.Instance != written {
					others++
				}
			}
		}
	}
	return others, reads
}

type queryer interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// read reads a register.
func (l *load) read(ctx context.Context, on queryer, op *history.Op) error {
	return on.QueryRowContext(ctx, "SELECT V FROM REG WHERE ID = ?", op.Key).Scan(&op.Value)
}

// transaction reads or writes a register of the moment, or reads one that was written
// before: by a leader that was lost meanwhile, perhaps.
func (l *load) transaction(w *worker) {
	ctx, cancel := context.WithTimeout(tntsql.WithMode(context.Background(), tntsql.ModeRW), opTimeout)
	defer cancel()
	turn := int64(time.Since(l.began) / registerTime)
	op := history.Op{Kind: history.Read}
	switch w.rand.IntN(4) {
	case 0, 1:
		op.Kind, op.Value = history.Write, l.values.Add(1)
	case 2:
		turn = max(0, turn-w.rand.Int64N(int64(readBack/registerTime)))
	}
	op.Key = firstShared + (turn*registers+w.rand.Int64N(registers))%(registerCount-firstShared)
	l.do(ctx, w, op, func(ctx context.Context, op *history.Op) error {
		tx, err := l.c.DB.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelLinearizable})
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback() }() // after Commit it does nothing
		if op.Kind == history.Write {
			err = one(tx.ExecContext(ctx, "UPDATE REG SET V = ? WHERE ID = ?", op.Value, op.Key))
		} else {
			err = l.read(ctx, tx, op)
		}
		if err != nil {
			return err
		}
		return tx.Commit()
	})
}

// mayLose marks the time until end is called as one in which asynchronous spaces may lose
// acknowledged writes, or in which former ones come back over later ones.
func (l *load) mayLose() (end func()) {
	from := time.Since(l.began)
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.lossy = append(l.lossy, history.Span{From: from, To: time.Since(l.began)})
	}
}

var errStuck = errors.New("the load does not go on")

// goesOn waits until each group has some more acknowledged operations.
func (l *load) goesOn() error {
	want := make(map[group]int64)
	for _, w := range l.workers {
		want[w.group] = l.acknowledged[w.group].Load() + int64(workers[w.group])
	}
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		for g, n := range want {
			if l.acknowledged[g].Load() >= n {
				delete(want, g)
			}
		}
		if len(want) == 0 {
			return nil
		}
	}
	return fmt.Errorf("%w after %v: groups %v", errStuck, patience, slices.Sorted(maps.Keys(want)))
}

// end stops the load and waits for its last operations.
func (l *load) end() error {
	l.ending.Do(func() { close(l.stop) })
	if !failover.Ended(&l.running, patience) {
		return fmt.Errorf("operations have no answer %v after the end of the load", patience)
	}
	return nil
}

// history is what each group saw.
func (l *load) history() (ops [groups][]history.Op) {
	for _, w := range l.workers {
		ops[w.group] = append(ops[w.group], w.ops...)
	}
	return ops
}
