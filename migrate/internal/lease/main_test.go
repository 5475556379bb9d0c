package lease

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/tntsql/tntsql"
	"github.com/tntsql/tntsql/tarantooltest"
)

// holderDSN makes the test binary a process that holds a lease until it is killed.
const holderDSN = "TNTSQL_TEST_HOLDER_DSN"

// shared is the replica set of all tests: each has tables of its own.
var shared struct {
	sync.Once
	set *tarantooltest.ReplicaSet
	err error
}

// servers starts the replica set when a test asks for it first.
func servers(t *testing.T) *tarantooltest.ReplicaSet {
	t.Helper()
	shared.Do(func() {
		shared.set, shared.err = tarantooltest.New(context.Background(), tarantooltest.Instances(2))
	})
	if errors.Is(shared.err, tarantooltest.ErrNoBinary) && os.Getenv("CI") == "" && os.Getenv("TARANTOOL") == "" {
		t.Skip(shared.err)
	}
	require.NoError(t, shared.err)
	return shared.set
}

// suite stops the replica set before goroutines are counted.
type suite struct{ *testing.M }

func (s suite) Run() int {
	code := s.M.Run()
	if shared.set != nil {
		if err := shared.set.Close(); err != nil {
			fmt.Println(err)
			return 1
		}
	}
	return code
}

func TestMain(m *testing.M) {
	if dsn := os.Getenv(holderDSN); dsn != "" {
		hold(dsn)
		return
	}
	goleak.VerifyTestMain(suite{m})
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
	db, err := sql.Open(tntsql.DriverName, servers(t).DSN("read_mode=ro"))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, db.Close()) })
	return db
}
