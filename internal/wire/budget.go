package wire

import (
	"context"
	"slices"
	"sync"
)

// Budget bounds the unanswered requests of several connections together. A
// request counts until its answer comes or its connection ends, whoever has
// stopped waiting for it: go-tarantool cannot withdraw what is queued, and after
// a stall of the link all of it runs.
type Budget struct {
	mu      sync.Mutex
	limit   int
	used    int
	waiting []Turn // first come, first served
}

// NewBudget returns a budget of limit requests.
func NewBudget(limit int) *Budget { return &Budget{limit: limit} }

// SetLimit changes the limit. Requests beyond a lower one go on.
func (b *Budget) SetLimit(limit int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.limit = limit
	b.wake()
}

// Used is the number of unanswered requests.
func (b *Budget) Used() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}

// Try takes room for a request if there is some and nobody waits for it.
func (b *Budget) Try() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.try()
}

func (b *Budget) try() bool {
	if b.used >= b.limit || len(b.waiting) > 0 {
		return false
	}
	b.used++
	return true
}

// Take waits for room for a request, until ctx ends, and tells whether there is.
func (b *Budget) Take(ctx context.Context) bool {
	turn := b.Queue()
	select {
	case <-turn:
		return true
	case <-ctx.Done():
		return !b.Withdraw(turn)
	}
}

// Turn is closed when there is room for the request that it was made for.
type Turn chan struct{}

// Queue waits for room behind all who wait already. What it returns must be
// waited for, or withdrawn.
func (b *Budget) Queue() Turn {
	b.mu.Lock()
	defer b.mu.Unlock()
	turn := make(Turn)
	if b.try() {
		close(turn)
	} else {
		b.waiting = append(b.waiting, turn)
	}
	return turn
}

// Withdraw takes a waiting request out of the queue, and tells whether it was
// there: if not, its turn has come, and it has room.
func (b *Budget) Withdraw(turn Turn) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	i := slices.Index(b.waiting, turn)
	if i < 0 {
		return false
	}
	b.waiting = slices.Delete(b.waiting, i, i+1)
	return true
}

// Give returns the room of n requests.
func (b *Budget) Give(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used -= n
	b.wake()
}

func (b *Budget) wake() {
	for b.used < b.limit && len(b.waiting) > 0 {
		close(b.waiting[0])
		b.waiting = b.waiting[1:]
		b.used++
	}
}
