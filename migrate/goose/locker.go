package tntgoose

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/pressly/goose/v3/lock"

	"github.com/tntsql/tntsql/migrate/internal/lease"
)

const (
	// lockTerm is how long a process that has died holds up the others.
	lockTerm  = 30 * time.Second
	lockTable = lock.DefaultLockTableName
)

// NewLocker returns a Locker for goose.WithLocker, by which one process at a time
// migrates. The lock is a row of the table goose_lock. Lock waits until its
// context ends. A process that is killed, or does not reach the master any more,
// loses the lock after 30 seconds; the clocks of the machines need not agree.
//
// The lock needs a connection of its own: a handle with SetMaxOpenConns(1) is an
// error.
func NewLocker() lock.Locker { return &locker{} }

type locker struct {
	mu   sync.Mutex
	held *lease.Lease
}

func (l *locker) Lock(ctx context.Context, db *sql.DB) error {
	held, err := lease.Acquire(ctx, db, lockTable, lockTerm)
	if err != nil {
		return fmt.Errorf("tntgoose: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held = held
	return nil
}

func (l *locker) Unlock(ctx context.Context, _ *sql.DB) error {
	l.mu.Lock()
	held := l.held
	l.held = nil
	l.mu.Unlock()
	if held == nil {
		return errors.New("tntgoose: Unlock without Lock")
	}
	if err := held.Release(ctx); err != nil {
		return fmt.Errorf("tntgoose: %w", err)
	}
	return nil
}
