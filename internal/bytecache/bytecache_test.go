package bytecache

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const limit = 1 << 20

func TestGetReturnsWhatWasAdded(t *testing.T) {
	c := New[int](limit)
	_, ok := c.Get("a")
	assert.False(t, ok)

	c.Add("a", 1, 8)
	c.Add("", 2, 0)
	v, ok := c.Get("a")
	assert.True(t, ok)
	assert.Equal(t, 1, v)
	v, ok = c.GetBytes([]byte("a"))
	assert.True(t, ok)
	assert.Equal(t, 1, v)
	v, ok = c.GetBytes(nil)
	assert.True(t, ok)
	assert.Equal(t, 2, v)
	assert.Equal(t, 2, c.Len())
}

func TestAddReplacesAndCountsOnce(t *testing.T) {
	c := New[int](limit)
	c.Add("a", 1, 1000)
	before := c.Size()
	c.Add("a", 2, 400)
	v, _ := c.Get("a")
	assert.Equal(t, 2, v)
	assert.Equal(t, 1, c.Len())
	assert.Equal(t, before-600, c.Size())
}

func TestSizeStaysBelowTheLimit(t *testing.T) {
	c := New[int](limit)
	for i := range 10_000 {
		c.Add(fmt.Sprint("key", i), i, i%5000)
		require.LessOrEqual(t, c.Size(), limit)
	}
	require.Positive(t, c.Len())
	v, ok := c.Get("key9999")
	assert.True(t, ok)
	assert.Equal(t, 9999, v)
	_, ok = c.Get("key0")
	assert.False(t, ok)
}

func TestLeastRecentlyUsedGoesFirst(t *testing.T) {
	const size = limit/maxShare - 1000
	c := New[int](limit)
	c.Add("first", 0, size)
	for i := range maxShare {
		_, ok := c.Get("first")
		require.True(t, ok)
		c.Add(fmt.Sprint("next", i), i, size)
	}
	_, ok := c.Get("first")
	assert.True(t, ok)
	_, ok = c.Get("next0")
	assert.False(t, ok)
}

func TestTooLargeEntryIsNotKept(t *testing.T) {
	tests := []struct {
		name string
		key  string
		size int
	}{
		{"by its size", "k", limit / maxShare},
		{"by its key", strings.Repeat("k", limit/maxShare), 0},
		{"by both", strings.Repeat("k", limit/maxShare/2), limit / maxShare / 2},
		{"by a size that cannot be", "k", -1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := New[int](limit)
			c.Add("other", 1, 100)
			size := c.Size()
			c.Add(tt.key, 2, tt.size)
			_, ok := c.Get(tt.key)
			assert.False(t, ok)
			assert.Equal(t, 1, c.Len())
			assert.Equal(t, size, c.Size())
		})
	}
}

func TestTooLargeValueDropsTheOneBefore(t *testing.T) {
	c := New[int](limit)
	c.Add("a", 1, 10)
	c.Add("a", 2, limit)
	_, ok := c.Get("a")
	assert.False(t, ok)
	assert.Zero(t, c.Size())
}

func TestRemoveForgets(t *testing.T) {
	c := New[int](limit)
	c.Add("a", 1, 8)
	c.Add("b", 2, 8)
	c.Remove("a")
	c.Remove("c")
	_, ok := c.Get("a")
	assert.False(t, ok)
	assert.Equal(t, 1, c.Len())
	c.Remove("b")
	assert.Zero(t, c.Size())
}

func TestCacheWithoutRoomKeepsNothing(t *testing.T) {
	for _, limit := range []int{-1, 0, 1, 100} {
		c := New[int](limit)
		c.Add("a", 1, 0)
		_, ok := c.Get("a")
		assert.False(t, ok)
		assert.Zero(t, c.Len())
		assert.Zero(t, c.Size())
	}
}

func TestKeyIsCloned(t *testing.T) {
	buf := []byte("key in a larger text")
	c := New[int](limit)
	c.Add(unsafe.String(&buf[0], 3), 1, 0)
	clear(buf)
	_, ok := c.Get("key")
	assert.True(t, ok)
}

func TestGetDoesNotAllocate(t *testing.T) {
	c := New[*int](limit)
	c.Add("SELECT 1", new(int), 8)
	key := []byte("SELECT 1")
	assert.Zero(t, testing.AllocsPerRun(1000, func() { c.Get("SELECT 1") }))
	assert.Zero(t, testing.AllocsPerRun(1000, func() { c.GetBytes(key) }))
}

func TestConcurrentUse(t *testing.T) {
	c := New[string](limit)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 5000 {
				key := fmt.Sprint((i * (g + 1)) % 700)
				if v, ok := c.Get(key); ok {
					assert.Equal(t, key, v)
				}
				c.Add(key, key, 4000)
			}
		})
	}
	wg.Wait()
	assert.LessOrEqual(t, c.Size(), limit)
	assert.Positive(t, c.Len())
}

func TestHeapStaysFlatOverDistinctKeys(t *testing.T) {
	keys := 1_000_000
	if raceDetector {
		keys = 50_000
	}
	before := heap()
	c := New[[]byte](limit)
	for i := range keys {
		c.Add(fmt.Sprintf("INSERT INTO t (id, name) VALUES (%d, ?)", i), make([]byte, 64), 64)
	}
	grown := heap() - before
	t.Logf("%d keys: %d kept, %d bytes counted, %d bytes of heap", keys, c.Len(), c.Size(), grown)
	require.Greater(t, c.Len(), 1000)
	assert.LessOrEqual(t, grown, int64(limit+limit/2))
	runtime.KeepAlive(c)
}

// heap returns how many bytes are alive.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func BenchmarkGet(b *testing.B) {
	c := New[int](limit)
	for i := range 1000 {
		c.Add(fmt.Sprintf("SELECT name FROM users WHERE id = %d", i), i, 8)
	}
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			c.Get("SELECT name FROM users WHERE id = 7")
		}
	})
}
