package golangmigrate

import (
	"database/sql"
	"testing"
	"testing/fstest"

	"github.com/golang-migrate/migrate/v4"
	"github.com/golang-migrate/migrate/v4/database"
	"github.com/golang-migrate/migrate/v4/source/iofs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/tntsql/tntsql"
	"github.com/tntsql/tntsql/migrate/internal/shared"
	"github.com/tntsql/tntsql/tarantooltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(shared.Suite{M: m}) }

// dsn is of all instances. Plain reads go to the replica: those of migrations
// must not.
func dsn(rs *tarantooltest.ReplicaSet, params ...string) string {
	return rs.DSN(append(params, "read_mode=ro")...)
}

func openDB(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open(tntsql.DriverName, dsn)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, db.Close()) })
	return db
}

// open opens a driver as another process would.
func open(t *testing.T, url string) *driver {
	t.Helper()
	d, err := database.Open(url)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, d.Close()) })
	return d.(*driver)
}

// newMigrate opens a Migrate as another process would.
func newMigrate(t *testing.T, url string, files fstest.MapFS) *migrate.Migrate {
	t.Helper()
	source, err := iofs.New(files, ".")
	require.NoError(t, err)
	m, err := migrate.NewWithSourceInstance("iofs", source, url)
	require.NoError(t, err)
	t.Cleanup(func() {
		sourceErr, databaseErr := m.Close()
		assert.NoError(t, sourceErr)
		assert.NoError(t, databaseErr)
	})
	return m
}

// tables are the names of all tables, views and Lua spaces.
func tables(t *testing.T, db *sql.DB) []string {
	t.Helper()
	rows, err := db.QueryContext(tntsql.WithMode(t.Context(), tntsql.ModeRW), `SELECT "name" FROM "_vspace" WHERE "id" > 511 ORDER BY "id"`)
	require.NoError(t, err)
	defer rows.Close()
	var names []string
	for rows.Next() {
		var name string
		require.NoError(t, rows.Scan(&name))
		names = append(names, name)
	}
	require.NoError(t, rows.Err())
	return names
}

// dropAfter drops all that a test leaves.
func dropAfter(t *testing.T) {
	t.Cleanup(func() {
		d, err := database.Open(dsn(shared.Servers(t)))
		require.NoError(t, err)
		assert.NoError(t, d.Drop())
		assert.NoError(t, d.Close())
	})
}
