package iproto

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestColumns(t *testing.T) {
	// As 3.8 sends them with sql_full_metadata for
	// SELECT id, name COLLATE "unicode_ci", d + 1.
	body := unhex(t, "82 32 93"+
		"85 00 a2494401 a7696e7465676572 03 c2 04 c3 05 c0"+
		"85 00 a44e616d65 01 a6737472696e67 02 aa756e69636f64655f6369 03 c3 05 c0"+
		"83 00 a8434f4c554d4e5f31 01 a6646f75626c65 05 a564202b2031"+
		"30 90")
	for _, test := range []struct {
		lower bool
		want  []string
	}{
		{true, []string{"id", "Name", "column_1"}},
		{false, []string{"ID", "Name", "COLUMN_1"}},
	} {
		r, err := ParseExecute(body, NewColumnCache(1<<20, test.lower))
		require.NoError(t, err)
		assert.Equal(t, &Columns{
			Names:         test.want,
			Types:         []string{"integer", "string", "double"},
			Nullable:      []Nullability{NotNull, Nullable, NullabilityUnknown},
			Autoincrement: []bool{true, false, false},
		}, r.Columns)
	}
}

func TestColumnCacheSharesColumns(t *testing.T) {
	cache := NewColumnCache(1<<20, true)
	body := manyRows(1)
	first, err := ParseExecute(body, cache)
	require.NoError(t, err)
	names := append([]string(nil), first.Columns.Names...)
	second, err := ParseExecute(manyRows(2), cache)
	require.NoError(t, err)
	assert.Same(t, first.Columns, second.Columns)

	clear(body)
	assert.Equal(t, names, second.Columns.Names, "columns must not view the body of one reply")
}

func TestColumnCacheIsBounded(t *testing.T) {
	cache := NewColumnCache(10_000, true)
	var group sync.WaitGroup
	for g := range 4 {
		group.Go(func() {
			for i := range 500 {
				column := appendString([]byte{0x82, 0x01, 0xa1, 'a', 0x00}, fmt.Sprintf("column_%d_%d", g, i))
				columns, err := cache.columns(append([]byte{0x91}, column...))
				assert.NoError(t, err)
				assert.Equal(t, fmt.Sprintf("column_%d_%d", g, i), columns.Names[0])
			}
		})
	}
	group.Wait()
	assert.LessOrEqual(t, cache.cache.Size(), 10_000)
	assert.Positive(t, cache.cache.Size())
}
