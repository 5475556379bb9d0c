package failover

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// script is a client whose writes of certain ids fail.
type script struct {
	mu  sync.Mutex
	ids map[int64]int
}

var errScript = errors.New("broken")

func (s *script) write(_ context.Context, id int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ids[id]++
	if id%3 == 0 {
		return errScript
	}
	return nil
}

func (s *script) read(context.Context, int64) error { return nil }

func (s *script) judge(error) (outcome, string) { return unknown, unknownOutcome }

func TestEveryWriteHasAnIdOfItsOwnAndIsCounted(t *testing.T) {
	c := &script{ids: map[int64]int{}}
	l := startLoad(c, 5, 4, 3, ms, 0)
	require.NoError(t, l.goesOn())
	require.NoError(t, l.end())
	counted := 0
	for _, w := range l.writers {
		for n, r := range w.requests {
			assert.Equal(t, 1, c.ids[w.id(n)])
			assert.Equal(t, w.id(n)%3 == 0, r.outcome == unknown)
			assert.GreaterOrEqual(t, r.ended, r.begun)
		}
		counted += len(w.requests)
		if w.counts[unknownOutcome] > 0 {
			assert.Equal(t, "broken", w.errors[unknownOutcome])
		}
	}
	assert.Len(t, c.ids, counted)
	assert.EqualValues(t, counted, l.written.Load())
	assert.Equal(t, 5, l.writers[0].number)
}
