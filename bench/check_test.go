package bench

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestWrongAnswersAreErrors(t *testing.T) {
	s := &server{names: []string{"zero", "one", "two"}}
	row := func(values ...any) []any { return values }
	for name, err := range map[string]error{
		"another name":       s.checkName(1, "two"),
		"no name":            s.checkName(1, nil),
		"no row":             s.checkOnly(nil, 1),
		"two rows":           s.checkOnly(row(row("one"), row("one")), 1),
		"no columns":         s.checkOnly(row(row()), 1),
		"no rows":            s.checkLast(nil, 1, 2),
		"a row too few":      s.checkLast(row(row(2, "two")), 1, 2),
		"another last row":   s.checkLast(row(row(2, "two"), row(1, "one")), 1, 2),
		"nothing returned":   s.checkReturned(nil, 1),
		"no BLOB":            checkOnlyBlob(nil),
		"a short BLOB":       checkOnlyBlob(row(row(make([]byte, blobSize-1)))),
		"no rows affected":   checkAffected(0),
		"many rows affected": checkAffected(2),
	} {
		assert.Error(t, err, name)
	}
	assert.NoError(t, s.checkOnly(row(row("one")), 1))
	assert.NoError(t, s.checkLast(row(row(1, "one"), row(2, "two")), 1, 2))
	assert.NoError(t, s.checkReturned(row("one"), 1))
	assert.NoError(t, checkOnlyBlob(row(row(make([]byte, blobSize)))))
	assert.NoError(t, checkAffected(1))
}

func TestRowsToReadAreThere(t *testing.T) {
	for _, n := range []int{0, 1, rowCount - 1, rowCount, 12345678} {
		assert.LessOrEqual(t, key(n), rowCount)
		assert.Positive(t, key(n))
		assert.LessOrEqual(t, firstOf(n, pageRows)+pageRows-1, rowCount)
		assert.Equal(t, 1, firstOf(n, rowCount))
	}
}
