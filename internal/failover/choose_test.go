package failover

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestChoose(t *testing.T) {
	all := []string{"kill", "stop", "cut"}
	for _, tt := range []struct {
		names string
		want  []string
		err   string
	}{
		{"", all, ""},
		{"cut", []string{"cut"}, ""},
		{"stop,kill", []string{"stop", "kill"}, ""},
		{"kill,stab", nil, `no scenario "stab": -list prints them`},
		{"kill,", nil, `no scenario "": -list prints them`},
	} {
		chosen, err := Choose(all, func(s string) string { return s }, tt.names)
		assert.Equal(t, tt.want, chosen, tt.names)
		if tt.err == "" {
			assert.NoError(t, err, tt.names)
		} else {
			assert.EqualError(t, err, tt.err)
		}
	}
}
