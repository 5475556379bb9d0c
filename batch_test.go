package tntsql_test

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tntsql/tntsql"
	"github.com/tntsql/tntsql/tarantooltest"
)

// batchOf are the statements, with the name of a table in place of {t}.
func batchOf(table string, texts ...string) []tntsql.Query {
	var qs []tntsql.Query
	for _, text := range texts {
		qs = append(qs, tntsql.Query{SQL: strings.ReplaceAll(text, "{t}", table)})
	}
	return qs
}

// batchTable is a table with rows 1 and 2, into which 77 cannot be inserted.
func batchTable(t testing.TB, rs *tarantooltest.ReplicaSet) string {
	t.Helper()
	name := table(t, rs, "ID INTEGER PRIMARY KEY AUTOINCREMENT, N INTEGER")
	lua(t, rs, rs.Master(), `
local name = ...
box.space[name]:insert{1, 10}
box.space[name]:insert{2, 20}
assert(box.execute('CREATE TRIGGER REFUSE_' .. name .. ' BEFORE INSERT ON ' .. name .. [[
    FOR EACH ROW WHEN NEW.ID = 77 BEGIN SELECT RAISE(ROLLBACK, 'no 77'); END]]))`, name)
	inStep(t, rs)
	return name
}

// storedIDs are the keys of a table, as the master knows them.
func storedIDs(t testing.TB, rs *tarantooltest.ReplicaSet, name string) []any {
	t.Helper()
	return lua(t, rs, rs.Master(), `
local ids = {}
for _, row in box.space[...]:pairs() do table.insert(ids, row[1]) end
return ids`, name).([]any)
}

func ids(all ...int64) []any {
	out := []any{}
	for _, id := range all {
		out = append(out, id)
	}
	return out
}

// mvccOff is a master without MVCC: a memtx transaction that yields is aborted.
func mvccOff(t testing.TB) *tarantooltest.ReplicaSet {
	t.Helper()
	return tarantooltest.Start(t, tarantooltest.InitLua(functions), tarantooltest.Instances(1),
		tarantooltest.Cfg(map[string]any{"memtx_use_mvcc_engine": false}))
}

// openClerk gives a handle of a user who may read, and write into the table, but
// not EVAL. UPDATE, DELETE and an INSERT of several rows read a temporary space of
// the server's, which it lets only those do who may read everything.
func openClerk(t testing.TB, rs *tarantooltest.ReplicaSet, name string, params ...string) *sql.DB {
	t.Helper()
	cfg := mustParse(t, clerkDSN(t, rs, name, params...))
	db, connector := openConfig(t, cfg)
	knowsAll(t, connector)
	return db
}

func clerkDSN(t testing.TB, rs *tarantooltest.ReplicaSet, name string, params ...string) string {
	t.Helper()
	lua(t, rs, rs.Master(), `
local name, privileged = ...
box.schema.user.create('clerk', {password = 'clerk', if_not_exists = true})
box.schema.user.grant('clerk', 'read', 'universe', nil, {if_not_exists = true})
box.schema.user.grant('clerk', 'write', 'space', name)
if privileged then
    box.schema.user.grant('clerk', 'execute', 'sql', nil, {if_not_exists = true})
end`, name, rs.AtLeast(3, 0, 0))
	inStep(t, rs)
	return strings.Replace(rs.DSN(params...), "app:secret", "clerk:clerk", 1)
}

// batchWays are the ways that a batch may take outside a transaction.
var batchWays = map[string]func(t *testing.T) (*tarantooltest.ReplicaSet, *sql.DB, string){
	"by EVAL": func(t *testing.T) (*tarantooltest.ReplicaSet, *sql.DB, string) {
		rs := sharedSet(t)
		return rs, open(t), batchTable(t, rs)
	},
	"by EVAL, MVCC off": func(t *testing.T) (*tarantooltest.ReplicaSet, *sql.DB, string) {
		rs := mvccOff(t)
		db, _ := openDSN(t, rs.DSN())
		return rs, db, batchTable(t, rs)
	},
	"in a stream": func(t *testing.T) (*tarantooltest.ReplicaSet, *sql.DB, string) {
		rs := sharedSet(t)
		needStreams(t, rs)
		name := batchTable(t, rs)
		return rs, openClerk(t, rs, name), name
	},
}

// failingStatements fail in the middle of a batch, in different ways.
var failingStatements = map[string]struct {
	text    string
	code    uint32
	message string
}{
	"duplicate key":       {"INSERT INTO {t} VALUES (1, 1)", 3, "Duplicate key"},
	"OR ROLLBACK":         {"INSERT OR ROLLBACK INTO {t} VALUES (1, 1)", 3, "Duplicate key"},
	"OR FAIL":             {"INSERT OR FAIL INTO {t} VALUES (8, 8), (1, 1)", 3, "Duplicate key"},
	"RAISE(ROLLBACK)":     {"INSERT INTO {t} VALUES (77, 1)", 159, "no 77"},
	"syntax error":        {"INSRT INTO {t}", 184, "Syntax error at line 1 near 'INSRT'"},
	"no such table":       {"INSERT INTO NOWHERE VALUES (1)", 36, "Space 'NOWHERE' does not exist"},
	"error while it runs": {"SELECT 1 / 0", 159, "division by zero"},
}

func TestBatchIsAllOrNothing(t *testing.T) {
	for way, opened := range batchWays {
		t.Run(way, func(t *testing.T) {
			rs, db, name := opened(t)
			for failure, failing := range failingStatements {
				for at := range 3 {
					texts := []string{"INSERT INTO {t} VALUES (3, 30)", "DELETE FROM {t} WHERE ID = 2"}
					texts = append(texts[:at:at], append([]string{failing.text}, texts[at:]...)...)
					qs := batchOf(name, texts...)
					results, err := tntsql.ExecBatch(t.Context(), db, qs...)
					requireBatchError(t, err, at, qs[at], failing.code, failing.message)
					assert.Nil(t, results)
					assert.Equal(t, failing.code == 3, tntsql.IsUniqueViolation(err))
					assert.False(t, tntsql.IsRetryable(err))
					require.Equal(t, ids(1, 2), storedIDs(t, rs, name), "%s as statement %d", failure, at)
				}
			}
			_, err := tntsql.ExecBatch(t.Context(), db, batchOf(name, "INSERT INTO {t} VALUES (3, 30)", "DELETE FROM {t} WHERE ID = 2")...)
			require.NoError(t, err)
			assert.Equal(t, ids(1, 3), storedIDs(t, rs, name))
		})
	}
}

func requireBatchError(t *testing.T, err error, index int, query tntsql.Query, code uint32, message string) {
	t.Helper()
	var failed *tntsql.BatchError
	require.ErrorAs(t, err, &failed)
	assert.Equal(t, index, failed.Index)
	assert.Equal(t, query, failed.Query)
	var server *tntsql.Error
	require.ErrorAs(t, err, &server)
	assert.Equal(t, code, server.Code)
	assert.Equal(t, "ClientError", server.Type)
	assert.Contains(t, server.Message, message)
	assert.NotErrorIs(t, err, tntsql.ErrOutcomeUnknown)
	assert.Equal(t, fmt.Sprintf("tntsql: query %d of the batch: %s", index, strings.TrimPrefix(failed.Err.Error(), "tntsql: ")), err.Error())
}

func TestBatchTellsWhatEachStatementDid(t *testing.T) {
	for way, opened := range batchWays {
		t.Run(way, func(t *testing.T) {
			_, db, name := opened(t)
			qs := batchOf(name,
				"INSERT INTO {t} (N) VALUES (30)",
				"INSERT INTO {t} VALUES (NULL, 40), (NULL, 50), (NULL, 60)",
				"INSERT INTO {t} VALUES (8, 80), (9, 90)",
				"REPLACE INTO {t} VALUES (9, 91)",
				"REPLACE INTO {t} VALUES (10, 100)",
				"INSERT OR IGNORE INTO {t} VALUES (1, 0)",
				"UPDATE {t} SET N = N + 1 WHERE ID < 3",
				"UPDATE {t} SET N = 0 WHERE ID = 0",
				"DELETE FROM {t} WHERE ID = 8",
				"SELECT ID, N FROM {t} WHERE ID > 0 ORDER BY ID LIMIT 2",
				"SELECT ID FROM {t} WHERE ID = 0",
				"VALUES (NULL, 'x')",
			)
			results, err := tntsql.ExecBatch(t.Context(), db, qs...)
			require.NoError(t, err)
			assert.Equal(t, []tntsql.BatchResult{
				{RowsAffected: 1, GeneratedIDs: []int64{3}},
				{RowsAffected: 3, GeneratedIDs: []int64{4, 5, 6}},
				{RowsAffected: 2},
				{RowsAffected: 2},
				{RowsAffected: 1},
				{RowsAffected: 0},
				{RowsAffected: 2},
				{RowsAffected: 0},
				{RowsAffected: 1},
				{Rows: [][]any{{int64(1), int64(11)}, {int64(2), int64(21)}}},
				{Rows: [][]any{}},
				{Rows: [][]any{{nil, "x"}}},
			}, results)
		})
	}
}

func TestBatchOfADDLIsUndoneToo(t *testing.T) {
	rs := sharedSet(t)
	db := open(t)
	name := fmt.Sprintf("B%d", tables.Add(1))
	qs := batchOf(name, "CREATE TABLE {t} (ID INTEGER PRIMARY KEY)", "INSERT INTO {t} VALUES (1), (1)")
	_, err := tntsql.ExecBatch(t.Context(), db, qs...)
	requireBatchError(t, err, 1, qs[1], 3, "Duplicate key")
	assert.Equal(t, true, lua(t, rs, 0, "return box.space[...] == nil", name))
	qs[1].SQL = "INSERT INTO " + name + " VALUES (1), (2)"
	_, err = tntsql.ExecBatch(t.Context(), db, qs...)
	require.NoError(t, err)
	assert.Equal(t, ids(1, 2), storedIDs(t, rs, name))
}

func TestEmptyBatchIsNothing(t *testing.T) {
	rs := sharedSet(t)
	db := open(t, quiet)
	requireRequests(t, rs, 0, func() {
		results, err := tntsql.ExecBatch(t.Context(), db)
		assert.NoError(t, err)
		assert.Nil(t, results)
	})
}

func TestBatchIsOneRequest(t *testing.T) {
	rs := sharedSet(t)
	db := open(t, quiet)
	connectAll(t, rs, db)
	name := batchTable(t, rs)
	votes := int64(1)
	if rs.AtLeast(2, 7, 1) {
		votes = 0 // these refuse writes when they are read-only
	}
	ctx, info := tntsql.Capture(t.Context())
	requireRequests(t, rs, 1+votes, func() {
		_, err := tntsql.ExecBatch(ctx, db, batchOf(name, "UPDATE {t} SET N = N + 1 WHERE ID = 1", "UPDATE {t} SET N = N - 1 WHERE ID = 2")...)
		require.NoError(t, err)
	})
	assert.Equal(t, tntsql.KindBatch, info.Kind)
	assert.Equal(t, tntsql.ModeRW, info.Mode)
	assert.Equal(t, rs.UUID(0), info.Instance.UUID)
	assert.Equal(t, 1, info.Attempts)
}

func TestWhereABatchRuns(t *testing.T) {
	for _, tt := range []struct {
		params string
		mode   tntsql.Mode // of the context
		role   string
	}{
		{"read_mode=ro", 0, "rw"},
		{"read_mode=ro", tntsql.ModePreferRO, "rw"},
		{"read_mode=rw", tntsql.ModeRO, "ro"},
		{"read_only=true&read_mode=ro", 0, "ro"},
		{"read_only=true&read_mode=rw", 0, "rw"},
		{"read_only=true&read_mode=rw", tntsql.ModeRO, "ro"},
	} {
		t.Run(fmt.Sprintf("%s under %v", tt.params, tt.mode), func(t *testing.T) {
			db := open(t, tt.params)
			conn, err := db.Conn(t.Context())
			require.NoError(t, err)
			defer conn.Close()
			for _, on := range []tntsql.Execer{db, conn} {
				ctx, info := tntsql.Capture(withMode(t, tt.mode))
				results, err := tntsql.ExecBatch(ctx, on, tntsql.Query{SQL: "SELECT WHO()"})
				require.NoError(t, err)
				assert.Equal(t, tt.role, info.Instance.Role)
				assert.Equal(t, [][]any{{info.Instance.UUID}}, results[0].Rows)
			}
		})
	}
}

func TestBatchUnderAContextThatHasEndedIsNotSent(t *testing.T) {
	rs := sharedSet(t)
	db := open(t, quiet)
	connectAll(t, rs, db)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	requireRequests(t, rs, 0, func() {
		_, err := tntsql.ExecBatch(ctx, db, tntsql.Query{SQL: "SELECT 1"})
		assert.ErrorIs(t, err, context.Canceled)
		assert.NotErrorIs(t, err, tntsql.ErrOutcomeUnknown)
		assert.NotErrorIs(t, err, tntsql.ErrNotTarantool)
	})
}

// holding gives the master a function of SQL that returns when it is let go.
func holding(t testing.TB, rs *tarantooltest.ReplicaSet) (held func() bool, release func()) {
	t.Helper()
	lua(t, rs, rs.Master(), `
held, released = 0, 0
function hold()
    held = held + 1
    while released < held do require('fiber').sleep(0.001) end
    released = 0
    return held
end
box.schema.func.create('HOLD', {language = 'LUA', returns = 'integer', exports = {'LUA', 'SQL'}, if_not_exists = true,
    body = 'function() return hold() end'})
box.schema.role.grant('public', 'execute', 'function', 'HOLD', {if_not_exists = true})`)
	return func() bool { return lua(t, rs, rs.Master(), "return held").(int64) == 1 },
		func() {
			lua(t, rs, rs.Master(), "released = 1")
			eventually(t, "end of the function", func() bool { return lua(t, rs, rs.Master(), "return released").(int64) == 0 })
		}
}

func TestBatchWhoseContextEndsInFlight(t *testing.T) {
	for way, opened := range batchWays {
		t.Run(way, func(t *testing.T) {
			rs, db, name := opened(t)
			held, release := holding(t, rs)
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() {
				_, err := tntsql.ExecBatch(ctx, db, batchOf(name, "INSERT INTO {t} VALUES (3, 30)", "SELECT HOLD()", "INSERT INTO {t} VALUES (4, 40)")...)
				ended <- err
			}()
			eventually(t, "batch in flight", held)
			cancel()
			err := <-ended
			require.ErrorIs(t, err, context.Canceled)
			assert.False(t, tntsql.IsRetryable(err))
			want := ids(1, 2)
			if way == "in a stream" {
				assert.NotErrorIs(t, err, tntsql.ErrOutcomeUnknown)
				require.ErrorAs(t, err, new(*tntsql.BatchError))
			} else {
				requireOutcomeUnknown(t, err, context.Canceled, rs.UUID(0))
			}
			if way == "by EVAL" && rs.AtLeast(2, 10, 0) {
				want = ids(1, 2, 3, 4) // else a transaction that yields comes to nothing
			}
			release()
			eventually(t, "end of the batch", func() bool { return len(storedIDs(t, rs, name)) == len(want) })
			_, err = tntsql.ExecBatch(t.Context(), db, batchOf(name, "UPDATE {t} SET N = N + 1 WHERE ID = 1")...)
			require.NoError(t, err)
			assert.Equal(t, want, storedIDs(t, rs, name))
		})
	}
}

func TestABatchOnAHandleOfAnotherDriver(t *testing.T) {
	for _, takesAnything := range []bool{false, true} {
		f := &foreign{takesAnything: takesAnything}
		db := sql.OpenDB(f)
		defer db.Close()
		results, err := tntsql.ExecBatch(t.Context(), db, tntsql.Query{SQL: "SELECT 1"})
		assert.ErrorIs(t, err, tntsql.ErrNotTarantool)
		assert.Nil(t, results)
	}
}

func TestErrorsOfABatchAreThoseOfPlainStatements(t *testing.T) {
	rs := sharedSet(t)
	db := open(t)
	name := batchTable(t, rs)
	functions := map[string]string{
		"error":            `error('boom')`,
		"empty error":      `error('')`,
		"client error":     `box.error(box.error.TUPLE_FOUND, 'i', 's', 'old', 'new')`,
		"error of a user":  `box.error{code = 12345, reason = 'mine'}`,
		"error of no code": `box.error{type = 'MyType', reason = 'mine'}`,
		"error of a type":  `box.error{type = 'MyType', code = 7000, reason = 'mine'}`,
	}
	texts := []string{"INSRT", "SELECT * FROM NOWHERE", "INSERT INTO " + name + " VALUES ('a', 1)", "SELECT 1 / 0"}
	for function, body := range functions {
		lua(t, rs, 0, `
local name, body = ...
box.schema.func.create(name, {language = 'LUA', returns = 'integer', exports = {'LUA', 'SQL'}, if_not_exists = true,
    body = 'function() ' .. body .. ' end'})`, function, body)
		texts = append(texts, `SELECT "`+function+`"()`)
	}
	for _, text := range texts {
		t.Run(text, func(t *testing.T) {
			var plain, batched *tntsql.Error
			_, err := db.ExecContext(t.Context(), text)
			require.ErrorAs(t, err, &plain)
			_, err = tntsql.ExecBatch(t.Context(), db, tntsql.Query{SQL: text})
			require.ErrorAs(t, err, &batched)
			assert.Equal(t, [...]any{plain.Code, plain.Name, plain.Type, plain.Message, plain.Instance},
				[...]any{batched.Code, batched.Name, batched.Type, batched.Message, batched.Instance})
			require.NotEmpty(t, batched.Stack)
			assert.Equal(t, batched.Code, batched.Stack[0].Code)
			assert.Equal(t, batched.Message, batched.Stack[0].Message)
			assert.Equal(t, batched.Type, batched.Stack[0].Type)
		})
	}
}
