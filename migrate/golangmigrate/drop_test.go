package golangmigrate

import (
	"database/sql"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tntsql/tntsql/migrate/internal/shared"
)

// makeEverything makes tables that refer to each other, and what hangs on them.
func makeEverything(t *testing.T, db *sql.DB) {
	t.Helper()
	for _, statement := range []string{
		`CREATE TABLE "parent" ("id" INTEGER PRIMARY KEY, "n" INTEGER CHECK ("n" < 9), CONSTRAINT "positive" CHECK ("n" > 0))`,
		`CREATE TABLE "child" ("id" INTEGER PRIMARY KEY AUTOINCREMENT, "p" INTEGER REFERENCES "parent", "c" INTEGER REFERENCES "child")`,
		`CREATE TABLE "grandchild" ("id" INTEGER PRIMARY KEY, "c" INTEGER REFERENCES "child")`,
		`CREATE VIEW "view" ("id") AS SELECT "id" FROM "parent"`,
		`CREATE VIEW "view of view" ("id") AS SELECT "id" FROM "view"`,
		`CREATE TRIGGER "trigger" AFTER INSERT ON "parent" FOR EACH ROW BEGIN DELETE FROM "child"; DELETE FROM "grandchild"; END`,
	} {
		_, err := db.ExecContext(t.Context(), statement)
		require.NoError(t, err, statement)
	}
}

func TestDropLeavesNothing(t *testing.T) {
	d := open(t, dsn(shared.Servers(t)))
	makeEverything(t, d.db)
	_, err := shared.Servers(t).Lua(shared.Servers(t).Master(), `
		box.schema.space.create('made in Lua'):create_index('pk', {sequence = true})
		box.schema.space.create('without an index')`)
	require.NoError(t, err)
	require.NoError(t, d.Lock())
	require.NoError(t, d.Drop())
	assert.Empty(t, tables(t, d.db))
	require.NoError(t, d.Unlock())

	// Nothing is left that keeps them from being made again.
	makeEverything(t, d.db)
	require.NoError(t, d.Drop())
	require.NoError(t, d.Drop())
	assert.Empty(t, tables(t, d.db))
}

func TestDropOfTablesThatReferToEachOther(t *testing.T) {
	d := open(t, dsn(shared.Servers(t)))
	require.NoError(t, d.exec(`CREATE TABLE "a" ("id" INTEGER PRIMARY KEY, "b" INTEGER)`))
	require.NoError(t, d.exec(`CREATE TABLE "b" ("id" INTEGER PRIMARY KEY, "a" INTEGER REFERENCES "a")`))
	require.NoError(t, d.exec(`ALTER TABLE "a" ADD CONSTRAINT "a_b" FOREIGN KEY ("b") REFERENCES "b"`))
	assert.ErrorContains(t, d.Drop(), "what is left refers to each other")
	assert.ElementsMatch(t, []string{"a", "b"}, tables(t, d.db))

	require.NoError(t, d.exec(`ALTER TABLE "a" DROP CONSTRAINT "a_b"`))
	require.NoError(t, d.Drop())
	assert.Empty(t, tables(t, d.db))
}
