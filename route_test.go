package tntsql_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tntsql/tntsql"
	"github.com/tntsql/tntsql/tarantooltest"
)

// The kinds of statements that differ in where they go. An exec is a read that
// is sent by Exec: it was sent for its effects.
const (
	read = "read"
	exec = "exec"
	rest = "rest" // writes, DDL, and what is not recognised
)

// routes say which role serves, under no mode and under each.
var routes = map[string]map[tntsql.Mode]string{
	read: {
		0: "any", tntsql.ModeAny: "any", tntsql.ModeRW: "rw", tntsql.ModeRO: "ro",
		tntsql.ModePreferRW: "rw", tntsql.ModePreferRO: "ro",
	},
	exec: {
		0: "rw", tntsql.ModeAny: "any", tntsql.ModeRW: "rw", tntsql.ModeRO: "ro",
		tntsql.ModePreferRW: "rw", tntsql.ModePreferRO: "ro",
	},
	rest: {
		0: "rw", tntsql.ModeAny: "rw", tntsql.ModeRW: "rw", tntsql.ModeRO: "ro",
		tntsql.ModePreferRW: "rw", tntsql.ModePreferRO: "rw",
	},
}

// statements are texts in all their forms. Some are errors on some servers or
// on a read-only instance: that, too, is for the right instance to say. {t} is a
// table, {e} an empty one, and {n} a number that is new each time.
var statements = []struct {
	kind string
	text string
}{
	{read, "SELECT WHO()"},
	{read, "select who()"},
	{read, "SeLeCt\n\tWHO()"},
	{read, " \r\n\t SELECT WHO()"},
	{read, "SELECT WHO();"},
	{read, "-- a comment\nSELECT WHO()"},
	{read, "/* INSERT INTO {t} VALUES (1) */ SELECT WHO()"},
	{read, "/* one */ /* two */ -- three\n SELECT WHO()"},
	{read, "SELECT /* DELETE FROM {t} */ WHO()"},
	{read, "(SELECT WHO())"},
	{read, "( (SELECT WHO()))"},
	{read, "SELECT WHO(), 'DELETE FROM {t}'"},
	{read, "SELECT WHO(), 'it''s; UPDATE {t}'"},
	{read, `SELECT WHO() AS "INSERT"`},
	{read, `SELECT WHO() AS "a ""DROP TABLE"" b"`},
	{read, `SELECT WHO(), "UPDATE" FROM (SELECT 1 AS "UPDATE")`},
	{read, "SELECT WHO(), REPLACE('a', 'a', 'b')"},
	{read, "SELECT (SELECT WHO())"},
	{read, "SELECT * FROM (SELECT WHO())"},
	{read, "SELECT WHO() UNION SELECT WHO()"},
	{read, "SELECT DISTINCT WHO()"},
	{read, "SELECT CASE WHEN 1 < 2 THEN WHO() END"},
	{read, "SELECT WHO() WHERE true LIMIT 1"},
	{read, "VALUES (WHO())"},
	{read, "values (who()), ('INSERT')"},
	{read, "WITH W AS (SELECT WHO()) SELECT * FROM W"},
	{read, `WITH "INSERT" AS (SELECT WHO()) SELECT * FROM "INSERT"`},
	{read, "with recursive C(N) as (select 1 union all select N + 1 from C where N < 3) select who(), max(N) from C"},
	{read, "EXPLAIN SELECT WHO()"},
	{read, "EXPLAIN QUERY PLAN SELECT WHO()"},
	{read, "explain query plan delete from {t}"},
	{read, "PRAGMA table_info({t})"},
	{read, "pragma collation_list"},
	{read, "SHOW CREATE TABLE {t}"}, // 3.x
	{read, "SELECT COUNT(*) FROM {t}"},
	{read, "SELECT W FROM {t} WHERE ID = 1"},
	{read, "SELECT WHO() FROM NO_SUCH_TABLE"},

	{exec, "SELECT WHO()"},
	{exec, "VALUES (WHO())"},
	{exec, "WITH W AS (SELECT WHO()) SELECT * FROM W"},
	{exec, "EXPLAIN QUERY PLAN SELECT WHO()"},
	{exec, "PRAGMA collation_list"},

	{rest, "INSERT INTO {t} VALUES ({n}, WHO())"},
	{rest, "insert into {t} values ({n}, who())"},
	{rest, "/* SELECT */ INSERT INTO {t} VALUES ({n}, WHO())"},
	{rest, "-- SELECT 1\nINSERT INTO {t} VALUES ({n}, WHO())"},
	{rest, "INSERT INTO {t} SELECT {n}, WHO()"},
	{rest, "INSERT OR IGNORE INTO {t} VALUES (1, WHO())"},
	{rest, "INSERT OR REPLACE INTO {t} VALUES (1, WHO())"},
	{rest, "REPLACE INTO {t} VALUES (1, WHO())"},
	{rest, "UPDATE {t} SET W = WHO() WHERE ID = 1"},
	{rest, "update or ignore {t} set W = who() where ID = 1"},
	{rest, "DELETE FROM {t} WHERE ID = {n}"},
	{rest, "WITH X AS (SELECT {n} AS ID) INSERT INTO {t} SELECT ID, WHO() FROM X"},
	{rest, "with x as (select 1 as ID) replace into {t} select ID, who() from x"},
	{rest, "WITH X AS (SELECT 1) UPDATE {t} SET W = WHO() WHERE ID IN (SELECT * FROM X)"},
	{rest, "WITH X AS (SELECT 0) DELETE FROM {t} WHERE ID IN (SELECT * FROM X)"},
	{rest, "TRUNCATE TABLE {e}"},
	{rest, "truncate table {e}"},
	{rest, "INSERT INTO NO_SUCH_TABLE VALUES (1)"},
	{rest, "CREATE TABLE D{n} (ID INTEGER PRIMARY KEY)"},
	{rest, "create table if not exists {t} (ID integer primary key)"},
	{rest, "CREATE INDEX I{n} ON {e} (W)"},
	{rest, "CREATE UNIQUE INDEX U{n} ON {e} (W)"},
	{rest, "CREATE VIEW V{n} AS SELECT 1"},
	{rest, "CREATE TRIGGER G{n} AFTER DELETE ON {e} FOR EACH ROW BEGIN SELECT 1; SELECT 2; END"},
	{rest, "ALTER TABLE {e} ADD CONSTRAINT C{n} UNIQUE (W)"},
	{rest, "ALTER TABLE {e} ADD COLUMN X{n} INTEGER"}, // 2.7.1 and newer
	{rest, "ALTER TABLE {e} DROP CONSTRAINT NO_SUCH_CONSTRAINT"},
	{rest, "alter table NO_SUCH_TABLE rename to T{n}"},
	{rest, "DROP INDEX IF EXISTS I{n} ON {e}"},
	{rest, "DROP VIEW IF EXISTS V{n}"},
	{rest, "DROP TRIGGER IF EXISTS G{n}"},
	{rest, "DROP TABLE IF EXISTS D{n}"},
	{rest, "drop table NO_SUCH_TABLE"},
	{rest, ""},
	{rest, "-- nothing"},
	{rest, "FOO BAR"},
	{rest, "SELECTED"},
	{rest, "CALL who()"},
	{rest, "VACUUM"},
	{rest, "SELECT WHO(); DELETE FROM {t}"},
}

func TestStatementsAreServedWhereTheirKindAndModeSay(t *testing.T) {
	rs := sharedSet(t)
	db := open(t, quiet, "seq_scan=true", "conns_per_instance=1", "stmt_cache=0") // nothing else is sent
	full := table(t, rs, "ID INTEGER PRIMARY KEY, W STRING")
	empty := table(t, rs, "ID INTEGER PRIMARY KEY, W STRING")
	connectAll(t, rs, db)

	anyServed := make(map[int]bool)
	n := 1000
	for _, s := range statements {
		t.Run(s.kind+" "+s.text, func(t *testing.T) {
			for mode, role := range routes[s.kind] {
				n++
				text := strings.NewReplacer("{t}", full, "{e}", empty, "{n}", strconv.Itoa(n)).Replace(s.text)
				// 2.6.0 takes most writes on a replica: they must not clash.
				onReplica := s.kind == rest && mode == tntsql.ModeRO
				if onReplica {
					inStep(t, rs)
				}
				before := executed(t, rs)
				uuid := serve(t, withMode(t, mode), db, s.kind, text)
				after := executed(t, rs)

				by := number(t, rs, uuid)
				for i := range after {
					assert.Equal(t, i == by, after[i] > before[i], "instance %d has executed it, under %v", i, mode)
				}
				switch role {
				case "rw":
					assert.Zero(t, by, "under %v", mode)
				case "ro":
					assert.NotZero(t, by, "under %v", mode)
				default:
					anyServed[by] = true
				}
				if onReplica {
					inStep(t, rs)
				}
			}
		})
	}
	assert.Len(t, anyServed, 3, "instances that served where any may")
}

// withMode is the test's context, with a mode unless it is 0.
func withMode(t testing.TB, mode tntsql.Mode) context.Context {
	t.Helper()
	if mode == 0 {
		return t.Context()
	}
	return tntsql.WithMode(t.Context(), mode)
}

// connectAll makes a handle open a connection to each instance.
func connectAll(t testing.TB, rs *tarantooltest.ReplicaSet, db *sql.DB) {
	t.Helper()
	reached := make(map[string]bool)
	eventually(t, "connection to each instance", func() bool {
		reached[served(t, t.Context(), db)] = true
		return len(reached) == rs.Len()
	})
}

// executed tells how many statements each instance has executed or refused.
func executed(t testing.TB, rs *tarantooltest.ReplicaSet) []int64 {
	t.Helper()
	n := make([]int64, rs.Len())
	for i := range n {
		n[i] = lua(t, rs, i, "return box.stat().EXECUTE.total + box.stat().ERROR.total").(int64)
	}
	return n
}

// serve runs a text and gives the uuid of the instance that served it, with or
// without success.
func serve(t testing.TB, ctx context.Context, db *sql.DB, kind, text string) string {
	t.Helper()
	ctx, info := tntsql.Capture(ctx)
	var err error
	if kind == read {
		var first any
		first, err = firstValue(ctx, db, text)
		if uuid, ok := first.(string); ok && len(uuid) == len(info.Instance.UUID) {
			assert.Equal(t, uuid, info.Instance.UUID)
		}
	} else {
		_, err = db.ExecContext(ctx, text)
	}
	if err != nil {
		var server *tntsql.Error
		require.ErrorAs(t, err, &server)
		assert.Equal(t, info.Instance, server.Instance)
	}
	assert.Equal(t, 1, info.Attempts)
	return info.Instance.UUID
}

// firstValue is the first column of the first row, nil without a row.
func firstValue(ctx context.Context, db *sql.DB, text string) (any, error) {
	rows, err := db.QueryContext(ctx, text)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil || !rows.Next() {
		return nil, errors.Join(err, rows.Err())
	}
	row := make([]any, len(columns))
	for i := range row {
		row[i] = new(any)
	}
	err = rows.Scan(row...)
	return *row[0].(*any), err
}

func TestAWriteSentByQueryIsAWrite(t *testing.T) {
	rs := sharedSet(t)
	db := open(t, "read_mode=ro")
	name := table(t, rs, "ID INTEGER PRIMARY KEY, W STRING")
	rows, err := db.QueryContext(t.Context(), "INSERT INTO "+name+" VALUES (1, WHO())")
	require.NoError(t, err)
	assert.False(t, rows.Next())
	require.NoError(t, rows.Err())
	require.NoError(t, rows.Close())
	assert.Equal(t, rs.UUID(0), valueOf[string](t, withMode(t, tntsql.ModeRW), db, "SELECT W FROM "+name+" WHERE ID = 1"))
}

func TestReadModeIsTheModeOfReadsWithoutOne(t *testing.T) {
	rs := sharedSet(t)
	for mode, role := range routes[read] {
		if mode == 0 {
			continue
		}
		t.Run(mode.String(), func(t *testing.T) {
			db := open(t, "read_mode="+mode.String())
			by := make(map[int]bool)
			for range 30 {
				by[number(t, rs, served(t, t.Context(), db))] = true
			}
			want := map[string]map[int]bool{"any": {0: true, 1: true, 2: true}, "rw": {0: true}, "ro": {1: true, 2: true}}
			assert.Equal(t, want[role], by)
			assert.Equal(t, rs.UUID(0), served(t, withMode(t, tntsql.ModeRW), db), "a context's mode goes first")
		})
	}
}

func TestAHintInFrontOfTheTextIsAMode(t *testing.T) {
	rs := sharedSet(t)
	db := open(t, "read_mode=ro")
	for _, c := range []struct {
		text    string
		context tntsql.Mode
		master  bool
	}{
		{"/*+ mode=rw */ SELECT WHO()", 0, true},
		{"/*+ MODE = Prefer_RW */ SELECT WHO()", 0, true},
		{"-- a comment\n/* another */ /*+ mode=rw */ SELECT WHO()", 0, true},
		{"/*+ mode=rw */ SELECT WHO()", tntsql.ModeRO, false},
		{"/*+ mode=ro */ SELECT WHO()", tntsql.ModeRW, true},
		{"/* mode=rw */ SELECT WHO()", 0, false},
		{"/*+ other=rw */ SELECT WHO()", 0, false},
		{"SELECT /*+ mode=rw */ WHO()", 0, false},
	} {
		t.Run(fmt.Sprintf("%s under %v", c.text, c.context), func(t *testing.T) {
			uuid := valueOf[string](t, withMode(t, c.context), db, c.text)
			assert.Equal(t, c.master, uuid == rs.UUID(0))
		})
	}
}

func TestAnInvalidModeIsAnErrorBeforeAnythingIsSent(t *testing.T) {
	rs := sharedSet(t)
	db := open(t, quiet)
	connectAll(t, rs, db)
	for _, c := range []struct {
		text    string
		context context.Context
		want    string
	}{
		{"SELECT 1", tntsql.WithMode(t.Context(), 9), "tntsql: Mode(9) is not a mode"},
		{"DELETE FROM NO_SUCH_TABLE", tntsql.WithMode(t.Context(), 0), "tntsql: Mode(0) is not a mode"},
		{"/*+ mode=master */ SELECT 1", t.Context(), "tntsql: hint mode=master: want any, rw, ro, prefer_rw or prefer_ro"},
		{"/*+ mode=master */ DELETE FROM NO_SUCH_TABLE", t.Context(), "tntsql: hint mode=master: want any, rw, ro, prefer_rw or prefer_ro"},
	} {
		t.Run(c.text, func(t *testing.T) {
			requireRequests(t, rs, 0, func() {
				_, err := db.ExecContext(c.context, c.text)
				assert.EqualError(t, err, c.want)
				_, err = firstValue(c.context, db, c.text)
				assert.EqualError(t, err, c.want)
			})
		})
	}
	assert.ErrorContains(t, db.PingContext(tntsql.WithMode(t.Context(), 9)), "Mode(9)")
}

func TestModeROWritesToLocalAndTemporarySpacesOfReplicas(t *testing.T) {
	rs := sharedSet(t)
	for kind, options := range map[string]map[string]any{
		"local":     {"is_local": true},
		"temporary": {"temporary": true},
	} {
		t.Run(kind, func(t *testing.T) {
			db := open(t)
			name := fmt.Sprintf("SPACE%d", tables.Add(1))
			options["format"] = []any{
				map[string]any{"name": "ID", "type": "unsigned"},
				map[string]any{"name": "W", "type": "string"},
			}
			lua(t, rs, 0, "local name, options = ...; box.schema.space.create(name, options):create_index('pk')", name, options)
			inStep(t, rs)

			ctx, info := tntsql.Capture(withMode(t, tntsql.ModeRO))
			by := make(map[int]bool)
			for i := range 10 {
				_, err := db.ExecContext(ctx, "INSERT INTO "+name+" VALUES (?, WHO())", i)
				require.NoError(t, err)
				instance := number(t, rs, info.Instance.UUID)
				by[instance] = true
				assert.Equal(t, info.Instance.UUID, lua(t, rs, instance, "local name, id = ...; return box.space[name]:get(id).W", name, i))
			}
			assert.Equal(t, map[int]bool{1: true, 2: true}, by)
			assert.EqualValues(t, 0, lua(t, rs, 0, "return box.space[...]:len()", name), "rows on the master")
		})
	}
}

func TestPreferringAReplicaSendsAWriteToTheMaster(t *testing.T) {
	rs := sharedSet(t)
	db := open(t, "read_mode=prefer_ro")
	name := table(t, rs, "ID INTEGER PRIMARY KEY, W STRING")
	for i, mode := range []tntsql.Mode{0, tntsql.ModeAny, tntsql.ModePreferRO, tntsql.ModePreferRW} {
		_, err := db.ExecContext(withMode(t, mode), "INSERT INTO "+name+" VALUES (?, WHO())", i)
		require.NoError(t, err)
		assert.Equal(t, rs.UUID(0), lua(t, rs, 0, "local name, id = ...; return box.space[name]:get(id).W", name, i), mode)
	}
}

func TestTheMasterNeverServesModeRO(t *testing.T) {
	rs := sharedSet(t)
	db := open(t)
	var wg sync.WaitGroup
	var byMaster atomic.Int64
	for range 20 {
		wg.Go(func() {
			for range 25 {
				if served(t, withMode(t, tntsql.ModeRO), db) == rs.UUID(0) {
					byMaster.Add(1)
				}
			}
		})
	}
	wg.Wait()
	assert.Zero(t, byMaster.Load())
}
