package main

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/tntsql/tntsql/tarantooltest"
)

func TestPingNamesTheInstanceThatAnswered(t *testing.T) {
	s := withDSN(t, servers)
	assert.Regexp(t, "^"+servers.Addr(servers.Master())+` \(rw\) answered in [0-9.]+[nµm]?s\n$`, s.done("ping", "--mode", "rw"))
	assert.Regexp(t, `^127\.0\.0\.1:\d+ \(ro\) answered in `, s.done("ping", "-m", "RO"))
	assert.Contains(t, s.done("ping"), " answered in ")
}

func TestPingWithoutAMaster(t *testing.T) {
	rs := tarantooltest.Start(t, tarantooltest.Instances(2))
	rs.Kill(0)
	s := withDSN(t, rs)
	assert.Contains(t, s.done("ping", "--mode", "prefer_rw"), rs.Addr(1)+" (ro)")
	assert.Equal(t, exitNoInstance, s.run(t.Context(), "ping", "--mode", "rw", "--timeout", "1500ms"))
	text := s.err.String()
	assert.Contains(t, text, "tntsql: waiting for an instance of mode rw: "+rs.Addr(0)+" is down; "+rs.Addr(1)+" is running, ro (1s)\n")
	assert.Contains(t, text, "tntsql: no instance for mode rw after 1.")
	assert.Contains(t, text, "connection refused")
}

func TestPingWaitsAsTheDSNSays(t *testing.T) {
	s := withDSN(t, servers)
	assert.Equal(t, exitNoInstance, s.run(t.Context(), "ping", "tarantool://app@127.0.0.1:1/?selection_timeout=0"))
	assert.Contains(t, s.err.String(), "tntsql: no instance for mode any")
}
