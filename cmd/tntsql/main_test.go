package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/tntsql/tntsql/tarantooltest"
)

// asCommand is the variable that makes the test binary the command itself.
const asCommand = "TNTSQL_TEST_AS_COMMAND"

// servers is shared by the tests that change no role: each has tables of its own.
var servers *tarantooltest.ReplicaSet

// nap is a function that SQL can call.
const nap = `
if not box.info.ro then
    box.schema.func.create('NAP', {language = 'LUA', returns = 'integer', param_list = {}, if_not_exists = true,
        exports = {'LUA', 'SQL'}, body = 'function() require("fiber").sleep(60) return 1 end'})
end
`

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
	}
	os.Exit(testAll(m))
}

func testAll(m *testing.M) int {
	var err error
	servers, err = tarantooltest.New(context.Background(), tarantooltest.InitLua(nap))
	if errors.Is(err, tarantooltest.ErrNoBinary) && os.Getenv("CI") == "" && os.Getenv("TARANTOOL") == "" {
		fmt.Println("all tests are skipped:", err)
		return 0
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	code := m.Run()
	if err := errors.Join(servers.Close(), goleak.Find()); err != nil {
		fmt.Println(err)
		return 1
	}
	return code
}

const secret = "secret" // tarantooltest's password

// session is one run of the command.
type session struct {
	t        *testing.T
	env      map[string]string
	in       string
	terminal bool
	out, err buffer
}

// withDSN is a session whose variables name a replica set.
func withDSN(t *testing.T, rs *tarantooltest.ReplicaSet, params ...string) *session {
	t.Helper()
	dsn, found := strings.CutPrefix(rs.DSN(params...), "tarantool://app:"+secret+"@")
	require.True(t, found)
	return &session{t: t, env: map[string]string{"TNTSQL_DSN": "tarantool://app@" + dsn, "TNTSQL_PASSWORD": secret}}
}

// run runs the command and returns its status. No output ever shows the password.
func (s *session) run(ctx context.Context, args ...string) int {
	s.t.Helper()
	status := run(ctx, args, streams{
		in:     strings.NewReader(s.in),
		out:    &s.out,
		err:    &s.err,
		getenv: func(name string) string { return s.env[name] },
		size: func() (width, height int, ok bool) {
			return 120, 24, s.terminal
		},
	})
	assert.NotContains(s.t, s.out.String()+s.err.String(), secret)
	return status
}

// done runs the command, which must succeed, and returns what it prints.
func (s *session) done(args ...string) string {
	s.t.Helper()
	s.out.reset()
	s.err.reset()
	require.Equal(s.t, exitDone, s.run(s.t.Context(), args...), "%s", s.err.String())
	return s.out.String()
}

// createTable makes a table for the time of the test.
func (s *session) createTable(name, columns string) {
	s.t.Helper()
	s.done("query", "CREATE TABLE "+name+" ("+columns+")")
	s.t.Cleanup(func() {
		s.out.reset()
		s.err.reset()
		s.in = ""
		assert.Equal(s.t, exitDone, s.run(context.Background(), "query", "DROP TABLE "+name), "%s", s.err.String())
	})
}

// buffer may be read while it is written, and tells when it has grown.
type buffer struct {
	mu    sync.Mutex
	bytes bytes.Buffer
	grown chan struct{}
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.grown != nil {
		close(b.grown)
		b.grown = nil
	}
	return b.bytes.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.bytes.String()
}

func (b *buffer) reset() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.bytes.Reset()
}

// await returns when the text so far satisfies the condition.
func (b *buffer) await(t *testing.T, satisfied func(string) bool) {
	t.Helper()
	for {
		b.mu.Lock()
		text := b.bytes.String()
		if b.grown == nil {
			b.grown = make(chan struct{})
		}
		grown := b.grown
		b.mu.Unlock()
		if satisfied(text) {
			return
		}
		select {
		case <-grown:
		case <-t.Context().Done():
			t.Fatalf("so far: %s", text)
		}
	}
}

// columns are the fields of a table's lines, without the head.
func columns(table string) [][]string {
	var rows [][]string
	for _, line := range strings.Split(strings.TrimSpace(table), "\n")[1:] {
		rows = append(rows, strings.Fields(line))
	}
	return rows
}
