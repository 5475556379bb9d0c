package itest

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tntsql/tntsql"
)

// grants are the lines of the table in docs/operating.md: what a user who may
// run SQL needs for a feature, and no less.
var grants = []struct {
	feature string
	lua     []string
	use     func(context.Context, *sql.DB) error
}{
	{"a `SELECT`", []string{"box.schema.user.grant('app', 'read', 'space', 'USERS')"},
		execs("SELECT * FROM USERS WHERE ID = 1")},
	{"an `INSERT` of one row, `REPLACE`", []string{"box.schema.user.grant('app', 'read,write', 'space', 'USERS')"},
		execs("REPLACE INTO USERS VALUES (1)")},
	{"`UPDATE`, `DELETE`, an `INSERT` of several rows", []string{
		"box.schema.user.grant('app', 'read,write', 'space', 'USERS')",
		"box.schema.user.grant('app', 'read', 'universe')"},
		execs("DELETE FROM USERS WHERE ID > 1", "INSERT INTO USERS VALUES (2), (3)")},
	{"DDL", []string{"box.schema.user.grant('app', 'read,write,create,drop,alter', 'universe')"},
		execs("CREATE TABLE MORE (ID INTEGER PRIMARY KEY)", "DROP TABLE MORE")},
	{"`Call` of `f`", []string{
		"box.schema.func.create('f', {if_not_exists = true})",
		"box.schema.user.grant('app', 'execute', 'function', 'f')"},
		func(ctx context.Context, db *sql.DB) error {
			_, err := tntsql.Call(ctx, db, tntsql.ModeRW, "f")
			return err
		}},
	{"`Eval`", []string{"box.schema.user.grant('app', 'execute', 'universe')"},
		func(ctx context.Context, db *sql.DB) error {
			_, err := tntsql.Eval(ctx, db, tntsql.ModeRW, "return 1")
			return err
		}},
	{"`discovery=replication`", []string{
		"box.schema.func.create('box.info', {if_not_exists = true})",
		"box.schema.user.grant('app', 'execute', 'function', 'box.info')"},
		func(ctx context.Context, db *sql.DB) error {
			_, err := tntsql.Call(ctx, db, tntsql.ModeRW, "box.info")
			return err
		}},
}

func execs(texts ...string) func(context.Context, *sql.DB) error {
	return func(ctx context.Context, db *sql.DB) error {
		for _, text := range texts {
			if _, err := db.ExecContext(ctx, text); err != nil {
				return err
			}
		}
		return nil
	}
}

const operating = "../../docs/operating.md"

func TestTheDocumentationHasTheGrants(t *testing.T) {
	page, err := os.ReadFile(operating)
	require.NoError(t, err)
	for _, g := range grants {
		line := fmt.Sprintf("| %s | `%s` |", g.feature, strings.Join(g.lua, "`<br>`"))
		line = strings.ReplaceAll(line, ", {if_not_exists = true}", "")
		assert.Contains(t, string(page), line)
	}
}

func TestGrantsAreEnoughAndNeeded(t *testing.T) {
	createTable(t, openDB(t), "USERS", "ID INTEGER PRIMARY KEY")
	administer(t, "rawset(_G, 'f', function() end)")
	for i, g := range grants {
		t.Run(g.feature, func(t *testing.T) {
			user := fmt.Sprintf("granted%d", i)
			administer(t, "box.schema.user.create(..., {password = 'secret'})", user)
			t.Cleanup(func() { administer(t, "box.schema.user.drop(...)", user) })
			if servers.AtLeast(3, 0, 0) {
				administer(t, "box.schema.user.grant(..., 'execute', 'sql')", user)
			}
			for i, lua := range g.lua {
				assert.ErrorContains(t, used(t, user, g.use), "denied", "before grant %d", i+1)
				administer(t, strings.ReplaceAll(lua, "'app'", "'"+user+"'"))
			}
			assert.NoError(t, used(t, user, g.use))
		})
	}
}

// A user without any grant may connect, and the driver knows the roles.
func TestWithoutGrants(t *testing.T) {
	administer(t, "box.schema.user.create('nobody', {password = 'secret'})")
	t.Cleanup(func() { administer(t, "box.schema.user.drop('nobody')") })
	assert.NoError(t, used(t, "nobody", func(ctx context.Context, db *sql.DB) error { return db.PingContext(ctx) }))
}

func administer(t *testing.T, code string, args ...any) {
	t.Helper()
	_, err := servers.Lua(servers.Master(), code, args...)
	require.NoError(t, err)
}

// used runs use with connections of its own, on the master: a grant counts for
// connections that are opened after it.
func used(t *testing.T, user string, use func(context.Context, *sql.DB) error) error {
	t.Helper()
	db, err := sql.Open(tntsql.DriverName, "tarantool://"+user+":secret@"+servers.Addr(servers.Master())+"/?read_mode=rw")
	require.NoError(t, err)
	defer func() { assert.NoError(t, db.Close()) }()
	return use(t.Context(), db)
}
