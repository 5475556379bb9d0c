package tarantooltest

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLuaValues(t *testing.T) {
	t.Parallel()
	rs := Start(t, Instances(1))
	long := strings.Repeat("x", 1<<20)
	for name, test := range map[string]struct {
		code string
		args []any
		want []any
	}{
		"nothing":            {"", nil, []any{}},
		"nils at both ends":  {"return nil, 1, nil", nil, []any{nil, int64(1), nil}},
		"integers":           {"return 1, -1, 0, 1.0, -9223372036854775808LL", nil, []any{int64(1), int64(-1), int64(0), int64(1), int64(math.MinInt64)}},
		"unsigned":           {"return 18446744073709551615ULL, 1ULL", nil, []any{uint64(math.MaxUint64), int64(1)}},
		"floats are exact":   {"return 0.1 + 0.2, 1e300", nil, []any{0.30000000000000004, 1e300}},
		"booleans":           {"return true, false", nil, []any{true, false}},
		"bytes":              {"return '\\255\\0'", nil, []any{"\xff\x00"}},
		"array":              {"return {1, 'a', {}}", nil, []any{[]any{int64(1), "a", []any{}}}},
		"map":                {"return {a = {b = 1}, [7] = 2}", nil, []any{map[string]any{"a": map[string]any{"b": int64(1)}, "7": int64(2)}}},
		"tuple":              {"return box.tuple.new({1, {2}})", nil, []any{[]any{int64(1), []any{int64(2)}}}},
		"object":             {"return type(box.info), box.info.ro, box.info.vclock ~= nil", nil, []any{"table", false, true}},
		"serialized":         {"return setmetatable({}, {__serialize = function() return {1} end})", nil, []any{[]any{int64(1)}}},
		"decimal and uuid":   {"return require('decimal').new('1.50'), require('uuid').fromstr('64d22e4d-ac92-4a23-899a-e59f34af5479')", nil, []any{"1.50", "64d22e4d-ac92-4a23-899a-e59f34af5479"}},
		"returned error":     {"return nil, box.error.new{reason = 'odd'}", nil, []any{nil, "odd"}},
		"arguments":          {"return select('#', ...), ...", []any{int64(5), nil, "s", []byte{255}, []int{1}, nil}, []any{int64(6), int64(5), nil, "s", "\xff", []any{int64(1)}, nil}},
		"argument of a map":  {"return (...).k", []any{map[string]any{"k": 2.5}}, []any{2.5}},
		"long":               {"return ...", []any{long}, []any{long}},
		"runs as admin":      {"return box.session.user(), box.session.effective_user()", nil, []any{"admin", "admin"}},
		"session of its own": {"box.begin() return box.is_in_txn()", nil, []any{true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := rs.Lua(0, test.code, test.args...)
			require.NoError(t, err)
			assert.Equal(t, test.want, got)
		})
	}
}

func TestLuaErrors(t *testing.T) {
	t.Parallel()
	rs := Start(t, Instances(1))
	for name, test := range map[string]struct {
		code, want string
		args       []any
	}{
		"syntax":          {code: "return return", want: "tarantooltest: instance 0: Lua: lua:1: "},
		"raised text":     {code: "error('no luck', 0)", want: "tarantooltest: instance 0: Lua: no luck"},
		"raised object":   {code: "box.error{reason = 'odd'}", want: "tarantooltest: instance 0: Lua: odd"},
		"endless table":   {code: "local t = {} t.t = t return t", want: "tarantooltest: instance 0: Lua: "},
		"unfit argument":  {code: "return 1", want: "arguments of Lua", args: []any{make(chan int)}},
		"unknown ext":     {code: "return ...", want: "tarantooltest: instance 0: Lua: ", args: []any{time.Unix(0, 0)}},
		"raised nothing":  {code: "error()", want: "tarantooltest: instance 0: Lua: nil"},
		"unknown binding": {code: "return nothing.at.all", want: "nothing"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := rs.Lua(0, test.code, test.args...)
			require.ErrorContains(t, err, test.want)
		})
	}
}

func TestLuaEndsWithItsContext(t *testing.T) {
	t.Parallel()
	rs := Start(t, Instances(1))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := rs.instances[0].lua(ctx, "require('fiber').sleep(3600)", nil)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	lua(t, rs, 0, "return 1")
}

func TestLuaOnAnInstanceThatIsGone(t *testing.T) {
	t.Parallel()
	rs := Start(t, Instances(1))
	_, err := rs.Lua(0, "os.exit(1)")
	require.ErrorContains(t, err, "the instance ended while it ran Lua")
	eventually(t, func() bool {
		_, err = rs.Lua(0, "return 1")
		return err.Error() == "tarantooltest: instance 0: not running"
	}, "the exit is noticed")
}
