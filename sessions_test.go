package tntsql_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tntsql/tntsql"
)

// A write is seen by the read that follows it in the same session, wherever that
// goes; without sessions the same load shows reads that do not see theirs, so that
// the test can fail.
func TestSessionsReadTheirOwnWrites(t *testing.T) {
	for param, violations := range map[string]bool{"read_after_write=session": false, "read_after_write=all": false, "read_after_write=off": true} {
		t.Run(param, func(t *testing.T) {
			rs := ownSet(t, 3)
			name := table(t, rs, "id INTEGER PRIMARY KEY, n INTEGER")
			db, connector := openDSN(t, rs.DSN("read_mode=any", param))
			knowsAll(t, connector)
			ctx := tntsql.WithSession(t.Context())
			stale := readAfterWrites(t, ctx, db, name)
			t.Logf("%d of 2000 reads did not see the write before; %d went to the master for their mark", stale, connector.Stats().Marked)
			assert.Equal(t, violations, stale > 0)
			assert.Equal(t, violations, connector.Stats().Marked == 0)
		})
	}
}

// readAfterWrites counts reads that do not see the write before them.
func readAfterWrites(t *testing.T, ctx context.Context, db *sql.DB, name string) int64 {
	var stale atomic.Int64
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			_, err := db.ExecContext(ctx, "REPLACE INTO "+name+" VALUES (?, 0)", w)
			if !assert.NoError(t, err) {
				return
			}
			for i := range 250 {
				ctx := ctx
				if i%2 == 0 {
					ctx = tntsql.WithSession(ctx)
				}
				_, err := db.ExecContext(ctx, "REPLACE INTO "+name+" VALUES (?, ?)", w, i)
				if !assert.NoError(t, err) {
					return
				}
				var n int
				err = db.QueryRowContext(ctx, "SELECT n FROM "+name+" WHERE id = ?", w).Scan(&n)
				if err != nil || n != i {
					stale.Add(1)
				}
			}
		})
	}
	wg.Wait()
	return stale.Load()
}

func TestReadsGoToReplicasOnceTheyHaveWhatTheSessionWrote(t *testing.T) {
	db := open(t, "read_mode=prefer_ro")
	rs := sharedSet(t)
	name := table(t, rs, "id INTEGER PRIMARY KEY")
	ctx := tntsql.WithSession(t.Context())
	role := func(ctx context.Context) string {
		ctx, info := tntsql.Capture(ctx)
		var n int
		require.NoError(t, db.QueryRowContext(ctx, "SELECT COUNT(*) FROM "+name).Scan(&n))
		return info.Instance.Role
	}
	for i := range 5 {
		_, err := db.ExecContext(ctx, fmt.Sprintf("INSERT INTO %s VALUES (%d)", name, i))
		require.NoError(t, err)
		assert.Equal(t, "rw", role(ctx), "at first nobody else is known to have it")
		eventually(t, "read on a replica", func() bool { return role(ctx) == "ro" })
		assert.Equal(t, "ro", role(tntsql.WithSession(t.Context())), "another session has written nothing")
	}
}

// wroteBefore tells whether a session is marked: its read goes to the master as long
// as no replica is known to have everything.
func wroteBefore(t *testing.T, ctx context.Context, on interface {
	QueryRowContext(context.Context, string, ...any) *sql.Row
}) bool {
	t.Helper()
	ctx, info := tntsql.Capture(ctx)
	require.NoError(t, on.QueryRowContext(ctx, "SELECT 1").Scan(new(int)))
	return info.Instance.Role == "rw"
}

func TestWhatMarksASession(t *testing.T) {
	rs := sharedSet(t)
	plain := open(t)
	name := table(t, rs, "id INTEGER PRIMARY KEY, n INTEGER")
	mustExec(t, plain, "INSERT INTO "+name+" VALUES (0, 0)")
	insert := "INSERT INTO " + name + " VALUES (?, 0)"
	for what, tt := range map[string]struct {
		write  func(ctx context.Context, db *sql.DB) error
		marked bool
	}{
		"an INSERT": {func(ctx context.Context, db *sql.DB) error {
			_, err := db.ExecContext(ctx, insert, 1)
			return err
		}, true},
		"an INSERT that fails": {func(ctx context.Context, db *sql.DB) error {
			_, err := db.ExecContext(ctx, insert, 0)
			if !tntsql.IsUniqueViolation(err) {
				return err
			}
			return nil
		}, false},
		"a SELECT": {func(ctx context.Context, db *sql.DB) error {
			return db.QueryRowContext(tntsql.WithMode(ctx, tntsql.ModeRW), "SELECT 1").Scan(new(int))
		}, false},
		"a batch": {func(ctx context.Context, db *sql.DB) error {
			_, err := tntsql.ExecBatch(ctx, db, tntsql.Query{SQL: insert, Args: []any{2}})
			return err
		}, true},
		"a CALL under ModeRW": {func(ctx context.Context, db *sql.DB) error {
			_, err := tntsql.Call(ctx, db, tntsql.ModeRW, "who")
			return err
		}, true},
		"a CALL under ModeRO": {func(ctx context.Context, db *sql.DB) error {
			_, err := tntsql.Call(ctx, db, tntsql.ModeRO, "who")
			return err
		}, false},
		"a transaction": {func(ctx context.Context, db *sql.DB) error {
			tx, err := db.BeginTx(ctx, nil)
			if errors.Is(err, tntsql.ErrTxUnsupported) {
				_, err := db.ExecContext(ctx, insert, 3)
				return err
			}
			if err != nil {
				return err
			}
			defer tx.Rollback() //nolint:errcheck // after a commit it does nothing
			if _, err := tx.ExecContext(ctx, insert, 3); err != nil {
				return err
			}
			return tx.Commit()
		}, true},
		"an outcome that is unknown": {func(ctx context.Context, db *sql.DB) error {
			err := db.QueryRowContext(tntsql.WithMode(ctx, tntsql.ModeRW), "SELECT 1").Scan(new(int)) // opens a connection
			if err != nil {
				return err
			}
			ended, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
			defer cancel()
			_, err = tntsql.Call(ended, db, tntsql.ModeRW, "pause", 0.5)
			if !errors.Is(err, tntsql.ErrOutcomeUnknown) {
				return fmt.Errorf("no unknown outcome: %w", err)
			}
			return nil
		}, true},
	} {
		t.Run(what, func(t *testing.T) {
			db := open(t, "read_mode=prefer_ro")
			ctx := tntsql.WithSession(t.Context())
			require.False(t, wroteBefore(t, ctx, db))
			require.NoError(t, tt.write(ctx, db))
			assert.Equal(t, tt.marked, wroteBefore(t, ctx, db))
			assert.False(t, wroteBefore(t, tntsql.WithSession(t.Context()), db), "another session")
			assert.False(t, wroteBefore(t, tntsql.WithMode(ctx, tntsql.ModeRO), db), "ModeRO is not held back")
		})
	}
}

func TestDDLMarksEverySession(t *testing.T) {
	db := open(t, "read_mode=prefer_ro")
	other := tntsql.WithSession(t.Context())
	name := fmt.Sprintf("T%d", tables.Add(1))
	mustExec(t, db, "CREATE TABLE "+name+" (id INTEGER PRIMARY KEY)")
	require.NoError(t, db.QueryRowContext(other, "SELECT COUNT(*) FROM "+name).Scan(new(int)))
}

func TestHeldConnIsASession(t *testing.T) {
	rs := sharedSet(t)
	name := table(t, rs, "id INTEGER PRIMARY KEY")
	db := open(t, "read_mode=prefer_ro")
	db.SetMaxOpenConns(1)
	conn, err := db.Conn(t.Context())
	require.NoError(t, err)
	mustExec(t, conn, "INSERT INTO "+name+" VALUES (1)")
	assert.True(t, wroteBefore(t, t.Context(), conn))
	assert.False(t, wroteBefore(t, tntsql.WithSession(t.Context()), conn), "the context's session wins")
	require.NoError(t, conn.Close())
	assert.False(t, wroteBefore(t, t.Context(), db), "whoever gets it next is another")
}

func TestTopologyShowsCovers(t *testing.T) {
	db, connector := openDSN(t, sharedSet(t).DSN("read_mode=prefer_ro"))
	knowsAll(t, connector)
	ctx := tntsql.WithSession(t.Context())
	_, err := tntsql.Call(ctx, db, tntsql.ModeRW, "who")
	require.NoError(t, err)
	wrote := time.Now()
	eventually(t, "covers of all instances", func() bool {
		wroteBefore(t, ctx, db)
		for _, in := range connector.Topology().Instances {
			if in.Cover.Before(wrote) {
				mark(t, ctx, db)
				return false
			}
		}
		return true
	})
	assert.Positive(t, connector.Stats().Marked)
}

// mark keeps reads of the session waiting for covers.
func mark(t *testing.T, ctx context.Context, db *sql.DB) {
	_, err := tntsql.Call(ctx, db, tntsql.ModeRW, "who")
	require.NoError(t, err)
}

// Marks of one handle hold for another, whichever is older.
func TestSessionSpansHandles(t *testing.T) {
	writes := open(t)
	reads := open(t, "read_mode=prefer_ro")
	younger := open(t)
	name := table(t, sharedSet(t), "id INTEGER PRIMARY KEY")
	for i, db := range []*sql.DB{writes, younger} {
		ctx := tntsql.WithSession(t.Context())
		_, err := db.ExecContext(ctx, "INSERT INTO "+name+" VALUES (?)", i)
		require.NoError(t, err)
		assert.True(t, wroteBefore(t, ctx, reads))
		eventually(t, "read on a replica", func() bool { return !wroteBefore(t, ctx, reads) })
	}
}

func TestDDLInABatchMarksEverySession(t *testing.T) {
	db := open(t, "read_mode=prefer_ro")
	name := fmt.Sprintf("T%d", tables.Add(1))
	_, err := tntsql.ExecBatch(t.Context(), db, tntsql.Query{SQL: "CREATE TABLE " + name + " (id INTEGER PRIMARY KEY)"})
	require.NoError(t, err)
	require.NoError(t, db.QueryRowContext(tntsql.WithSession(t.Context()), "SELECT COUNT(*) FROM "+name).Scan(new(int)))
}

func TestCommitMarksTheSessionsOfItsStatements(t *testing.T) {
	db := open(t, "read_mode=prefer_ro")
	name := txTable(t, db)
	ctx := tntsql.WithSession(t.Context())
	tx := beginTx(t, db, nil)
	_, err := tx.ExecContext(ctx, "INSERT INTO "+name+" VALUES (3, 30)")
	require.NoError(t, err)
	require.NoError(t, tx.Commit())
	assert.True(t, wroteBefore(t, ctx, db))
}

func TestCallThatFailsAfterItWroteMarks(t *testing.T) {
	db := open(t, "read_mode=prefer_ro")
	ctx := tntsql.WithSession(t.Context())
	_, err := tntsql.Eval(ctx, db, tntsql.ModeRW, "error('after a write')")
	require.Error(t, err)
	assert.True(t, wroteBefore(t, ctx, db))
	_, err = tntsql.Eval(tntsql.WithSession(t.Context()), db, tntsql.ModePreferRO, "return 1")
	require.NoError(t, err)
}

// What is of no session waits for no master.
func TestDDLHoldsBackNoPlainReadsWithoutAMaster(t *testing.T) {
	rs := ownSet(t, 3)
	db, connector := openDSN(t, rs.DSN("selection_timeout=300ms"))
	knowsAll(t, connector)
	mustExec(t, db, "CREATE TABLE t (id INTEGER PRIMARY KEY)")
	inStep(t, rs)
	rs.Kill(0)
	eventually(t, "notice", func() bool { return statusOf(connector, 0) == "down" })
	ctx, info := tntsql.Capture(t.Context())
	_, err := firstValue(ctx, db, "SELECT COUNT(*) FROM t")
	require.NoError(t, err)
	assert.NotEqual(t, rs.UUID(0), info.Instance.UUID)
	_, err = firstValue(tntsql.WithSession(t.Context()), db, "SELECT COUNT(*) FROM t")
	assert.ErrorIs(t, err, tntsql.ErrNoInstance, "a session waits")
}
