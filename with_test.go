package tntsql_test

import (
	"database/sql"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tntsql/tntsql"
)

func TestAnotherHandleHasItsOwnModeOverTheSameConnections(t *testing.T) {
	rs := sharedSet(t)
	db, connector := openDSN(t, rs.DSN("read_mode=rw"))
	knowsAll(t, connector)
	assert.Equal(t, rs.UUID(0), served(t, t.Context(), db))
	before := connections(t, rs)

	replicas := sql.OpenDB(connector.With(tntsql.Defaults{ReadMode: tntsql.ModeRO}))
	defer replicas.Close()
	for range 4 {
		assert.NotEqual(t, rs.UUID(0), served(t, t.Context(), replicas))
	}
	assert.Equal(t, rs.UUID(0), served(t, t.Context(), db), "the first handle is as it was")
	assert.LessOrEqual(t, connections(t, rs)-before, int64(2), "a data connection to each replica at most")
}

func TestThePoolEndsWithTheLastOfItsHandles(t *testing.T) {
	rs := sharedSet(t)
	db, connector := openDSN(t, rs.DSN())
	other := connector.With(tntsql.Defaults{})
	otherDB := sql.OpenDB(other)
	require.NoError(t, otherDB.PingContext(t.Context()))
	require.NoError(t, db.Close())
	assert.NoError(t, otherDB.PingContext(t.Context()), "one handle is left")
	require.NoError(t, otherDB.Close())
	_, err := other.Connect(t.Context())
	assert.ErrorIs(t, err, tntsql.ErrClosed)
	_, err = connector.With(tntsql.Defaults{}).Connect(t.Context())
	assert.ErrorIs(t, err, tntsql.ErrClosed, "a handle made when all are closed")
}

func TestAHandleHasItsOwnTimeouts(t *testing.T) {
	db, connector := openDSN(t, sharedSet(t).DSN("selection_timeout=1m"))
	require.NoError(t, db.PingContext(t.Context()))
	hasty := sql.OpenDB(connector.With(tntsql.Defaults{SelectionTimeout: tntsql.NoWait, RequestTimeout: 50 * time.Millisecond}))
	defer hasty.Close()
	_, err := tntsql.Call(t.Context(), hasty, tntsql.ModeRO, "pause", 10)
	assert.ErrorContains(t, err, "no answer within request_timeout (50ms)")
}

func TestAReadOnlyHandleRefusesWhatWritesBeforeAnythingIsSent(t *testing.T) {
	rs := sharedSet(t)
	name := table(t, rs, "id INTEGER PRIMARY KEY")
	db := open(t, "read_only=true")
	require.NoError(t, db.PingContext(t.Context()))
	requireRequests(t, rs, 0, func() {
		for _, text := range []string{
			"INSERT INTO " + name + " VALUES (1)", "UPDATE " + name + " SET id = 2", "DELETE FROM " + name,
			"DROP TABLE " + name, "TRUNCATE TABLE " + name, "WHATEVER",
		} {
			_, err := db.ExecContext(t.Context(), text)
			assert.ErrorIs(t, err, tntsql.ErrReadOnlyHandle, text)
			_, err = db.ExecContext(withMode(t, tntsql.ModeRO), text)
			assert.ErrorIs(t, err, tntsql.ErrReadOnlyHandle, text)
		}
		for _, mode := range []tntsql.Mode{tntsql.ModeRW, tntsql.ModePreferRW} {
			_, err := tntsql.Call(t.Context(), db, mode, "pause", 0)
			assert.ErrorIs(t, err, tntsql.ErrReadOnlyHandle)
		}
	})
	assert.EqualValues(t, 0, value[int64](t, db, "SELECT COUNT(*) FROM "+name))
	_, err := db.ExecContext(t.Context(), "SELECT COUNT(*) FROM "+name)
	assert.NoError(t, err)
	_, err = tntsql.Call(t.Context(), db, tntsql.ModeRO, "pause", 0)
	assert.NoError(t, err)
}

func TestAHandleWithAnInvalidModeFailsItsReads(t *testing.T) {
	_, connector := openDSN(t, sharedSet(t).DSN())
	db := sql.OpenDB(connector.With(tntsql.Defaults{ReadMode: 99}))
	defer db.Close()
	assert.ErrorContains(t, db.QueryRowContext(t.Context(), "SELECT 1").Scan(new(int)), "Mode(99) is not a mode")
	assert.ErrorContains(t, db.PingContext(t.Context()), "Mode(99) is not a mode")
	_, err := db.BeginTx(t.Context(), &sql.TxOptions{ReadOnly: true})
	assert.ErrorContains(t, err, "Mode(99) is not a mode")
	_, err = db.ExecContext(t.Context(), "VALUES (1)")
	assert.NoError(t, err, "no read, as Exec sends it for its effects")
}
