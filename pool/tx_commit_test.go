package pool_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	protocol "github.com/tarantool/go-iproto"

	"github.com/tntsql/tntsql/discovery"
	"github.com/tntsql/tntsql/internal/fakepeer"
	"github.com/tntsql/tntsql/internal/iproto"
	"github.com/tntsql/tntsql/pool"
)

// What a server answers to a COMMIT tells whether anything of the transaction may
// be there, now or later.
func TestErrorsOfACommit(t *testing.T) {
	const syncTimeout = 295 // ER_SYNC_TIMEOUT of 3.x
	for name, tt := range map[string]struct {
		answer  fakepeer.Script
		code    protocol.Error
		unknown bool
		recheck bool
	}{
		"no quorum in time":                       {fakepeer.Replay("insert, quorum timeout"), protocol.ER_SYNC_QUORUM_TIMEOUT, true, false},
		"no quorum in time, and it waits on":      {fakepeer.Replay("insert, quorum timeout, detached"), syncTimeout, true, false},
		"rolled back by another leader":           {refuseWith(protocol.ER_SYNC_ROLLBACK), protocol.ER_SYNC_ROLLBACK, true, false},
		"cancelled while it waits for the quorum": {fakepeer.Replay("insert, cancelled"), protocol.ER_PROC_LUA, true, false},
		"an error of Lua":                         {refuseWith(protocol.ER_PROC_LUA), protocol.ER_PROC_LUA, false, false},
		"read-only":                               {fakepeer.Replay("update, read-only"), protocol.ER_READONLY, false, true},
		"read-only, without a reason":             {refuseWith(protocol.ER_READONLY), protocol.ER_READONLY, false, true},
		"loading":                                 {refuseWith(protocol.ER_LOADING), protocol.ER_LOADING, false, true},
		"conflict":                                {refuseWith(protocol.ER_TRANSACTION_CONFLICT), protocol.ER_TRANSACTION_CONFLICT, false, false},
		"yield":                                   {refuseWith(protocol.ER_TRANSACTION_YIELD), protocol.ER_TRANSACTION_YIELD, false, false},
		"timeout":                                 {refuseWith(protocol.ER_TRANSACTION_TIMEOUT), protocol.ER_TRANSACTION_TIMEOUT, false, false},
		"duplicate":                               {duplicate, protocol.ER_TUPLE_FOUND, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startServer(t, 0, watched)
			p := openReady(t, options(s))
			tx := openTx(t, p, discovery.ModeRW)
			require.NoError(t, run(t.Context(), tx, insert()))
			s.On(protocol.IPROTO_COMMIT, tt.answer)
			votes := s.votes()
			err := tx.Commit(t.Context())
			var server *iproto.ServerError
			require.ErrorAs(t, err, &server)
			assert.EqualValues(t, tt.code, server.Code)
			if tt.unknown {
				assert.ErrorAs(t, err, new(*pool.UnknownError))
			} else {
				assert.NotErrorAs(t, err, new(*pool.UnknownError))
			}
			if tt.recheck {
				assert.Eventually(t, func() bool { return s.votes() > votes }, patience, tick)
			}
			tx.Rollback() // there is nothing to roll back
			require.Error(t, run(t.Context(), tx, insert()))
			s.On(protocol.IPROTO_COMMIT, nil)
			requireNoMore(t, p, s)
			requireStreams(t, s, "BEGIN INSERT COMMIT", "BEGIN COMMIT")
		})
	}
}

// The reply to a COMMIT comes behind the news that its instance is read-only now:
// it was committed before.
func TestCommitOfAFormerMasterIsWhatItSays(t *testing.T) {
	s := startServer(t, 0, watched)
	p := openTold(t, options(s))
	tx := openTx(t, p, discovery.ModeRW)
	s.On(protocol.IPROTO_COMMIT, func(*fakepeer.Session, fakepeer.Request) bool {
		s.SetReadOnly(true)
		return false
	})
	require.NoError(t, tx.Commit(t.Context()))
	requireStreams(t, s, "BEGIN COMMIT")
}
