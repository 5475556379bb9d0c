package wire

import (
	"sync"
	"sync/atomic"
	"time"

	protocol "github.com/tarantool/go-iproto"
)

// flight is a connection's unanswered requests. Those that hold it up are
// listed, oldest first. A CALL or EVAL holds up nobody, unless it is of a stream:
// the server runs each in a fiber of its own and frees its part of the input
// buffer at once. Nor does a PREPARE, which is done at once.
type flight struct {
	budget *Budget      // of the counted requests
	since  atomic.Int64 // when oldest was sent; 0 if there is none

	mu      sync.Mutex
	count   int
	counted int // those that have room in budget
	ended   bool
	oldest  *request
	newest  *request

	expiry     *time.Timer // of the deadlines; nil before the first
	nextExpiry int64       // when it is over; 0 if it is not set
}

// add counts a request that is about to be sent. It is false if the connection
// has ended.
func (f *flight) add(r *request) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended {
		return false
	}
	f.count++
	if r.counted {
		f.counted++
	}
	r.sent = clock()
	if !r.holdsUp() {
		return true
	}
	r.prev, r.next = f.newest, nil
	if f.newest != nil {
		f.newest.next = r
	} else {
		f.oldest = r
		f.since.Store(r.sent)
	}
	f.newest = r
	return true
}

// remove takes out a request that was answered, or was not sent after all.
func (f *flight) remove(r *request) {
	f.mu.Lock()
	if f.ended {
		f.mu.Unlock()
		return
	}
	f.count--
	if r.counted {
		r.counted = false
		f.counted--
		defer f.budget.Give(1)
	}
	f.unlink(r)
	f.mu.Unlock()
}

// yield takes the room of a request away from it, if it has any.
func (f *flight) yield(r *request) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended || !r.counted {
		return false
	}
	r.counted = false
	f.counted--
	return true
}

func (f *flight) unlink(r *request) {
	if !r.holdsUp() {
		return
	}
	if r.next != nil {
		r.next.prev = r.prev
	} else {
		f.newest = r.prev
	}
	if r.prev != nil {
		r.prev.next = r.next
		return
	}
	f.oldest = r.next
	if f.oldest != nil {
		f.since.Store(f.oldest.sent)
	} else {
		f.since.Store(0)
	}
}

// end forgets all requests of a connection that has ended.
func (f *flight) end() {
	f.mu.Lock()
	if f.ended {
		f.mu.Unlock()
		return
	}
	f.ended = true
	left := f.counted
	f.count = 0
	f.since.Store(0)
	f.ringAll()
	f.oldest, f.newest = nil, nil // they may be used again
	if f.expiry != nil {
		f.expiry.Stop()
	}
	f.mu.Unlock()
	if left > 0 {
		f.budget.Give(left)
	}
}

// ring has all who wait for one that holds the connection up look again.
func (f *flight) ring() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.ended {
		f.ringAll()
	}
}

// expect has whoever waits for the request look again after the deadline.
func (f *flight) expect(r *request, deadline int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r.deadline = deadline
	f.expireAt(deadline)
}

// expireAt sets the one timer of all deadlines, unless it is over earlier. Most
// requests are answered long before theirs.
func (f *flight) expireAt(deadline int64) {
	if f.ended || f.nextExpiry != 0 && f.nextExpiry <= deadline {
		return
	}
	f.nextExpiry = deadline
	if left := time.Duration(deadline - clock()); f.expiry == nil {
		f.expiry = time.AfterFunc(left, f.expire)
	} else {
		f.expiry.Reset(left)
	}
}

// expire rings for those whose deadline is over.
func (f *flight) expire() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.nextExpiry = 0
	now := clock()
	for r := f.oldest; r != nil; r = r.next {
		switch {
		case r.deadline == 0:
		case r.deadline <= now:
			r.deadline = 0
			ring(r.bell)
		default:
			f.expireAt(r.deadline)
		}
	}
}

func (f *flight) ringAll() {
	for r := f.oldest; r != nil; r = r.next {
		ring(r.bell)
	}
}

// waitingPair is for how long two requests that hold the connection up have been
// unanswered; 0 if there are not two.
func (f *flight) waitingPair() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended || f.oldest == nil || f.oldest.next == nil {
		return 0
	}
	return time.Duration(clock() - f.oldest.next.sent)
}

func (f *flight) len() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.count
}

// isOldest tells whether r is what most probably holds the connection up.
func (f *flight) isOldest(r *request) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.oldest == r
}

// isBehind tells whether two others that hold the connection up are older than r.
func (f *flight) isBehind(r *request) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.ended && f.oldest != r && (f.oldest == nil || f.oldest.next != r)
}

func (r *request) holdsUp() bool {
	switch r.typ {
	case protocol.IPROTO_CALL, protocol.IPROTO_EVAL, protocol.IPROTO_PREPARE:
		return r.streamed
	}
	return true
}
