package layout

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestThousands(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567"} {
		assert.Equal(t, want, Thousands(n))
	}
}

func TestTablesHaveWordsOnTheLeftAndFiguresOnTheRight(t *testing.T) {
	table := Table{Words: 1, Rows: [][]string{{"what", "n"}, {"a|ü", "1,000"}}}
	assert.Equal(t, "what      n\na|ü   1,000\n", table.Plain())
	assert.Equal(t, "| what |     n |\n| --- | ---: |\n| a/ü  | 1,000 |\n", table.Markdown())
}
