package tntsql_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	protocol "github.com/tarantool/go-iproto"
	"github.com/vmihailenco/msgpack/v5"

	"github.com/tntsql/tntsql"
	"github.com/tntsql/tntsql/internal/fakepeer"
)

// batchPeers are a master, number 0, and a replica, and a handle on both.
func batchPeers(t *testing.T, series string, params ...string) ([]*fakepeer.Peer, *sql.DB) {
	t.Helper()
	var (
		peers []*fakepeer.Peer
		hosts []string
	)
	for i := range 2 {
		options := []fakepeer.Option{fakepeer.Instance(series+".0", fmt.Sprintf("%08d-0000-4000-8000-000000000000", i))}
		if i > 0 {
			options = append(options, fakepeer.ReadOnly())
		}
		p := fakepeer.Start(t, nil, options...)
		peers, hosts = append(peers, p), append(hosts, p.Addr)
	}
	db, connector := openDSN(t, dsnOf(hosts, append(params, quiet)...))
	knowsAll(t, connector)
	return peers, db
}

// switchOver makes another peer the only writable one.
func switchOver(from, to *fakepeer.Peer) {
	from.SetReadOnly(true)
	to.SetReadOnly(false)
}

// answered is a script that answers an EVAL with values.
func answered(t testing.TB, values ...any) fakepeer.Script {
	t.Helper()
	body, err := msgpack.Marshal(map[int]any{int(protocol.IPROTO_DATA): values})
	require.NoError(t, err)
	return func(s *fakepeer.Session, r fakepeer.Request) bool {
		s.Reply(r.Sync, 0, body)
		return true
	}
}

func answeredError(code protocol.Error, message string) fakepeer.Script {
	return func(s *fakepeer.Session, r fakepeer.Request) bool {
		s.Error(r.Sync, code, message)
		return true
	}
}

var (
	conflict = answeredError(protocol.ER_TRANSACTION_CONFLICT, "Transaction has been aborted by conflict")
	// denied is how a server answers the EVAL of a user who may not.
	denied = answeredError(protocol.ER_ACCESS_DENIED, "Execute access to universe '' is denied for user 'app'")
)

// did is the script's answer for statements that affected so many rows each.
func did(t testing.TB, affected ...int) fakepeer.Script {
	t.Helper()
	results := []any{}
	for _, n := range affected {
		results = append(results, []any{n, []any{}, nil})
	}
	return answered(t, 0, results)
}

// refusedWith is the script's answer of a read-only instance.
func refusedWith(t testing.TB, statement int, fields map[string]any) fakepeer.Script {
	t.Helper()
	fields["code"], fields["type"], fields["message"] = 7, "ClientError", "Can't modify data on a read-only instance"
	return answered(t, statement, fields)
}

// after runs f before the script answers.
func after(f func(), script fakepeer.Script) fakepeer.Script {
	return func(s *fakepeer.Session, r fakepeer.Request) bool {
		f()
		return script(s, r)
	}
}

// sentTo counts the requests of a type to each peer.
func sentTo(peers []*fakepeer.Peer, typ protocol.Type) []int {
	var counts []int
	for _, p := range peers {
		counts = append(counts, len(p.Requests(typ)))
	}
	return counts
}

var twoUpdates = batchOf("T", "UPDATE {t} SET N = 1 WHERE ID = 1", "UPDATE {t} SET N = 2 WHERE ID = 2")

func TestBatchThatIsRefusedFollowsTheMaster(t *testing.T) {
	for series, fields := range map[string]map[string]any{
		"2.6":  {},
		"2.11": {"reason": "config", "state": "read_only"},
		"3.8":  {"reason": "election", "state": "follower", "leader_uuid": "00000001-0000-4000-8000-000000000000"},
	} {
		for statement := 1; statement <= 2; statement++ {
			t.Run(fmt.Sprintf("%s, statement %d", series, statement), func(t *testing.T) {
				peers, db := batchPeers(t, series)
				peers[0].On(protocol.IPROTO_EVAL, after(func() { switchOver(peers[0], peers[1]) }, refusedWith(t, statement, fields)))
				peers[1].On(protocol.IPROTO_EVAL, did(t, 1, 1))
				ctx, info := tntsql.Capture(t.Context())
				results, err := tntsql.ExecBatch(ctx, db, twoUpdates...)
				require.NoError(t, err)
				assert.Equal(t, []tntsql.BatchResult{{RowsAffected: 1}, {RowsAffected: 1}}, results)
				assert.Equal(t, peers[1].Addr, info.Instance.Address)
				assert.Equal(t, 2, info.Attempts)
				assert.Equal(t, []int{1, 1}, sentTo(peers, protocol.IPROTO_EVAL))
			})
		}
	}
}

func TestBatchRefusedTwiceIsRefused(t *testing.T) {
	peers, db := batchPeers(t, "3.8")
	peers[0].On(protocol.IPROTO_EVAL, after(func() { switchOver(peers[0], peers[1]) }, refusedWith(t, 1, map[string]any{"reason": "config"})))
	peers[1].On(protocol.IPROTO_EVAL, after(func() { switchOver(peers[1], peers[0]) }, refusedWith(t, 2, map[string]any{"reason": "config"})))
	_, err := tntsql.ExecBatch(t.Context(), db, twoUpdates...)
	requireBatchError(t, err, 1, twoUpdates[1], 7, "read-only instance")
	assert.True(t, tntsql.IsReadOnly(err))
	assert.True(t, tntsql.IsRetryable(err))
	assert.Equal(t, []int{1, 1}, sentTo(peers, protocol.IPROTO_EVAL))
}

func TestBatchRefusedByAnInstanceThatIsStillTheMasterIsNotSentAgain(t *testing.T) {
	for name, fields := range map[string]map[string]any{
		"by its role, it says":                {"reason": "config"},
		"by a function, or inside the commit": {}, // since 2.10 a refusal has a reason
	} {
		t.Run(name, func(t *testing.T) {
			peers, db := batchPeers(t, "3.8")
			peers[0].On(protocol.IPROTO_EVAL, refusedWith(t, 2, fields))
			_, err := tntsql.ExecBatch(t.Context(), db, twoUpdates...)
			requireBatchError(t, err, 1, twoUpdates[1], 7, "read-only instance")
			assert.True(t, tntsql.IsRetryable(err))
			assert.Equal(t, []int{1, 0}, sentTo(peers, protocol.IPROTO_EVAL))
		})
	}
}

// What the refusal of the first instance said is not what the second did.
func TestBatchThatFailsWhereItWasSentAgain(t *testing.T) {
	for name, tt := range map[string]struct {
		second  fakepeer.Script
		unknown bool
	}{
		"lost":                {fakepeer.Cut, true},
		"aborted by conflict": {conflict, false},
		"no quorum in time":   {answeredError(protocol.ER_SYNC_QUORUM_TIMEOUT, "Quorum collection for a synchronous transaction is timed out"), true},
	} {
		t.Run(name, func(t *testing.T) {
			peers, db := batchPeers(t, "3.8")
			peers[0].On(protocol.IPROTO_EVAL, after(func() { switchOver(peers[0], peers[1]) }, refusedWith(t, 1, map[string]any{"reason": "config"})))
			peers[1].On(protocol.IPROTO_EVAL, tt.second)
			_, err := tntsql.ExecBatch(t.Context(), db, twoUpdates...)
			require.Error(t, err)
			assert.Equal(t, tt.unknown, !tntsql.IsRetryable(err))
			if tt.unknown {
				assert.ErrorIs(t, err, tntsql.ErrOutcomeUnknown)
			} else {
				assert.True(t, tntsql.IsTxConflict(err))
			}
			assert.NotErrorAs(t, err, new(*tntsql.BatchError))
			assert.Equal(t, []int{1, 1}, sentTo(peers, protocol.IPROTO_EVAL))
		})
	}
}

func TestBatchThatIsRefusedWhereThereIsNoMaster(t *testing.T) {
	peers, db := batchPeers(t, "3.8", "selection_timeout=50ms")
	peers[0].On(protocol.IPROTO_EVAL, after(func() { peers[0].SetReadOnly(true) }, refusedWith(t, 1, map[string]any{"reason": "config"})))
	_, err := tntsql.ExecBatch(t.Context(), db, twoUpdates...)
	require.ErrorIs(t, err, tntsql.ErrNoInstance)
	assert.NotErrorIs(t, err, tntsql.ErrOutcomeUnknown)
	assert.NotErrorAs(t, err, new(*tntsql.BatchError), "it is no statement's fault")
	assert.Equal(t, []int{1, 0}, sentTo(peers, protocol.IPROTO_EVAL))
}

func TestBatchThatChangedNothingOnAFormerMasterFollowsTheNewOne(t *testing.T) {
	insert := batchOf("T", "INSERT INTO {t} VALUES (1, 1)")[0]
	reads := batchOf("T", "SELECT N FROM {t} WHERE ID = 1")[0]
	for _, tt := range []struct {
		name    string
		qs      []tntsql.Query
		rows    []int
		sent    []int
		refused bool
	}{
		{"updates of no rows", twoUpdates, []int{0, 0}, []int{1, 1}, false},
		{"with a read", append(twoUpdates[:2:2], reads), []int{0, 0, 0}, []int{1, 1}, false},
		{"one of a row", twoUpdates, []int{0, 1}, []int{1, 0}, false},
		{"with an insert", append(twoUpdates[:2:2], insert), []int{0, 0, 1}, []int{1, 0}, false},
		{"with an insert of no rows", append(twoUpdates[:2:2], insert), []int{0, 0, 0}, []int{1, 0}, false},
		{"reads alone", []tntsql.Query{reads, reads}, []int{0, 0}, []int{1, 0}, false},
		// A function may have written, into a local space above all.
		{"with a read that calls a function", append(twoUpdates[:2:2], tntsql.Query{SQL: "SELECT F()"}), []int{0, 0, 0}, []int{1, 0}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			peers, db := batchPeers(t, "3.8")
			peers[0].On(protocol.IPROTO_EVAL, did(t, make([]int, len(tt.qs))...))
			_, err := tntsql.ExecBatch(t.Context(), db, tt.qs...)
			require.NoError(t, err, "on the master no rows are what it says")
			peers[0].On(protocol.IPROTO_EVAL, after(func() { switchOver(peers[0], peers[1]) }, did(t, tt.rows...)))
			peers[1].On(protocol.IPROTO_EVAL, did(t, make([]int, len(tt.qs))...))
			before := len(peers[0].Requests(protocol.IPROTO_EVAL))
			_, err = tntsql.ExecBatch(t.Context(), db, tt.qs...)
			assert.Equal(t, tt.refused, err != nil, err)
			sent := sentTo(peers, protocol.IPROTO_EVAL)
			sent[0] -= before
			assert.Equal(t, tt.sent, sent)
		})
	}
}

// Tarantool before 2.7.1 takes writes while it is read-only.
func TestBatchHasAVoteInFrontWhereWritesAreTakenReadOnly(t *testing.T) {
	peers, db := batchPeers(t, "2.6")
	peers[0].On(protocol.IPROTO_EVAL, did(t, 1, 1))
	for range 20 {
		_, err := tntsql.ExecBatch(t.Context(), db, twoUpdates...)
		require.NoError(t, err)
	}
	batches := peers[0].Requests(protocol.IPROTO_EVAL)
	var data []protocol.Type
	for _, r := range peers[0].Requests(protocol.IPROTO_VOTE, protocol.IPROTO_EVAL) {
		if r.Session == batches[0].Session {
			data = append(data, r.Type)
		}
	}
	require.Len(t, data, 40)
	for i, typ := range data {
		require.Equal(t, []protocol.Type{protocol.IPROTO_VOTE, protocol.IPROTO_EVAL}[i%2], typ)
	}

	switchOver(peers[0], peers[1])
	_, err := tntsql.ExecBatch(t.Context(), db, twoUpdates...)
	require.ErrorIs(t, err, tntsql.ErrOutcomeUnknown)
	assert.ErrorContains(t, err, "the instance is read-only and took the write all the same")
	assert.Equal(t, []int{21, 0}, sentTo(peers, protocol.IPROTO_EVAL))
}

func TestBatchWhoseReplyIsLostIsNotSentAgain(t *testing.T) {
	for _, series := range []string{"2.6", "3.8"} {
		for name, lose := range map[string]fakepeer.Script{
			"cut":       fakepeer.Cut,
			"cut short": fakepeer.CutShort,
			"garbled":   fakepeer.Garble,
		} {
			t.Run(series+" "+name, func(t *testing.T) {
				peers, db := batchPeers(t, series)
				peers[0].On(protocol.IPROTO_EVAL, lose)
				results, err := tntsql.ExecBatch(t.Context(), db, twoUpdates...)
				require.ErrorIs(t, err, tntsql.ErrOutcomeUnknown)
				assert.False(t, tntsql.IsRetryable(err))
				assert.Nil(t, results)
				assert.Equal(t, []int{1, 0}, sentTo(peers, protocol.IPROTO_EVAL))
				assert.Equal(t, []int{0, 0}, sentTo(peers, protocol.IPROTO_BEGIN))
				peers[0].On(protocol.IPROTO_EVAL, did(t, 1, 1))
				_, err = tntsql.ExecBatch(t.Context(), db, twoUpdates...)
				require.NoError(t, err, "the handle goes on")
			})
		}
	}
}

func TestBatchWhoseAnswerDoesNotComeInTime(t *testing.T) {
	peers, db := batchPeers(t, "3.8")
	peers[0].On(protocol.IPROTO_EVAL, fakepeer.Lose)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := tntsql.ExecBatch(ctx, db, twoUpdates...)
		ended <- err
	}()
	eventually(t, "batch in flight", func() bool { return len(peers[0].Requests(protocol.IPROTO_EVAL)) == 1 })
	cancel()
	err := <-ended
	require.ErrorIs(t, err, tntsql.ErrOutcomeUnknown)
	require.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, []int{1, 0}, sentTo(peers, protocol.IPROTO_EVAL))
}

// A reply that cannot be read says nothing of what was done, and must not panic.
func TestBatchWithAReplyThatIsNone(t *testing.T) {
	peers, db := batchPeers(t, "3.8")
	row := []any{1, []any{}, nil}
	for name, values := range map[string][]any{
		"nothing":                   {},
		"one value":                 {0},
		"three values":              {0, []any{row, row}, 1},
		"results of one statement":  {0, []any{row}},
		"results of three":          {0, []any{row, row, row}},
		"no list":                   {0, "x"},
		"an error of no statement":  {0, map[string]any{"code": 3}},
		"an error before the first": {-1, map[string]any{"code": 3}},
		"an error behind the last":  {3, map[string]any{"code": 3, "message": "x"}},
		"an error far behind":       {uint64(1) << 62, map[string]any{"code": 3, "message": "x"}},
		"an end behind the last":    {3, map[string]any{"ended": true}},
		"a result that is a map":    {0, []any{row, map[string]any{}}},
		"rows that are none":        {0, []any{row, []any{0, []any{}, []any{1}}}},
		"a count that is a text":    {0, []any{row, []any{"0", []any{}, nil}}},
		"an id that is a double":    {0, []any{row, []any{0, []any{1.5}, nil}}},
	} {
		t.Run(name, func(t *testing.T) {
			peers[0].On(protocol.IPROTO_EVAL, answered(t, values...))
			assert.NotPanics(t, func() {
				results, err := tntsql.ExecBatch(t.Context(), db, twoUpdates...)
				assert.Nil(t, results)
				assert.ErrorIs(t, err, tntsql.ErrOutcomeUnknown)
			})
		})
	}
}
