package iproto

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/vmihailenco/msgpack/v5"
)

func TestParseData(t *testing.T) {
	values, err := ParseData(dataBody(t, 1, -1, uint64(math.MaxUint64), 1.5, "x", []byte{1}, true, nil, []any{1, []int{}},
		map[string]any{"a": map[int]int{1: 2}}, Decimal("1.50"), UUID{1}, time.Unix(5, 0).UTC(), Interval{Day: 1}))
	require.NoError(t, err)
	assert.Equal(t, []any{int64(1), int64(-1), uint64(math.MaxUint64), 1.5, "x", []byte{1}, true, nil, []any{int64(1), []any{}},
		map[string]any{"a": map[any]any{int64(1): int64(2)}}, "1.50", "01000000-0000-0000-0000-000000000000",
		time.Unix(5, 0).UTC(), Interval{Day: 1}}, values)

	values, err = ParseData(dataBody(t))
	require.NoError(t, err)
	assert.Empty(t, values)
}

func TestParseDataRefuses(t *testing.T) {
	for _, test := range []struct{ body, want string }{
		{"", "the bytes end inside a value"},
		{"80", "reply without data"},
		{"81 32 90", "reply without data"},
		{"81 30 05", "an unsigned integer where an array is expected"},
		{"81 30 91", "malformed"},
		{"81 30 91 81 9105 01", "a key of a map is []interface {}"},
		{"81 30 91 d44d00", "extension type 77"},
		{"82 30 90 31", "malformed"},
	} {
		_, err := ParseData(unhex(t, test.body))
		assert.ErrorContains(t, err, test.want, test.body)
	}
}

// failing is a type whose DecodeMsgpack does what it is told to.
type failing struct{ panics bool }

func (f *failing) DecodeMsgpack(*msgpack.Decoder) error {
	if f.panics {
		panic("as users do")
	}
	return errors.New("not today")
}

func TestDecodeData(t *testing.T) {
	type order struct {
		ID    uint64   `msgpack:"id"`
		Note  *string  `json:"note"`
		Lines []string `msgpack:"lines"`
		Any   any
		Cost  Decimal
		Text  string
		Owner UUID
		Ref   string
		Span  Interval
		At    time.Time
	}
	at := time.Date(2024, 7, 1, 12, 30, 0, 5, time.FixedZone("", 3*3600))
	body := dataBody(t, map[string]any{
		"id": 300, "note": "n", "lines": []string{"a", "b"}, "Any": map[int]any{1: Decimal("2")},
		"Cost": Decimal("1.50"), "Text": Decimal("2.50"), "Owner": UUID{1}, "Ref": UUID{2}, "Span": Interval{Day: 1}, "At": at,
	}, at, Decimal("-1"), []any{1, at}, map[string]any{"k": UUID{1}}, nil, int8(5))

	var (
		got      order
		when     time.Time
		cost     string
		list     []any
		named    map[string]any
		absent   = new(int)
		anything any
	)
	require.NoError(t, DecodeData(body, &got, &when, &cost, &list, &named, &absent, &anything))
	assert.True(t, at.Equal(got.At))
	got.At = time.Time{}
	note := "n"
	assert.Equal(t, order{
		ID: 300, Note: &note, Lines: []string{"a", "b"}, Any: map[any]any{int64(1): "2"},
		Cost: "1.50", Text: "2.50", Owner: UUID{1}, Ref: "02000000-0000-0000-0000-000000000000", Span: Interval{Day: 1},
	}, got)
	assert.True(t, at.Equal(when))
	_, offset := when.Zone()
	assert.Equal(t, 3*3600, offset)
	assert.Equal(t, "-1", cost)
	assert.Len(t, list, 2)
	assert.True(t, at.Equal(list[1].(time.Time)))
	assert.Equal(t, map[string]any{"k": "01000000-0000-0000-0000-000000000000"}, named)
	assert.Nil(t, absent)
	assert.Equal(t, int64(5), anything)

	var (
		decimal Decimal
		id      UUID
		span    Interval
	)
	require.NoError(t, DecodeData(dataBody(t, Decimal("1.50"), UUID{1}, Interval{Day: 1}, "ignored"), &decimal, &id, &span))
	assert.Equal(t, Decimal("1.50"), decimal)
	assert.Equal(t, UUID{1}, id)
	assert.Equal(t, Interval{Day: 1}, span)

	require.NoError(t, DecodeData(dataBody(t, 1)), "no one need read the values")
}

func TestDecodeDataRefuses(t *testing.T) {
	body := dataBody(t, 1, "x")
	var n int
	for _, test := range []struct {
		name string
		dst  []any
		want string
	}{
		{"too few values", []any{&n, &n, &n}, "2 values where 3 are expected"},
		{"no pointer", []any{n}, "value 1: cannot decode into int, only into a pointer"},
		{"nil pointer", []any{(*int)(nil)}, "value 1: cannot decode into *int"},
		{"another type", []any{&n, &n}, "value 2: "},
		{"another type of rows", []any{new(time.Time)}, "value 1: cannot decode int64 into time.Time"},
		{"a failing type", []any{&failing{}}, "value 1: not today"},
		{"a panicking type", []any{&failing{panics: true}}, "value 1: panic while *iproto.failing was decoded: as users do"},
		{"an INTERVAL of a number", []any{new(Interval)}, "value 1: cannot decode int64 into tntsql.Interval"},
		{"a UUID of a number", []any{new(UUID)}, "value 1: cannot scan int64 into a UUID"},
		{"a UUID of text", []any{&n, new(UUID)}, `value 2: not a UUID: "x"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			assert.ErrorContains(t, DecodeData(body, test.dst...), test.want)
		})
	}

	assert.ErrorIs(t, DecodeData(unhex(t, "81 30 92 01"), &n), ErrMalformed)
	var m map[any]any
	assert.Error(t, DecodeData(unhex(t, "81 30 91 81 9105 01"), &m), "a key that cannot be hashed")
}
