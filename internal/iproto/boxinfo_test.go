package iproto

import (
	"os"
	"regexp"
	"strconv"
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
		{"peers", m{"replication": map[int]any{1: m{"id": 1, "uuid": "a", "upstream": m{"status": "follow", "peer": "replicator@h:3301"}}}},
			BoxInfo{Peers: []Peer{{"a", "h:3301"}}}},
		{"a peer that is not followed", m{"replication": map[int]any{3: m{"uuid": "a", "downstream": m{"status": "follow"}}}},
			BoxInfo{Peers: []Peer{{"a", ""}}}},
		{"what is no peer", m{"replication": map[any]any{1: m{"upstream": m{"peer": "h:3301"}}, "x": 5, 3: []any{}}}, BoxInfo{}},
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

func TestPeersOfRealServers(t *testing.T) {
	for _, version := range []string{"2.6", "2.11", "3.8"} {
		t.Run(version, func(t *testing.T) {
			info, err := ParseBoxInfo(seed(t, "FuzzParseData/"+version+"-box-info-peers"))
			require.NoError(t, err)
			require.Len(t, info.Peers, 3)
			for _, p := range info.Peers {
				_, err := ParseUUID(p.UUID)
				assert.NoError(t, err)
				assert.Equal(t, p.UUID != info.UUID, p.Address != "", "an instance does not follow itself: %v", p)
			}
		})
	}
}

// seed is the bytes in a file of the fuzz corpus.
func seed(t *testing.T, name string) []byte {
	file, err := os.ReadFile("testdata/fuzz/" + name)
	require.NoError(t, err)
	quoted := regexp.MustCompile(`\[\]byte\((".*")\)`).FindSubmatch(file)
	require.NotNil(t, quoted)
	text, err := strconv.Unquote(string(quoted[1]))
	require.NoError(t, err)
	return []byte(text)
}

func TestPeersAreAsManyAsAReplicaSetCanHave(t *testing.T) {
	entries := make(map[int]any)
	for i := range 1000 {
		entries[i] = map[string]any{"uuid": "u"}
	}
	info, err := ParseBoxInfo(dataBody(t, map[string]any{"replication": entries}))
	require.NoError(t, err)
	assert.Len(t, info.Peers, 32)
}

func TestPeerAddress(t *testing.T) {
	for uri, want := range map[string]string{
		"replicator@127.0.0.1:3301":            "127.0.0.1:3301",
		"localhost:3301":                       "localhost:3301",
		"DB1.Example.org:3301":                 "db1.example.org:3301",
		"u:p@ss@h:3301":                        "h:3301",
		"u@[::1]:3301":                         "[::1]:3301",
		"u@[2001:DB8:0:0::1]:3301":             "[2001:db8::1]:3301",
		"u@unix/:/var/run/tnt.sock":            "/var/run/tnt.sock",
		"/var/run/tnt.sock":                    "/var/run/tnt.sock",
		"u@unix/:/x.sock?transport=plain":      "/x.sock",
		"u@h:3301?transport=ssl&ssl_ca_file=@": "h:3301",
		"unix/:./relative.sock":                "",
		"3301":                                 "",
		":3301":                                "",
		"h":                                    "",
		"h:0":                                  "",
		"h:65536":                              "",
		"h:x":                                  "",
		"a:b:c":                                "",
		"":                                     "",
		"@":                                    "",
		"?":                                    "",
	} {
		assert.Equal(t, want, peerAddress(uri), uri)
	}
}
