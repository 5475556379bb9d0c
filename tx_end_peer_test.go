package tntsql_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	protocol "github.com/tarantool/go-iproto"

	"github.com/tntsql/tntsql"
	"github.com/tntsql/tntsql/internal/fakepeer"
)

func TestCommitWhoseBodyIsAnErrorFails(t *testing.T) {
	for header, typ := range map[string]protocol.Type{
		"OK":                protocol.IPROTO_OK,
		"an error's number": protocol.IPROTO_TYPE_ERROR, // and code 0
	} {
		t.Run(header, func(t *testing.T) {
			p := startStreams(t)
			db, _ := openPeer(t, "", p)
			tx, err := db.BeginTx(t.Context(), nil)
			require.NoError(t, err)
			mustExec(t, tx, "INSERT INTO t VALUES (1)")
			p.On(protocol.IPROTO_COMMIT, func(s *fakepeer.Session, r fakepeer.Request) bool {
				s.Reply(r.Sync, uint32(typ), append([]byte{0x81, byte(protocol.IPROTO_ERROR_24), 0xa2}, "no"...))
				return true
			})
			err = tx.Commit()
			var server *tntsql.Error
			require.ErrorAs(t, err, &server)
			assert.Equal(t, "no", server.Message)
			assert.NotErrorIs(t, err, tntsql.ErrOutcomeUnknown)
			assert.False(t, tntsql.IsRetryable(err))
			requireCame(t, p, "BEGIN EXECUTE COMMIT")
		})
	}
}

// Nothing else ends a statement without a context of its own on a server that hangs.
func TestStatementEndsWithTheContextOfItsTransaction(t *testing.T) {
	for name, tt := range map[string]struct {
		typ protocol.Type
		run func(tx *sql.Tx) error
	}{
		"statement": {protocol.IPROTO_EXECUTE, func(tx *sql.Tx) error { _, err := tx.Exec("INSERT INTO t VALUES (1)"); return err }},
		"query": {protocol.IPROTO_EXECUTE, func(tx *sql.Tx) error {
			return tx.QueryRow("SELECT 1").Scan(new(int))
		}},
		"call": {protocol.IPROTO_CALL, func(tx *sql.Tx) error {
			_, err := tntsql.Call(context.Background(), tx, tntsql.ModeRW, "f")
			return err
		}},
		"batch": {protocol.IPROTO_EXECUTE, func(tx *sql.Tx) error {
			_, err := tntsql.ExecBatch(context.Background(), tx, twoUpdates...)
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			p := startStreams(t)
			db, connector := openPeer(t, "", p)
			ready := make(chan struct{})
			p.On(tt.typ, fakepeer.Late(ready))
			ctx, cancel := context.WithCancel(t.Context())
			tx, err := db.BeginTx(ctx, nil)
			require.NoError(t, err)
			ended := make(chan error, 1)
			go func() { ended <- tt.run(tx) }()
			sent := "BEGIN " + tt.typ.String()[len("IPROTO_"):]
			requireCame(t, p, sent)
			cancel()
			select {
			case err := <-ended:
				require.ErrorIs(t, err, context.Canceled)
				assert.NotErrorIs(t, err, tntsql.ErrOutcomeUnknown)
			case <-time.After(stuck):
				assert.Fail(t, "it waits for the server")
			}
			close(ready)
			requireCame(t, p, sent+" ROLLBACK")
			assert.EqualValues(t, 1, connector.sessions.Load())
		})
	}
}

func TestTransactionsBeginWhereThereAreStreams(t *testing.T) {
	const oldUUID, newUUID = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"
	instance := func(version, uuid string, options ...fakepeer.Option) *fakepeer.Peer {
		return fakepeer.Start(t, nil, append(options, fakepeer.Instance(version, uuid))...)
	}
	for name, tt := range map[string]struct {
		peers    []*fakepeer.Peer // the one with streams last
		readOnly bool
		served   bool
	}{
		"two replicas":                 {[]*fakepeer.Peer{instance("2.6.0", oldUUID, fakepeer.ReadOnly()), instance("3.8.0", newUUID, fakepeer.ReadOnly())}, true, true},
		"an old replica, a new master": {[]*fakepeer.Peer{instance("2.6.0", oldUUID, fakepeer.ReadOnly()), instance("3.8.0", newUUID)}, true, true},
		"an old master, a new replica": {[]*fakepeer.Peer{instance("2.6.0", oldUUID), instance("3.8.0", newUUID, fakepeer.ReadOnly())}, true, true},
		"to write, but an old master":  {[]*fakepeer.Peer{instance("2.6.0", oldUUID), instance("3.8.0", newUUID, fakepeer.ReadOnly())}, false, false},
		"to write, and a new master":   {[]*fakepeer.Peer{instance("2.6.0", oldUUID, fakepeer.ReadOnly()), instance("3.8.0", newUUID)}, false, true},
		"old ones alone":               {[]*fakepeer.Peer{instance("2.6.0", oldUUID, fakepeer.ReadOnly()), instance("2.8.4", newUUID)}, true, false},
		"to write, and old ones alone": {[]*fakepeer.Peer{instance("2.6.0", oldUUID, fakepeer.ReadOnly()), instance("2.8.4", newUUID)}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			db, _ := openPeer(t, "", tt.peers...)
			for range 6 {
				ctx, info := tntsql.Capture(t.Context())
				begun := time.Now()
				tx, err := db.BeginTx(ctx, &sql.TxOptions{ReadOnly: tt.readOnly})
				assert.Less(t, time.Since(begun), 5*time.Second, "not selection_timeout")
				if !tt.served {
					require.ErrorIs(t, err, tntsql.ErrTxUnsupported)
					assert.False(t, tntsql.IsRetryable(err))
					continue
				}
				require.NoError(t, err)
				assert.Equal(t, tt.peers[1].Addr, info.Instance.Address)
				assert.Equal(t, 1, info.Attempts, "an instance without streams is sent nothing")
				require.NoError(t, tx.Rollback())
			}
			assert.Empty(t, came(tt.peers[0]))
		})
	}
}

// A panic of the application's code is the application's; what the driver has begun
// by itself it must end by itself.
func TestBatchUnderATraceThatPanicsLeavesNoTransaction(t *testing.T) {
	p := startStreams(t)
	p.On(protocol.IPROTO_EVAL, denied)
	calls, panicsAt := 0, 0
	cfg := mustParse(t, dsnOf([]string{p.Addr}, quiet))
	cfg.Trace = &tntsql.Trace{Done: func(context.Context, tntsql.Info, error) {
		if calls++; calls == panicsAt {
			panic("no")
		}
	}}
	db, connector := openConfig(t, cfg)
	knowsAll(t, connector)
	conn, err := db.Conn(t.Context())
	require.NoError(t, err)
	defer conn.Close()
	_, err = tntsql.ExecBatch(t.Context(), conn, twoUpdates...)
	require.NoError(t, err, "and later ones make no EVAL")
	want := []string{"BEGIN EXECUTE EXECUTE COMMIT"}
	for at, left := range map[int]string{
		2: "BEGIN EXECUTE ROLLBACK",
		3: "BEGIN EXECUTE EXECUTE ROLLBACK",
		4: "BEGIN EXECUTE EXECUTE COMMIT",
	} {
		calls, panicsAt = 0, at
		assert.PanicsWithValue(t, "no", func() { _, _ = tntsql.ExecBatch(t.Context(), conn, twoUpdates...) })
		want = append(want, left)
		requireCame(t, p, want...)
		mustExec(t, conn, "INSERT INTO t VALUES (1)")
		assert.Equal(t, want, came(p), "that was in no stream")
	}
}
