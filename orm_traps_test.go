package tntsql_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tntsql/tntsql"
	"github.com/tntsql/tntsql/tarantooltest"
)

// withoutMVCC is a server with Tarantool's own default, under which a memtx
// transaction does not outlive a yield, and each request over the network is one.
func withoutMVCC(t *testing.T) (*tarantooltest.ReplicaSet, *sql.DB) {
	t.Helper()
	t.Parallel()
	rs := tarantooltest.Start(t, tarantooltest.Instances(1), tarantooltest.Cfg(map[string]any{"memtx_use_mvcc_engine": false}))
	db, _ := openDSN(t, rs.DSN())
	return rs, db
}

const mvccHint = "aborted by a fiber yield (ER_TRANSACTION_YIELD, code 154) from %s; " +
	"transactions on memtx spaces need box.cfg.memtx_use_mvcc_engine = true"

func TestTransactionsWithoutMVCCSayWhatTheyNeed(t *testing.T) {
	rs, db := withoutMVCC(t)
	needStreams(t, rs)
	name := table(t, rs, "id INTEGER PRIMARY KEY, n INTEGER")
	hint := fmt.Sprintf(mvccHint, rs.Addr(0))
	fails := func(t *testing.T, err error) {
		t.Helper()
		require.ErrorContains(t, err, hint)
		assert.Equal(t, kinds{}, kindsOf(err), "it would fail again")
		require.NotErrorIs(t, err, tntsql.ErrOutcomeUnknown)
	}
	t.Run("one write", func(t *testing.T) {
		tx := beginTx(t, db, nil)
		mustExec(t, tx, "INSERT INTO "+name+" VALUES (1, 1)")
		fails(t, tx.Commit())
	})
	t.Run("two reads", func(t *testing.T) {
		tx := beginTx(t, db, &sql.TxOptions{ReadOnly: true})
		const read = "SELECT COUNT(*) FROM "
		_ = txValue(t, tx, read+name)
		fails(t, tx.QueryRowContext(t.Context(), read+name).Scan(new(int)))
	})
	t.Run("RunTx", func(t *testing.T) {
		attempts := 0
		fails(t, tntsql.RunTx(t.Context(), db, func(ctx context.Context, tx *sql.Tx) error {
			attempts++
			_, err := tx.ExecContext(ctx, "INSERT INTO "+name+" VALUES (2, 2)")
			return err
		}))
		assert.Equal(t, 1, attempts)
	})
	assert.Zero(t, countOnMaster(t, db, name))
}

// Both ways to a transaction without MVCC.
func TestWhatWorksWithoutMVCC(t *testing.T) {
	rs, db := withoutMVCC(t)
	name := table(t, rs, "id INTEGER PRIMARY KEY, n INTEGER")
	t.Run("ExecBatch", func(t *testing.T) {
		_, err := tntsql.ExecBatch(t.Context(), db,
			tntsql.Query{SQL: "INSERT INTO " + name + " VALUES (1, 1)"}, tntsql.Query{SQL: "INSERT INTO " + name + " VALUES (2, 2)"})
		require.NoError(t, err)
		assert.EqualValues(t, 2, countOnMaster(t, db, name))
	})
	t.Run("vinyl", func(t *testing.T) {
		needStreams(t, rs)
		mustExec(t, db, "CREATE TABLE v (id INTEGER PRIMARY KEY) WITH ENGINE = 'vinyl'")
		tx := beginTx(t, db, nil)
		mustExec(t, tx, "INSERT INTO v VALUES (1)")
		mustExec(t, tx, "INSERT INTO v VALUES (2)")
		require.NoError(t, tx.Commit())
		assert.EqualValues(t, 2, countOnMaster(t, db, "v"))
	})
}

// DDL yields, which no transaction over the network survives, MVCC or not.
func TestDDLInATransactionStoresNothing(t *testing.T) {
	db := open(t)
	name := txTable(t, db)
	for _, ddl := range []string{
		"CREATE TABLE %s_NEW (id INTEGER PRIMARY KEY)",
		"CREATE INDEX %[1]s_N ON %[1]s (n)",
		"ALTER TABLE %[1]s RENAME TO %[1]s_NEW",
		"TRUNCATE TABLE %s",
		"DROP TABLE %s",
	} {
		ddl = fmt.Sprintf(ddl, name)
		t.Run(ddl, func(t *testing.T) {
			before := schemaOf(t, name)
			tx := beginTx(t, db, nil)
			mustExec(t, tx, "INSERT INTO "+name+" VALUES (3, 30)")
			_, err := tx.ExecContext(t.Context(), ddl)
			if err != nil {
				require.Equal(t, kinds{}, kindsOf(err))
			}
			err = tx.Commit()
			require.ErrorContains(t, err, "code 154")
			assert.Equal(t, kinds{}, kindsOf(err), "it would fail again")
			require.NotErrorIs(t, err, tntsql.ErrOutcomeUnknown)
			assert.EqualValues(t, 2, countOnMaster(t, db, name))
			assert.Equal(t, before, schemaOf(t, name))
		})
	}
}

// schemaOf are the names of the spaces and indexes that begin with the name.
func schemaOf(t testing.TB, name string) any {
	t.Helper()
	return lua(t, sharedSet(t), 0, `
local name, found = ..., {}
for _, space in box.space._space:pairs() do
    if space.name:startswith(name) then table.insert(found, space.name) end
end
for _, index in box.space._index:pairs() do
    if index.name:startswith(name) then table.insert(found, index.name) end
end
return found`, name)
}

// Any DDL, of any table, expires what servers have prepared. It aborts the open
// transactions of its table, on 2.11 of all tables, as by a conflict.
func TestPreparedStatementsSurviveDDLByAnyone(t *testing.T) {
	rs := sharedSet(t)
	db, another := open(t, "read_mode=rw"), open(t)
	name := table(t, rs, "id INTEGER PRIMARY KEY, n INTEGER")
	insert := prepare(t, db, "INSERT INTO "+name+" VALUES (?, ?)")
	read := prepare(t, db, "SELECT n FROM "+name+" WHERE id = ?")
	changes := map[string]func(){
		"by another client":   func() { mustExec(t, another, "CREATE TABLE "+newName()+" (id INTEGER PRIMARY KEY)") },
		"by the same handle":  func() { mustExec(t, db, "CREATE TABLE "+newName()+" (id INTEGER PRIMARY KEY)") },
		"by an administrator": func() { table(t, rs, "id INTEGER PRIMARY KEY") },
		"of the same table":   func() { mustExec(t, another, "CREATE INDEX "+newName()+" ON "+name+" (n)") },
	}
	id := 0
	uses := func(t *testing.T, read, insert *sql.Stmt) {
		t.Helper()
		id++
		_, err := insert.ExecContext(t.Context(), id, 10*id)
		require.NoError(t, err)
		var n int
		require.NoError(t, read.QueryRowContext(t.Context(), id).Scan(&n))
		assert.Equal(t, 10*id, n)
	}
	for by, change := range changes {
		t.Run(by, func(t *testing.T) {
			uses(t, read, insert)
			change()
			uses(t, read, insert)
		})
		t.Run(by+", in transactions", func(t *testing.T) {
			needStreams(t, rs)
			attempts := 0
			require.NoError(t, tntsql.RunTx(t.Context(), db, func(ctx context.Context, tx *sql.Tx) error {
				read, insert := tx.StmtContext(ctx, read), tx.StmtContext(ctx, insert)
				uses(t, read, insert)
				if attempts++; attempts == 1 {
					change()
				}
				_, err := insert.ExecContext(ctx, 1000+id, 0)
				return err
			}))
			assert.Equal(t, 1, value[int](t, db, "SELECT COUNT(*) FROM "+name+" WHERE id = ?", 1000+id))
		})
	}
}

// newName is a name that no table has.
func newName() string { return fmt.Sprintf("T%d", tables.Add(1)) }
