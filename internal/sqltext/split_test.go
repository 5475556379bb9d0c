package sqltext

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const trigger = "CREATE TRIGGER r AFTER INSERT ON t FOR EACH ROW WHEN CASE new.a WHEN 1 THEN true ELSE false END " +
	"BEGIN UPDATE u SET a = CASE WHEN b THEN 1 ELSE 2 END; DELETE FROM v; END"

func TestSplit(t *testing.T) {
	tests := []struct {
		name   string
		script string
		want   []string
	}{
		{"nothing", "", nil},
		{"no statement", " ;\n; -- a; b\n /* ; */", nil},
		{"one", "SELECT 1", []string{"SELECT 1"}},
		{"one with a semicolon", "SELECT 1;", []string{"SELECT 1"}},
		{"several on a line", "SELECT 1; SELECT 2;;SELECT 3", []string{"SELECT 1", "SELECT 2", "SELECT 3"}},
		{"comments between", "-- a;\nSELECT 1; /* b; */\n-- c\nSELECT 2;", []string{"SELECT 1", "SELECT 2"}},
		{"a comment inside", "SELECT -- a;\n1; SELECT 2", []string{"SELECT -- a;\n1", "SELECT 2"}},
		{"in a string", "INSERT INTO t VALUES ('a;''b;'); SELECT 1", []string{"INSERT INTO t VALUES ('a;''b;')", "SELECT 1"}},
		{"in a name", `SELECT ";""" FROM t; SELECT 1`, []string{`SELECT ";""" FROM t`, "SELECT 1"}},
		{"in a blob", "SELECT x';'; SELECT 1", []string{"SELECT x';'", "SELECT 1"}},
		{"an open string", "SELECT 1; SELECT 'a; b", []string{"SELECT 1", "SELECT 'a; b"}},
		{"an open map", "SELECT {1; SELECT :a", []string{"SELECT {1", "SELECT :a"}},
		{"a trigger", trigger + "; SELECT 1", []string{trigger, "SELECT 1"}},
		{"a trigger in lower case", strings.ToLower(trigger) + ";SELECT 1", []string{strings.ToLower(trigger), "SELECT 1"}},
		{"a trigger behind a comment", "/* a */ CREATE /* b */ TRIGGER r AFTER INSERT ON t FOR EACH ROW BEGIN SELECT 1; END; SELECT 2",
			[]string{"CREATE /* b */ TRIGGER r AFTER INSERT ON t FOR EACH ROW BEGIN SELECT 1; END", "SELECT 2"}},
		{"a trigger without its END", "CREATE TRIGGER r BEGIN SELECT 1; SELECT 2;", []string{"CREATE TRIGGER r BEGIN SELECT 1; SELECT 2;"}},
		{"a trigger without a body", "CREATE TRIGGER r; SELECT 1; END; SELECT 2", []string{"CREATE TRIGGER r", "SELECT 1", "END", "SELECT 2"}},
		{"drop trigger", "DROP TRIGGER r; CREATE TABLE trigger_begin (a INT)", []string{"DROP TRIGGER r", "CREATE TABLE trigger_begin (a INT)"}},
		{"begin", "BEGIN; SELECT CASE WHEN a THEN 1; COMMIT", []string{"BEGIN", "SELECT CASE WHEN a THEN 1", "COMMIT"}},
		{"begin behind a trigger", trigger + "; BEGIN; COMMIT", []string{trigger, "BEGIN", "COMMIT"}},
		{"a NUL", "SELECT 1; SELECT 2\x00; SELECT 3", []string{"SELECT 1", "SELECT 2\x00; SELECT 3"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for offset, statement := range Split(tt.script) {
				got = append(got, statement)
				assert.True(t, strings.HasPrefix(tt.script[offset:], statement), "%d: %s", offset, statement)
			}
			assert.Equal(t, tt.want, got)
		})
	}
}

func TestSplitCanBeLeft(t *testing.T) {
	for _, statement := range Split("SELECT 1; SELECT 2") {
		assert.Equal(t, "SELECT 1", statement)
		break
	}
}

func FuzzSplit(f *testing.F) {
	for _, tt := range texts {
		f.Add(tt.text)
	}
	f.Add(trigger + "; SELECT 1; SELECT 2")
	f.Fuzz(func(t *testing.T, script string) {
		end := 0
		for offset, statement := range Split(script) {
			require.NotEmpty(t, statement)
			require.GreaterOrEqual(t, offset, end)
			end = offset + len(statement)
			require.Equal(t, script[offset:end], statement)

			// What Split has cut out is one statement.
			var parts []string
			for _, part := range Split(statement) {
				parts = append(parts, part)
			}
			require.Equal(t, []string{statement}, parts)
		}
	})
}
