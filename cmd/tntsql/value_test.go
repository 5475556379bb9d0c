package main

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tntsql/tntsql"
)

func TestJSONOfValues(t *testing.T) {
	for want, v := range map[string]any{
		`null`:                                  nil,
		`true`:                                  true,
		`-9223372036854775808`:                  int64(math.MinInt64),
		`18446744073709551615`:                  uint64(math.MaxUint64),
		`0.1`:                                   0.1,
		`"NaN"`:                                 math.NaN(),
		`"-Inf"`:                                math.Inf(-1),
		`"<a&\n\u001b\ufffd>"`:                  "<a&\n\x1b\xff>",
		`"00ff"`:                                []byte{0, 255},
		`[1,[]]`:                                []any{int64(1), []any{}},
		`{"a":1,"b":null}`:                      map[string]any{"b": nil, "a": int64(1)},
		`{"1":true,"null":2}`:                   map[any]any{int64(1): true, nil: int64(2)},
		`"+1 days"`:                             tntsql.Interval{Day: 1},
		`"2024-01-02T03:04:05.000000006+01:30"`: time.Date(2024, 1, 2, 3, 4, 5, 6, time.FixedZone("", 90*60)),
	} {
		got := string(appendJSON(nil, v))
		assert.Equal(t, want, got)
		assert.True(t, json.Valid([]byte(got)))
	}
}

func TestJSONOfDecimals(t *testing.T) {
	var out strings.Builder
	w := &jsonWriter{w: &out}
	require.NoError(t, w.begin([]column{{"d", "DECIMAL"}, {"n", "NUMBER"}, {"s", "STRING"}}))
	require.NoError(t, w.row([]any{"-0.10", "1E+30", "1.50"}))
	require.NoError(t, w.row([]any{"no number", nil, nil}))
	assert.Equal(t, []string{ // not JSONEq, for which decimals are floats
		`{"d":-0.10,"n":1E+30,"s":"1.50"}`,
		`{"d":"no number","n":null,"s":null}`,
	}, lines(out.String()))
}

func TestCellsTellValuesApart(t *testing.T) {
	w := &tableWriter{}
	cells := map[string]any{}
	for _, v := range []any{
		nil, "", "NULL", "'NULL'", "''", "null", "x'00'", []byte{0}, []byte{}, "x", "a'b", int64(1),
	} {
		cell := w.cell(v)
		before, twice := cells[cell]
		assert.False(t, twice, "%s is %#v and %#v", cell, before, v)
		cells[cell] = v
	}
	assert.Contains(t, cells, "NULL")
	assert.Contains(t, cells, "''")
	assert.Contains(t, cells, "a'b")
}

func TestPrintableMovesNoCursor(t *testing.T) {
	for text, want := range map[string]string{
		"plain Текст 表":  "plain Текст 表",
		"\x1b[2J":        `\x1b[2J`,
		"a\nb\tc\r":      `a\nb\tc\r`,
		"\x00\x7f\u009b": `\x00\x7f\u009b`,
		"\u202e\u200b":   `\u202e\u200b`,
		"\xff\ufffd":     `\xff` + "\ufffd",
	} {
		assert.Equal(t, want, printable(text))
	}
}

func TestSpanHasThreeDigits(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0:                       "0s",
		287_014:                 "287µs",
		13_516_000:              "13.5ms",
		1_290_000:               "1.29ms",
		12*time.Second + 345678: "12s",
		999_900:                 "1ms",
	} {
		assert.Equal(t, want, span(d, true))
	}
	assert.Equal(t, "-", span(-1, false))
}
