package tntsql_test

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tntsql/tntsql"
)

// caller is Call or Eval on some handle.
type caller func(ctx context.Context, m tntsql.Mode) (*tntsql.Reply, error)

// callers are all ways to ask an instance who it is.
func callers(t *testing.T, db *sql.DB) map[string]caller {
	t.Helper()
	conn, err := db.Conn(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, conn.Close()) })
	raw := func(f func(c *tntsql.Conn) (*tntsql.Reply, error)) (reply *tntsql.Reply, err error) {
		err = conn.Raw(func(dc any) error {
			reply, err = f(dc.(*tntsql.Conn))
			return err
		})
		return reply, err
	}
	return map[string]caller{
		"Call on DB": func(ctx context.Context, m tntsql.Mode) (*tntsql.Reply, error) { return tntsql.Call(ctx, db, m, "who") },
		"Call on Conn": func(ctx context.Context, m tntsql.Mode) (*tntsql.Reply, error) {
			return tntsql.Call(ctx, conn, m, "who")
		},
		"Call by Raw": func(ctx context.Context, m tntsql.Mode) (*tntsql.Reply, error) {
			return raw(func(c *tntsql.Conn) (*tntsql.Reply, error) { return c.Call(ctx, m, "who") })
		},
		"Eval on DB": func(ctx context.Context, m tntsql.Mode) (*tntsql.Reply, error) {
			return tntsql.Eval(ctx, db, m, "return who()")
		},
		"Eval on Conn": func(ctx context.Context, m tntsql.Mode) (*tntsql.Reply, error) {
			return tntsql.Eval(ctx, conn, m, "return who()")
		},
		"Eval by Raw": func(ctx context.Context, m tntsql.Mode) (*tntsql.Reply, error) {
			return raw(func(c *tntsql.Conn) (*tntsql.Reply, error) { return c.Eval(ctx, m, "return who()") })
		},
	}
}

func TestCallsGoToTheirModeWhateverTheContextSays(t *testing.T) {
	rs := sharedSet(t)
	db := open(t, "read_mode=ro", "read_after_write=off")
	for name, call := range callers(t, db) {
		t.Run(name, func(t *testing.T) {
			for mode, role := range routes[read] {
				if mode == 0 {
					continue
				}
				for range 3 {
					reply, err := call(withMode(t, tntsql.ModeRO), mode)
					require.NoError(t, err)
					assert.Equal(t, []any{reply.Instance().UUID}, reply.Values(), "the instance, by its own account")
					if role != "any" {
						assert.Equal(t, role == "rw", reply.Instance().UUID == rs.UUID(0), mode)
					}
				}
			}
			reply, err := call(t.Context(), 0)
			assert.EqualError(t, err, "tntsql: Mode(0) is not a mode")
			assert.Nil(t, reply)
		})
	}
}

func TestRepliesHoldWhatLuaReturned(t *testing.T) {
	db := open(t)
	for expression, want := range map[string][]any{
		"":                                      {},
		"return":                                {},
		"return nil":                            {nil},
		"return nil, 1, nil":                    {nil, int64(1), nil},
		"return 1, -1, 1.5":                     {int64(1), int64(-1), 1.5},
		"return 18446744073709551615ULL":        {uint64(math.MaxUint64)},
		"return true, false":                    {true, false},
		"return 'text', ''":                     {"text", ""},
		"return {}":                             {[]any{}},
		"return {1, {2, 'three'}}":              {[]any{int64(1), []any{int64(2), "three"}}},
		"return {a = 1, b = {c = 2}}":           {map[string]any{"a": int64(1), "b": map[string]any{"c": int64(2)}}},
		"return {[1] = 'x', [5] = 'y', z = 0}":  {map[any]any{int64(1): "x", int64(5): "y", "z": int64(0)}},
		"return box.tuple.new{1, 'a'}":          {[]any{int64(1), "a"}},
		"return require('decimal').new('1.50')": {"1.50"},
		"return require('uuid').fromstr('6ba7b810-9dad-11d1-80b4-00c04fd430c8')": {"6ba7b810-9dad-11d1-80b4-00c04fd430c8"},
		"return ...": {int64(1), "two", nil, map[string]any{"four": int64(4)}, []any{int64(5)}},
	} {
		t.Run(expression, func(t *testing.T) {
			var args []any
			if expression == "return ..." {
				args = []any{1, "two", nil, map[string]int{"four": 4}, []int{5}}
			}
			reply, err := tntsql.Eval(t.Context(), db, tntsql.ModeAny, expression, args...)
			require.NoError(t, err)
			assert.Equal(t, want, reply.Values())
		})
	}
}

// point is encoded as an array by its tag, task as a map.
type (
	point struct {
		_msgpack struct{} `msgpack:",as_array"` //nolint:unused // the tag is what counts
		X, Y     int
	}
	task struct {
		ID    uint64   `msgpack:"id"`
		Title string   `json:"title"`
		Tags  []string `msgpack:"tags"`
		At    *point   `msgpack:"at"`
	}
)

func TestStructsTravelBothWays(t *testing.T) {
	db := open(t)
	sent := task{ID: 1 << 63, Title: "write", Tags: []string{"a", "b"}, At: &point{X: 1, Y: -2}}
	reply, err := tntsql.Eval(t.Context(), db, tntsql.ModeRW, "local t = ...; return t, t.title, t.at[2], #t.tags", sent)
	require.NoError(t, err)

	var (
		got    task
		title  string
		y      int8
		length uint
	)
	require.NoError(t, reply.Decode(&got, &title, &y, &length))
	assert.Equal(t, sent, got)
	assert.Equal(t, "write", title)
	assert.EqualValues(t, -2, y)
	assert.EqualValues(t, 2, length)
}

func TestDecode(t *testing.T) {
	db := open(t)
	reply, err := tntsql.Eval(t.Context(), db, tntsql.ModeRW, "return 7, 'text', {a = 1}, {1, 2}, nil")
	require.NoError(t, err)

	var (
		n       int
		text    string
		m       map[string]int
		list    []int64
		pointer *int
		value   any
	)
	require.NoError(t, reply.Decode(&n, &text, &m, &list, &pointer))
	assert.Equal(t, []any{7, "text", map[string]int{"a": 1}, []int64{1, 2}, (*int)(nil)}, []any{n, text, m, list, pointer})

	text = ""
	require.NoError(t, reply.Decode(nil, &text), "a nil skips a value, and values may be left")
	assert.Equal(t, "text", text)
	require.NoError(t, reply.Decode(&value))
	assert.Equal(t, int64(7), value)

	for name, dst := range map[string][]any{
		"more than there are": {&n, &text, &m, &list, &pointer, &value},
		"another type":        {&text},
		"no pointer":          {n},
		"a nil pointer":       {(*int)(nil)},
	} {
		t.Run(name, func(t *testing.T) {
			err := reply.Decode(dst...)
			require.Error(t, err)
			assert.Contains(t, err.Error(), "tntsql: decode the reply of "+reply.Instance().Address)
		})
	}
}

func TestErrorsOfCalls(t *testing.T) {
	db := open(t)
	for _, c := range []struct {
		expression string
		code       uint32
		name, typ  string
		message    string
	}{
		{"error('boom')", 32, "ER_PROC_LUA", "LuajitError", "boom"},
		{"error({code = 1})", 32, "ER_PROC_LUA", "LuajitError", ""},
		{"box.error(box.error.TUPLE_FOUND, 'i', 's', 'old', 'new')", 3, "ER_TUPLE_FOUND", "ClientError", "Duplicate key"},
		{"box.error{code = 12345, reason = 'mine'}", 12345, "", "ClientError", "mine"},
		{"box.error{type = 'MyType', code = 7000, reason = 'mine'}", 7000, "", "CustomError", "mine"},
		{"return (", 32, "ER_PROC_LUA", "LuajitError", "unexpected symbol"},
	} {
		t.Run(c.expression, func(t *testing.T) {
			reply, err := tntsql.Eval(t.Context(), db, tntsql.ModeRW, c.expression)
			assert.Nil(t, reply)
			var server *tntsql.Error
			require.ErrorAs(t, err, &server)
			assert.Equal(t, c.code, server.Code)
			assert.Equal(t, c.name, server.Name)
			assert.Contains(t, server.Message, c.message)
			require.NotEmpty(t, server.Stack)
			assert.Equal(t, c.typ, server.Type)
			assert.Equal(t, c.typ, server.Stack[0].Type)
			assert.Positive(t, server.Stack[0].Line)
			assert.NotErrorIs(t, err, tntsql.ErrOutcomeUnknown)
		})
	}

	_, err := tntsql.Call(t.Context(), db, tntsql.ModeRW, "no_such_procedure")
	var server *tntsql.Error
	require.ErrorAs(t, err, &server)
	assert.Equal(t, "ER_NO_SUCH_PROC", server.Name)
}

// A procedure may have done half of anything before it found out: it is not
// sent to another instance.
func TestAWriteByAProcedureInTheWrongModeIsRefusedByTheReplica(t *testing.T) {
	rs := sharedSet(t)
	db := open(t)
	name := table(t, rs, "ID INTEGER PRIMARY KEY")
	ctx, info := tntsql.Capture(t.Context())
	_, err := tntsql.Eval(ctx, db, tntsql.ModeRO, fmt.Sprintf("box.space.%s:insert{1}", name))
	var server *tntsql.Error
	require.ErrorAs(t, err, &server)
	assert.Equal(t, "ER_READONLY", server.Name)
	assert.NotEqual(t, rs.UUID(0), server.Instance.UUID)
	assert.Equal(t, 1, info.Attempts)
	_, err = tntsql.Eval(t.Context(), db, tntsql.ModeRW, fmt.Sprintf("box.space.%s:insert{1}", name))
	assert.NoError(t, err)
}

// A server may push while a call runs, answer with keys that no Go map has, and
// raise an error without a word.
func TestCallsThatAnswerOddly(t *testing.T) {
	db := open(t)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	t.Run("pushes", func(t *testing.T) {
		reply, err := tntsql.Eval(ctx, db, tntsql.ModeRW, `
			for i = 1, 100 do box.session.push({i, {[{1, 2}] = i}}) end
			return 'done'`)
		require.NoError(t, err)
		assert.Equal(t, []any{"done"}, reply.Values())
	})
	t.Run("keys that are arrays or maps", func(t *testing.T) {
		for _, value := range []string{"{[{1, 2}] = 3}", "{[{a = 1}] = 3, x = 1}", "{x = {[{1}] = {[{2}] = 3}}}"} {
			reply, err := tntsql.Eval(ctx, db, tntsql.ModeRW, "return "+value)
			if err == nil {
				assert.NotEmpty(t, reply.Values())
			}
			assert.NotErrorIs(t, err, context.DeadlineExceeded, value)
		}
	})
	t.Run("an error without a message", func(t *testing.T) {
		_, err := tntsql.Eval(ctx, db, tntsql.ModeRW, "box.error{reason = '', code = 42}")
		var e *tntsql.Error
		require.ErrorAs(t, err, &e)
		assert.EqualValues(t, 42, e.Code)
	})
	assert.Equal(t, 1, value[int](t, db, "SELECT 1"))
}
