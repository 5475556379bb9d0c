package tntsql_test

import (
	"errors"
	"os"
	osexec "os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/tarantool/go-iproto"

	"github.com/tntsql/tntsql"
	"github.com/tntsql/tntsql/tarantooltest"
)

// restarting configures an instance as most are: it listens, and takes
// connections, while it still waits for its peers, one of which is down.
const restarting = `
require('fiber').create(function()
    require('socket').iowait(0, 'R') -- until the test is gone
    os.exit(1)
end)
box.cfg{listen = arg[1], replication = {arg[1], arg[2]}, replication_connect_timeout = 1}
box.cfg{replication = {}} -- or 2.6 remains an orphan`

// restart starts the only instance of a set, which has been killed, again.
func restart(t *testing.T, rs *tarantooltest.ReplicaSet) {
	binary := lua(t, rs, 0, "return arg[-1]").(string)
	dir := lua(t, rs, 0, "return require('fio').cwd()").(string)
	rs.Kill(0)
	script := filepath.Join(t.TempDir(), "restarting.lua")
	require.NoError(t, os.WriteFile(script, []byte(restarting), 0o600))
	cmd := osexec.Command(binary, script, rs.Addr(0), closedPort(t))
	cmd.Dir = dir
	_, err := cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		assert.NoError(t, cmd.Process.Kill())
		_ = cmd.Wait() // it was killed
	})
}

// A server that is starting answers logins with 116. It is no use to anybody yet,
// but it will be.
func TestStatementsWaitForAServerThatIsStarting(t *testing.T) {
	rs := ownSet(t, 1)
	name := table(t, rs, "ID INTEGER PRIMARY KEY")
	restart(t, rs)
	db, connector := openDSN(t, rs.DSN())
	ended := make(chan error, 2)
	go func() {
		_, err := firstValue(t.Context(), db, "SELECT 1")
		ended <- err
	}()
	go func() {
		_, err := db.ExecContext(t.Context(), "INSERT INTO "+name+" VALUES (1)")
		ended <- err
	}()
	eventually(t, "server that is starting", func() bool {
		var answer *tntsql.Error
		return errors.As(connector.Topology().Instances[0].Err, &answer) && answer.Code == uint32(iproto.ER_LOADING)
	})
	assert.Empty(t, ended)
	for range 2 {
		assert.NoError(t, <-ended)
	}
	assert.EqualValues(t, 1, value[int64](t, db, "SELECT ID FROM "+name+" WHERE ID = 1"))
}
