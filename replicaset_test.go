package tntsql_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tntsql/tntsql/tarantooltest"
)

// functions are on every instance: who names it, pause sleeps there. They can be
// called from SQL, too, and so can SESSION_ID. pauses is how many calls of pause
// have begun.
const functions = `
local fiber = require('fiber')
pauses = 0
function who() return box.info.uuid end
function pause(seconds)
    pauses = pauses + 1
    fiber.sleep(seconds)
    return seconds
end
if not box.info.ro then
    local options = {language = 'LUA', exports = {'LUA', 'SQL'}, if_not_exists = true}
    local function create(name, returns, params, body)
        options.returns, options.param_list, options.body = returns, params, body
        box.schema.func.create(name, options)
    end
    create('WHO', 'string', {}, 'function() return box.info.uuid end')
    create('PAUSE', 'number', {'number'}, 'function(seconds) return pause(seconds) end')
    create('SESSION_ID', 'unsigned', {}, 'function() return box.session.id() end')
end`

var shared struct {
	once sync.Once
	set  *tarantooltest.ReplicaSet
	err  error
}

// sharedSet is the replica set for tests that leave its instances as they are,
// instance 0 the master. They run one after the other, so that they may count
// what reaches it. Tests that stop or promote instances start one of their own
// and run in parallel.
func sharedSet(t testing.TB) *tarantooltest.ReplicaSet {
	t.Helper()
	shared.once.Do(func() {
		shared.set, shared.err = tarantooltest.New(context.Background(), tarantooltest.InitLua(functions),
			tarantooltest.Cfg(map[string]any{"memtx_max_tuple_size": 4 << 20}))
	})
	if errors.Is(shared.err, tarantooltest.ErrNoBinary) {
		return tarantooltest.Start(t) // skips the test, or fails it where there must be a binary
	}
	require.NoError(t, shared.err)
	return shared.set
}

// ownSet starts a replica set for a test that changes it.
func ownSet(t *testing.T, instances int) *tarantooltest.ReplicaSet {
	t.Helper()
	t.Parallel()
	return tarantooltest.Start(t, tarantooltest.InitLua(functions), tarantooltest.Instances(instances))
}

// table creates a table that all instances know, and gives its name.
func table(t testing.TB, rs *tarantooltest.ReplicaSet, columns string) string {
	t.Helper()
	name := fmt.Sprintf("T%d", tables.Add(1))
	lua(t, rs, rs.Master(), "assert(box.execute(...))", "CREATE TABLE "+name+" ("+columns+")")
	inStep(t, rs)
	return name
}

var tables atomic.Int64

// lua runs code that must succeed on instance i, and gives the first value.
func lua(t testing.TB, rs *tarantooltest.ReplicaSet, i int, code string, args ...any) any {
	t.Helper()
	values, err := rs.Lua(i, code, args...)
	require.NoError(t, err)
	if len(values) == 0 {
		return nil
	}
	return values[0]
}

// inStep waits until every instance has what any of them has.
func inStep(t testing.TB, rs *tarantooltest.ReplicaSet) {
	t.Helper()
	const has = `
for id, lsn in pairs(...) do
    id = tonumber(id)
    -- Component 0 counts writes to local spaces.
    if id ~= 0 and (box.info.vclock[id] or 0) < lsn then return false end
end
return true`
	for i := range rs.Len() {
		vclock := lua(t, rs, i, "return box.info.vclock")
		for j := range rs.Len() {
			eventually(t, "replication", func() bool { return lua(t, rs, j, has, vclock) == true })
		}
	}
}

// pauses is how many calls of pause have begun on the master.
func pauses(t testing.TB, rs *tarantooltest.ReplicaSet) int64 {
	t.Helper()
	return lua(t, rs, 0, "return pauses").(int64)
}

// number is which instance has the uuid.
func number(t testing.TB, rs *tarantooltest.ReplicaSet, uuid string) int {
	t.Helper()
	for i := range rs.Len() {
		if rs.UUID(i) == uuid {
			return i
		}
	}
	require.Failf(t, "no instance", "has the uuid %q", uuid)
	return -1
}

// settled waits until earlier tests' connections are gone from the servers, and
// gives how many are left: those by which each instance follows all others.
func settled(t testing.TB, rs *tarantooltest.ReplicaSet) int64 {
	t.Helper()
	among := int64(rs.Len() * (rs.Len() - 1))
	eventually(t, "end of the connections", func() bool { return connections(t, rs) == among })
	return among
}

// connections is how many connections the instances have.
func connections(t testing.TB, rs *tarantooltest.ReplicaSet) int64 {
	t.Helper()
	return sum(t, rs, "return box.stat.net().CONNECTIONS.current")
}

// requests is how many requests the instances have got so far.
func requests(t testing.TB, rs *tarantooltest.ReplicaSet) int64 {
	t.Helper()
	return sum(t, rs, "return box.stat.net().REQUESTS.total")
}

func sum(t testing.TB, rs *tarantooltest.ReplicaSet, code string) int64 {
	t.Helper()
	var n int64
	for i := range rs.Len() {
		n += lua(t, rs, i, code).(int64)
	}
	return n
}

// requireRequests runs f, which must make n requests. Connections ping their
// server once a second, so f may run several times until no ping falls among
// its requests.
func requireRequests(t testing.TB, rs *tarantooltest.ReplicaSet, n int64, f func()) {
	t.Helper()
	var made int64
	for range 10 {
		before := requests(t, rs)
		f()
		if made = requests(t, rs) - before; made == n {
			return
		}
	}
	require.Equal(t, n, made, "requests")
}
