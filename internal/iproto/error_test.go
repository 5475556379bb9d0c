package iproto

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/tarantool/go-iproto"
)

// errorBody is a reply of 3.8 to a write on a read-only instance, shortened.
const errorBody = "82 31 a8726561642d6f6e79 52 81 00 91 87 00 ab436c69656e744572726f72 02 01 01 a46576616c " +
	"03 a8726561642d6f6e79 04 02 05 07 06 82 a46e616d65 a8524541444f4e4c59 a6726561736f6e a6636f6e666967"

func TestParseError(t *testing.T) {
	err := ParseError(0x8007, unhex(t, errorBody))
	assert.Equal(t, &ServerError{
		Code:    7,
		Message: "read-ony",
		Stack: []ErrorFrame{{
			Type: "ClientError", File: "eval", Line: 1, Message: "read-ony", Errno: 2, Code: 7,
			Fields: map[string]any{"name": "READONLY", "reason": "config"},
		}},
	}, err)
	assert.EqualError(t, err, "read-ony (code 7)")
}

func TestParseErrorAlwaysGivesOne(t *testing.T) {
	for _, test := range []struct {
		name, body string
		code       uint32
		want       string
	}{
		{"message only", "81 31 a3626164", 0x8003, "bad (code 3)"},
		{"code without the flag", "81 31 a3626164", 3, "bad (code 3)"},
		{"empty message", "81 31 a0", 42, "ER_ACCESS_DENIED (code 42)"},
		{"empty message, unknown code", "81 31 a0", 20000, "Error(20000) (code 20000)"},
		{"no message, but a stack", "81 52 81 00 91 82 03 a3626164 05 2a", 42, "bad (code 42)"},
		{"code of the stack", "81 52 81 00 91 82 03 a3626164 05 2a", 0, "bad (code 42)"},
		{"empty stack", "82 31 a3626164 52 81 00 90", 3, "bad (code 3)"},
		{"unknown keys", "84 7f 9101 a178 c3 31 a3626164 52 82 05 90 00 91 81 63 80", 3, "bad (code 3)"},
		{"no body", "", 3, "ER_TUPLE_FOUND, without a readable message (code 3)"},
		{"empty body", "80", 3, "ER_TUPLE_FOUND (code 3)"},
		{"message that is no string", "81 31 05", 3, "ER_TUPLE_FOUND, without a readable message (code 3)"},
		{"stack that is broken", "82 31 a3626164 52 81 00 92 81 03 a3626164", 3, "bad (code 3)"},
		{"fields that are no map", "82 31 a3626164 52 81 00 91 81 06 05", 3, "bad (code 3)"},
	} {
		t.Run(test.name, func(t *testing.T) {
			assert.EqualError(t, ParseError(test.code, unhex(t, test.body)), test.want)
		})
	}
}

func TestAnErrorShowsTheBeginningOfALongText(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"as long as may be", strings.Repeat("x", shownBytes), strings.Repeat("x", shownBytes)},
		{"too long", strings.Repeat("x", 1<<20), strings.Repeat("x", shownBytes) + "… (1048576 bytes in all)"},
		{"a rune at the end", "x" + strings.Repeat("ж", shownBytes), "x" + strings.Repeat("ж", shownBytes/2-1) + "… (8193 bytes in all)"},
		{"no UTF-8", strings.Repeat("\x80", shownBytes+1), strings.Repeat("\x80", shownBytes-utf8.UTFMax) + "… (4097 bytes in all)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := &ServerError{Code: 1, Message: tt.text}
			assert.Equal(t, tt.want+" (code 1)", e.Error())
			assert.Equal(t, tt.text, e.Message)
		})
	}
}

func TestHasError(t *testing.T) {
	for body, want := range map[string]bool{
		errorBody:             true,
		"81 31 a0":            true,
		"81 52 80":            true,
		"82 30 90 31 a0":      true,
		"82 a131 90 52 80":    true,
		"80":                  false,
		"81 30 90":            false,
		"82 32 90 30 90":      false,
		"82 30 d9":            false,
		"82 30 dd00ffffff 31": false,
		"":                    false,
		"31":                  false,
		"81 a13190":           false,
	} {
		assert.Equal(t, want, HasError(unhex(t, body)), body)
	}
}

// An error frame takes a byte of a body and far more in Go.
func TestErrorStackIsBounded(t *testing.T) {
	const frames = 1 << 16
	body := append([]byte{0x81, byte(iproto.IPROTO_ERROR), 0x81, errorStack, 0xdd, 0, frames >> 16, 0, 0}, bytes.Repeat([]byte{0x80}, frames)...)
	e := ParseError(3, body)
	assert.LessOrEqual(t, len(e.Stack), maxFrames)
	assert.NotEmpty(t, e.Stack)
}
