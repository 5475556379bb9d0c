package iproto

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// dataBody is the body of a reply to CALL that returned values.
func dataBody(t testing.TB, values ...any) []byte {
	b, err := encoder{server: newest, lua: true}.safely([]byte{0x81, 0x30}, append([]any{}, values...))
	require.NoError(t, err)
	return b
}

func TestParseBoxInfo(t *testing.T) {
	type m = map[string]any
	for _, test := range []struct {
		name string
		info any
		want BoxInfo
	}{
		{"2.6", m{"version": "2.6.0-0-g47aa4e01e", "uuid": "u", "ro": true, "status": "orphan", "cluster": m{"uuid": "c"},
			"replication": map[int]any{1: m{"id": 1}}},
			BoxInfo{Version: "2.6.0-0-g47aa4e01e", UUID: "u", ReadOnly: true, Status: "orphan", ReplicaSet: "c"}},
		{"3.8", m{"version": "3.8.0", "uuid": "u", "name": "i1", "ro": false, "status": "running",
			"cluster": m{"name": "all"}, "replicaset": m{"uuid": "r", "name": "rs"}, "election": m{"state": "leader", "term": 7}},
			BoxInfo{Version: "3.8.0", UUID: "u", Name: "i1", Status: "running", ReplicaSet: "r", Term: 7}},
		{"3.8 without names", m{"name": nil, "cluster": m{"name": nil}, "replicaset": m{"uuid": "r"}}, BoxInfo{ReplicaSet: "r"}},
		{"nothing", m{}, BoxInfo{}},
		{"an empty table", []any{}, BoxInfo{}},
		{"other keys", map[any]any{1: "x", "election": []any{}, "status": "running"}, BoxInfo{Status: "running"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			info, err := ParseBoxInfo(dataBody(t, test.info))
			require.NoError(t, err)
			assert.Equal(t, test.want, info)
		})
	}
}

func TestParseBoxInfoRefuses(t *testing.T) {
	for _, body := range []string{"", "80", "81 30 90", "81 30 05", "81 30 91 81 a2726f 05", "81 30 91 82 a2726f c3"} {
		info, err := ParseBoxInfo(unhex(t, body))
		assert.ErrorIs(t, err, ErrMalformed, body)
		assert.Zero(t, info)
	}
}
