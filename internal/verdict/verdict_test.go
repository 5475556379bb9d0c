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

// verdicts are those on each kind of request.
type verdicts struct{ read, write, call, begin, commit verdict.Verdict }

func each(of func(verdict.Kind) verdict.Verdict) verdicts {
	return verdicts{
		of(verdict.Read), of(verdict.Write), of(verdict.Call),
		of(verdict.Begin), of(verdict.Commit),
	}
}

func TestWithoutAnAnswer(t *testing.T) {
	tests := []struct {
		fate string
		of   func(verdict.Kind) verdict.Verdict
		want verdicts
	}{
		{"never sent", verdict.Unsent, verdicts{again, again, again, again, fail}},
		{"connection lost after sending", verdict.Lost, verdicts{again, unknown, unknown, again, unknown}},
		{"context ended after sending", verdict.Left, verdicts{fail, unknown, unknown, fail, unknown}},
	}
	for _, tt := range tests {
		t.Run(tt.fate, func(t *testing.T) {
			assert.Equal(t, tt.want, each(tt.of))
		})
	}
}

func TestAnswered(t *testing.T) {
	tests := []struct {
		name   string
		answer verdict.Answer
		want   verdicts
	}{
		{"read-only, 2.10 and newer", verdict.Answer{Code: 7, Reason: "election", GivesReason: true}, verdicts{refused, refused, fail, refused, fail}},
		{"read-only, older", verdict.Answer{Code: 7}, verdicts{refused, refused, fail, refused, fail}},
		{"read-only without a reason from 2.10 and newer: the role changed within the transaction", verdict.Answer{Code: 7, GivesReason: true}, verdicts{fail, fail, fail, fail, fail}},
		{"loading", verdict.Answer{Code: 116}, verdicts{refused, refused, fail, refused, fail}},
		{"synchronous write: quorum timeout", verdict.Answer{Code: 216}, verdicts{fail, unknown, unknown, fail, unknown}},
		{"synchronous write: rolled back", verdict.Answer{Code: 217}, verdicts{fail, unknown, unknown, fail, unknown}},
		{"synchronous write: detached", verdict.Answer{Code: 295}, verdicts{fail, unknown, unknown, fail, unknown}},
		{"synchronous write: fiber cancelled", verdict.Answer{Code: 32, Type: "FiberIsCancelled"}, verdicts{fail, unknown, unknown, fail, unknown}},
		{"a Lua error", verdict.Answer{Code: 32, Type: "LuajitError"}, verdicts{fail, fail, fail, fail, fail}},
		{"duplicate key", verdict.Answer{Code: 3}, verdicts{fail, fail, fail, fail, fail}},
		{"access denied", verdict.Answer{Code: 42}, verdicts{fail, fail, fail, fail, fail}},
		{"conflict", verdict.Answer{Code: 97}, verdicts{fail, fail, fail, fail, fail}},
		{"aborted by a yield", verdict.Answer{Code: 154}, verdicts{fail, fail, fail, fail, fail}},
		{"statement error", verdict.Answer{Code: 159}, verdicts{fail, fail, fail, fail, fail}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.want, each(func(k verdict.Kind) verdict.Verdict {
				return verdict.Answered(k, tt.answer)
			}))
		})
	}
}

func TestRefusalTellsOfTheInstance(t *testing.T) {
	for code, want := range map[uint32]bool{7: true, 116: true, 227: true, 228: true, 3: false, 97: false} {
		assert.Equal(t, want, verdict.Answer{Code: code}.Refusal(), "code %d", code)
	}
}
