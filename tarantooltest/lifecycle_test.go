package tarantooltest

import (
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPromoteMovesTheMaster(t *testing.T) {
	t.Parallel()
	rs := Start(t)
	createSpace(t, rs, nil)
	for key := range 30 {
		master := key % 3
		require.NoError(t, rs.Promote(master))
		require.Equal(t, master, rs.Master())
		for i := range rs.Len() {
			require.Equal(t, i == master, lua(t, rs, i, "return not box.info.ro"))
		}
		if key > 0 {
			require.True(t, has(t, rs, master, key-1), "what the former master acknowledged")
		}
		put(t, rs, master, key)
	}
	require.NoError(t, rs.Promote(rs.Master()))
}

func TestPromoteAfterTheMasterDied(t *testing.T) {
	t.Parallel()
	rs := Start(t)
	createSpace(t, rs, nil)
	eventually(t, func() bool {
		return lua(t, rs, 1, "return box.space.kv ~= nil") == true && lua(t, rs, 2, "return box.space.kv ~= nil") == true
	}, "the space on the replicas")

	// Instance 2 alone has the last row: it misses on 1, which is promoted.
	require.NoError(t, rs.Stop(1))
	put(t, rs, 0, 1)
	eventuallyHas(t, rs, 2, 1)
	rs.Kill(0)
	require.NoError(t, rs.Continue(1))
	assert.Equal(t, -1, rs.Master())
	require.NoError(t, rs.Promote(1))
	assert.Equal(t, 1, rs.Master())
	assert.True(t, has(t, rs, 1, 1))

	put(t, rs, 1, 2)
	require.NoError(t, rs.Restart(0))
	assert.Equal(t, true, lua(t, rs, 0, "return box.info.ro"))
	eventuallyHas(t, rs, 0, 2)
	eventuallyHas(t, rs, 2, 2)
}

func TestPromoteTakesTheSynchronousQueue(t *testing.T) {
	t.Parallel()
	rs := Start(t, Cfg(map[string]any{"replication_synchro_quorum": 2}))
	createSpace(t, rs, map[string]any{"is_sync": true})
	if rs.AtLeast(2, 10, 0) {
		lua(t, rs, 0, "box.ctl.promote()")
	}
	put(t, rs, 0, 0)
	for key, master := range []int{1, 2, 1} {
		require.NoError(t, rs.Promote(master))
		put(t, rs, master, key+1)
	}
	// Else the server waits for the dead master's confirmation first.
	eventually(t, func() bool {
		return has(t, rs, 2, 3) &&
			lua(t, rs, 2, "return box.info.synchro == nil or box.info.synchro.queue.len == 0") == true
	}, "the last row is confirmed on the next master")
	rs.Kill(1)
	require.NoError(t, rs.Promote(2))
	put(t, rs, 2, 4)
	for key := range 5 {
		assert.True(t, has(t, rs, 2, key), key)
	}
}

func TestPromoteWithElections(t *testing.T) {
	t.Parallel()
	rs := Start(t, Instances(1))
	if !rs.AtLeast(2, 10, 0) {
		t.Skip("elections are tested on servers from 2.10 on, this is " + rs.Version())
	}
	rs = Start(t, Cfg(map[string]any{"election_mode": "candidate", "election_timeout": 0.5, "replication_timeout": 0.2}))
	first := rs.Master()
	require.NotEqual(t, -1, first)
	next := (first + 1) % 3
	require.NoError(t, rs.Promote(next))
	assert.Equal(t, next, rs.Master())
	rs.Kill(next)
	eventually(t, func() bool { m := rs.Master(); return m != -1 && m != next }, "another leader")
}

func TestPromoteNeedsARunningInstance(t *testing.T) {
	t.Parallel()
	rs := Start(t, Instances(2))
	require.NoError(t, rs.Stop(1))
	assert.EqualError(t, rs.Promote(1), "tarantooltest: instance 1: stopped: Continue it first")
	rs.Kill(1)
	assert.EqualError(t, rs.Promote(1), "tarantooltest: instance 1: not running")
	assert.Equal(t, 0, rs.Master())
}

func TestStoppedMasterComesBackWritable(t *testing.T) {
	t.Parallel()
	rs := Start(t, Instances(2))
	require.NoError(t, rs.Stop(0))
	require.NoError(t, rs.Promote(1))
	require.NoError(t, rs.Continue(0))
	assert.Equal(t, true, lua(t, rs, 0, "return not box.info.ro"))
	assert.Equal(t, 1, rs.Master(), "promoted last")
	require.NoError(t, rs.Promote(1))
	assert.Equal(t, false, lua(t, rs, 0, "return not box.info.ro"))
}

func TestStopAndContinue(t *testing.T) {
	t.Parallel()
	rs := Start(t, Instances(1))
	require.NoError(t, rs.Stop(0))
	require.NoError(t, rs.Stop(0))
	_, err := rs.Lua(0, "return 1")
	assert.EqualError(t, err, "tarantooltest: instance 0: stopped: Continue it first")
	assert.EqualError(t, rs.Shutdown(0), "tarantooltest: instance 0: stopped: Continue it first")
	assert.ErrorContains(t, rs.Restart(0), "stopped")

	// The kernel accepts the connection; the greeting must wait for Continue.
	conn, err := net.Dial("tcp", rs.Addr(0))
	require.NoError(t, err)
	defer conn.Close()
	greeting := make([]byte, 128)
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(50*time.Millisecond)))
	_, err = conn.Read(greeting)
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)

	require.NoError(t, rs.Continue(0))
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(10*time.Second)))
	_, err = conn.Read(greeting)
	require.NoError(t, err)
	assert.Contains(t, string(greeting), "Tarantool ")
	lua(t, rs, 0, "return 1")
}

func TestKillAndRestart(t *testing.T) {
	t.Parallel()
	rs := Start(t, Instances(2))
	createSpace(t, rs, nil)
	put(t, rs, 0, 1)
	dsn, uuid := rs.DSN(), rs.UUID(0)

	require.NoError(t, rs.Stop(0))
	rs.Kill(0)
	rs.Kill(0)
	_, err := net.Dial("tcp", rs.Addr(0))
	require.Error(t, err)
	for _, err := range []error{rs.Stop(0), rs.Continue(0), rs.Shutdown(0)} {
		assert.EqualError(t, err, "tarantooltest: instance 0: not running")
	}

	require.NoError(t, rs.Restart(0))
	assert.Equal(t, dsn, rs.DSN())
	assert.Equal(t, uuid, lua(t, rs, 0, "return box.info.uuid"))
	assert.Equal(t, 0, rs.Master())
	assert.True(t, has(t, rs, 0, 1))
	put(t, rs, 0, 2)
	eventuallyHas(t, rs, 1, 2)
}

func TestRestartOfARunningInstanceIsGraceful(t *testing.T) {
	t.Parallel()
	rs := Start(t, Instances(1))
	lua(t, rs, 0, "box.ctl.on_shutdown(function() require('log').info('good ' .. 'bye') end)")
	require.NoError(t, rs.Restart(0))
	assert.Contains(t, rs.Log(0), "good bye")
	require.NoError(t, rs.Shutdown(0))
	assert.Equal(t, "exit status 0", rs.instances[0].state())
}

func TestRestartWithAnotherBinary(t *testing.T) {
	t.Parallel()
	rs := Start(t, Instances(1))
	other := filepath.Join(t.TempDir(), "other")
	require.NoError(t, os.Symlink(rs.binary, other))
	require.NoError(t, rs.RestartWith(0, other))
	assert.Equal(t, other, rs.instances[0].process.cmd.Path)
	require.NoError(t, rs.Restart(0))
	assert.Equal(t, other, rs.instances[0].process.cmd.Path, "kept for later starts")
	assert.ErrorContains(t, rs.RestartWith(0, "/no/such/tarantool"), "/no/such/tarantool")
	assert.True(t, rs.instances[0].running())
}

func TestRestartOfAllOneAfterTheOther(t *testing.T) {
	t.Parallel()
	rs := Start(t)
	createSpace(t, rs, nil)
	put(t, rs, 0, 1)
	for i := range rs.Len() {
		eventuallyHas(t, rs, i, 1)
	}
	for i := range rs.Len() {
		rs.Kill(i)
	}
	for i := range rs.Len() {
		require.NoError(t, rs.Restart(i))
		assert.True(t, has(t, rs, i, 1))
		assert.Equal(t, "running", lua(t, rs, i, "return box.info.status"))
	}
	put(t, rs, 0, 2)
	eventuallyHas(t, rs, 1, 2)
	eventuallyHas(t, rs, 2, 2)
}

func TestCloseIsFastAndComplete(t *testing.T) {
	t.Parallel()
	rs := Start(t)
	require.NoError(t, rs.Stop(1))
	start := time.Now()
	require.NoError(t, rs.Close())
	assert.Less(t, time.Since(start), time.Second)
	require.NoError(t, rs.Close())
	assert.NoDirExists(t, rs.dir)
	for i := range rs.Len() {
		assert.False(t, rs.instances[i].running())
		assert.ErrorContains(t, rs.Restart(i), "the replica set is closed")
		assert.Empty(t, rs.Log(i))
	}
	_, err := rs.Lua(0, "return 1")
	assert.EqualError(t, err, "tarantooltest: instance 0: not running")
}

func TestCloseDuringEverythingElse(t *testing.T) {
	t.Parallel()
	rs := Start(t, Instances(2))
	var wg sync.WaitGroup
	busy := make(chan struct{}, 4)
	for _, f := range []func() error{
		func() error { return rs.Restart(1) },
		func() error { return rs.Promote(0) },
		func() error { rs.Kill(1); return rs.Stop(1) },
		func() error { _, err := rs.Lua(0, "require('fiber').sleep(0.01)"); return err },
	} {
		wg.Go(func() {
			busy <- struct{}{}
			for rs.instances[0].running() {
				_ = f() // any of them may fail; none may hang
			}
		})
	}
	for range cap(busy) {
		<-busy
	}
	require.NoError(t, rs.Close())
	wg.Wait()
}
