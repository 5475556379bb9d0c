package tntsql

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	tableBegin = "<!-- parameters:begin -->"
	tableEnd   = "<!-- parameters:end -->"
)

// paramsMarkdown is README's table of parameters.
func paramsMarkdown() string {
	var b strings.Builder
	b.WriteString("| parameter | default | meaning |\n|---|---|---|\n")
	for _, p := range params {
		def := p.def
		if def != "" {
			def = "`" + def + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", p.name, def, p.meaning)
	}
	return b.String()
}

// UPDATE_README=1 writes the table into README.md.
func TestREADMEHasTheTableOfParameters(t *testing.T) {
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	head, rest, hasBegin := strings.Cut(string(text), tableBegin)
	table, tail, hasEnd := strings.Cut(rest, tableEnd)
	require.True(t, hasBegin && hasEnd, "README.md needs the lines %s and %s, in this order", tableBegin, tableEnd)

	want := "\n" + paramsMarkdown()
	if os.Getenv("UPDATE_README") == "1" && table != want {
		require.NoError(t, os.WriteFile("README.md", []byte(head+tableBegin+want+tableEnd+tail), 0o644))
		return
	}
	assert.Equal(t, want, table, "run UPDATE_README=1 go test -run TestREADME .")
}
