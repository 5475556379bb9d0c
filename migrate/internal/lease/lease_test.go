package lease

import (
	"bufio"
	"context"
	"database/sql"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tntsql/tntsql"
	"github.com/tntsql/tntsql/migrate/internal/ident"
	"github.com/tntsql/tntsql/migrate/internal/shared"
)

// testTerm is short, but long beside what a statement takes on a busy machine.
const testTerm = 1500 * time.Millisecond

func TestOneAtATimeHoldsIt(t *testing.T) {
	var holders, most, total atomic.Int32
	var wg sync.WaitGroup
	for range 5 {
		db := openDB(t)
		wg.Go(func() {
			for range 4 {
				l, err := Acquire(t.Context(), db, "one at a time", testTerm)
				if !assert.NoError(t, err) {
					return
				}
				most.Store(max(most.Load(), holders.Add(1)))
				total.Add(1)
				holders.Add(-1)
				assert.NoError(t, l.Release(t.Context()))
			}
		})
	}
	wg.Wait()
	assert.EqualValues(t, 1, most.Load())
	assert.EqualValues(t, 20, total.Load())
}

func TestALivingHolderKeepsIt(t *testing.T) {
	l, err := Acquire(t.Context(), openDB(t), "living", testTerm)
	require.NoError(t, err)

	ctx, cancel := context.WithTimeout(t.Context(), 2*testTerm)
	defer cancel()
	_, err = Acquire(ctx, openDB(t), "living", testTerm)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	var held *HeldError
	require.ErrorAs(t, err, &held)
	assert.Equal(t, l.owner, held.By)
	assert.ErrorContains(t, err, "pid ")
	require.NoError(t, l.Release(t.Context()))

	l, err = Acquire(t.Context(), openDB(t), "living", testTerm)
	require.NoError(t, err)
	require.NoError(t, l.Release(t.Context()))
}

func TestTheLeaseOfAKilledProcessEnds(t *testing.T) {
	holder := exec.CommandContext(t.Context(), os.Args[0])
	holder.Env = append(os.Environ(), holderDSN+"="+shared.Servers(t).DSN())
	stdin, err := holder.StdinPipe()
	require.NoError(t, err)
	defer stdin.Close()
	stdout, err := holder.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, holder.Start())
	line, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "held\n", line)
	require.NoError(t, holder.Process.Kill())
	require.Error(t, holder.Wait())

	start := time.Now()
	l, err := Acquire(t.Context(), openDB(t), "killed", testTerm)
	require.NoError(t, err)
	assert.GreaterOrEqual(t, time.Since(start), testTerm)
	require.NoError(t, l.Release(t.Context()))
}

// While the server answers nobody, a holder cannot show that it lives: that time
// does not count.
func TestATimeInWhichTheServerHangsDoesNotCount(t *testing.T) {
	db := openDB(t)
	dead := table{db: db, name: ident.Quote("hung")}
	require.NoError(t, dead.create(t.Context()))
	_, err := dead.insert(t.Context(), row{owner: "dead"})
	require.NoError(t, err)

	waiting, looks := openTraced(t)
	acquired := make(chan error, 1)
	var at time.Time
	go func() {
		l, err := Acquire(t.Context(), waiting, "hung", testTerm)
		at = time.Now()
		if err == nil {
			err = l.Release(t.Context())
		}
		acquired <- err
	}()
	require.Eventually(t, func() bool { return looks() > 2 }, 10*testTerm, time.Millisecond)
	master := shared.Servers(t).Master()
	require.NoError(t, shared.Servers(t).Stop(master))
	time.Sleep(testTerm + testTerm/2) // the time that must not count
	continued := time.Now()
	require.NoError(t, shared.Servers(t).Continue(master))
	require.NoError(t, <-acquired)
	assert.GreaterOrEqual(t, at.Sub(continued), testTerm)
}

func beats(t *testing.T, l *Lease) int64 {
	r, err := l.read(t.Context())
	assert.NoError(t, err)
	return r.beat
}

func TestReleaseTellsThatTheLeaseWasLost(t *testing.T) {
	db := openDB(t)
	l, err := Acquire(t.Context(), db, "lost", testTerm)
	require.NoError(t, err)
	_, err = db.ExecContext(t.Context(), `REPLACE INTO "lost" VALUES (1, 'another', 0)`)
	require.NoError(t, err)
	require.ErrorIs(t, l.Release(t.Context()), ErrLost)

	r, err := l.read(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "another", r.owner)
}

func TestReleaseWithoutTheTable(t *testing.T) {
	db := openDB(t)
	l, err := Acquire(t.Context(), db, `dropped "table"`, testTerm)
	require.NoError(t, err)
	_, err = db.ExecContext(t.Context(), "DROP TABLE "+ident.Quote(`dropped "table"`))
	require.NoError(t, err)
	require.NoError(t, l.Release(t.Context()))
}

func TestASingleConnectionIsRefused(t *testing.T) {
	db := openDB(t)
	db.SetMaxOpenConns(1)
	_, err := Acquire(t.Context(), db, "single", testTerm)
	assert.ErrorContains(t, err, "SetMaxOpenConns")
}

func TestAllIsDoneOnTheMaster(t *testing.T) {
	db, reads := openTraced(t)
	l, err := Acquire(tntsql.WithMode(t.Context(), tntsql.ModeRO), db, "modes", testTerm)
	require.NoError(t, err)
	beat := beats(t, l)
	require.Eventually(t, func() bool { return beats(t, l) > beat }, 10*testTerm, time.Millisecond)
	require.NoError(t, l.Release(tntsql.WithMode(t.Context(), tntsql.ModeRO)))
	assert.GreaterOrEqual(t, reads(), 2)
}

// openTraced opens a handle on which all statements must be for the
// master, and counts its reads.
func openTraced(t *testing.T) (db *sql.DB, reads func() int) {
	t.Helper()
	cfg, err := tntsql.ParseDSN(shared.Servers(t).DSN("read_mode=ro"))
	require.NoError(t, err)
	var n atomic.Int32
	cfg.Trace = &tntsql.Trace{Done: func(_ context.Context, info tntsql.Info, _ error) {
		assert.Equal(t, tntsql.ModeRW, info.Mode)
		if info.Kind == tntsql.KindRead {
			n.Add(1)
		}
	}}
	connector, err := tntsql.NewConnector(cfg)
	require.NoError(t, err)
	db = sql.OpenDB(connector)
	t.Cleanup(func() { assert.NoError(t, db.Close()) })
	return db, func() int { return int(n.Load()) }
}
