package tntsql_test

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tntsql/tntsql"
)

// recorder keeps what a Trace is told.
type recorder struct {
	mu         sync.Mutex
	started    []tntsql.TraceStart
	done       []tntsql.Info
	errs       []error
	retries    []tntsql.TraceRetry
	topologies []tntsql.Topology
}

func (r *recorder) trace() *tntsql.Trace {
	return &tntsql.Trace{
		Start: func(_ context.Context, s tntsql.TraceStart) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.started = append(r.started, s)
		},
		Done: func(_ context.Context, info tntsql.Info, err error) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.done, r.errs = append(r.done, info), append(r.errs, err)
		},
		Retry: func(_ context.Context, retry tntsql.TraceRetry) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.retries = append(r.retries, retry)
		},
		Topology: func(topology tntsql.Topology) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.topologies = append(r.topologies, topology)
		},
	}
}

func TestTraceIsToldOfEachStatement(t *testing.T) {
	rs := sharedSet(t)
	var r recorder
	cfg := mustParse(t, rs.DSN())
	cfg.Trace = r.trace()
	db, _ := openConfig(t, cfg)

	assert.Equal(t, int64(1), valueOf[int64](t, withMode(t, tntsql.ModeRW), db, "SELECT 1"))
	_, err := tntsql.Call(t.Context(), db, tntsql.ModeRW, "no_such_function")
	require.Error(t, err)

	r.mu.Lock()
	defer r.mu.Unlock()
	assert.Equal(t, []tntsql.TraceStart{
		{Query: "SELECT 1", Kind: tntsql.KindRead, Mode: tntsql.ModeRW},
		{Query: "no_such_function", Kind: tntsql.KindCall, Mode: tntsql.ModeRW},
	}, r.started)
	require.Len(t, r.done, 2)
	for _, info := range r.done {
		assert.Equal(t, rs.UUID(0), info.Instance.UUID)
		assert.Equal(t, 1, info.Attempts)
		assert.Positive(t, info.Duration)
	}
	assert.NoError(t, r.errs[0])
	assert.Equal(t, err, r.errs[1])
	assert.NotEmpty(t, r.topologies)
}

func TestTraceIsToldOfWhatIsSentAgainAndStatsCountIt(t *testing.T) {
	rs := ownSet(t, 2)
	name := table(t, rs, "id INTEGER PRIMARY KEY, n INTEGER")
	var r recorder
	cfg := mustParse(t, rs.DSN("refresh_interval=1h"))
	cfg.Trace = r.trace()
	db, connector := openConfig(t, cfg)
	mustExec(t, db, "INSERT INTO "+name+" VALUES (1, 0)")
	inStep(t, rs)

	// Until it is told otherwise, the handle takes the former master for the master. A
	// server with watchers may tell it first, and on a slow machine so may a check.
	master, writes := 0, 1
	for retries := 0; retries == 0 && writes < 20; writes++ {
		master = 1 - master
		inStep(t, rs)
		require.NoError(t, rs.Promote(master))
		_, err := db.ExecContext(t.Context(), "UPDATE "+name+" SET n = 1 WHERE id = 1")
		require.NoError(t, err)
		r.mu.Lock()
		retries = len(r.retries)
		r.mu.Unlock()
	}

	stats := connector.Stats()
	r.mu.Lock()
	defer r.mu.Unlock()
	assert.EqualValues(t, writes, stats.Picks[tntsql.ModeRW])
	assert.EqualValues(t, len(r.retries), stats.Resent.Refused)
	for _, retry := range r.retries {
		assert.Equal(t, "refused", retry.Reason)
		assert.Equal(t, rs.UUID(1-master), retry.From.UUID)
		assert.True(t, rs.AtLeast(2, 10, 0) || retry.Err != nil)
	}
	if !rs.AtLeast(2, 10, 0) {
		assert.Len(t, r.retries, 1)
		assert.Positive(t, stats.Rechecks)
	}
	last := r.topologies[len(r.topologies)-1]
	assert.Equal(t, "rw", last.Instances[master].Role)
}
