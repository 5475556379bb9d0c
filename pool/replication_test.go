package pool_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tntsql/tntsql/discovery"
	"github.com/tntsql/tntsql/pool"
	"github.com/tntsql/tntsql/tarantooltest"
)

// realOptions are those of a pool that is given one instance of a replica set.
func realOptions(rs *tarantooltest.ReplicaSet, user, password string) pool.Options {
	o := options()
	o.Candidates = []pool.Candidate{{Address: rs.Addr(0)}}
	o.Peers, o.RefreshInterval = true, 20*time.Millisecond
	o.Wire.Credentials = func(context.Context, string) (string, string, error) { return user, password, nil }
	return o
}

// follow makes an instance replicate from the addresses.
func follow(t *testing.T, rs *tarantooltest.ReplicaSet, i int, addresses ...string) {
	t.Helper()
	for n, a := range addresses {
		addresses[n] = "app:secret@" + a
	}
	// Replaced at one go, an upstream at a new address is refused as a second
	// one of the same instance.
	_, err := rs.Lua(i, `box.cfg{replication = {}, replication_connect_timeout = 0.5} box.cfg{replication = ...}`, addresses)
	require.NoError(t, err)
}

// members waits until the pool knows exactly these instances of the replica set,
// at these addresses, all connected.
func members(t *testing.T, rs *tarantooltest.ReplicaSet, p *pool.Pool, at map[int]string) {
	t.Helper()
	want := make(map[string]string)
	for i, address := range at {
		want[rs.UUID(i)] = address
	}
	known := func() map[string]string {
		got := make(map[string]string)
		for _, in := range p.Snapshot().Known() {
			got[in.UUID] = in.Address
			if !in.Connected() {
				got[in.UUID] += fmt.Sprintf(" (%s: %v)", in.Status, in.Err)
			}
		}
		return got
	}
	if !assert.Eventually(t, func() bool { return assert.ObjectsAreEqual(want, known()) }, patience, tick) {
		require.Equal(t, want, known())
	}
}

func TestMembershipOfARealReplicaSet(t *testing.T) {
	rs := tarantooltest.Start(t)
	p := open(t, realOptions(rs, "app", "secret"))
	a, b, c := rs.Addr(0), rs.Addr(1), rs.Addr(2)
	all := map[int]string{0: a, 1: b, 2: c}
	members(t, rs, p, all)
	for i, in := range p.Snapshot().Instances {
		want := discovery.RoleRO
		if i == 0 {
			want = discovery.RoleRW
		}
		assert.Equal(t, want, in.Role)
		assert.NotEmpty(t, in.ReplicaSet)
	}

	// One leaves and comes back.
	follow(t, rs, 0, b)
	follow(t, rs, 1, a)
	members(t, rs, p, all)
	follow(t, rs, 2)
	members(t, rs, p, map[int]string{0: a, 1: b})
	follow(t, rs, 2, a)
	follow(t, rs, 0, b, c)
	members(t, rs, p, all)

	// One moves to another port.
	host, _, _ := strings.Cut(c, ":")
	moved := fmt.Sprintf("%s:%d", host, 14000+rand.IntN(1000))
	_, err := rs.Lua(2, "box.cfg{listen = ...}", moved)
	require.NoError(t, err)
	follow(t, rs, 0, b, moved)
	members(t, rs, p, map[int]string{0: a, 1: b, 2: moved})

	// One is unregistered, which ends its replication for good.
	follow(t, rs, 0, b)
	_, err = rs.Lua(0, "box.ctl.wait_rw(10) local t = box.space._cluster.index.uuid:get(...) box.space._cluster:delete(t[1])", rs.UUID(2))
	require.NoError(t, err)
	members(t, rs, p, map[int]string{0: a, 1: b})

	// The one that was given is not there for a while.
	rs.Kill(0)
	require.Eventually(t, func() bool { return !p.Snapshot().Instances[0].Connected() }, patience, tick)
	require.NoError(t, p.Wait(t.Context(), discovery.ModeRO, patience))
	require.Len(t, p.Snapshot().Instances, 2)
	assert.Equal(t, b, p.Snapshot().Instances[1].Address)
}

func TestRestartedInstancesAreMembers(t *testing.T) {
	rs := tarantooltest.Start(t)
	var logged log
	o := realOptions(rs, "app", "secret")
	o.Logger = logged.logger()
	p := open(t, o)
	all := map[int]string{0: rs.Addr(0), 1: rs.Addr(1), 2: rs.Addr(2)}
	members(t, rs, p, all)
	for i := range rs.Len() {
		require.NoError(t, rs.Restart(i))
		members(t, rs, p, all)
	}
	assert.Zero(t, logged.count("instance left"))
	for i := range rs.Len() {
		rs.Kill(i)
	}
	for i := range rs.Len() {
		require.NoError(t, rs.Restart(i))
	}
	members(t, rs, p, all)
}

func TestMembershipWithoutTheGrant(t *testing.T) {
	rs := tarantooltest.Start(t, tarantooltest.Instances(2))
	_, err := rs.Lua(0, "box.schema.user.create('plain', {password = 'x'})")
	require.NoError(t, err)
	var logged log
	o := realOptions(rs, "plain", "x")
	o.Logger = logged.logger()
	p := open(t, o)
	members(t, rs, p, map[int]string{0: rs.Addr(0)})
	require.Eventually(t, func() bool { return logged.count("may not call box.info") == 1 }, patience, tick)

	_, err = rs.Lua(0, "box.schema.func.create('box.info') box.schema.user.grant('plain', 'execute', 'function', 'box.info')")
	require.NoError(t, err, "what the warning says")
	other := open(t, o)
	members(t, rs, other, map[int]string{0: rs.Addr(0), 1: rs.Addr(1)})
	assert.Equal(t, 1, logged.count("may not call box.info"))
}

func TestOneRealInstanceUnderTwoNames(t *testing.T) {
	rs := tarantooltest.Start(t, tarantooltest.Instances(2))
	connections := func() int64 {
		values, err := rs.Lua(0, "return box.stat.net().CONNECTIONS.current")
		require.NoError(t, err)
		return values[0].(int64)
	}
	before := connections()
	o := realOptions(rs, "app", "secret")
	_, port, _ := strings.Cut(rs.Addr(0), ":")
	o.Candidates = []pool.Candidate{{Address: "localhost:" + port}} // the peer says 127.0.0.1
	p := open(t, o)
	members(t, rs, p, map[int]string{0: "localhost:" + port, 1: rs.Addr(1)})
	require.Eventually(t, func() bool { return connections() == before+1 }, patience, tick)
}
