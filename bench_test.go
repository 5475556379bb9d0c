package tntsql_test

import (
	"context"
	"database/sql"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tarantool/go-tarantool/v2"

	"github.com/tntsql/tntsql/tarantooltest"
)

const benchRows = 10_000

// startBench starts one instance with a table of benchRows rows and returns a
// handle and go-tarantool's connection to it.
func startBench(tb testing.TB) (*sql.DB, *tarantool.Connection) {
	tb.Helper()
	rs := tarantooltest.Start(tb, tarantooltest.Instances(1))
	params := []string{}
	if rs.AtLeast(3, 0, 0) {
		params = append(params, "seq_scan=true")
	}
	db, err := sql.Open("tarantool", rs.DSN(params...))
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = db.Close() })
	_, err = db.Exec("CREATE TABLE bench (id INTEGER PRIMARY KEY, name STRING, score DOUBLE)")
	require.NoError(tb, err)
	_, err = rs.Lua(0, `
		local s = box.space.BENCH or box.space.bench
		box.begin()
		for i = 1, ... do s:insert{i, 'name of number ' .. i, i + 0.5} end
		box.commit()`, benchRows)
	require.NoError(tb, err)

	dialer := tarantool.NetDialer{Address: rs.Addr(0), User: "app", Password: "secret"}
	conn, err := tarantool.Connect(context.Background(), dialer, tarantool.Opts{SkipSchema: true})
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = conn.Close() })
	if rs.AtLeast(3, 0, 0) {
		_, err = conn.Do(tarantool.NewExecuteRequest(`SET SESSION "sql_seq_scan" = true`)).Get()
		require.NoError(tb, err)
	}
	return db, conn
}

const selectAll = "SELECT id, name, score FROM bench"

// scanAll reads the table through database/sql.
func scanAll(tb testing.TB, db *sql.DB) {
	rows, err := db.Query(selectAll)
	if err != nil {
		tb.Fatal(err)
	}
	defer rows.Close()
	var (
		id    int64
		name  string
		score float64
		n     int
	)
	for rows.Next() {
		if err := rows.Scan(&id, &name, &score); err != nil {
			tb.Fatal(err)
		}
		n++
	}
	if err := rows.Err(); err != nil || n != benchRows {
		tb.Fatal(n, err)
	}
}

// BenchmarkRows reads 10,000 rows of 3 columns: through database/sql with Scan,
// and with go-tarantool's own decoder into any, by turns. ratio is the median
// of the first's time over the second's: below 1 is faster.
func BenchmarkRows(b *testing.B) {
	db, conn := startBench(b)
	stock := func() {
		data, err := conn.Do(tarantool.NewExecuteRequest(selectAll)).Get()
		if err != nil || len(data) != benchRows {
			b.Fatal(len(data), err)
		}
	}
	scanAll(b, db)
	stock()
	var ratios []float64
	var ours, theirs time.Duration
	b.ReportAllocs()
	for b.Loop() {
		start := time.Now()
		scanAll(b, db)
		between := time.Now()
		b.StopTimer()
		stock()
		b.StartTimer()
		ours, theirs = ours+between.Sub(start), theirs+time.Since(between)
		ratios = append(ratios, float64(between.Sub(start))/float64(time.Since(between)))
	}
	slices.Sort(ratios)
	b.ReportMetric(ratios[len(ratios)/2], "ratio")
	b.ReportMetric(float64(theirs.Nanoseconds())/float64(b.N), "go-tarantool-ns/op")
	b.ReportMetric(testing.AllocsPerRun(1, func() { scanAll(b, db) })/benchRows, "allocs/row")
}

func TestScanAllocatesForManyRowsAtOnce(t *testing.T) {
	db, _ := startBench(t)
	perRow := testing.AllocsPerRun(5, func() { scanAll(t, db) }) / benchRows
	if perRow > 0.2 {
		t.Errorf("%.2f allocations a row", perRow)
	}
}

// BenchmarkPointSelect is a SELECT by primary key at 64 goroutines: through
// database/sql, and by go-tarantool's Execute on one connection.
func BenchmarkPointSelect(b *testing.B) {
	db, conn := startBench(b)
	const query = "SELECT name FROM bench WHERE id = ?"
	b.Run("tntsql", func(b *testing.B) {
		b.ReportAllocs()
		b.SetParallelism(32)
		b.RunParallel(func(pb *testing.PB) {
			var name string
			for i := 1; pb.Next(); i++ {
				if err := db.QueryRow(query, i%benchRows+1).Scan(&name); err != nil {
					b.Error(err)
					return
				}
			}
		})
	})
	b.Run("go-tarantool", func(b *testing.B) {
		b.ReportAllocs()
		b.SetParallelism(32)
		b.RunParallel(func(pb *testing.PB) {
			for i := 1; pb.Next(); i++ {
				_, err := conn.Do(tarantool.NewExecuteRequest(query).Args([]any{i%benchRows + 1})).Get()
				if err != nil {
					b.Error(err)
					return
				}
			}
		})
	})
}
