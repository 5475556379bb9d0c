package iproto_test

import (
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/vmihailenco/msgpack/v5"

	"github.com/tntsql/tntsql/internal/iproto"
)

// The bodies are what 3.8.0 sent.
func TestParseEvent(t *testing.T) {
	for key, tt := range map[string]struct {
		body string
		want iproto.InstanceEvent
	}{
		iproto.StatusKey: {
			"8257aa626f782e7374617475735884a569735f726fc3a969735f726f5f636667c3a6737461747573a772756e6e696e67ab64645f76657273696f6ea5332e382e30",
			iproto.InstanceEvent{Status: "running", ReadOnly: true},
		},
		iproto.IDKey: {
			"8257a6626f782e69645886a2696401ad696e7374616e63655f75756964d80211111111222243338444555555555555ad696e7374616e63655f6e616d65c0af7265706c6963617365745f75756964d80211111111222243338444777777777777af7265706c6963617365745f6e616d65c0ac636c75737465725f6e616d65c0",
			iproto.InstanceEvent{
				UUID:       "11111111-2222-4333-8444-555555555555",
				ReplicaSet: "11111111-2222-4333-8444-777777777777",
			},
		},
		iproto.ElectionKey: {
			"8257ac626f782e656c656374696f6e5884a47465726d01a4726f6c65a8666f6c6c6f776572a569735f726fc2a66c656164657200",
			iproto.InstanceEvent{Term: 1},
		},
	} {
		body, err := hex.DecodeString(tt.body)
		require.NoError(t, err)
		got, value, err := iproto.ParseEvent(body)
		require.NoError(t, err)
		assert.Equal(t, key, got)
		e, err := iproto.ParseInstanceEvent(key, value)
		require.NoError(t, err)
		assert.Equal(t, tt.want, e)
	}
}

func TestEventWithoutAValue(t *testing.T) {
	body, err := hex.DecodeString("8157ac626f782e73687574646f776e")
	require.NoError(t, err)
	key, value, err := iproto.ParseEvent(body)
	require.NoError(t, err)
	assert.Equal(t, iproto.ShutdownKey, key)
	assert.Nil(t, value)
}

// An event without the field that its key is for would otherwise say that an
// instance is writable, say.
func TestIncompleteEventsAreMalformed(t *testing.T) {
	for name, tt := range map[string]struct {
		key   string
		value any
	}{
		"no role":              {iproto.StatusKey, map[string]any{"status": "running"}},
		"no status":            {iproto.StatusKey, map[string]any{"is_ro": false}},
		"a role that is none":  {iproto.StatusKey, map[string]any{"is_ro": "no", "status": "running"}},
		"no replica set":       {iproto.IDKey, map[string]any{"id": 1}},
		"no term":              {iproto.ElectionKey, map[string]any{"leader": 1}},
		"a term that is none":  {iproto.ElectionKey, map[string]any{"term": -1}},
		"not a map":            {iproto.StatusKey, []int{1}},
		"nil":                  {iproto.ElectionKey, nil},
		"no schema version":    {iproto.SchemaKey, map[string]any{"dd_version": "3.8.0"}},
		"a key of another use": {iproto.ShutdownKey, map[string]any{"version": 1}},
	} {
		t.Run(name, func(t *testing.T) {
			value, err := msgpack.Marshal(tt.value)
			require.NoError(t, err)
			_, err = iproto.ParseInstanceEvent(tt.key, value)
			assert.ErrorIs(t, err, iproto.ErrMalformed)
		})
	}
}
