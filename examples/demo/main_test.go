package main

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tntsql/tntsql/tarantooltest"
)

// asDemo makes the test binary the demo itself.
const asDemo = "TNTSQL_TEST_AS_DEMO"

func TestMain(m *testing.M) {
	if os.Getenv(asDemo) != "" {
		main()
	}
	os.Exit(m.Run())
}

func TestInterruptLeavesNothing(t *testing.T) {
	tarantooltest.Start(t, tarantooltest.Instances(1)) // skips without a binary
	closeOutput := func(_ *os.Process, output io.Closer) error { return output.Close() }
	send := func(signal os.Signal) func(*os.Process, io.Closer) error {
		return func(p *os.Process, _ io.Closer) error { return p.Signal(signal) }
	}
	for name, tt := range map[string]struct {
		amidst    string
		interrupt func(*os.Process, io.Closer) error
	}{
		"Ctrl-C at the start":  {"Starting", send(os.Interrupt)},
		"SIGTERM amidst reads": {"SERVED BY", send(syscall.SIGTERM)},
		"Ctrl-C amidst writes": {"Each runs", send(os.Interrupt)},
		"the end of a pipe":    {"1. Which", closeOutput},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), asDemo+"=1", "TMPDIR="+dir)
			var errors strings.Builder
			cmd.Stderr = &errors
			stdout, err := cmd.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())

			out := bufio.NewReader(stdout)
			seen := readUntil(t, out, tt.amidst)
			if seen {
				require.NoError(t, tt.interrupt(cmd.Process, stdout))
			}
			_, _ = io.Copy(io.Discard, out) // fails where it has been closed
			err = cmd.Wait()
			require.True(t, seen, errors.String())
			assert.EqualError(t, err, "exit status 130", errors.String())
			assert.Equal(t, "\nInterrupted; the instances are gone.\n", errors.String())

			assert.Empty(t, processesIn(t, dir))
			left, err := os.ReadDir(dir)
			require.NoError(t, err)
			assert.Empty(t, left)
		})
	}
}

// readUntil reads up to a text, and is false if it does not come.
func readUntil(t *testing.T, r *bufio.Reader, text string) bool {
	t.Helper()
	var read strings.Builder
	for !strings.Contains(read.String(), text) {
		c, err := r.ReadByte()
		if err == io.EOF {
			return false
		}
		require.NoError(t, err)
		read.WriteByte(c)
	}
	return true
}

// processesIn are the processes whose working directory is below dir, as that of each
// instance is. It finds none where there is no /proc.
func processesIn(t *testing.T, dir string) []string {
	t.Helper()
	links, err := filepath.Glob("/proc/[0-9]*/cwd")
	require.NoError(t, err)
	var found []string
	for _, link := range links {
		if cwd, err := os.Readlink(link); err == nil && strings.HasPrefix(cwd, dir) {
			found = append(found, link)
		}
	}
	return found
}
