package tntgoose

import (
	"context"
	"database/sql"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/tntsql/tntsql"
	"github.com/tntsql/tntsql/migrate/internal/shared"
	"github.com/tntsql/tntsql/tarantooltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(shared.Suite{M: m}) }

// openDB opens a handle as another process would. Its plain reads go to
// replicas: those of migrations must not.
func openDB(t *testing.T, rs *tarantooltest.ReplicaSet) *sql.DB {
	t.Helper()
	return openDSN(t, rs.DSN("read_mode=ro"))
}

func openDSN(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open(tntsql.DriverName, dsn)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, db.Close()) })
	return db
}

// onMaster is for the reads by which tests check what there is.
func onMaster(t *testing.T) context.Context {
	return tntsql.WithMode(t.Context(), tntsql.ModeRW)
}

// tables are the names of all tables made by SQL.
func tables(t *testing.T, db *sql.DB) []string {
	t.Helper()
	rows, err := db.QueryContext(onMaster(t), `SELECT "name" FROM "_vspace" WHERE "id" > 511 ORDER BY "id"`)
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

// cleanAfter drops what a test leaves.
func cleanAfter(t *testing.T, db *sql.DB) {
	t.Cleanup(func() {
		for _, name := range []string{"goose_db_version", "goose_lock", "users", "log"} {
			_, err := db.ExecContext(context.Background(), `DROP TABLE IF EXISTS "`+name+`"`)
			assert.NoError(t, err)
		}
	})
}
