package demo

import (
	"bytes"
	"context"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/tntsql/tntsql/tarantooltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// run runs the demo, and checks that it leaves no file.
func run(t *testing.T, ctx context.Context, w io.Writer, o Options) error {
	t.Helper()
	tarantooltest.Start(t, tarantooltest.Instances(1)) // skips without a binary
	t.Setenv("TMPDIR", t.TempDir())
	err := Run(ctx, w, o)
	left, readErr := os.ReadDir(os.TempDir())
	require.NoError(t, readErr)
	assert.Empty(t, left)
	return err
}

func TestRunShowsWhoServesWhat(t *testing.T) {
	var screen bytes.Buffer
	require.NoError(t, run(t, t.Context(), &screen, Options{Phase: 200 * time.Millisecond}))
	out := screen.String()
	assert.NotContains(t, out, "\x1b")

	for _, row := range []string{
		"CREATE TABLE city (id INT PRIMARY KEY…|ddl|rw|a write|A|rw|1|",
		"INSERT INTO city VALUES (?, ?), (?, ?)|write|rw|a write|A|rw|1|",
		"SELECT name FROM city WHERE id = ?|read|any|read_mode of the DSN|",
		"SELECT name FROM city WHERE id = ?|read|rw|WithMode(ModeRW)|A|rw|1|",
		"/*+ mode=rw */ SELECT name FROM city …|read|rw|hint in the text|A|rw|1|",
		"SELECT name FROM city WHERE id = ?|read|rw|Exec, for its effects|A|rw|1|",
		"/* a SELECT? */ insert into city valu…|write|rw|a write|A|rw|1|",
		"UPDATE city SET name = ? WHERE id = ?|write|rw|a write, despite WithMode|A|rw|1|",
		`conn.Raw: Eval(…, ModeRW, "return …")|eval|rw|the caller knows|A|rw|1|`,
	} {
		assert.Contains(t, cells(out), "\n"+row)
	}
	for _, row := range []string{
		"SELECT name FROM city WHERE id = ?|read|ro|WithMode(ModeRO)|",
		"SELECT name FROM city WHERE id = ?|read|prefer_ro|WithMode(ModePreferRO)|",
		`tntsql.Call(…, ModeRO, "box.info")|call|ro|the caller knows|`,
	} {
		assert.Regexp(t, "\n"+quote(row)+`[BC]\|ro\|1\|`, cells(out))
	}
}

func TestRunFollowsTheMaster(t *testing.T) {
	var screen bytes.Buffer
	require.NoError(t, run(t, t.Context(), &screen, Options{Phase: 200 * time.Millisecond}))
	out := screen.String()
	assert.Regexp(t, `\nMASTER\|WRITES\|SENT TWICE\|MEDIAN\|SLOWEST\nA\|[\d,]+\|.*\nB\|[\d,]+\|`, cells(out))
	assert.Contains(t, out, "Writes that failed: 0. Writes of unknown outcome: 0.")
	assert.Contains(t, out, "nothing acknowledged was lost, and nothing was applied twice")
}

func TestRunEndsWithItsContext(t *testing.T) {
	for _, at := range []string{"Starting", "1. Which", "Each runs"} {
		t.Run(at, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			out := &trigger{at: at, pull: cancel}
			require.ErrorIs(t, run(t, ctx, out, Options{Phase: time.Hour}), context.Canceled)
		})
	}
}

// trigger is pulled by a text that is written.
type trigger struct {
	bytes.Buffer
	at   string
	pull func()
}

func (w *trigger) Write(p []byte) (int, error) {
	n, err := w.Buffer.Write(p)
	if strings.Contains(w.String(), w.at) {
		w.pull()
	}
	return n, err
}
