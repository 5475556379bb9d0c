package tntsql

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"time"
)

// TxOption changes what RunTx and Retry do.
type TxOption func(*attempts)

// attempts is a loop of RunTx or Retry.
type attempts struct {
	tx       *sql.TxOptions
	most     int
	min, max time.Duration
}

// TxOptions are those of the transactions that RunTx begins.
func TxOptions(o *sql.TxOptions) TxOption { return func(a *attempts) { a.tx = o } }

// MaxAttempts is how often the function is called at most: 50 if it is not set.
// With 1 or less it is called once.
func MaxAttempts(n int) TxOption { return func(a *attempts) { a.most = n } }

// Backoff is the longest pause before the second attempt, and what that grows to,
// doubling: 2 ms and 250 ms if it is not set. Each pause is a random part of it.
func Backoff(first, longest time.Duration) TxOption {
	return func(a *attempts) { a.min, a.max = first, max(first, longest) }
}

// RunTx calls fn in a transaction and commits it. If the transaction comes to
// nothing for a reason that may pass (IsRetryable: a conflict, a master that has
// changed, an instance that was lost), it begins another one and calls fn again,
// until MaxAttempts or the end of ctx. fn must not keep anything of an attempt that
// failed, and must not commit or roll back by itself. When fn fails or panics the
// transaction is rolled back, and the error or the panic goes on to the caller.
//
// With an ErrOutcomeUnknown of the COMMIT the transaction may have been committed:
// it is not begun again.
func RunTx(ctx context.Context, db *sql.DB, fn func(ctx context.Context, tx *sql.Tx) error, opts ...TxOption) error {
	a := newAttempts(opts)
	return a.run(ctx, func(ctx context.Context) error {
		tx, err := db.BeginTx(ctx, a.tx)
		if err != nil {
			return err
		}
		defer tx.Rollback() //nolint:errcheck // after a commit it does nothing; else fn's error or panic is what matters
		if err := fn(ctx, tx); err != nil {
			return err
		}
		return tx.Commit()
	})
}

// Retry calls fn until it succeeds, fails with an error that is not IsRetryable, or
// MaxAttempts or ctx end it: RunTx's loop, around transactions that something else
// begins and commits, such as an ORM. fn must wrap the errors that it passes on, and
// its transaction must have ended when it returns.
func Retry(ctx context.Context, fn func(context.Context) error, opts ...TxOption) error {
	a := newAttempts(opts)
	return a.run(ctx, fn)
}

func newAttempts(opts []TxOption) *attempts {
	a := &attempts{most: 50, min: 2 * time.Millisecond, max: 250 * time.Millisecond}
	for _, o := range opts {
		o(a)
	}
	return a
}

func (a *attempts) run(ctx context.Context, fn func(context.Context) error) error {
	for n := 1; ; n++ {
		err := fn(ctx)
		switch {
		case err == nil || !IsRetryable(err):
			return err
		case n >= a.most || !pause(ctx, a.pause(n)):
			return &attemptsError{n, ctx.Err(), err}
		}
	}
}

// pause is a random part of what the n-th attempt is followed by at most.
func (a *attempts) pause(n int) time.Duration {
	longest := a.max
	if shift := n - 1; shift < 32 && a.min<<shift>>shift == a.min {
		longest = min(longest, a.min<<shift)
	}
	if longest <= 0 {
		return 0
	}
	return rand.N(longest)
}

func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// attemptsError is the error of the last of several attempts.
type attemptsError struct {
	attempts int
	ended    error // the context's
	err      error
}

func (e *attemptsError) Error() string {
	if e.ended != nil {
		return fmt.Sprintf("tntsql: %v after attempt %d: %s", e.ended, e.attempts, bare(e.err))
	}
	return fmt.Sprintf("tntsql: given up after %s: %s", count(e.attempts, "attempt"), bare(e.err))
}

func (e *attemptsError) Unwrap() []error {
	if e.ended != nil {
		return []error{e.ended, e.err}
	}
	return []error{e.err}
}
