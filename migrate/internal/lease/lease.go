// Package lease lets one of several processes do something: who has inserted a
// row. It is for the modules below migrate, older releases of which must build
// with it.
//
// The holder changes its row again and again. One who waits takes the row away
// when it has seen it unchanged for the whole term, by its own clock: so the
// clocks of the machines need not agree, and a holder that has died holds up
// the others for no longer than that.
package lease

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/tntsql/tntsql"
	"github.com/tntsql/tntsql/migrate/internal/ident"
)

// ErrLost is returned by Release if another process has taken the lease.
var ErrLost = errors.New("the lock was lost: this process was out of reach for longer than the lock lasts, " +
	"and another one has taken it; both may have migrated at once")

// HeldError tells who holds the lease that Acquire has waited for.
type HeldError struct {
	By  string // empty if that is not known
	Err error  // that of the context
}

func (e *HeldError) Error() string {
	if e.By == "" {
		return fmt.Sprintf("the lock could not be had: %v", e.Err)
	}
	return fmt.Sprintf("the lock is held by %s: %v", e.By, e.Err)
}

func (e *HeldError) Unwrap() error { return e.Err }

// A Lease is held from Acquire to Release.
type Lease struct {
	table
	owner string
	stop  chan struct{} // closed to end the beats
	ended chan struct{} // closed when they have ended
}

// Acquire waits for the lease of the table called name, which it makes if there
// is none, until ctx ends. The term must be much longer than what a statement
// takes.
func Acquire(ctx context.Context, db *sql.DB, name string, term time.Duration) (*Lease, error) {
	if db.Stats().MaxOpenConnections == 1 {
		return nil, errors.New("the lock needs a second connection, beside the one that migrates: " +
			"raise SetMaxOpenConns, of which tntsql opens no more sockets")
	}
	l := &Lease{
		table: table{db: db, name: ident.Quote(name)},
		owner: newOwner(),
		stop:  make(chan struct{}),
		ended: make(chan struct{}),
	}
	if err := l.create(ctx); err != nil {
		return nil, fmt.Errorf("create the table of the lock: %w", err)
	}
	if err := l.wait(ctx, term); err != nil {
		return nil, err
	}
	go l.keep(context.WithoutCancel(ctx), beatEvery(term))
	return l, nil
}

// newOwner names this process for people, and this lease for the table.
func newOwner() string {
	host, err := os.Hostname()
	if err != nil {
		host = "?"
	}
	return fmt.Sprintf("%s, pid %d, %s", host, os.Getpid(), rand.Text())
}

// Within a term a holder beats six times, and one who waits looks thirty times.
func beatEvery(term time.Duration) time.Duration { return term / 6 }
func lookEvery(term time.Duration) time.Duration { return term / 30 }

// wait returns when the row is this lease's.
func (l *Lease) wait(ctx context.Context, term time.Duration) error {
	var last row
	var since time.Time // last is what the table has held since then
	tick := time.NewTicker(lookEvery(term))
	defer tick.Stop()
	for {
		start := time.Now()
		now, err := l.try(ctx)
		switch {
		case ctx.Err() != nil:
			return &HeldError{By: last.owner, Err: ctx.Err()}
		case isPassing(err):
			last = row{}
		case err != nil:
			return err
		case now.owner == l.owner:
			return nil
		case now == row{}, now != last, time.Since(start) > beatEvery(term):
			// A server that is slow to answer this process, in a change of master
			// for instance, may not have answered the holder either.
			last, since = now, time.Now()
		case time.Since(since) >= term:
			if err := l.remove(ctx, now); err != nil && !isPassing(err) {
				return err
			}
			continue
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// try inserts the row if there is none, and returns what is there now as far as
// is known. It looks first: an INSERT that is under way when ctx ends may be run
// later, when the lease is free, and would hold it up for a term.
func (l *Lease) try(ctx context.Context) (row, error) {
	now, err := l.read(ctx)
	if err != nil || now != (row{}) {
		return now, err
	}
	mine := row{owner: l.owner}
	inserted, err := l.insert(ctx, mine)
	if inserted {
		now = mine
	}
	return now, err
}

// isPassing tells of errors after which another look shows what there is: DDL of
// the one who migrates aborts others, where memtx_use_mvcc_engine is on.
func isPassing(err error) bool {
	return tntsql.IsRetryable(err) || errors.Is(err, tntsql.ErrOutcomeUnknown)
}

// keep beats until Release. Whether the row is still there is for that to tell:
// nobody could be told before. No beat is given up, since it would still be under
// way when Release deletes the row.
func (l *Lease) keep(ctx context.Context, every time.Duration) {
	defer close(l.ended)
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-l.stop:
			return
		case <-tick.C:
			_ = l.beat(ctx, l.owner) // the next one follows soon
		}
	}
}

// Release gives the lease back. It must be called once. If it fails otherwise
// than by ErrLost, others get the lease when its term is over.
func (l *Lease) Release(ctx context.Context) error {
	close(l.stop)
	<-l.ended
	return l.removeOf(ctx, l.owner)
}
