package wire

import (
	"context"
	"database/sql/driver"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	protocol "github.com/tarantool/go-iproto"
	"github.com/tarantool/go-tarantool/v2"

	"github.com/tntsql/tntsql/internal/iproto"
	"github.com/tntsql/tntsql/tarantooltest"
)

// BenchmarkFraming runs the same point SELECTs from 64 goroutines over a
// connection with the framing one beneath go-tarantool and over one without, by
// turns. ratio is the median of the first's time over the second's.
func BenchmarkFraming(b *testing.B) {
	const goroutines, each = 64, 100
	rs := tarantooltest.Start(b, tarantooltest.Instances(1))
	_, err := rs.Lua(0, `
		box.execute('CREATE TABLE points (id INTEGER PRIMARY KEY, name STRING)')
		for i = 1, 1000 do box.execute('INSERT INTO points VALUES (?, ?)', {i, 'name'}) end`)
	require.NoError(b, err)

	framed, err := Dial(b.Context(), rs.Addr(0), Options{
		MaxResponse: 1 << 20,
		Logger:      slog.New(slog.DiscardHandler),
		Credentials: func(context.Context, string) (string, string, error) { return "app", "secret", nil },
	})
	require.NoError(b, err)
	defer framed.Close()
	tnt, err := tarantool.Connect(b.Context(),
		tarantool.NetDialer{Address: rs.Addr(0), User: "app", Password: "secret"}, tarantool.Opts{SkipSchema: true})
	require.NoError(b, err)
	bare := &Conn{tnt: tnt, frames: &frameConn{}}
	defer bare.Close()

	body, err := iproto.AppendExecute(nil, "SELECT name FROM points WHERE id = ?",
		[]driver.NamedValue{{Ordinal: 1, Value: int64(500)}}, framed.Greeting().Version)
	require.NoError(b, err)
	round := func(c *Conn) time.Duration {
		start := time.Now()
		var running sync.WaitGroup
		for range goroutines {
			running.Go(func() {
				for range each {
					reply, err := c.Do(context.Background(), protocol.IPROTO_EXECUTE, body)
					if err != nil || reply.Code != 0 {
						b.Error(reply.Code, err)
						return
					}
				}
			})
		}
		running.Wait()
		return time.Since(start)
	}
	round(framed)
	round(bare)
	var ratios []float64
	for b.Loop() {
		ratios = append(ratios, float64(round(framed))/float64(round(bare)))
	}
	slices.Sort(ratios)
	b.ReportMetric(ratios[len(ratios)/2], "ratio")
}
