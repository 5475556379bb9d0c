package verdict_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/tntsql/tntsql/internal/verdict"
)

const (
	fail    = verdict.Fail
	again   = verdict.Again
	refused = verdict.Refused
	unknown = verdict.Unknown
)

func TestWithoutAnAnswer(t *testing.T) {
	tests := []struct {
		fate              string
		of                func(verdict.Kind) verdict.Verdict
		read, write, call verdict.Verdict
	}{
		{"never sent", verdict.Unsent, again, again, again},
		{"connection lost after sending", verdict.Lost, again, unknown, unknown},
		{"context ended after sending", verdict.Left, fail, unknown, unknown},
	}
	for _, tt := range tests {
		t.Run(tt.fate, func(t *testing.T) {
			assert.Equal(t, tt.read, tt.of(verdict.Read), "read")
			assert.Equal(t, tt.write, tt.of(verdict.Write), "write")
			assert.Equal(t, tt.call, tt.of(verdict.Call), "call")
		})
	}
}

func TestAnswered(t *testing.T) {
	tests := []struct {
		name              string
		answer            verdict.Answer
		read, write, call verdict.Verdict
	}{
		{"read-only, 2.10 and newer", verdict.Answer{Code: 7, Reason: "election", GivesReason: true}, refused, refused, fail},
		{"read-only, older", verdict.Answer{Code: 7}, refused, refused, fail},
		{"read-only without a reason from 2.10 and newer: the role changed within the transaction", verdict.Answer{Code: 7, GivesReason: true}, fail, fail, fail},
		{"loading", verdict.Answer{Code: 116}, refused, refused, fail},
		{"synchronous write: quorum timeout", verdict.Answer{Code: 216}, fail, unknown, unknown},
		{"synchronous write: rolled back", verdict.Answer{Code: 217}, fail, unknown, unknown},
		{"synchronous write: detached", verdict.Answer{Code: 295}, fail, unknown, unknown},
		{"synchronous write: fiber cancelled", verdict.Answer{Code: 32, Type: "FiberIsCancelled"}, fail, unknown, unknown},
		{"a Lua error", verdict.Answer{Code: 32, Type: "LuajitError"}, fail, fail, fail},
		{"duplicate key", verdict.Answer{Code: 3}, fail, fail, fail},
		{"access denied", verdict.Answer{Code: 42}, fail, fail, fail},
		{"conflict", verdict.Answer{Code: 97}, fail, fail, fail},
		{"aborted by a yield", verdict.Answer{Code: 154}, fail, fail, fail},
		{"statement error", verdict.Answer{Code: 159}, fail, fail, fail},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.read, verdict.Answered(verdict.Read, tt.answer), "read")
			assert.Equal(t, tt.write, verdict.Answered(verdict.Write, tt.answer), "write")
			assert.Equal(t, tt.call, verdict.Answered(verdict.Call, tt.answer), "call")
		})
	}
}

func TestRefusalTellsOfTheInstance(t *testing.T) {
	for code, want := range map[uint32]bool{7: true, 116: true, 3: false, 97: false} {
		assert.Equal(t, want, verdict.Answer{Code: code}.Refusal(), "code %d", code)
	}
}
