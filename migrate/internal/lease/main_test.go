package lease

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/tntsql/tntsql"
	"github.com/tntsql/tntsql/migrate/internal/shared"
)

// holderDSN makes the test binary a process that holds a lease until it is killed.
const holderDSN = "TNTSQL_TEST_HOLDER_DSN"

func TestMain(m *testing.M) {
	if dsn := os.Getenv(holderDSN); dsn != "" {
		hold(dsn)
		return
	}
	goleak.VerifyTestMain(shared.Suite{M: m})
}

// hold takes the lease of the table "killed" and says so.
func hold(dsn string) {
	db, err := sql.Open(tntsql.DriverName, dsn)
	if err == nil {
		_, err = Acquire(context.Background(), db, "killed", testTerm)
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("held")
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
}

// openDB opens a handle as another process would, whose reads go to the replica.
func openDB(t *testing.T) *sql.DB {
	t.Helper()
	db, err := sql.Open(tntsql.DriverName, shared.Servers(t).DSN("read_mode=ro"))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, db.Close()) })
	return db
}
