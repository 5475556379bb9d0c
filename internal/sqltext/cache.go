package sqltext

import (
	"unsafe"

	"github.com/tntsql/tntsql/internal/bytecache"
)

// Cache keeps the descriptions of the texts used last. It is safe for
// concurrent use.
type Cache struct {
	statements *bytecache.Cache[*Statement]
}

// NewCache returns a cache that holds at most limit bytes.
func NewCache(limit int) *Cache {
	return &Cache{statements: bytecache.New[*Statement](limit)}
}

// Get returns the description of text, which is shared: it must not be
// changed. A text is not parsed again as long as the cache has it; a text that
// is too large for the cache is parsed each time.
func (c *Cache) Get(text string) *Statement {
	if st, ok := c.statements.Get(text); ok {
		return st
	}
	st := Parse(text)
	c.statements.Add(text, &st, st.size())
	return &st
}

// size is how many bytes a kept statement takes. Its verb is a constant.
func (st *Statement) size() int {
	n := int(unsafe.Sizeof(*st)) + cap(st.Names)*int(unsafe.Sizeof("")) + len(st.UserCall) + len(st.Mode)
	for _, name := range st.Names {
		n += len(name)
	}
	return n
}
