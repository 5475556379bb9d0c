package iproto

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParseBallot(t *testing.T) {
	for _, test := range []struct {
		name, body string
		want       Ballot
	}{
		{"2.6, writable", "81 29 84 01c2 04c2 02 81 01 15 03 80", Ballot{VClock: map[uint32]uint64{1: 21}}},
		{"2.6, read-only", "81 29 84 01c3 04c3 02 82 01 15 02 cd0100 03 80",
			Ballot{ReadOnly: true, ReadOnlyCfg: true, VClock: map[uint32]uint64{1: 21, 2: 256}}},
		{"3.8, an orphan", "81 29 89 01c2 04c3 05c3 06c3 02 81 00 cf0000000100000000 03 80 07c3 08 a178 09 91a178",
			Ballot{ReadOnly: true, Anonymous: true, Booted: true, HasBooted: true, CanLead: true, VClock: map[uint32]uint64{0: 1 << 32}}},
		{"not booted", "81 29 82 06c2 02 80", Ballot{HasBooted: true, VClock: map[uint32]uint64{}}},
		{"unknown keys", "82 7f 91c0 29 83 50 81a17890 a178c0 04c3", Ballot{ReadOnly: true}},
	} {
		t.Run(test.name, func(t *testing.T) {
			ballot, err := ParseBallot(unhex(t, test.body))
			require.NoError(t, err)
			assert.Equal(t, test.want, ballot)
		})
	}
}

func TestParseBallotRefuses(t *testing.T) {
	for _, body := range []string{
		"", "80", "81 30 90", "81 29 90", "81 29 81 04 01", "81 29 81 02 90", "81 29 81 02 81 01 ff", "81 29 81 02 81 a1 01",
		"81 29 81 02 81 cf0000000100000000 01", "81 29 81 02 df00ffffff 01", "81 29 82 04c3",
	} {
		ballot, err := ParseBallot(unhex(t, body))
		assert.ErrorIs(t, err, ErrMalformed, body)
		assert.Zero(t, ballot)
	}
}
