package sqltext

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func FuzzParse(f *testing.F) {
	for _, tt := range texts {
		f.Add(tt.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		st := Parse(text)
		requireConsistent(t, text, st)
		require.Equal(t, st, Parse(text))

		// What stands in front of a text does not change it. A NUL hides all
		// that follows, and is the only thing that does.
		for _, space := range []string{" ", "\n", "-- ?\n", "/* :a ' */", "\u00a0"} {
			require.Equal(t, st, Parse(space+text), "behind %q", space)
		}
		// A space behind the text may complete a broken character into another.
		if utf8.ValidString(text) {
			for _, space := range []string{" ", "\n", "\n-- ?", "\n/* ; */", "\u00a0\n"} {
				got := Parse(text + space)
				require.Equal(t, st.Kind, got.Kind, "before %q", space)
				require.Equal(t, st.Verb, got.Verb, "before %q", space)
			}
		}
		require.Equal(t, st.Kind, Parse(swapCase(text)).Kind)
		require.NotEqual(t, Read, Parse(text+"\x00").Kind)
	})
}

// requireConsistent checks what holds for the description of any text.
func requireConsistent(t *testing.T, text string, st Statement) {
	t.Helper()
	require.LessOrEqual(t, st.Kind, Savepoint)
	require.Equal(t, st.Kind == Unknown, st.Verb == "")
	require.True(t, strings.Contains(strings.ToUpper(text), st.Verb))

	require.Equal(t, st.Style == NoParams, st.Params == 0)
	switch st.Style {
	case NoParams, Mixed:
	case Question:
		require.LessOrEqual(t, st.Params, strings.Count(text, "?"))
	case Dollar:
		require.LessOrEqual(t, st.Params, maxParam)
		require.Contains(t, text, "$")
	case Named:
		require.Len(t, st.Names, st.Params)
		seen := make(map[string]bool)
		for _, name := range st.Names {
			require.False(t, seen[name], "%q twice", name)
			seen[name] = true
			require.Greater(t, len(name), 1)
			require.Contains(t, ":@#", name[:1])
			require.Contains(t, text, name)
		}
	default:
		t.Fatalf("style %d", st.Style)
	}
	if st.Style != Named {
		require.Empty(t, st.Names)
	}
	if st.Style != Dollar && st.Style != Mixed {
		require.LessOrEqual(t, st.Params, len(text))
	}
	if st.UserCall != "" {
		require.Contains(t, []Kind{Read, Write, Session}, st.Kind)
	}
	if st.Mode != "" {
		require.Contains(t, text, "/*+")
		require.Equal(t, strings.ToLower(strings.TrimSpace(st.Mode)), st.Mode)
	}
}

// swapCase changes the case of every ASCII letter.
func swapCase(text string) string {
	b := []byte(text)
	for i, c := range b {
		if isKeywordByte(c) && c != '_' {
			b[i] = c ^ 0x20
		}
	}
	return string(b)
}
