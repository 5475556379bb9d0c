package tntsql_test

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/tarantool/go-tarantool/v2"

	"github.com/tntsql/tntsql"
)

const (
	// On 3.8.0 two transactions that UPDATE by SQL are in conflict, whatever the
	// rows; those that REPLACE are not.
	benchReplace = "REPLACE INTO bench VALUES (?, 'a name', 1.5)"
	benchTxs     = 640 // transactions of a round
)

// BenchmarkTx is BEGIN, two REPLACEs and COMMIT, at one goroutine and at 32 on
// rows of their own: by RunTx, by ExecBatch, and by a stream of go-tarantool, in
// turns. tx-ratio and batch-ratio are the medians of the first's and the second's
// time over the third's: below 1 is faster.
func BenchmarkTx(b *testing.B) {
	db, conn := startBench(b)
	if v, err := tntsql.Eval(b.Context(), db, tntsql.ModeAny, "return _TARANTOOL:match('^2%.[0-9]%.') ~= nil"); err != nil || v.Values()[0] == true {
		b.Skip("transactions need Tarantool 2.10")
	}
	ways := []func(ctx context.Context, id int) error{
		func(ctx context.Context, id int) error {
			return tntsql.RunTx(ctx, db, func(ctx context.Context, tx *sql.Tx) error {
				if _, err := tx.ExecContext(ctx, benchReplace, id); err != nil {
					return err
				}
				_, err := tx.ExecContext(ctx, benchReplace, id+1)
				return err
			})
		},
		func(ctx context.Context, id int) error {
			_, err := tntsql.ExecBatch(ctx, db,
				tntsql.Query{SQL: benchReplace, Args: []any{id}}, tntsql.Query{SQL: benchReplace, Args: []any{id + 1}})
			return err
		},
		func(_ context.Context, id int) error { return stockTx(conn, id) },
	}
	for _, workers := range []int{1, 32} {
		b.Run(fmt.Sprintf("goroutines=%d", workers), func(b *testing.B) {
			took := make([][]float64, len(ways))
			for _, way := range ways {
				benchRound(b, workers, way) // opens connections
			}
			for b.Loop() {
				for i, way := range ways {
					took[i] = append(took[i], float64(benchRound(b, workers, way)))
				}
			}
			b.ReportMetric(medianRatio(took[0], took[2]), "tx-ratio")
			b.ReportMetric(medianRatio(took[1], took[2]), "batch-ratio")
		})
	}
}

// benchRound has the workers share a round's transactions, and gives the time of all.
func benchRound(b *testing.B, workers int, way func(context.Context, int) error) time.Duration {
	begun := time.Now()
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for range benchTxs / workers {
				if err := way(b.Context(), 1+2*w); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	return time.Since(begun)
}

// stockTx is the transaction as go-tarantool does it.
func stockTx(conn *tarantool.Connection, id int) error {
	stream, err := conn.NewStream()
	if err != nil {
		return err
	}
	for _, request := range []tarantool.Request{
		tarantool.NewBeginRequest(),
		tarantool.NewExecuteRequest(benchReplace).Args([]any{id}),
		tarantool.NewExecuteRequest(benchReplace).Args([]any{id + 1}),
		tarantool.NewCommitRequest(),
	} {
		if _, err := stream.Do(request).Get(); err != nil {
			return err
		}
	}
	return nil
}

func medianRatio(ours, theirs []float64) float64 {
	ratios := make([]float64, len(ours))
	for i := range ours {
		ratios[i] = ours[i] / theirs[i]
	}
	slices.Sort(ratios)
	return ratios[len(ratios)/2]
}
