package tntsql_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"io"
	"math"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/DATA-DOG/go-sqlmock"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tntsql/tntsql"
)

// mocked is a handle on which all that a test expects must happen, and nothing else.
func mocked(t *testing.T) (*sql.DB, sqlmock.Sqlmock) {
	t.Helper()
	db, mock, err := sqlmock.New()
	require.NoError(t, err)
	t.Cleanup(func() {
		mock.ExpectClose()
		assert.NoError(t, db.Close())
		assert.NoError(t, mock.ExpectationsWereMet())
	})
	return db, mock
}

const aWrite = "UPDATE accounts"

// write is a function for RunTx that makes one statement.
func write(ctx context.Context, tx *sql.Tx) error {
	_, err := tx.ExecContext(ctx, aWrite)
	return err
}

var (
	errConflict   = &tntsql.Error{Code: 97, Name: "ER_TRANSACTION_CONFLICT", Message: "Transaction has been aborted by conflict"}
	errDuplicate  = &tntsql.Error{Code: 3, Name: "ER_TUPLE_FOUND", Message: "Duplicate key exists"}
	errUnknown    = &tntsql.OutcomeUnknownError{Err: errConflict}
	errNoInstance = &tntsql.NoInstanceError{Mode: tntsql.ModeRW}

	atOnce = tntsql.Backoff(0, 0)
)

func TestRunTxCommits(t *testing.T) {
	db, mock := mocked(t)
	mock.ExpectBegin()
	mock.ExpectExec(aWrite).WillReturnResult(sqlmock.NewResult(0, 1))
	mock.ExpectCommit()
	require.NoError(t, tntsql.RunTx(t.Context(), db, write))
}

// What fails for a reason that may pass is begun again, whichever part of the
// transaction it is.
func TestRunTxBeginsAgainWhatMayPass(t *testing.T) {
	for part, failing := range map[string]func(sqlmock.Sqlmock, error){
		"BEGIN": func(mock sqlmock.Sqlmock, err error) {
			mock.ExpectBegin().WillReturnError(err)
		},
		"statement": func(mock sqlmock.Sqlmock, err error) {
			mock.ExpectBegin()
			mock.ExpectExec(aWrite).WillReturnError(err)
			mock.ExpectRollback()
		},
		"COMMIT": func(mock sqlmock.Sqlmock, err error) {
			mock.ExpectBegin()
			mock.ExpectExec(aWrite).WillReturnResult(sqlmock.NewResult(0, 1))
			mock.ExpectCommit().WillReturnError(err)
		},
	} {
		t.Run(part, func(t *testing.T) {
			t.Run("twice a conflict, then a success", func(t *testing.T) {
				db, mock := mocked(t)
				failing(mock, errConflict)
				failing(mock, errConflict)
				mock.ExpectBegin()
				mock.ExpectExec(aWrite).WillReturnResult(sqlmock.NewResult(0, 1))
				mock.ExpectCommit()
				require.NoError(t, tntsql.RunTx(t.Context(), db, write, atOnce))
			})
			for name, final := range map[string]error{"duplicate": errDuplicate, "unknown outcome": errUnknown, "no instance": errNoInstance} {
				t.Run("a conflict, then what does not pass: "+name, func(t *testing.T) {
					db, mock := mocked(t)
					failing(mock, errConflict)
					failing(mock, final)
					err := tntsql.RunTx(t.Context(), db, write, atOnce)
					assert.Same(t, final, err, "as it is")
				})
			}
			t.Run("until there are no attempts left", func(t *testing.T) {
				db, mock := mocked(t)
				for range 3 {
					failing(mock, errConflict)
				}
				err := tntsql.RunTx(t.Context(), db, write, atOnce, tntsql.MaxAttempts(3))
				require.EqualError(t, err, "tntsql: given up after 3 attempts: "+strings.TrimPrefix(errConflict.Error(), "tntsql: "))
				assert.ErrorIs(t, err, errConflict)
				var server *tntsql.Error
				require.ErrorAs(t, err, &server)
				assert.Same(t, errConflict, server)
				assert.True(t, tntsql.IsTxConflict(err))
			})
		})
	}
}

func TestRunTxBeginsAgainWhenTheFunctionWrapsWhatMayPass(t *testing.T) {
	db, mock := mocked(t)
	for range 2 {
		mock.ExpectBegin()
		mock.ExpectExec(aWrite).WillReturnError(errConflict)
		mock.ExpectRollback()
	}
	err := tntsql.RunTx(t.Context(), db, func(ctx context.Context, tx *sql.Tx) error {
		return fmt.Errorf("move money: %w", write(ctx, tx))
	}, atOnce, tntsql.MaxAttempts(2))
	require.ErrorIs(t, err, errConflict)
	assert.ErrorContains(t, err, "move money: ")
}

func TestRunTxHandsTheFunctionsErrorOn(t *testing.T) {
	db, mock := mocked(t)
	mock.ExpectBegin()
	mock.ExpectRollback()
	err := tntsql.RunTx(t.Context(), db, func(context.Context, *sql.Tx) error { return io.ErrUnexpectedEOF })
	assert.Equal(t, io.ErrUnexpectedEOF, err)
}

func TestRunTxTellsAFunctionThatHasCommittedItself(t *testing.T) {
	db, mock := mocked(t)
	mock.ExpectBegin()
	mock.ExpectCommit()
	err := tntsql.RunTx(t.Context(), db, func(_ context.Context, tx *sql.Tx) error { return tx.Commit() })
	assert.ErrorIs(t, err, sql.ErrTxDone)
}

func TestRunTxRollsBackOnAPanic(t *testing.T) {
	for name, thrown := range map[string]any{"value": "boom", "error": errConflict} {
		t.Run(name, func(t *testing.T) {
			db, mock := mocked(t)
			mock.ExpectBegin()
			mock.ExpectRollback()
			assert.PanicsWithValue(t, thrown, func() {
				_ = tntsql.RunTx(t.Context(), db, func(context.Context, *sql.Tx) error { panic(thrown) })
			})
			assert.Zero(t, db.Stats().InUse)
		})
	}
}

// runtime.Goexit is what a failed require ends a test's goroutine with.
func TestRunTxRollsBackWhenTheGoroutineEnds(t *testing.T) {
	db, mock := mocked(t)
	mock.ExpectBegin()
	mock.ExpectRollback()
	ended, returned := make(chan struct{}), false
	go func() {
		defer close(ended)
		_ = tntsql.RunTx(t.Context(), db, func(context.Context, *sql.Tx) error {
			runtime.Goexit()
			return nil
		})
		returned = true
	}()
	<-ended
	assert.False(t, returned)
	assert.Zero(t, db.Stats().InUse)
}

func TestRunTxGivesTheFunctionItsContext(t *testing.T) {
	db, mock := mocked(t)
	mock.ExpectBegin()
	mock.ExpectCommit()
	ctx := withMode(t, tntsql.ModeRW)
	require.NoError(t, tntsql.RunTx(ctx, db, func(given context.Context, _ *sql.Tx) error {
		assert.Equal(t, ctx, given)
		return nil
	}))
}

func TestRunTxBeginsNothingUnderAContextThatHasEnded(t *testing.T) {
	db, _ := mocked(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := tntsql.RunTx(ctx, db, func(context.Context, *sql.Tx) error {
		t.Error("called")
		return nil
	})
	assert.ErrorIs(t, err, context.Canceled)
}

// optionsConn is a session, and what makes it, that notes what transactions are
// begun with.
type optionsConn struct {
	foreignConn
	begun []driver.TxOptions
}

func (c *optionsConn) Connect(context.Context) (driver.Conn, error) { return c, nil }
func (c *optionsConn) Driver() driver.Driver                        { return nil }

func (c *optionsConn) BeginTx(_ context.Context, o driver.TxOptions) (driver.Tx, error) {
	c.begun = append(c.begun, o)
	return foreignTx{}, nil
}

func TestRunTxHandsTheOptionsOnEachTime(t *testing.T) {
	conn := new(optionsConn)
	db := sql.OpenDB(conn)
	defer db.Close()
	options := &sql.TxOptions{Isolation: sql.LevelSnapshot, ReadOnly: true}
	err := tntsql.RunTx(t.Context(), db, func(context.Context, *sql.Tx) error { return errConflict },
		tntsql.TxOptions(options), tntsql.MaxAttempts(2), atOnce)
	require.ErrorIs(t, err, errConflict)
	want := driver.TxOptions{Isolation: driver.IsolationLevel(sql.LevelSnapshot), ReadOnly: true}
	assert.Equal(t, []driver.TxOptions{want, want}, conn.begun)
}

// alwaysFailing calls Retry with a function that always fails, and gives the times at
// which that was called.
func alwaysFailing(ctx context.Context, err error, opts ...tntsql.TxOption) (calls []time.Time, last error) {
	last = tntsql.Retry(ctx, func(context.Context) error {
		calls = append(calls, time.Now())
		return err
	}, opts...)
	return calls, last
}

func TestRetryReturnsWhatTheFunctionDoes(t *testing.T) {
	for name, want := range map[string]error{"success": nil, "error": io.EOF, "unknown outcome": errUnknown, "no instance": errNoInstance} {
		t.Run(name, func(t *testing.T) {
			calls, err := alwaysFailing(t.Context(), want)
			assert.Equal(t, want, err)
			assert.Len(t, calls, 1)
		})
	}
}

func TestRetryEndsWithASuccess(t *testing.T) {
	calls := 0
	require.NoError(t, tntsql.Retry(t.Context(), func(context.Context) error {
		if calls++; calls < 5 {
			return fmt.Errorf("attempt %d: %w", calls, errConflict)
		}
		return nil
	}, atOnce))
	assert.Equal(t, 5, calls)
}

func TestRetryMakesAsManyAttemptsAsItMay(t *testing.T) {
	for most, want := range map[int]int{math.MinInt: 1, -1: 1, 0: 1, 1: 1, 2: 2, 50: 50} {
		calls, err := alwaysFailing(t.Context(), errConflict, atOnce, tntsql.MaxAttempts(most))
		made := len(calls)
		assert.Equal(t, want, made, "MaxAttempts(%d)", most)
		assert.ErrorIs(t, err, errConflict)
		attempts := "attempts"
		if want == 1 {
			attempts = "attempt"
		}
		assert.ErrorContains(t, err, fmt.Sprintf("tntsql: given up after %d %s: ", want, attempts))
	}
	_, err := alwaysFailing(t.Context(), errConflict, atOnce)
	assert.ErrorContains(t, err, "tntsql: given up after 50 attempts: ", "if nothing is set")
}

func TestPausesOfRetry(t *testing.T) {
	const (
		ms       = time.Millisecond
		attempts = 70 // doubling would overflow
	)
	doubling := func(first, longest time.Duration) (most []time.Duration) {
		for len(most) < attempts-1 {
			most = append(most, min(first, longest))
			first = min(2*first, longest)
		}
		return most
	}
	tests := []struct {
		name    string
		options []tntsql.TxOption
		most    []time.Duration
	}{
		{"if nothing is set", nil, doubling(2*ms, 250*ms)},
		{"doubling", []tntsql.TxOption{tntsql.Backoff(ms, time.Hour)}, doubling(ms, time.Hour)},
		{"always the same", []tntsql.TxOption{tntsql.Backoff(5*ms, 5*ms)}, doubling(5*ms, 5*ms)},
		{"never below the first", []tntsql.TxOption{tntsql.Backoff(5*ms, ms)}, doubling(5*ms, 5*ms)},
		{"none", []tntsql.TxOption{atOnce}, doubling(0, 0)},
		{"negative", []tntsql.TxOption{tntsql.Backoff(-time.Second, -time.Hour)}, doubling(0, 0)},
		{"as long as can be", []tntsql.TxOption{tntsql.Backoff(math.MaxInt64/attempts, math.MaxInt64/attempts)},
			doubling(math.MaxInt64/attempts, math.MaxInt64/attempts)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				calls, _ := alwaysFailing(t.Context(), errConflict, append(tt.options, tntsql.MaxAttempts(attempts))...)
				require.Len(t, calls, attempts)
				var waited, most time.Duration
				for i, longest := range tt.most {
					pause := calls[i+1].Sub(calls[i])
					assert.LessOrEqual(t, pause, longest, "after attempt %d", i+1)
					waited, most = waited+pause/attempts, most+longest/attempts
				}
				if most > 0 {
					part := float64(waited) / float64(most)
					assert.Greater(t, part, 0.2, "a half on average")
					assert.Less(t, part, 0.8, "a half on average")
				}
			})
		})
	}
}

func TestRetryEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		calls, err := alwaysFailing(ctx, errConflict, tntsql.Backoff(24*time.Hour, 24*time.Hour))
		assert.Len(t, calls, 1)
		assert.Equal(t, time.Millisecond, time.Since(begun), "in the pause")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, err, errConflict, "why there was a pause")
		require.EqualError(t, err, "tntsql: context deadline exceeded after attempt 1: "+strings.TrimPrefix(errConflict.Error(), "tntsql: "))
	})
	ctx, cancel := context.WithCancel(t.Context())
	calls := 0
	err := tntsql.Retry(ctx, func(context.Context) error {
		calls++
		cancel()
		return errConflict
	}, atOnce)
	assert.Equal(t, 1, calls, "without a pause too")
	require.ErrorIs(t, err, context.Canceled)
	assert.ErrorIs(t, err, errConflict)
}

func TestRunTxEndsInAPauseWithItsContext(t *testing.T) {
	db, mock := mocked(t)
	mock.ExpectBegin()
	mock.ExpectExec(aWrite).WillReturnError(errConflict)
	mock.ExpectRollback()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	err := tntsql.RunTx(ctx, db, func(ctx context.Context, tx *sql.Tx) error {
		err := write(ctx, tx)
		time.AfterFunc(time.Millisecond, cancel)
		return err
	}, tntsql.Backoff(24*time.Hour, 24*time.Hour))
	require.ErrorIs(t, err, context.Canceled)
	assert.ErrorIs(t, err, errConflict)
}
