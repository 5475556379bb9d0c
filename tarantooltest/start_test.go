package tarantooltest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/tarantool/go-tarantool/v2"
)

func TestStartReplicates(t *testing.T) {
	for _, n := range []int{1, 3} {
		t.Run(fmt.Sprintf("%d instances", n), func(t *testing.T) {
			t.Parallel()
			rs := Start(t, Instances(n))
			require.Equal(t, n, rs.Len())
			createSpace(t, rs, nil)
			put(t, rs, 0, 1)
			for i := range n {
				assert.Equal(t, rs.UUID(i), lua(t, rs, i, "return box.info.uuid"))
				assert.Equal(t, int64(i+1), lua(t, rs, i, "return box.info.id"))
				assert.Equal(t, i != 0, lua(t, rs, i, "return box.info.ro"))
				assert.Equal(t, "running", lua(t, rs, i, "return box.info.status"))
				assert.Equal(t, rs.Version(), lua(t, rs, i, "return _TARANTOOL"))
				eventuallyHas(t, rs, i, 1)
			}
		})
	}
}

func TestReplicaSetsAreIndependent(t *testing.T) {
	t.Parallel()
	addresses := map[string]bool{}
	for range 2 {
		rs := Start(t)
		createSpace(t, rs, nil) // fails where it exists
		for i := range rs.Len() {
			addresses[rs.Addr(i)] = true
		}
	}
	assert.Len(t, addresses, 6)
}

func TestUserOfDSNMayRunSQL(t *testing.T) {
	t.Parallel()
	rs := Start(t, Instances(2), User("o'neil", "s,e:c@r/e?t+ %"))
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for i := range rs.Len() {
		dialer := tarantool.NetDialer{Address: rs.Addr(i), User: "o'neil", Password: "s,e:c@r/e?t+ %"}
		conn, err := tarantool.Connect(ctx, dialer, tarantool.Opts{Timeout: 10 * time.Second})
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, conn.Close()) })
		rows, err := conn.Do(tarantool.NewExecuteRequest("SELECT 1")).Get()
		require.NoError(t, err)
		assert.Len(t, rows, 1)
	}
	hosts := rs.Addr(0) + "," + rs.Addr(1)
	assert.Equal(t, "tarantool://o%27neil:s%2Ce%3Ac%40r%2Fe%3Ft%2B%20%25@"+hosts+"/", rs.DSN())
	assert.True(t, strings.HasSuffix(rs.DSN("read_mode=ro", "tls=disable"), hosts+"/?read_mode=ro&tls=disable"))
}

func TestCfgAndInitLuaHoldForEveryStart(t *testing.T) {
	t.Parallel()
	rs := Start(t, Instances(2),
		Cfg(map[string]any{"readahead": 32640}), Cfg(map[string]any{"replication_timeout": 0.5}),
		InitLua(`
			assert(box.cfg.listen == nil)
			function answer() return 42 end
			if not box.info.ro then
				box.schema.space.create('kv', {if_not_exists = true})
			end`))
	require.NoError(t, rs.Restart(0))
	require.NoError(t, rs.Restart(1))
	for i := range rs.Len() {
		values, err := rs.Lua(i, "return answer(), box.space.kv ~= nil, box.cfg.readahead, box.cfg.replication_timeout")
		require.NoError(t, err)
		assert.Equal(t, []any{int64(42), true, int64(32640), 0.5}, values)
	}
}

func TestMVCCIsOnWhereItIsThere(t *testing.T) {
	t.Parallel()
	const mvcc = "return box.cfg.memtx_use_mvcc_engine"
	rs := Start(t, Instances(1))
	if !rs.AtLeast(2, 10, 0) {
		assert.NotEqual(t, true, lua(t, rs, 0, mvcc))
		return
	}
	assert.Equal(t, true, lua(t, rs, 0, mvcc))
	rs = Start(t, Instances(1), Cfg(map[string]any{"memtx_use_mvcc_engine": false}))
	assert.Equal(t, false, lua(t, rs, 0, mvcc))
}

func TestAtLeast(t *testing.T) {
	rs := &ReplicaSet{version: "2.11.9-0-g54aebb0960"}
	for version, want := range map[[3]int]bool{
		{2, 11, 9}: true, {2, 11, 10}: false, {2, 10, 12}: true, {2, 12, 0}: false, {1, 99, 99}: true, {3, 0, 0}: false,
	} {
		assert.Equal(t, want, rs.AtLeast(version[0], version[1], version[2]), version)
	}
}

func TestNewErrors(t *testing.T) {
	requireBinary(t)
	for name, test := range map[string]struct {
		options []Option
		want    string
	}{
		"no instances":            {[]Option{Instances(0)}, "0 instances: a replica set has 1 to 31"},
		"too many instances":      {[]Option{Instances(32)}, "32 instances: a replica set has 1 to 31"},
		"user of replication":     {[]Option{User("replicator", "x")}, `user "replicator" is the one that replicates`},
		"unknown option":          {[]Option{Cfg(map[string]any{"no_such": 1})}, "instance 0: Lua: "},
		"log is in the error":     {[]Option{InitLua("print('so far so good') error('but then')")}, "so far so good"},
		"error of InitLua":        {[]Option{InitLua("error('but then')")}, "but then"},
		"syntax error in InitLua": {[]Option{InitLua("if")}, "InitLua:1"},
		"process that ends":       {[]Option{Instances(1), InitLua("os.exit(7)")}, "instance 0: the instance ended while it ran Lua"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := New(t.Context(), test.options...)
			require.ErrorContains(t, err, test.want)
			assert.Equal(t, 1, strings.Count(err.Error(), "tarantooltest: "))
		})
	}
}

func TestNewEndsWithItsContext(t *testing.T) {
	requireBinary(t)
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err := New(ctx, InitLua("require('fiber').sleep(3600)"))
	assert.ErrorIs(t, err, context.DeadlineExceeded)
}

func TestNewInTooLongADirectory(t *testing.T) {
	requireBinary(t)
	long := filepath.Join(t.TempDir(), strings.Repeat("x", 100))
	require.NoError(t, os.Mkdir(long, 0o700))
	t.Setenv("TMPDIR", long)
	_, err := New(t.Context())
	require.ErrorContains(t, err, "set $TMPDIR to a shorter one")
	left, err := os.ReadDir(long)
	require.NoError(t, err)
	assert.Empty(t, left)
}

// fakeTB records what Start does with a test.
type fakeTB struct {
	testing.TB
	failed   bool
	skipped  string
	fatal    string
	logs     []string
	cleanups []func()
}

func (tb *fakeTB) Helper()           {}
func (tb *fakeTB) Failed() bool      { return tb.failed }
func (tb *fakeTB) Cleanup(f func())  { tb.cleanups = append(tb.cleanups, f) }
func (tb *fakeTB) Log(args ...any)   { tb.logs = append(tb.logs, fmt.Sprint(args...)) }
func (tb *fakeTB) Error(args ...any) { tb.TB.Error(args...) }
func (tb *fakeTB) Skip(args ...any)  { tb.skipped = fmt.Sprint(args...); panic(tb) }
func (tb *fakeTB) Fatal(args ...any) { tb.fatal = fmt.Sprint(args...); panic(tb) }

func TestLogsArePrintedIfTheTestFailed(t *testing.T) {
	for _, failed := range []bool{false, true} {
		tb := &fakeTB{TB: t}
		rs := Start(t, Instances(2))
		if failed {
			rs = Start(tb, Instances(2))
			lua(t, rs, 1, "require('log').warn('something odd')")
			assert.Contains(t, rs.Log(1), "something odd")
			rs.Kill(1)
		}
		tb.failed = failed
		for _, cleanup := range tb.cleanups {
			cleanup()
		}
		if !failed {
			assert.Empty(t, tb.logs)
			continue
		}
		require.Len(t, tb.logs, 2)
		assert.Contains(t, tb.logs[0], "log of instance 0 ("+rs.Addr(0)+", running):\n")
		assert.Contains(t, tb.logs[1], "log of instance 1 ("+rs.Addr(1)+", signal: killed):\n")
		assert.Contains(t, tb.logs[1], "something odd")
		assert.NoDirExists(t, rs.dir)
	}
}

func TestWithoutBinary(t *testing.T) {
	here, err := os.Getwd()
	require.NoError(t, err)
	for name, test := range map[string]struct {
		tarantool, ci string
		skips         bool
	}{
		"on a developer's machine": {skips: true},
		"in CI":                    {ci: "true"},
		"named and missing":        {tarantool: filepath.Join(here, "missing")},
		"named and no program":     {tarantool: filepath.Join(here, "doc.go")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("PATH", t.TempDir())
			t.Setenv("TARANTOOL", test.tarantool)
			t.Setenv("CI", test.ci)
			_, err := New(t.Context())
			require.ErrorIs(t, err, ErrNoBinary)
			require.ErrorContains(t, err, "install Tarantool 2.6 or newer")
			require.ErrorContains(t, err, "set $TARANTOOL to its path")
			require.ErrorContains(t, err, test.tarantool)

			tb := &fakeTB{TB: t}
			require.PanicsWithValue(t, tb, func() { Start(tb) })
			if test.skips {
				assert.Equal(t, err.Error(), tb.skipped)
			} else {
				assert.Equal(t, err.Error(), tb.fatal)
			}
		})
	}
}

func TestBinaryNamedByRelativePath(t *testing.T) {
	binary := requireBinary(t)
	dir := t.TempDir()
	require.NoError(t, os.Symlink(binary, filepath.Join(dir, "tnt")))
	t.Chdir(dir)
	t.Setenv("TARANTOOL", "./tnt")
	Start(t, Instances(1))
}
