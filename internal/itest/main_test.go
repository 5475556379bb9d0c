// Package itest tests the driver with the tools that people bring to
// database/sql. It is a module of its own so that those tools stay out of
// users' go.sum.
package itest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/tntsql/tntsql"
	"github.com/tntsql/tntsql/tarantooltest"
)

// servers is shared by all tests: each has tables of its own.
var servers *tarantooltest.ReplicaSet

// procedures are what the tests call.
const procedures = `
function served_by(...) return box.info.uuid, ... end
function broken() error('no luck') end
`

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	var err error
	servers, err = tarantooltest.New(context.Background(), tarantooltest.InitLua(procedures))
	if errors.Is(err, tarantooltest.ErrNoBinary) && os.Getenv("CI") == "" && os.Getenv("TARANTOOL") == "" {
		fmt.Println("all tests are skipped:", err)
		return 0
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	code := m.Run()
	if code != 0 {
		for i := range servers.Len() {
			fmt.Printf("log of instance %d, Tarantool %s:\n%s\n", i, servers.Version(), servers.Log(i))
		}
	}
	if err := errors.Join(servers.Close(), goleak.Find()); err != nil {
		fmt.Println(err)
		return 1
	}
	return code
}

// dsn is of all servers. Reads go to the master: replicas lag, and most tests
// read what they have just written.
func dsn(params ...string) string {
	return servers.DSN(append(params, "read_mode=rw", "seq_scan=true")...)
}

// openDB opens a handle without any tool around it.
func openDB(t *testing.T) *sql.DB {
	t.Helper()
	db, err := sql.Open(tntsql.DriverName, dsn())
	require.NoError(t, err)
	closeAfter(t, db)
	return db
}

func closeAfter(t *testing.T, db *sql.DB) {
	t.Helper()
	t.Cleanup(func() { assert.NoError(t, db.Close()) })
}

// createTable makes a table for the time of the test.
func createTable(t *testing.T, db tntsql.Execer, name, columns string) {
	t.Helper()
	_, err := db.ExecContext(t.Context(), "CREATE TABLE "+name+" ("+columns+")")
	require.NoError(t, err)
	t.Cleanup(func() {
		_, err := db.ExecContext(context.Background(), "DROP TABLE "+name)
		assert.NoError(t, err)
	})
}

// masterUUID is the uuid of the only instance that is writable.
func masterUUID() string {
	return servers.UUID(servers.Master())
}
