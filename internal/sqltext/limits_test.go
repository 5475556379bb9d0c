package sqltext

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestParseOfExtremeTexts would overflow the stack if Parse recursed, and not
// end within the test's timeout if its time were quadratic.
func TestParseOfExtremeTexts(t *testing.T) {
	n := 1_000_000
	if raceDetector {
		n = 50_000
	}
	var names strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&names, ":p%d,", i)
	}
	tests := []struct {
		name   string
		text   string
		kind   Kind
		params int
	}{
		{"leading parentheses", strings.Repeat("(", n) + "SELECT ?", Read, 1},
		{"nested parentheses", "SELECT " + strings.Repeat("(", n) + "?" + strings.Repeat(")", n), Read, 1},
		{"nested calls", "SELECT " + strings.Repeat("lower(", n), Read, 0},
		{"nested maps", "SELECT " + strings.Repeat("{a:", n) + ":b" + strings.Repeat("}", n), Read, 1},
		{"closing parentheses", "SELECT a" + strings.Repeat(")", n), Read, 0},
		{"nested with", strings.Repeat("WITH c(a) AS (", n) + ")", Unknown, 0},
		{"column lists", "WITH " + strings.Repeat("c(a) AS (SELECT b),", n/10) + "d AS (SELECT b) DELETE FROM t", Write, 0},
		{"question marks", "VALUES (" + strings.Repeat("?,", n) + "?)", Read, n + 1},
		{"names", "SELECT " + names.String() + names.String() + ":q", Read, 100_001},
		{"comments", strings.Repeat("/**/", n) + "COMMIT", Session, 0},
		{"semicolons", strings.Repeat(";", n) + "DROP TABLE t", DDL, 0},
		{"a long string", "INSERT INTO t VALUES ('" + strings.Repeat("''", n) + "', ?)", Write, 1},
		{"a long identifier", "UPDATE " + strings.Repeat("a", n) + " SET a = ?", Write, 1},
		{"quotes", "SELECT " + strings.Repeat("'", n), Read, 0},
		{"open comments", "SELECT a" + strings.Repeat("/*", n), Read, 0},
		{"colons", "SELECT " + strings.Repeat(":", n), Read, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			st := Parse(tt.text)
			assert.Equal(t, tt.kind, st.Kind)
			assert.Equal(t, tt.params, st.Params)
		})
	}
}

func TestFirstUserCallEndsTheSearch(t *testing.T) {
	const n = 200_000
	text := "SELECT " + strings.Repeat("f(a, ", n)
	assert.Equal(t, "f", Parse(text).UserCall)
}

func BenchmarkParse(b *testing.B) {
	for _, bm := range []struct{ name, text string }{
		{"point read", pointRead},
		{"named", "SELECT name FROM users WHERE id = :id AND age > :age ORDER BY name LIMIT :limit"},
		{"with", "WITH c(a, b) AS (SELECT x, f(y) FROM t) INSERT INTO u(a, b) SELECT a, b FROM c WHERE a > ?"},
		{"1 MiB insert", "INSERT INTO t VALUES (?, 'abc', 17)" + strings.Repeat(", (?, 'abc', 17)", 1<<16)},
	} {
		b.Run(bm.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(bm.text)))
			for b.Loop() {
				Parse(bm.text)
			}
		})
	}
}
