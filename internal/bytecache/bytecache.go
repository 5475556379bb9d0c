// Package bytecache is an LRU cache bounded by the bytes that it holds rather
// than by the number of its entries. It keeps what was derived from texts that
// applications make: a million distinct ones must not grow the heap.
package bytecache

import (
	"math"
	"strings"
	"sync"
	"unsafe"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

const (
	// maxShare is the largest part of the limit, as a divisor, that one entry
	// may take: a single huge key does not push out everything else.
	maxShare = 8

	// listOverhead is what the list and the map of simplelru hold for an entry
	// beside its key's bytes and its value: the list's element (links, key
	// header, expiry) and the map's slot at the usual load.
	listOverhead = 128
)

// Cache maps strings to values of type V. It is safe for concurrent use.
type Cache[V any] struct {
	limit int

	mu      sync.Mutex
	size    int
	entries *simplelru.LRU[string, entry[V]]
}

type entry[V any] struct {
	value V
	size  int
}

// New returns an empty cache that holds at most limit bytes, overhead
// included. A cache whose limit is too small for any entry keeps none.
func New[V any](limit int) *Cache[V] {
	c := &Cache[V]{limit: limit}
	// The only error is a size below one. The count is not what bounds us.
	c.entries, _ = simplelru.NewLRU[string, entry[V]](math.MaxInt, func(_ string, e entry[V]) {
		c.size -= e.size
	})
	return c
}

// Get returns the value kept for key and makes it the most recently used.
func (c *Cache[V]) Get(key string) (V, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.entries.Get(key)
	return e.value, ok
}

// GetBytes is Get for a key that the caller has as bytes. They are not copied
// and not kept.
func (c *Cache[V]) GetBytes(key []byte) (V, bool) {
	return c.Get(unsafe.String(unsafe.SliceData(key), len(key)))
}

// Add keeps value for key, in place of an earlier one. The size is the number
// of bytes that value refers to; the key and the entry itself are added here.
// An entry that is too large for the cache is not kept, nor is what was there
// under its key.
func (c *Cache[V]) Add(key string, value V, size int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entries.Remove(key)
	overhead := len(key) + int(unsafe.Sizeof(entry[V]{})) + listOverhead
	if size < 0 || size > c.limit/maxShare-overhead {
		return
	}
	e := entry[V]{value: value, size: size + overhead}
	for c.size > c.limit-e.size {
		c.entries.RemoveOldest()
	}
	// A key is often a part of a larger text, which must not stay alive with it.
	c.entries.Add(strings.Clone(key), e)
	c.size += e.size
}

// Remove forgets what is kept for key, if anything is.
func (c *Cache[V]) Remove(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entries.Remove(key)
}

// Len returns the number of entries.
func (c *Cache[V]) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.entries.Len()
}

// Size returns how many bytes the entries take, overhead included.
func (c *Cache[V]) Size() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.size
}
