package iproto

import (
	"bytes"
	"database/sql/driver"
	"encoding/hex"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/tarantool/go-iproto"
	"github.com/vmihailenco/msgpack/v5"
)

func statementOf(text string, values ...any) BatchStatement {
	s := BatchStatement{Text: text}
	for i, v := range values {
		s.Args = append(s.Args, driver.NamedValue{Ordinal: i + 1, Value: v})
	}
	return s
}

// statementsOf are the script's argument in the body of a batch.
func statementsOf(t testing.TB, body []byte) []byte {
	t.Helper()
	n, err := Skip(body, MaxDepth)
	require.NoError(t, err)
	require.Equal(t, len(body), n)
	var fields map[int]msgpack.RawMessage
	require.NoError(t, msgpack.Unmarshal(body, &fields))
	require.Len(t, fields, 2)
	var script string
	require.NoError(t, msgpack.Unmarshal(fields[int(iproto.IPROTO_EXPR)], &script))
	require.Equal(t, batchScript, script)
	return fields[int(iproto.IPROTO_TUPLE)]
}

func TestAppendBatch(t *testing.T) {
	named := func(name string, v any) BatchStatement {
		return BatchStatement{Text: "S", Args: []driver.NamedValue{{Name: name, Value: v}}}
	}
	for _, test := range []struct {
		name  string
		batch []BatchStatement
		want  string // text, bindings, the numbers of those to be kept, and whether it calls, of each statement
	}{
		{"no statements", nil, "90"},
		{"no parameters", []BatchStatement{statementOf("S")}, "91 94a153 90 90 c2"},
		{"several", []BatchStatement{statementOf("S"), statementOf("T", int64(1))}, "92 94a153 90 90 c2 94a154 9101 90 c2"},
		{"nothing to keep", []BatchStatement{statementOf("S", nil, true, int64(-1), uint64(math.MaxUint64), "x")},
			"91 94a153 95c0c3ffcfffffffffffffffffa178 90 c2"},
		{"doubles", []BatchStatement{statementOf("S", 3.0, 3, float32(1.5), nil)},
			"91 94a153 94cb400800000000000003cb3ff8000000000000c0 920103 c2"},
		{"double of a valuer", []BatchStatement{statementOf("S", encoded{3.0})}, "91 94a153 91cb4008000000000000 9101 c2"},
		{"bytes", []BatchStatement{statementOf("S", "x", []byte("y"), []byte(nil))}, "91 94a153 93a178c40179c0 9102 c2"},
		{"named double", []BatchStatement{named("a", 3.0)}, "91 94a153 9181a23a61cb4008000000000000 9101 c2"},
		{"named integer", []BatchStatement{named("@a", 3)}, "91 94a153 9181a2406103 90 c2"},
		{"extensions", []BatchStatement{statementOf("S", UUID{}, time.Unix(1, 0).UTC(), 1.0)},
			"91 94a153 93d80200000000000000000000000000000000d7040100000000000000cb3ff0000000000000 9103 c2"},
		{"code of the user's", []BatchStatement{{Text: "S", Calls: true}}, "91 94a153 90 90 c3"},
		{"the 300th of many", []BatchStatement{statementOf("S", append(make([]any, 299), 1.0)...)},
			"91 94a153 dc012c" + strings.Repeat("c0", 299) + "cb3ff0000000000000 91cd012c c2"},
	} {
		t.Run(test.name, func(t *testing.T) {
			b, err := AppendBatch([]byte("before"), test.batch, v38)
			require.NoError(t, err)
			assert.Equal(t, "before", string(b[:6]))
			assert.Equal(t, strings.ReplaceAll("91"+test.want, " ", ""), hex.EncodeToString(statementsOf(t, b[6:])))
		})
	}
}

func TestAppendBatchRefusesWhatLuaWouldChange(t *testing.T) {
	for _, test := range []struct {
		name   string
		args   []driver.NamedValue
		server Version
		want   string
	}{
		{"bytes before 3.0", []driver.NamedValue{{Value: 1.0}, {Value: []byte("x")}}, v211, "parameter 2: bytes would become a string in Lua before Tarantool 3.0"},
		{"empty bytes before 3.0", []driver.NamedValue{{Value: []byte{}}}, v26, "parameter 1: bytes would become a string"},
		{"bytes by name", []driver.NamedValue{{Name: "b", Value: []byte("x")}}, v26, "parameter :b: bytes would become a string"},
		{"a slice", []driver.NamedValue{{Value: []int{1}}}, v38, "parameter 1: numbers within an array or a map would change in Lua"},
		{"an empty slice", []driver.NamedValue{{Value: []int{}}}, v211, "parameter 1: numbers within an array"},
		{"a map", []driver.NamedValue{{Name: "m", Value: map[string]int{}}}, v38, "parameter :m: numbers within an array or a map"},
		{"a slice behind others", []driver.NamedValue{{Name: "a", Value: []byte("x")}, {Name: "b", Value: "x"}, {Name: "c", Value: []any{nil}}}, v38,
			"parameter :c: numbers within"},
	} {
		t.Run(test.name, func(t *testing.T) {
			batch := []BatchStatement{statementOf("S", 1.0), {Text: "T", Args: test.args}, {Text: "U", Args: test.args}}
			b, err := AppendBatch([]byte("before"), batch, test.server)
			assert.Equal(t, "before", string(b))
			assert.ErrorContains(t, err, test.want)
			var changed *LuaError
			require.ErrorAs(t, err, &changed)
			assert.Equal(t, 1, changed.Statement)
			assert.Equal(t, test.server, changed.Server)
			assert.ErrorAs(t, err, new(*ParamError))
			assert.NotErrorAs(t, err, new(*BatchParamError))
		})
	}
}

func TestAppendBatchRefusesWhatCannotBeSent(t *testing.T) {
	for _, test := range []struct {
		name   string
		v      any
		server Version
		want   string
	}{
		{"a channel", make(chan int), v38, "parameter 1: unsupported type chan int"},
		{"a panicking valuer", panicky{}, v38, "as users do"},
		{"a failing valuer", broken{}, v38, "no value today"},
		{"a map that stands for names", map[string]int{}, v38, "can only be bound by name"},
		{"a slice before 2.10", []int{1}, v26, "[]int as ARRAY needs Tarantool 2.10.0"},
		{"a time before 2.10", time.Time{}, v26, "time.Time as DATETIME needs Tarantool 2.10.0"},
	} {
		t.Run(test.name, func(t *testing.T) {
			b, err := AppendBatch([]byte("before"), []BatchStatement{statementOf("S"), statementOf("T", test.v)}, test.server)
			assert.Equal(t, "before", string(b))
			assert.ErrorContains(t, err, test.want)
			var unsent *BatchParamError
			require.ErrorAs(t, err, &unsent)
			assert.Equal(t, 1, unsent.Statement)
			assert.ErrorAs(t, err, new(*ParamError))
			assert.NotErrorAs(t, err, new(*LuaError))
		})
	}
}

func TestParseBatch(t *testing.T) {
	type m = map[string]any
	failure := func(code uint32, message string, f ErrorFrame) *ServerError {
		f.Code, f.Message = code, message
		if f.Fields == nil {
			f.Fields = m{}
		}
		return &ServerError{code, message, []ErrorFrame{f}}
	}
	for _, test := range []struct {
		name    string
		values  []any
		results []BatchResult
		failed  *BatchFailure
	}{
		{"no results", []any{0, []any{}}, []BatchResult{}, nil},
		{"results", []any{0, []any{
			[]any{2, []any{5, 6}, nil},
			[]any{0, []any{}, []any{}},
			[]any{0, []any{}, []any{[]any{1, 3.0, nil, "x", []byte{1}}, []any{}}},
		}}, []BatchResult{
			{Affected: 2, GeneratedIDs: []int64{5, 6}},
			{Rows: [][]any{}},
			{Rows: [][]any{{int64(1), 3.0, nil, "x", []byte{1}}, {}}},
		}, nil},
		{"an error", []any{1, m{"code": 3, "type": "ClientError", "message": "Duplicate key"}}, nil,
			&BatchFailure{0, failure(3, "Duplicate key", ErrorFrame{Type: "ClientError"})}},
		{"a refusal", []any{7, m{"code": 7, "type": "ClientError", "message": "no", "reason": "election", "state": "follower", "leader_uuid": UUID{1}}}, nil,
			&BatchFailure{6, failure(7, "no", ErrorFrame{Type: "ClientError", Fields: m{
				"reason": "election", "state": "follower", "leader_uuid": "01000000-0000-0000-0000-000000000000"}})}},
		{"an error without a type", []any{2, m{"code": 32, "message": "boom"}}, nil, &BatchFailure{1, failure(32, "boom", ErrorFrame{})}},
		{"an error without a message", []any{1, m{"code": 3}}, nil, &BatchFailure{0, failure(3, "ER_TUPLE_FOUND", ErrorFrame{})}},
		{"an error without anything", []any{1, m{}}, nil, &BatchFailure{0, failure(0, "ER_UNKNOWN", ErrorFrame{})}},
		{"an error of other types", []any{1, m{"code": "x", "type": 1, "message": []any{}}}, nil, &BatchFailure{0, failure(0, "ER_UNKNOWN", ErrorFrame{})}},
		{"an end without an error", []any{3, m{"ended": true}}, nil, &BatchFailure{2, nil}},
	} {
		t.Run(test.name, func(t *testing.T) {
			results, failed, err := ParseBatch(dataBody(t, test.values...))
			require.NoError(t, err)
			assert.Equal(t, test.results, results)
			assert.Equal(t, test.failed, failed)
		})
	}
}

func TestParseBatchRefuses(t *testing.T) {
	row := []any{1, []any{}, nil}
	for name, values := range map[string][]any{
		"nothing":                 {},
		"one value":               {0},
		"three values":            {0, []any{}, nil},
		"no number":               {nil, []any{}},
		"a number that is none":   {"0", []any{}},
		"a double":                {1.0, map[string]any{}},
		"a negative number":       {-1, map[string]any{}},
		"a large number":          {int64(math.MaxInt32) + 1, map[string]any{}},
		"the largest number":      {uint64(math.MaxUint64), map[string]any{}},
		"results of a failure":    {1, []any{row}},
		"an error of no failure":  {0, map[string]any{"code": 3}},
		"an error of odd keys":    {1, map[int]any{1: 2}},
		"an error that is a text": {1, "boom"},
		"a result that is none":   {0, []any{row, nil}},
		"a short result":          {0, []any{[]any{1, []any{}}}},
		"a long result":           {0, []any{[]any{1, []any{}, nil, nil}}},
		"a count that is none":    {0, []any{[]any{nil, []any{}, nil}}},
		"a large count":           {0, []any{[]any{uint64(math.MaxUint64), []any{}, nil}}},
		"ids that are none":       {0, []any{[]any{1, nil, nil}}},
		"an id that is none":      {0, []any{[]any{1, []any{1, 1.5}, nil}}},
		"rows that are none":      {0, []any{[]any{1, []any{}, 5}}},
		"a row that is none":      {0, []any{[]any{1, []any{}, []any{[]any{1}, 5}}}},
	} {
		t.Run(name, func(t *testing.T) {
			results, failed, err := ParseBatch(dataBody(t, values...))
			assert.ErrorIs(t, err, ErrMalformed)
			assert.Nil(t, results)
			assert.Nil(t, failed)
		})
	}
	for _, body := range []string{"", "80", "81 32 90", "81 30 05", "81 30 92 01", "81 30 92 00 d44d00"} {
		_, _, err := ParseBatch(unhex(t, body))
		assert.Error(t, err, body)
	}
}

func TestTruncatedRepliesToBatchesAreErrors(t *testing.T) {
	for name, body := range seeds(t, "FuzzParseBatch") {
		_, _, err := ParseBatch(body)
		require.NoError(t, err, name)
		for n := range body {
			_, _, err := ParseBatch(bytes.Clone(body[:n:n]))
			assert.Error(t, err, "%s cut to %d bytes", name, n)
		}
	}
}

func FuzzParseBatch(f *testing.F) {
	f.Fuzz(func(t *testing.T, body []byte) {
		results, failed, err := ParseBatch(body)
		if err != nil {
			require.Nil(t, results)
			require.Nil(t, failed)
			return
		}
		require.NotEqual(t, results == nil, failed == nil)
		require.LessOrEqual(t, len(results), len(body))
		for _, r := range results {
			for _, row := range r.Rows {
				requireValue(t, row)
			}
		}
		if failed == nil {
			return
		}
		require.GreaterOrEqual(t, failed.Statement, 0)
		if failed.Err != nil {
			require.NotEmpty(t, failed.Err.Message)
			require.Len(t, failed.Err.Stack, 1)
			requireValue(t, failed.Err.Stack[0].Fields)
		}
	})
}
