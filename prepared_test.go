package tntsql_test

import (
	"context"
	"database/sql"
	flags "flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/tarantool/go-tarantool/v2"

	"github.com/tntsql/tntsql"
	"github.com/tntsql/tntsql/tarantooltest"
)

var cachedReads = flags.Int("cached-reads", 4_000, "how many `reads` the test of a full statement cache makes")

// startCaching starts an instance, with options of box.cfg, and gives handles on it.
func startCaching(t *testing.T, cfg map[string]any, params ...string) (*tarantooltest.ReplicaSet, *sql.DB, *tntsql.Connector) {
	t.Helper()
	t.Parallel()
	rs := tarantooltest.Start(t, tarantooltest.Instances(1), tarantooltest.Cfg(cfg))
	db, connector := openDSN(t, rs.DSN(params...))
	knowsAll(t, connector)
	_, err := db.ExecContext(t.Context(), "CREATE TABLE t (id INTEGER PRIMARY KEY, s STRING)")
	require.NoError(t, err)
	return rs, db, connector
}

// insert adds rows whose s is their id as text.
func insert(t *testing.T, db *sql.DB, ids ...int) {
	t.Helper()
	for _, id := range ids {
		_, err := db.ExecContext(t.Context(), "INSERT INTO t VALUES (?, ?)", id, fmt.Sprint(id))
		require.NoError(t, err)
	}
}

// readRow reads the row of the id by the text, and expects its s.
func readRow(ctx context.Context, db interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}, text string, id int) error {
	var s string
	if err := db.QueryRowContext(ctx, text, id).Scan(&s); err != nil {
		return fmt.Errorf("%s: %w", text, err)
	}
	if s != fmt.Sprint(id) {
		return fmt.Errorf("%s, %d: %q", text, id, s)
	}
	return nil
}

// textOf is the i-th of many texts that read a row.
func textOf(i int) string { return fmt.Sprintf("SELECT s FROM t WHERE id = ? -- %d", i) }

// kept is how many statements the server keeps prepared, of all clients, and the
// bytes that they take.
func kept(t *testing.T, rs *tarantooltest.ReplicaSet) (count, bytes int) {
	t.Helper()
	values, err := rs.Lua(0, "local c = box.info.sql().cache return c.stmt_count, c.size")
	require.NoError(t, err)
	return int(values[0].(int64)), int(values[1].(int64))
}

// prepares is how many PREPAREs the server has seen.
func prepares(t *testing.T, rs *tarantooltest.ReplicaSet, i int) int {
	t.Helper()
	return int(lua(t, rs, i, "return box.stat().PREPARE.total").(int64))
}

// underLoad runs f n times, in workers at once, until it fails.
func underLoad(t *testing.T, workers, n int, f func(ctx context.Context, i int) error) {
	t.Helper()
	ctx, stop := context.WithCancelCause(t.Context())
	defer stop(nil)
	var running sync.WaitGroup
	for w := range workers {
		running.Go(func() {
			for i := w; i < n && ctx.Err() == nil; i += workers {
				if err := f(ctx, i); err != nil {
					stop(err)
				}
			}
		})
	}
	running.Wait()
	require.NoError(t, context.Cause(ctx))
}

func TestReadsGoByIDFromTheThirdUseOn(t *testing.T) {
	rs, db, connector := startCaching(t, nil)
	insert(t, db, 1)
	before := prepares(t, rs, 0)
	require.NoError(t, readRow(t.Context(), db, textOf(0), 1))
	assert.Equal(t, before, prepares(t, rs, 0))
	require.NoError(t, readRow(t.Context(), db, textOf(0), 1))
	eventually(t, "prepared statement", func() bool { return connector.Stats().Prepared == 1 })
	assert.Zero(t, connector.Stats().ByID)
	underLoad(t, 16, 1000, func(ctx context.Context, _ int) error { return readRow(ctx, db, textOf(0), 1) })
	assert.GreaterOrEqual(t, connector.Stats().ByID, uint64(900))
	count, _ := kept(t, rs)
	assert.Equal(t, 1, count)
}

func TestConcurrentUsersOfATextPrepareItOnce(t *testing.T) {
	rs, db, connector := startCaching(t, nil, "conns_per_instance=1")
	insert(t, db, 1)
	before := prepares(t, rs, 0)
	underLoad(t, 64, 2000, func(ctx context.Context, _ int) error { return readRow(ctx, db, textOf(0), 1) })
	assert.Equal(t, before+1, prepares(t, rs, 0))
	assert.Equal(t, 1, connector.Stats().Prepared)
}

func TestWithoutAStatementCacheNothingIsPrepared(t *testing.T) {
	rs, db, connector := startCaching(t, nil, "stmt_cache=0")
	insert(t, db, 1)
	stmt, err := db.PrepareContext(t.Context(), "SELECT 1")
	require.NoError(t, err)
	require.NoError(t, stmt.Close())
	for range 10 {
		require.NoError(t, readRow(t.Context(), db, textOf(0), 1))
	}
	assert.Zero(t, prepares(t, rs, 0))
	assert.Zero(t, connector.Stats().ByID)
}

// Many more texts than the connections keep: the server's cache holds no more.
func TestThousandsOfTextsKeepTheServersCacheBounded(t *testing.T) {
	rs, db, connector := startCaching(t, nil, "stmt_cache=50", "conns_per_instance=2")
	insert(t, db, 1)
	underLoad(t, 16, 8000, func(ctx context.Context, i int) error {
		return readRow(ctx, db, textOf(i/16*4+rand.N(4)), 1)
	})
	underLoad(t, 16, 2000, func(ctx context.Context, i int) error { return readRow(ctx, db, textOf(i), 1) })
	assert.NotZero(t, connector.Stats().ByID)
	assert.LessOrEqual(t, connector.Stats().Prepared, 2*50)
	eventually(t, "bound", func() bool {
		count, bytes := kept(t, rs)
		return count <= 2*50 && bytes < 2*50*2048
	})
}

// crowd is another client that prepares what does not fit into the server's cache,
// until the function is called, which tells how often it was refused.
func crowd(t *testing.T, rs *tarantooltest.ReplicaSet) func() int {
	t.Helper()
	conn, err := tarantool.Connect(t.Context(), tarantool.NetDialer{Address: rs.Addr(0), User: "app", Password: "secret"}, tarantool.Opts{SkipSchema: true})
	require.NoError(t, err)
	var (
		stop    = make(chan struct{})
		refused int
		running sync.WaitGroup
	)
	text := "SELECT '" + strings.Repeat("x", 100<<10) + "'"
	running.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			_, err := conn.Do(tarantool.NewPrepareRequest(text)).Get()
			if !assert.ErrorContains(t, err, "Memory limit for SQL prepared statements has been reached") {
				return
			}
			refused++
		}
	})
	end := sync.OnceValue(func() int {
		close(stop)
		running.Wait()
		assert.NoError(t, conn.Close())
		return refused
	})
	t.Cleanup(func() { end() })
	return end
}

// A server whose cache is full frees a statement that is running when it is
// unprepared, and crashes.
func TestAServerWhoseCacheIsFullSurvives(t *testing.T) {
	rs, db, connector := startCaching(t, map[string]any{"vinyl_cache": 0}, "stmt_cache=8", "conns_per_instance=1")
	for _, ddl := range []string{"DROP TABLE t", "CREATE TABLE t (id INTEGER PRIMARY KEY, s STRING) WITH ENGINE = 'vinyl'"} {
		_, err := db.ExecContext(t.Context(), ddl)
		require.NoError(t, err)
	}
	lua(t, rs, 0, `
		local s = box.space.T or box.space.t
		box.begin() for i = 0, 99 do s:insert{i, ('x'):rep(4000)} end box.commit()
		box.snapshot()`) // from here on a read yields at each page
	text := func(i int) string { return fmt.Sprintf("SELECT id FROM t WHERE id >= ? ORDER BY id -- %d", i) }
	for i := range 8 {
		require.NoError(t, readRow(t.Context(), db, text(i), 99))
		require.NoError(t, readRow(t.Context(), db, text(i), 99))
	}
	eventually(t, "kept statements", func() bool { return connector.Stats().Prepared == 8 })
	_, bytes := kept(t, rs)
	lua(t, rs, 0, "box.cfg{sql_cache_size = ...}", bytes*3)
	full := crowd(t, rs)
	const use = 40 // times each text
	pid, before := lua(t, rs, 0, "return box.info.pid"), prepares(t, rs, 0)
	underLoad(t, 32, *cachedReads, func(ctx context.Context, i int) error {
		if i%7 == 0 { // its caller leaves
			short, cancel := context.WithTimeout(ctx, time.Duration(rand.N(200))*time.Microsecond)
			defer cancel()
			_ = readRow(short, db, text(i/use), i%100)
			return nil
		}
		return readRow(ctx, db, text(i/use), i%100)
	})
	refused := full()
	prepared := prepares(t, rs, 0) - before - refused
	assert.Positive(t, refused)
	assert.Equal(t, pid, lua(t, rs, 0, "return box.info.pid"))
	stats := connector.Stats()
	t.Logf("%d reads, %d by id, %d PREPAREs, and %d by another client", *cachedReads, stats.ByID, prepared, refused)
	assert.NotZero(t, stats.ByID)
	assert.Greater(t, prepared, *cachedReads/use/2)
	assert.Zero(t, stats.Reconnects)
}

// Before 3.7.1 and 3.8.0 servers take two texts of one hash for the same.
func TestATextRunsAsItselfThoughAnotherHasItsHash(t *testing.T) {
	rs, db, _ := startCaching(t, nil)
	insert(t, db, 3818, 27323, 33618, 1, 2)
	other, err := tarantool.Connect(t.Context(), tarantool.NetDialer{Address: rs.Addr(0), User: "app", Password: "secret"}, tarantool.Opts{SkipSchema: true})
	require.NoError(t, err)
	defer func() { assert.NoError(t, other.Close()) }()
	for name, tt := range map[string]struct {
		theirs, ours string
		args         []any
		want         string
	}{
		"with literals":   {"DELETE FROM t WHERE id = 3818", "SELECT s FROM t WHERE id = 27323", nil, "27323"},
		"another query":   {"SELECT id FROM t WHERE id = 258113", "SELECT s FROM t WHERE id = 33618", nil, "33618"},
		"with parameters": {"DELETE FROM t WHERE id = ? -- 83925", "SELECT s FROM t WHERE id = ? -- 10312", []any{1}, "1"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := other.Do(tarantool.NewPrepareRequest(tt.theirs)).Get()
			require.NoError(t, err)
			for range 5 {
				var s string
				require.NoError(t, db.QueryRowContext(t.Context(), tt.ours, tt.args...).Scan(&s))
				assert.Equal(t, tt.want, s)
			}
		})
	}
	for range 5 { // both are the handle's own
		var s string
		require.NoError(t, db.QueryRowContext(t.Context(), "SELECT id + id FROM t WHERE id = ? -- 21118", 2).Scan(&s))
		assert.Equal(t, "4", s)
		require.NoError(t, readRow(t.Context(), db, "SELECT s FROM t WHERE id = ? -- 8169", 2))
	}
	var n int
	require.NoError(t, db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM t WHERE id > 0").Scan(&n))
	assert.Equal(t, 5, n)
}

// Any DDL expires all prepared statements.
func TestDDLFailsNoRead(t *testing.T) {
	rs, db, connector := startCaching(t, nil)
	insert(t, db, 1)
	stop := make(chan struct{})
	var ddl sync.WaitGroup
	ddl.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			case <-time.After(100 * time.Millisecond):
			}
			_, err := rs.Lua(0, "return assert(box.execute(...))", fmt.Sprintf("CREATE TABLE other%d (id INTEGER PRIMARY KEY)", i))
			assert.NoError(t, err)
		}
	})
	over := time.Now().Add(1500 * time.Millisecond)
	underLoad(t, 16, 16, func(ctx context.Context, i int) error {
		for time.Now().Before(over) {
			if err := readRow(ctx, db, textOf(i%5), 1); err != nil {
				return err
			}
		}
		return nil
	})
	close(stop)
	ddl.Wait()
	t.Logf("%d by id", connector.Stats().ByID)
	assert.Greater(t, connector.Stats().ByID, uint64(100))
	resent := connector.Stats().Resent
	resent.Moved = 0 // where the machine is slow
	assert.Zero(t, resent)
}

// Sessions share a prepared statement, with the metadata of the first.
func TestFullMetadataIsThereThoughAnotherHasPreparedTheText(t *testing.T) {
	rs, db, _ := startCaching(t, nil)
	insert(t, db, 1)
	full, _ := openDSN(t, rs.DSN("full_metadata=true"))
	for range 4 {
		require.NoError(t, readRow(t.Context(), db, textOf(0), 1))
		rows, err := full.QueryContext(t.Context(), textOf(0), 1)
		require.NoError(t, err)
		types, err := rows.ColumnTypes()
		require.NoError(t, err)
		nullable, known := types[0].Nullable()
		assert.True(t, nullable && known)
		require.NoError(t, rows.Close())
	}
}
