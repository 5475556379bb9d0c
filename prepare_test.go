package tntsql_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	protocol "github.com/tarantool/go-iproto"

	"github.com/tntsql/tntsql"
)

func TestPrepareTellsOfTheTextOnceAndForAll(t *testing.T) {
	rs, db, _ := startCaching(t, nil)
	insert(t, db, 1)
	before := prepares(t, rs, 0)
	asked := func() int { return prepares(t, rs, 0) - before }
	read := func(text string) {
		t.Helper()
		stmt, err := db.PrepareContext(t.Context(), text)
		require.NoError(t, err)
		var s string
		require.NoError(t, stmt.QueryRowContext(t.Context(), 1).Scan(&s))
		require.NoError(t, stmt.Close())
	}
	for range 3 {
		read(textOf(0))
	}
	assert.Equal(t, 1, asked(), "later ones are local, and the id is kept")
	underLoad(t, 16, 32, func(ctx context.Context, _ int) error {
		stmt, err := db.PrepareContext(ctx, textOf(1))
		if err != nil {
			return err
		}
		return stmt.Close()
	})
	assert.Equal(t, 2, asked())
	underLoad(t, 16, 32, func(ctx context.Context, _ int) error {
		if _, err := db.PrepareContext(ctx, "SELEC 1"); err == nil {
			return errors.New("no error, though another one is told of it")
		}
		return nil
	})
	before += asked() - 2

	for range 2 {
		stmt, err := db.PrepareContext(t.Context(), "INSERT INTO t VALUES (?, ?)")
		require.NoError(t, err)
		require.NoError(t, stmt.Close())
	}
	eventually(t, "UNPREPARE of the write", func() bool {
		count, _ := kept(t, rs)
		return asked() == 3 && count == 2
	})
}

func TestPrepareReportsErrorsOfTheText(t *testing.T) {
	rs := sharedSet(t)
	name := table(t, rs, "ID INTEGER PRIMARY KEY")
	for _, mode := range []string{"read_mode=rw", "read_mode=ro"} {
		db := open(t, mode)
		for text, code := range map[string]uint32{
			"FOO BAR":                             184,
			"SELECT 1; SELECT 2":                  183,
			"SELECT * FROM nowhere":               36,
			"INSERT INTO nowhere VALUES (1)":      36,
			"SELECT nothing FROM " + name:         176,
			"SELECT nofunction(1) FROM " + name:   51,
			"UPDATE " + name + " SET nothing = 1": 0,
		} {
			for range 2 {
				_, err := db.PrepareContext(t.Context(), text)
				var server *tntsql.Error
				require.ErrorAs(t, err, &server, text)
				if code != 0 {
					assert.Equal(t, code, server.Code, text)
				}
			}
		}
	}
}

func TestPrepareSucceedsWhereTheUseMay(t *testing.T) {
	rs := sharedSet(t)
	db := open(t)
	prepare(t, db, "SELECT 1\x00")
	before := prepares(t, rs, 0)
	for _, text := range []string{"COMMIT", "SAVEPOINT a", "CREATE TABLE new_table (id INTEGER PRIMARY KEY)", "SELECT 2\x00", "FOO\x00 BAR"} {
		prepare(t, db, text)
	}
	assert.Equal(t, before, prepares(t, rs, 0), "no server is asked")

	_, err := db.PrepareContext(t.Context(), "SELECT * FROM LATER")
	require.Error(t, err)
	lua(t, rs, 0, "assert(box.execute('CREATE TABLE LATER (ID INTEGER PRIMARY KEY)'))")
	prepare(t, open(t, "read_only=true"), "INSERT INTO LATER VALUES (1)")
	prepare(t, db, "INSERT INTO LATER VALUES (1)")
	lua(t, rs, 0, "assert(box.execute('DROP TABLE LATER'))")
	inStep(t, rs)
	prepare(t, db, "INSERT INTO LATER VALUES (1)")

	nobody, _ := openDSN(t, dsnOf([]string{closedPort(t)}, "selection_timeout=10ms"))
	prepare(t, nobody, "SELECT 1")
	ended, end := context.WithCancel(t.Context())
	end()
	_, err = nobody.PrepareContext(ended, "SELECT 2")
	assert.ErrorIs(t, err, context.Canceled)
}

// A table that a replica does not have yet.
func TestPrepareAsksTheMasterAboutWhatAReplicaDoesNotKnow(t *testing.T) {
	peers, db := batchPeers(t, "3.8")
	peers[1].On(protocol.IPROTO_PREPARE, answeredError(protocol.ER_NO_SUCH_SPACE, "Space 'NEW' does not exist"))
	for i := range 4 {
		prepare(t, db, fmt.Sprintf("SELECT * FROM NEW -- %d", i))
	}
	assert.NotEmpty(t, peers[1].Requests(protocol.IPROTO_PREPARE))
	peers[0].On(protocol.IPROTO_PREPARE, answeredError(protocol.ER_NO_SUCH_SPACE, "Space 'NEW' does not exist"))
	_, err := db.PrepareContext(t.Context(), "SELECT * FROM NEW")
	assert.Error(t, err)
	peers[0].On(protocol.IPROTO_PREPARE, answeredError(protocol.ER_ACCESS_DENIED, "Execute access to sql is denied"))
	prepare(t, db, "SELECT * FROM NEW -- 5")
	peers[0].On(protocol.IPROTO_PREPARE, answeredError(protocol.ER_SQL_PREPARE, "Memory limit for SQL prepared statements has been reached."))
	prepare(t, db, "SELECT * FROM NEW -- 6")
}

func TestPrepareInATransactionAsksNobody(t *testing.T) {
	rs := sharedSet(t)
	needStreams(t, rs)
	db := open(t)
	tx, err := db.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	defer func() { assert.NoError(t, tx.Rollback()) }()
	before := prepares(t, rs, 0)
	stmt, err := tx.PrepareContext(t.Context(), "SELECT ?")
	require.NoError(t, err)
	for range 3 {
		var n int
		require.NoError(t, stmt.QueryRowContext(t.Context(), 1).Scan(&n))
	}
	assert.Equal(t, before, prepares(t, rs, 0))
}
