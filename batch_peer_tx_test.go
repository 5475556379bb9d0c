package tntsql_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	protocol "github.com/tarantool/go-iproto"
	"github.com/vmihailenco/msgpack/v5"

	"github.com/tntsql/tntsql"
	"github.com/tntsql/tntsql/internal/fakepeer"
)

// streamed are the requests in streams, by their stream, and in their order.
func streamed(p *fakepeer.Peer) map[uint64][]protocol.Type {
	all := make(map[uint64][]protocol.Type)
	for _, r := range p.Requests() {
		if r.Stream != 0 {
			all[r.Stream] = append(all[r.Stream], r.Type)
		}
	}
	return all
}

func TestBatchWithoutEvalIsATransaction(t *testing.T) {
	peers, db := batchPeers(t, "3.8")
	peers[0].On(protocol.IPROTO_EVAL, denied)
	for range 2 {
		results, err := tntsql.ExecBatch(t.Context(), db, twoUpdates...)
		require.NoError(t, err)
		assert.Equal(t, []tntsql.BatchResult{{RowsAffected: 1}, {RowsAffected: 1}}, results)
	}
	assert.Equal(t, []int{1, 0}, sentTo(peers, protocol.IPROTO_EVAL), "the denial is remembered")
	whole := []protocol.Type{protocol.IPROTO_BEGIN, protocol.IPROTO_EXECUTE, protocol.IPROTO_EXECUTE, protocol.IPROTO_COMMIT}
	assert.Len(t, streamed(peers[0]), 2)
	for _, requests := range streamed(peers[0]) {
		assert.Equal(t, whole, requests)
	}
	assert.Empty(t, streamed(peers[1]))
}

func TestBatchThatFailsInAStream(t *testing.T) {
	const begin, execute, commit, rollback = protocol.IPROTO_BEGIN, protocol.IPROTO_EXECUTE, protocol.IPROTO_COMMIT, protocol.IPROTO_ROLLBACK
	for name, tt := range map[string]struct {
		on      protocol.Type
		script  fakepeer.Script
		batch   bool // a *BatchError
		unknown bool
		again   bool
		sent    []protocol.Type
	}{
		"first statement":    {execute, fakepeer.Replay("insert, duplicate"), true, false, false, []protocol.Type{begin, execute, rollback}},
		"lost statement":     {execute, fakepeer.Cut, true, false, true, []protocol.Type{begin, execute}},
		"demoted":            {execute, fakepeer.Replay("insert, read-only"), true, false, true, []protocol.Type{begin, execute, rollback}},
		"lost COMMIT":        {commit, fakepeer.Cut, false, true, false, []protocol.Type{begin, execute, execute, commit}},
		"COMMIT not in time": {commit, fakepeer.Replay("insert, quorum timeout"), false, true, false, []protocol.Type{begin, execute, execute, commit}},
		"conflict at COMMIT": {commit, conflict, false, false, true, []protocol.Type{begin, execute, execute, commit}},
		"BEGIN":              {begin, answeredError(protocol.ER_UNSUPPORTED, "no"), false, false, false, []protocol.Type{begin}},
	} {
		t.Run(name, func(t *testing.T) {
			peers, db := batchPeers(t, "3.8")
			peers[0].On(protocol.IPROTO_EVAL, denied)
			peers[0].On(tt.on, tt.script)
			results, err := tntsql.ExecBatch(t.Context(), db, twoUpdates...)
			require.Error(t, err)
			assert.Nil(t, results)
			var failed *tntsql.BatchError
			if tt.batch {
				require.ErrorAs(t, err, &failed)
				assert.Equal(t, 0, failed.Index)
			} else {
				assert.NotErrorAs(t, err, &failed)
			}
			if tt.unknown {
				assert.ErrorIs(t, err, tntsql.ErrOutcomeUnknown)
			} else {
				assert.NotErrorIs(t, err, tntsql.ErrOutcomeUnknown)
			}
			assert.Equal(t, tt.again, tntsql.IsRetryable(err), err)
			eventually(t, "end of the stream", func() bool {
				for _, requests := range streamed(peers[0]) {
					return len(requests) == len(tt.sent)
				}
				return false
			})
			for _, requests := range streamed(peers[0]) {
				assert.Equal(t, tt.sent, requests)
			}
			assert.Empty(t, streamed(peers[1]))
			assert.Equal(t, []int{1, 0}, sentTo(peers, protocol.IPROTO_EVAL))
		})
	}
}

func TestBatchWhoseStatementIsDeniedIsStillAnEval(t *testing.T) {
	peers, db := batchPeers(t, "3.8")
	peers[0].On(protocol.IPROTO_EVAL, answered(t, 1, map[string]any{"code": 42, "type": "AccessDeniedError", "message": "Write access to space 'T' is denied"}))
	for i := range 2 {
		_, err := tntsql.ExecBatch(t.Context(), db, twoUpdates...)
		var failed *tntsql.BatchError
		require.ErrorAs(t, err, &failed)
		assert.Equal(t, 0, failed.Index)
		assert.Equal(t, []int{i + 1, 0}, sentTo(peers, protocol.IPROTO_EVAL))
	}
	assert.Empty(t, streamed(peers[0]))
}

func TestBatchWithNeitherEvalNorStreamsSendsNothingElse(t *testing.T) {
	peers, db := batchPeers(t, "2.6")
	peers[0].On(protocol.IPROTO_EVAL, denied)
	_, err := tntsql.ExecBatch(t.Context(), db, twoUpdates...)
	require.ErrorIs(t, err, tntsql.ErrBatchUnsupported)
	assert.ErrorContains(t, err, "box.schema.user.grant(user, 'execute', 'universe')")
	assert.Equal(t, []int{1, 0}, sentTo(peers, protocol.IPROTO_EVAL))
	assert.Equal(t, []int{0, 0}, sentTo(peers, protocol.IPROTO_EXECUTE))
	assert.Equal(t, []int{0, 0}, sentTo(peers, protocol.IPROTO_BEGIN))
}

// texts are those that a peer was to execute, in their order.
func texts(t testing.TB, p *fakepeer.Peer) []string {
	t.Helper()
	var all []string
	for _, r := range p.Requests(protocol.IPROTO_EXECUTE) {
		var fields map[int]any
		require.NoError(t, msgpack.Unmarshal(r.Body, &fields))
		all = append(all, fields[int(protocol.IPROTO_SQL_TEXT)].(string))
	}
	return all
}

// failing fails the EXECUTEs of these numbers, from 1.
func failing(script fakepeer.Script, numbers ...int) fakepeer.Script {
	n := 0
	return func(s *fakepeer.Session, r fakepeer.Request) bool {
		n++
		return slices.Contains(numbers, n) && script(s, r)
	}
}

func TestBatchInATransactionIsUnderASavepoint(t *testing.T) {
	const (
		save    = `SAVEPOINT "tntsql: before the batch"`
		undo    = `ROLLBACK TO SAVEPOINT "tntsql: before the batch"`
		release = `RELEASE SAVEPOINT "tntsql: before the batch"`
		probe   = `SAVEPOINT "tntsql: is there a transaction?"` // after an error
	)
	first, second := twoUpdates[0].SQL, twoUpdates[1].SQL
	bad := fakepeer.Replay("syntax error")
	for name, tt := range map[string]struct {
		script    fakepeer.Script
		texts     []string
		committed bool
	}{
		"nothing fails":                  {nil, []string{save, first, second, release}, true},
		"a statement fails":              {failing(bad, 3), []string{save, first, second, probe, undo, release}, true},
		"the savepoint fails":            {failing(bad, 1), []string{save, probe}, true},
		"what was done cannot be undone": {failing(bad, 2, 4), []string{save, first, probe, undo}, false},
		"it cannot be released":          {failing(bad, 4), []string{save, first, second, release}, false},
		"nor where it was undone":        {failing(bad, 2, 5), []string{save, first, probe, undo, release}, false},
		"the transaction is over":        {failing(answeredError(protocol.ER_NO_TRANSACTION, "No active transaction"), 2, 3), []string{save, first, probe}, false},
		"the connection is lost":         {failing(fakepeer.Cut, 2), []string{save, first}, false},
	} {
		t.Run(name, func(t *testing.T) {
			peers, db := batchPeers(t, "3.8")
			tx := beginTx(t, db, nil)
			peers[0].On(protocol.IPROTO_EXECUTE, tt.script)
			results, err := tntsql.ExecBatch(t.Context(), tx, twoUpdates...)
			assert.Equal(t, tt.script == nil, err == nil, err)
			assert.Equal(t, tt.script == nil, results != nil)
			assert.NotErrorIs(t, err, tntsql.ErrOutcomeUnknown)
			err = tx.Commit()
			assert.Equal(t, tt.committed, err == nil, err)
			assert.Equal(t, tt.texts, texts(t, peers[0]))
			assert.Equal(t, []int{0, 0}, sentTo(peers, protocol.IPROTO_EVAL))
		})
	}
}
