package sqltext

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	cacheLimit = 1 << 20
	pointRead  = "SELECT id, name, email, created FROM users WHERE id = ? AND deleted = false"
)

func TestCacheParsesOnce(t *testing.T) {
	c := NewCache(cacheLimit)
	for _, tt := range texts {
		st := c.Get(tt.text)
		assert.Equal(t, tt.want, *st, "%q", tt.text)
		assert.Same(t, st, c.Get(tt.text))
	}
}

func TestCacheParsesLargeTextsEachTime(t *testing.T) {
	const limit = 4096
	c := NewCache(limit)
	text := "SELECT ?" + strings.Repeat(",?", limit)
	assert.Equal(t, limit+1, c.Get(text).Params)
	first := c.Get(text)
	assert.NotSame(t, first, c.Get(text))
}

func TestCacheGetDoesNotAllocate(t *testing.T) {
	c := NewCache(cacheLimit)
	c.Get(pointRead)
	assert.Zero(t, testing.AllocsPerRun(1000, func() { c.Get(pointRead) }))
}

func TestCacheConcurrentUse(t *testing.T) {
	c := NewCache(64 << 10)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 2000 {
				name := fmt.Sprint(":p", i%300)
				assert.Equal(t, []string{name}, c.Get("SELECT "+name).Names)
			}
		})
	}
	wg.Wait()
}

func TestCacheHeapStaysFlatOverDistinctTexts(t *testing.T) {
	n := 1_000_000
	if raceDetector {
		n = 30_000
	}
	before := heap()
	c := NewCache(cacheLimit)
	for i := range n {
		c.Get(fmt.Sprintf("SELECT f(a), :name_%d, :b FROM t WHERE id = %d", i, i))
	}
	grown := heap() - before
	t.Logf("%d texts: %d kept, %d bytes of heap", n, c.statements.Len(), grown)
	require.Greater(t, c.statements.Len(), 1000)
	assert.LessOrEqual(t, grown, int64(cacheLimit+cacheLimit/2))
	runtime.KeepAlive(c)
}

// TestStatementDoesNotKeepItsTextAlive parses texts of 64 KiB whose statements
// have every kind of string in them.
func TestStatementDoesNotKeepItsTextAlive(t *testing.T) {
	padding := strings.Repeat(" ", 64<<10)
	before := heap()
	var kept []Statement
	for range 64 {
		st := Parse("/*+ mode=rw */ SELECT f(:id)" + padding)
		require.Equal(t, Statement{
			Kind: Read, Verb: "SELECT", Style: Named, Params: 1,
			Names: []string{":id"}, UserCall: "f", Mode: "rw",
		}, st)
		kept = append(kept, st)
	}
	assert.Less(t, heap()-before, int64(1<<20))
	runtime.KeepAlive(kept)
	runtime.KeepAlive(padding)
}

// heap returns how many bytes are alive.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func BenchmarkCacheGet(b *testing.B) {
	c := NewCache(cacheLimit)
	c.Get(pointRead)
	b.ReportAllocs()
	for b.Loop() {
		c.Get(pointRead)
	}
}
