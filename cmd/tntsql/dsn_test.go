package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestMisuseIsExplained(t *testing.T) {
	for name, c := range map[string]struct {
		env  map[string]string
		args []string
		want string
	}{
		"a password in the argument": {
			args: []string{"ping", "tarantool://app:" + secret + "@h/"},
			want: "a password in an argument can be read in the list of processes",
		},
		"a password in an argument that is no DSN": {
			args: []string{"query", "tnt://app:s/" + secret + "@@h", "SELECT 1"},
			want: "a password in an argument",
		},
		"no DSN": {
			args: []string{"topology"},
			want: "no DSN: give one, such as tarantool://app@10.0.0.1,10.0.0.2/, or set TNTSQL_DSN",
		},
		"a wrong DSN": {
			args: []string{"ping", "tarantool://h/?read_mod=rw"},
			want: `unknown parameter "read_mod"; did you mean "read_mode"?`,
		},
		"a wrong DSN in the variable": {
			env:  map[string]string{"TNTSQL_DSN": "tarantool://app:" + secret + "@h/x"},
			args: []string{"ping"},
			want: "DSN: path",
		},
		"a password without a user": {
			env:  map[string]string{"TNTSQL_PASSWORD": secret},
			args: []string{"ping", "tarantool://h/"},
			want: "TNTSQL_PASSWORD is set, and the DSN has no user",
		},
		"a password file that is not there": {
			args: []string{"ping", "tarantool://app@h/", "--password-file", "/nonexistent/password"},
			want: "--password-file: open /nonexistent/password",
		},
		"an unknown mode": {
			args: []string{"ping", "tarantool://h/", "--mode", "master"},
			want: `--mode "master": want any, rw, ro, prefer_rw or prefer_ro`,
		},
		"an unknown format": {
			args: []string{"query", "tarantool://h/", "SELECT 1", "--format", "xml"},
			want: `--format "xml": want table, csv or json`,
		},
		"--null of another format": {
			args: []string{"query", "tarantool://h/", "SELECT 1", "--null", "-"},
			want: "--null is for --format csv",
		},
		"a write with --mode ro": {
			args: []string{"query", "tarantool://h/", "DELETE FROM t", "--mode", "ro"},
			want: "writes go to the master",
		},
		"no statement": {
			args: []string{"query", "tarantool://h/"},
			want: "no statement: give it as an argument or on the standard input",
		},
		"an unquoted statement": {
			args: []string{"query", "tarantool://h/", "SELECT", "1"},
			want: "3 arguments, want at most 2: quote what has spaces",
		},
		"an unknown command": {args: []string{"pong"}, want: `unknown command "pong"`},
		"an unknown flag":    {args: []string{"ping", "--mod"}, want: "unknown flag: --mod"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &session{t: t, env: c.env}
			assert.Equal(t, exitMisused, s.run(t.Context(), c.args...))
			assert.Contains(t, s.err.String(), c.want)
			assert.Contains(t, s.err.String(), "--help\n")
			assert.Empty(t, s.out.String())
		})
	}
}

func TestWhereThePasswordComesFrom(t *testing.T) {
	file := filepath.Join(t.TempDir(), "password")
	require.NoError(t, os.WriteFile(file, []byte(secret+"\r\nnot this\n"), 0o600))
	ping := func(t *testing.T, env map[string]string, args ...string) {
		s := &session{t: t, env: env}
		s.done(append([]string{"ping"}, args...)...)
	}
	withoutPassword := withDSN(t, servers).env["TNTSQL_DSN"]
	t.Run("the DSN in the variable", func(t *testing.T) {
		ping(t, map[string]string{"TNTSQL_DSN": servers.DSN()})
	})
	t.Run("the variable before the DSN", func(t *testing.T) {
		ping(t, map[string]string{"TNTSQL_DSN": "tarantool://app:wrong@" + servers.Addr(0) + "/", "TNTSQL_PASSWORD": secret})
	})
	t.Run("the file before the variable", func(t *testing.T) {
		ping(t, map[string]string{"TNTSQL_DSN": withoutPassword, "TNTSQL_PASSWORD": "wrong"}, "--password-file", file)
	})
	t.Run("the argument before the variable", func(t *testing.T) {
		ping(t, map[string]string{"TNTSQL_DSN": "tarantool://app@127.0.0.1:1/", "TNTSQL_PASSWORD": secret}, withoutPassword)
	})
}

func TestVerboseShowsNoPassword(t *testing.T) {
	s := withDSN(t, servers)
	s.done("query", "SELECT 1", "-v")
	assert.Contains(t, s.err.String(), "level=", "the log of the driver")
}
