package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tntsql/tntsql"
	"github.com/tntsql/tntsql/tarantooltest"
)

func TestTopologyShowsEachInstance(t *testing.T) {
	rows := columns(withDSN(t, servers).done("topology"))
	require.Len(t, rows, servers.Len())
	for i, row := range rows {
		require.GreaterOrEqual(t, len(row), 7, "%v", row)
		role := "ro"
		if i == servers.Master() {
			role = "rw"
		}
		assert.Equal(t, []string{servers.Addr(i), role, "running"}, row[:3])
		_, err := time.ParseDuration(row[3])
		assert.NoError(t, err, "lag")
		_, err = time.ParseDuration(row[4])
		assert.NoError(t, err, "latency")
		version, _, _ := strings.Cut(servers.Version(), "-")
		assert.Equal(t, version, row[5])
		assert.Equal(t, "0", row[6])
	}
}

func TestTopologySaysWhyNoInstanceCanBeUsed(t *testing.T) {
	s := withDSN(t, servers)
	s.env["TNTSQL_PASSWORD"] = "Kwrong1"
	assert.Equal(t, exitNoInstance, s.run(t.Context(), "topology", "-v"))
	assert.Equal(t, servers.Len(), strings.Count(s.out.String(), "login refused"), "%s", s.out.String())
	assert.Contains(t, s.err.String(), "tntsql: no instance can be used\n")
	assert.NotContains(t, s.out.String()+s.err.String(), "Kwrong1")
}

func TestTopologyOfAnInstanceThatIsDown(t *testing.T) {
	rs := tarantooltest.Start(t, tarantooltest.Instances(2))
	rs.Kill(1)
	rows := columns(withDSN(t, rs).done("topology"))
	require.Len(t, rows, 2)
	assert.Equal(t, []string{rs.Addr(0), "rw", "running"}, rows[0][:3])
	assert.Equal(t, []string{rs.Addr(1), "-", "down"}, rows[1][:3])
	assert.Contains(t, strings.Join(rows[1], " "), "connection refused")
}

func TestTopologyFindsPeers(t *testing.T) {
	s := withDSN(t, servers)
	dsn := "tarantool://app@" + servers.Addr(0) + "/?discovery=replication"
	// Peers are known after the answer of the first instance.
	assert.Eventually(t, func() bool {
		return len(columns(s.done("topology", dsn))) == servers.Len()
	}, 20*time.Second, time.Millisecond)
}

func TestWatchWritesATableForEachChange(t *testing.T) {
	rs := tarantooltest.Start(t, tarantooltest.Instances(2))
	s := withDSN(t, rs)
	ctx, interrupt := context.WithCancel(t.Context())
	status := make(chan int)
	go func() { status <- s.run(ctx, "topology", "--watch") }()
	master := func(i int) func(string) bool {
		return func(text string) bool {
			blocks := strings.Split(strings.TrimSuffix(text, "\n\n"), "\n\n")
			lines := strings.Split(blocks[len(blocks)-1], "\n")
			if len(lines) != 2+rs.Len() {
				return false
			}
			_, err := time.Parse(time.RFC3339Nano, lines[0])
			return err == nil && strings.HasPrefix(strings.Join(strings.Fields(lines[2+i]), " "), rs.Addr(i)+" rw running")
		}
	}
	s.out.await(t, master(0))
	require.NoError(t, rs.Promote(1))
	s.out.await(t, master(1))
	rs.Kill(1)
	s.out.await(t, func(text string) bool {
		lines := strings.Split(strings.TrimSuffix(text, "\n\n"), "\n")
		return strings.HasPrefix(strings.Join(strings.Fields(lines[len(lines)-1]), " "), rs.Addr(1)+" - down - - ")
	})
	interrupt()
	assert.Equal(t, exitDone, <-status)
	assert.Less(t, strings.Count(s.out.String(), "INSTANCE"), 20, "a change of lag is none")
}

func TestWatchRedrawsATerminal(t *testing.T) {
	s := withDSN(t, servers)
	s.terminal = true
	ctx, interrupt := context.WithCancel(t.Context())
	status := make(chan int)
	go func() { status <- s.run(ctx, "topology", "--watch") }()
	frame := func(text string) bool {
		at := strings.LastIndex(text, toTop)
		return at >= 0 && strings.Count(text[at:], "running") == servers.Len() && strings.HasSuffix(text, clearBelow)
	}
	s.out.await(t, frame)
	interrupt()
	assert.Equal(t, exitDone, <-status)
	text := s.out.String()
	assert.True(t, strings.HasPrefix(text, enterScreen))
	_, last, left := strings.Cut(text, leaveScreen)
	assert.True(t, left, "the terminal is as it was")
	assert.Equal(t, servers.Len(), strings.Count(last, "running"), "the last table stays")
	assert.Contains(t, last, "\x1b[32mrw\x1b[0m")
}

func TestNoColorLeavesColoursOut(t *testing.T) {
	s := withDSN(t, servers)
	s.terminal = true
	s.env["NO_COLOR"] = "1"
	assert.NotContains(t, s.done("topology"), "\x1b")
}

func TestAFrameFitsTheTerminal(t *testing.T) {
	tool := &tool{streams: streams{
		getenv: func(string) string { return "" },
		size:   func() (width, height int, ok bool) { return 40, 4, true },
	}}
	var instances []tntsql.TopologyInstance
	for range 10 {
		instances = append(instances, tntsql.TopologyInstance{Address: "tarantool.example.org:3301", Status: "down", Err: context.Canceled})
	}
	lines := strings.Split(strings.TrimPrefix(tool.frame(instances), toTop), "\r\n")
	assert.Len(t, lines, 4)
	for _, line := range lines {
		text := strings.NewReplacer(clearLine, "", clearBelow, "", "\x1b[1m", "", "\x1b[31m", "", "\x1b[0m", "").Replace(line)
		assert.LessOrEqual(t, len([]rune(text)), 40, "%q", line)
	}
}
