package tarantooltest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) != "" {
		child()
	}
	if _, err := findBinary(); errors.Is(err, ErrNoBinary) && !mustHaveBinary() {
		fmt.Println("examples are skipped:", err)
		if err := flag.Set("test.skip", "^Example"); err != nil {
			panic(err)
		}
	}
	goleak.VerifyTestMain(m)
}

// A process with this variable is one that a test starts to kill it.
const childVariable = "TARANTOOLTEST_CHILD"

// child starts a replica set with a stopped instance, prints the pids of
// its instances and waits to be killed.
func child() {
	rs, err := New(context.Background(), Instances(2))
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	if err := rs.Stop(1); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(rs.instances[0].process.cmd.Process.Pid, rs.instances[1].process.cmd.Process.Pid)
	select {}
}

// requireBinary does for tests of New what Start does itself.
func requireBinary(t *testing.T) string {
	t.Helper()
	binary, err := findBinary()
	if err != nil && !mustHaveBinary() {
		t.Skip(err)
	}
	require.NoError(t, err)
	return binary
}

// lua runs code that must succeed, and gives the first value it returns.
func lua(t *testing.T, rs *ReplicaSet, i int, code string, args ...any) any {
	t.Helper()
	values, err := rs.Lua(i, code, args...)
	require.NoError(t, err)
	if len(values) == 0 {
		return nil
	}
	return values[0]
}

func eventually(t *testing.T, condition func() bool, what string) {
	t.Helper()
	require.Eventually(t, condition, 20*time.Second, 5*time.Millisecond, what)
}

// createSpace creates the space that put and has use.
func createSpace(t *testing.T, rs *ReplicaSet, options map[string]any) {
	t.Helper()
	lua(t, rs, rs.Master(), "box.schema.space.create('kv', ...):create_index('pk')", options)
}

func put(t *testing.T, rs *ReplicaSet, i, key int) {
	t.Helper()
	lua(t, rs, i, "box.space.kv:replace({...})", key)
}

func has(t *testing.T, rs *ReplicaSet, i, key int) bool {
	t.Helper()
	return lua(t, rs, i, "return box.space.kv ~= nil and box.space.kv.index[0] ~= nil and box.space.kv:get(...) ~= nil", key) == true
}

func eventuallyHas(t *testing.T, rs *ReplicaSet, i, key int) {
	t.Helper()
	eventually(t, func() bool { return has(t, rs, i, key) }, fmt.Sprintf("key %d on instance %d", key, i))
}
