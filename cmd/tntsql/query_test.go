package main

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tntsql/tntsql/tarantooltest"
)

// reads are of the master, and may scan tables on 3.x.
func reads(t *testing.T) *session { return withDSN(t, servers, "read_mode=rw", "seq_scan=true") }

func TestQueryFormats(t *testing.T) {
	s := reads(t)
	s.createTable("formats", "id INTEGER PRIMARY KEY, big UNSIGNED, d DOUBLE, yes BOOLEAN, s STRING, b VARBINARY")
	s.done("query", `INSERT INTO formats VALUES
		(1, 18446744073709551615, 0.1, true, 'Ann "A", Esq.', x'00ff'),
		(2, 0, -1.5e300, false, '', x''),
		(3, NULL, NULL, NULL, NULL, NULL)`)
	const query = "SELECT * FROM formats ORDER BY id"

	assert.Equal(t, strings.TrimPrefix(`
id                   big          d  yes    s              b
 1  18446744073709551615        0.1  true   Ann "A", Esq.  x'00ff'
 2                     0  -1.5e+300  false  ''             x''
 3                  NULL       NULL  NULL   NULL           NULL
`, "\n"), s.done("query", query))
	assert.Regexp(t, `^\(3 rows from `+servers.Addr(servers.Master())+`, rw, in [0-9.]+[nµm]?s\)\n$`, s.err.String())

	assert.Equal(t, strings.TrimPrefix(`
id,big,d,yes,s,b
1,18446744073709551615,0.1,true,"Ann ""A"", Esq.",00ff
2,0,-1.5e+300,false,,
3,,,,,
`, "\n"), s.done("query", query, "--format", "csv"))
	assert.Contains(t, s.done("query", query, "--format", "csv", "--null", `\N`), `3,\N,\N,\N,\N,\N`)
	assert.Empty(t, s.err.String(), "nothing but data, for scripts")

	assert.Equal(t, strings.TrimPrefix(`
{"id":1,"big":18446744073709551615,"d":0.1,"yes":true,"s":"Ann \"A\", Esq.","b":"00ff"}
{"id":2,"big":0,"d":-1.5e+300,"yes":false,"s":"","b":""}
{"id":3,"big":null,"d":null,"yes":null,"s":null,"b":null}
`, "\n"), s.done("query", query, "--format", "json"))
}

func TestQueryOfNewerTypes(t *testing.T) {
	if !servers.AtLeast(3, 0, 0) {
		t.Skip("literals of these types came with later servers than " + servers.Version())
	}
	s := reads(t)
	const query = `SELECT CAST('12345678901234567890123456789.50' AS DECIMAL) AS n,
		CAST('64d22e4d-ac92-4a23-899a-e59f34af5479' AS UUID) AS u,
		CAST('2024-01-02T03:04:05.5+03:00' AS DATETIME) AS t, [1, NULL, 'b', x'0f', 1.5e0, 1.50] AS a, {'k': {'z': 1, 'y': []}} AS m`
	assert.Equal(t, []string{ // not JSONEq, for which decimals are floats
		`{"n":12345678901234567890123456789.50,"u":"64d22e4d-ac92-4a23-899a-e59f34af5479",` +
			`"t":"2024-01-02T03:04:05.5+03:00","a":[1,null,"b","0f",1.5,"1.50"],"m":{"k":{"y":[],"z":1}}}`,
	}, lines(s.done("query", query, "--format", "json")))
	assert.Contains(t, s.done("query", query), `12345678901234567890123456789.50  64d22e4d-ac92-4a23-899a-e59f34af5479  `+
		`2024-01-02T03:04:05.5+03:00  [1,null,"b","0f",1.5,"1.50"]  {"k":{"y":[],"z":1}}`)
}

func TestQueryTellsWhatAWriteDid(t *testing.T) {
	s := withDSN(t, servers)
	s.createTable("writes", "id INTEGER PRIMARY KEY AUTOINCREMENT, n INTEGER")
	assert.JSONEq(t, `{"rows_affected": 2, "generated_ids": [1, 2]}`, s.done("query", "INSERT INTO writes (n) VALUES (5), (6)", "--format", "json"))
	assert.Equal(t, "rows_affected  generated_ids\n            2  []\n", s.done("query", "UPDATE writes SET n = 7", "--mode", "any"))
	assert.Contains(t, s.err.String(), "(2 rows from "+servers.Addr(servers.Master())+", rw, in ")
}

func TestQueryReadsTheStandardInput(t *testing.T) {
	for name, args := range map[string][]string{
		"without an argument":  {"query"},
		"with a DSN alone":     {"query", withDSN(t, servers).env["TNTSQL_DSN"]},
		"where a dash says so": {"query", "-"},
	} {
		t.Run(name, func(t *testing.T) {
			s := withDSN(t, servers)
			s.in = "-- a comment\nSELECT 'tarantool://';\n"
			assert.Equal(t, "column_1\ntarantool://\n", strings.ToLower(s.done(append(args, "--format", "csv")...)))
		})
	}
}

func TestQueryModeChoosesTheInstance(t *testing.T) {
	s := withDSN(t, servers)
	for mode, role := range map[string]string{"rw": ", rw, ", "ro": ", ro, "} {
		s.done("query", "SELECT 1", "--mode", mode)
		assert.Contains(t, s.err.String(), role)
	}
}

func TestQueryErrors(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"of the server":               {[]string{"SELECT * FROM absent"}, "ER_NO_SUCH_SPACE, code 36"},
		"several statements":          {[]string{"SELECT 1; SELECT 2"}, "one statement at a time is run"},
		"a transaction":               {[]string{"START TRANSACTION"}, "session statement refused"},
		"columns of one name in JSON": {[]string{"SELECT 1 AS a, 2 AS a", "--format", "json"}, `two columns are named "a"`},
		"a parameter":                 {[]string{"SELECT ?"}, "argument"},
	} {
		t.Run(name, func(t *testing.T) {
			s := withDSN(t, servers)
			assert.Equal(t, exitFailed, s.run(t.Context(), append([]string{"query"}, c.args...)...))
			assert.Contains(t, strings.ToLower(s.err.String()), strings.ToLower(c.want))
			assert.Empty(t, s.out.String())
		})
	}
}

func TestAnInterruptedWriteIsOfUnknownOutcome(t *testing.T) {
	rs := tarantooltest.Start(t, tarantooltest.Instances(1), tarantooltest.InitLua(nap))
	s := withDSN(t, rs)
	s.done("query", "CREATE TABLE naps (id INTEGER PRIMARY KEY)") // gone with the servers
	ctx, interrupt := context.WithCancel(t.Context())
	status := make(chan int)
	go func() { status <- s.run(ctx, "query", "INSERT INTO naps VALUES (NAP())") }()
	s.err.await(t, func(text string) bool { return strings.Contains(text, "waiting for the answer (1s)") })
	interrupt()
	assert.Equal(t, exitUnknown, <-status)
	assert.Contains(t, s.err.String(), "outcome unknown on "+rs.Addr(0))
}

func TestInterruptEndsTheCommand(t *testing.T) {
	for name, c := range map[string]struct {
		args   []string
		until  string // stdout or stderr has this
		status int
	}{
		"topology --watch": {[]string{"topology", "--watch"}, "running", exitDone},
		"a wait":           {[]string{"ping", "tarantool://app@127.0.0.1:1/"}, "waiting for an instance", exitInterrupted},
		"standard input":   {[]string{"query"}, "waiting for a statement", exitInterrupted},
	} {
		t.Run(name, func(t *testing.T) {
			executable, err := os.Executable()
			require.NoError(t, err)
			cmd := exec.CommandContext(t.Context(), executable, c.args...)
			for variable, value := range withDSN(t, servers).env {
				cmd.Env = append(cmd.Env, variable+"="+value)
			}
			cmd.Env = append(cmd.Env, asCommand+"=1", "GOCOVERDIR="+t.TempDir())
			stdin, err := cmd.StdinPipe()
			require.NoError(t, err)
			defer stdin.Close()
			var out buffer
			cmd.Stdout, cmd.Stderr = &out, &out
			require.NoError(t, cmd.Start())
			out.await(t, func(text string) bool { return strings.Contains(text, c.until) })
			require.NoError(t, cmd.Process.Signal(os.Interrupt))
			_ = cmd.Wait() // its error is the status
			assert.Equal(t, c.status, cmd.ProcessState.ExitCode(), "%s", out.String())
			assert.NotContains(t, out.String(), secret)
		})
	}
}

// The rows of csv and json leave as they come.
func TestRowsAreNotGathered(t *testing.T) {
	for _, format := range []string{"csv", "json"} {
		t.Run(format, func(t *testing.T) {
			var written counter
			w := output{format: format}.writer(&written, style{})
			require.NoError(t, w.begin([]column{{"s", "STRING"}}))
			value := strings.Repeat("x", 100)
			for i := range 1000 {
				require.NoError(t, w.row([]any{value}))
				require.Less(t, i*100-written.n, 10_000)
			}
			require.NoError(t, w.end())
			assert.Greater(t, written.n, 100_000)
		})
	}
}

type counter struct{ n int }

func (c *counter) Write(p []byte) (int, error) {
	c.n += len(p)
	return len(p), nil
}

func TestManyRows(t *testing.T) {
	s := reads(t)
	s.createTable("many", "id INTEGER PRIMARY KEY")
	values := make([]string, 5000)
	for i := range values {
		values[i] = fmt.Sprintf("(%d)", i)
	}
	s.in = "INSERT INTO many VALUES " + strings.Join(values, ",")
	s.done("query")
	rows, err := csv.NewReader(strings.NewReader(s.done("query", "SELECT id FROM many", "-f", "csv"))).ReadAll()
	require.NoError(t, err)
	assert.Len(t, rows, 5001)
	decoder := json.NewDecoder(strings.NewReader(s.done("query", "SELECT id FROM many", "-f", "json")))
	for i := range 5000 {
		var row struct{ ID int }
		require.NoError(t, decoder.Decode(&row))
		require.Equal(t, i, row.ID)
	}
	require.ErrorIs(t, decoder.Decode(new(any)), io.EOF)
	assert.Equal(t, 5001, strings.Count(s.done("query", "SELECT id FROM many"), "\n"))
}

func lines(text string) []string { return strings.Split(strings.TrimSuffix(text, "\n"), "\n") }
