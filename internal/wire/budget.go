package wire

import (
	"context"
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
	waiting []chan struct{} // first come, first served
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

// Take waits for room for a request, until ctx ends or stop is closed, and
// tells whether there is.
func (b *Budget) Take(ctx context.Context, stop <-chan struct{}) bool {
	b.mu.Lock()
	if b.try() {
		b.mu.Unlock()
		return true
	}
	turn := make(chan struct{})
	b.waiting = append(b.waiting, turn)
	b.mu.Unlock()
	select {
	case <-turn:
		return true
	case <-ctx.Done():
	case <-stop:
	}
	return !b.withdraw(turn)
}

// withdraw takes a waiting request out of the queue, unless its turn has come.
func (b *Budget) withdraw(turn chan struct{}) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, c := range b.waiting {
		if c == turn {
			b.waiting = append(b.waiting[:i], b.waiting[i+1:]...)
			return true
		}
	}
	return false
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
