package gormtarantool_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/tntsql/tntsql/gormtarantool"
	"github.com/tntsql/tntsql/tarantooltest"
)

// servers is shared by all tests: a master and a replica. Where the server can, it has
// transactions.
var servers *tarantooltest.ReplicaSet

// gormsOwn is a goroutine that GORM starts for prepared statements and never ends.
var gormsOwn = goleak.IgnoreAnyFunction("gorm.io/gorm/internal/lru.NewLRU[...].func1")

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	var err error
	servers, err = tarantooltest.New(context.Background(), tarantooltest.Instances(2))
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
		fmt.Printf("log of the master, Tarantool %s:\n%s\n", servers.Version(), servers.Log(0))
	}
	if err := errors.Join(servers.Close(), goleak.Find(gormsOwn)); err != nil {
		fmt.Println(err)
		return 1
	}
	return code
}

// dsn is of all servers. Reads go to the master: most tests read what they have just
// written.
func dsn(params ...string) string {
	return servers.DSN(append(params, "read_mode=rw", "seq_scan=true")...)
}

// quiet logs nothing: many errors are wanted.
func quiet() *gorm.Config {
	return &gorm.Config{Logger: logger.Discard}
}

// open opens a handle for the time of the test.
func open(t testing.TB, config *gorm.Config, params ...string) *gorm.DB {
	t.Helper()
	return openWith(t, gormtarantool.Open(dsn(params...)), config)
}

func openWith(t testing.TB, dialector gorm.Dialector, config *gorm.Config) *gorm.DB {
	t.Helper()
	db, err := gorm.Open(dialector, config)
	require.NoError(t, err)
	closeAfter(t, db)
	return db
}

func closeAfter(t testing.TB, db *gorm.DB) {
	t.Helper()
	t.Cleanup(func() {
		pool, err := db.DB()
		require.NoError(t, err)
		assert.NoError(t, pool.Close())
	})
}

// migrate makes the models' tables for the time of the test.
func migrate(t testing.TB, db *gorm.DB, models ...any) {
	t.Helper()
	require.NoError(t, db.Migrator().DropTable(models...))
	require.NoError(t, db.AutoMigrate(models...))
	t.Cleanup(func() { assert.NoError(t, db.Migrator().DropTable(models...)) })
}

func needs(t *testing.T, major, minor int, what string) {
	t.Helper()
	if !servers.AtLeast(major, minor, 0) {
		t.Skipf("%s: needs Tarantool %d.%d, this is %s", what, major, minor, servers.Version())
	}
}

func needsTransactions(t *testing.T) { t.Helper(); needs(t, 2, 10, "interactive transactions") }
func needsTimes(t *testing.T)        { t.Helper(); needs(t, 2, 10, "DATETIME, DECIMAL and UUID columns") }

// schemaVersion changes with each DDL statement.
func schemaVersion(t *testing.T) int64 {
	t.Helper()
	values, err := servers.Lua(servers.Master(), "return box.internal.schema_version()")
	require.NoError(t, err)
	return values[0].(int64)
}

// How long a test waits for what must come, and how often it looks.
const (
	waitFor = 10 * time.Second
	tick    = 5 * time.Millisecond
)
