package tarantooltest

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// alive reports whether a process runs or is stopped. An orphan that ended may
// be a zombie for as long as its new parent likes.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !bytes.Contains(stat, []byte(") Z "))
}

func TestNoInstanceOutlivesAKilledProcess(t *testing.T) {
	t.Parallel()
	requireBinary(t)
	for _, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM} {
		dir, err := os.MkdirTemp("", "killed-") // t.TempDir's path is long
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, os.RemoveAll(dir)) })
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), childVariable+"=1", "TMPDIR="+dir)
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		line, _ := bufio.NewReader(out).ReadString('\n')
		var serving, stopped int
		_, err = fmt.Sscan(line, &serving, &stopped)
		require.NoError(t, err, line)
		require.True(t, alive(serving) && alive(stopped))

		require.NoError(t, cmd.Process.Signal(signal))
		require.Error(t, cmd.Wait())
		eventually(t, func() bool { return !alive(serving) && !alive(stopped) }, "the instances end")
	}
}

func TestInstanceEndsWithItsStandardInput(t *testing.T) {
	t.Parallel()
	rs := Start(t, Instances(1))
	require.NoError(t, rs.instances[0].process.stdin.Close())
	<-rs.instances[0].process.exited
}

func TestInstancesOutliveTheThreadOfTheirStarter(t *testing.T) {
	t.Parallel()
	requireBinary(t)
	var rs *ReplicaSet
	var err error
	var thread int
	started := make(chan struct{})
	go func() {
		defer close(started)
		runtime.LockOSThread() // and end with it, which ends the thread
		thread = syscall.Gettid()
		rs, err = New(t.Context(), Instances(1))
	}()
	<-started
	require.NoError(t, err)
	defer func() { assert.NoError(t, rs.Close()) }()
	eventually(t, func() bool {
		_, err := os.Stat(fmt.Sprintf("/proc/self/task/%d", thread))
		return os.IsNotExist(err)
	}, "the thread ends")
	lua(t, rs, 0, "return 1")
	require.NoError(t, rs.Restart(0))
}

func TestInstancesAreInNoTerminalGroup(t *testing.T) {
	t.Parallel()
	rs := Start(t, Instances(1))
	pid := rs.instances[0].process.cmd.Process.Pid
	group, err := syscall.Getpgid(pid)
	require.NoError(t, err)
	assert.Equal(t, pid, group)
}

func TestEnvironmentDoesNotConfigureInstances(t *testing.T) {
	t.Setenv("TT_READAHEAD", "32640")
	t.Setenv("TT_LISTEN", "127.0.0.1:1")
	rs := Start(t, Instances(1))
	assert.NotEqual(t, int64(32640), lua(t, rs, 0, "return box.cfg.readahead"))
	assert.True(t, strings.HasSuffix(rs.Addr(0), fmt.Sprint(lua(t, rs, 0, "return box.cfg.listen:match(':(%d+)$')"))))
}
