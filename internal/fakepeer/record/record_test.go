package main

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tntsql/tntsql/internal/fakepeer/transcript"
	"github.com/tntsql/tntsql/tarantooltest"
)

func TestTranscriptsCanBeRecordedAnew(t *testing.T) {
	got, err := record(cmp.Or(os.Getenv("TARANTOOL"), "tarantool"))
	if errors.Is(err, tarantooltest.ErrNoBinary) && os.Getenv("CI")+os.Getenv("TARANTOOL") == "" {
		t.Skip(err)
	}
	require.NoError(t, err)
	file, err := os.ReadFile(filepath.Join("..", "testdata", series(got)+".json"))
	if os.IsNotExist(err) {
		t.Skipf("no transcript of Tarantool %s is kept", series(got))
	}
	require.NoError(t, err)
	want, err := transcript.Decode(file)
	require.NoError(t, err)
	if got.Server != want.Server {
		t.Skipf("the transcript is of Tarantool %s, the server is %s", want.Server, got.Server)
	}
	assert.Equal(t, want, got)
}
