package iproto

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParseGreeting(t *testing.T) {
	const uuid = "b064cc89-0540-46ba-9fd3-21629ff53a99"
	for _, test := range []struct {
		line, text string
		version    Version
	}{
		{"Tarantool 2.6.0 (Binary) " + uuid + "  \n", "2.6.0", Version{2, 6, 0}},
		{"Tarantool 3.8.0 (Binary) " + uuid, "3.8.0", Version{3, 8, 0}},
		{"Tarantool 3.8.0-entrypoint-12-gabc (Binary) " + uuid + "\n", "3.8.0-entrypoint-12-gabc", Version{3, 8, 0}},
		{"Tarantool 2.10.0 (Binary) " + strings.ToUpper(uuid) + "\nc2FsdA==", "2.10.0", Version{2, 10, 0}},
	} {
		g, err := ParseGreeting(test.line)
		require.NoError(t, err, test.line)
		assert.Equal(t, Greeting{test.version, test.text, uuid}, g)
	}
}

func TestParseGreetingRefuses(t *testing.T) {
	for _, test := range []struct{ line, want string }{
		{"", "not a Tarantool greeting"},
		{"SSH-2.0-OpenSSH_9.2p1\r\n", "not a Tarantool greeting"},
		{"HTTP/1.1 400 Bad Request", "not a Tarantool greeting"},
		{"Tarantool ", "not a greeting of the binary protocol"},
		{"Tarantool 2.6.0 (Lua console)\n", "not a greeting of the binary protocol"},
		{"Tarantool 2.6 (Binary) b064cc89-0540-46ba-9fd3-21629ff53a99", "unreadable version"},
		{"Tarantool 2.6.x (Binary) b064cc89-0540-46ba-9fd3-21629ff53a99", "unreadable version"},
		{"Tarantool 2.-6.1 (Binary) b064cc89-0540-46ba-9fd3-21629ff53a99", "unreadable version"},
		{"Tarantool 2.6.99999999999 (Binary) b064cc89-0540-46ba-9fd3-21629ff53a99", "unreadable version"},
		{"Tarantool 1.6.6 (Binary)", "without an instance uuid"},
		{"Tarantool 2.6.0 (Binary) b064cc89-0540-46ba-9fd3-21629ff53a9", "not a UUID"},
		{"Tarantool 2.6.0 (Binary) b064cc89-0540-46ba-9fd3-21629ff53a9x", "not a UUID"},
		{"Tarantool 2.6.0 (Binary) b064cc89-0540-46ba-9fd3+21629ff53a99", "not a UUID"},
		{"Tarantool 2.6.0 (Binary) " + strings.Repeat("x", 1000), "greeting of 1025 bytes"},
	} {
		g, err := ParseGreeting(test.line)
		assert.ErrorContains(t, err, test.want, test.line)
		assert.Zero(t, g)
	}
}

func TestVersion(t *testing.T) {
	v := Version{2, 10, 3}
	assert.Equal(t, "2.10.3", v.String())
	assert.True(t, v.AtLeast(2, 10, 3))
	assert.True(t, v.AtLeast(2, 10, 0))
	assert.True(t, v.AtLeast(2, 9, 9))
	assert.True(t, v.AtLeast(1, 99, 99))
	assert.False(t, v.AtLeast(2, 10, 4))
	assert.False(t, v.AtLeast(2, 11, 0))
	assert.False(t, v.AtLeast(3, 0, 0))
	assert.False(t, v.IsZero())

	var unknown Version
	assert.True(t, unknown.IsZero())
	assert.Equal(t, "unknown", unknown.String())
	assert.False(t, unknown.AtLeast(0, 0, 1))
}
