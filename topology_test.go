package tntsql_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tntsql/tntsql"
)

func TestTopologyIsWhatIsKnownOfEachInstance(t *testing.T) {
	rs := sharedSet(t)
	started := time.Now()
	_, connector := openDSN(t, rs.DSN())
	knowsAll(t, connector)
	topology := connector.Topology()
	require.Len(t, topology.Instances, rs.Len())
	for i, in := range topology.Instances {
		role := "ro"
		if i == 0 {
			role = "rw"
		}
		assert.Equal(t, rs.Addr(i), in.Address, "in the order of the DSN")
		assert.Equal(t, rs.UUID(i), in.UUID)
		assert.Equal(t, topology.Instances[0].ReplicaSet, in.ReplicaSet)
		assert.NotEmpty(t, in.ReplicaSet)
		assert.Equal(t, role, in.Role)
		assert.Equal(t, "running", in.Status)
		assert.True(t, strings.HasPrefix(rs.Version(), in.Version), "%s is a version, of %s", in.Version, rs.Version())
		assert.NotEmpty(t, in.Version)
		assert.Positive(t, in.Latency)
		assert.False(t, in.Since.Before(started))
		assert.NoError(t, in.Err)
	}

	lines := strings.Split(strings.TrimSpace(topology.String()), "\n")
	require.Len(t, lines, 1+rs.Len())
	assert.Equal(t, []string{"ADDRESS", "ROLE", "STATUS", "SINCE", "VERSION", "LATENCY", "LAG", "UP", "TO", "IN", "FLIGHT", "UUID", "ERROR"}, strings.Fields(lines[0]))
	for i, line := range lines[1:] {
		for _, part := range []string{rs.Addr(i), rs.UUID(i), topology.Instances[i].Role, "running"} {
			assert.Contains(t, line, part)
		}
	}
}

func TestTopologyTellsWhyAnInstanceIsDown(t *testing.T) {
	rs := sharedSet(t)
	closed := closedPort(t)
	_, connector := openDSN(t, dsnOf([]string{closed, rs.Addr(0)}))
	require.NoError(t, connector.WaitReady(within(t, 10*time.Second), tntsql.ModeRW))
	eventually(t, "error", func() bool { return connector.Topology().Instances[0].Err != nil })
	down := connector.Topology().Instances[0]
	assert.Equal(t, closed, down.Address)
	assert.Equal(t, "down", down.Status)
	assert.Equal(t, "unknown", down.Role)
	assert.Empty(t, down.UUID)
	assert.ErrorContains(t, down.Err, "refused")
	assert.Contains(t, connector.Topology().String(), "refused")
}

// Votes need no grant: roles are known to a user who may do nothing. What
// box.info says is not.
func TestRolesAreKnownToAUserWithoutGrants(t *testing.T) {
	rs := sharedSet(t)
	lua(t, rs, 0, "box.schema.user.create('nobody', {password = 'n', if_not_exists = true})")
	inStep(t, rs)
	_, connector := openDSN(t, strings.Replace(rs.DSN(), "app:secret", "nobody:n", 1))
	knowsAll(t, connector)
	for i, in := range connector.Topology().Instances {
		assert.Equal(t, i == 0, in.Role == "rw")
		assert.Equal(t, rs.UUID(i), in.UUID)
		assert.Equal(t, rs.AtLeast(2, 10, 0), in.ReplicaSet != "", "newer servers push it")
	}
}

func TestTwoAddressesOfAnInstanceAreOneInstance(t *testing.T) {
	rs := sharedSet(t)
	again := strings.Replace(rs.Addr(0), "127.0.0.1", "localhost", 1)
	db, connector := openDSN(t, dsnOf([]string{rs.Addr(0), again, rs.Addr(1)}))
	knowsAll(t, connector)
	by := make(map[int]int)
	for range 20 {
		by[number(t, rs, served(t, t.Context(), db))]++
	}
	assert.Equal(t, map[int]int{0: 10, 1: 10}, by, "each its half")
}

func TestWaitReady(t *testing.T) {
	rs := sharedSet(t)
	_, connector := openDSN(t, dsnOf([]string{rs.Addr(0)}, "selection_timeout=0"))
	for _, mode := range []tntsql.Mode{tntsql.ModeRW, tntsql.ModeAny, tntsql.ModePreferRO, tntsql.ModePreferRW} {
		assert.NoError(t, connector.WaitReady(within(t, 10*time.Second), mode), mode)
	}
	err := connector.WaitReady(within(t, 20*time.Millisecond), tntsql.ModeRO)
	assert.ErrorIs(t, err, tntsql.ErrNoInstance)
	assert.ErrorIs(t, err, context.DeadlineExceeded)
	assert.EqualError(t, connector.WaitReady(t.Context(), 0), "tntsql: Mode(0) is not a mode")
}
