package failover

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// client is a way to the replica set that a load takes.
type client interface {
	// write stores the id, which nobody has used before.
	write(ctx context.Context, id int64) error
	// read looks a fixed row up, and compares it.
	read(ctx context.Context, row int64) error
	// judge tells what an error says about the request, and its kind in a
	// word or two.
	judge(error) (outcome, string)
}

// outcome is what a caller knows when its request has returned.
type outcome uint8

const (
	done    outcome = iota
	unknown         // it may have been applied
	failed          // it was not applied
)

// request is one request as its caller saw it, in times since the load began.
type request struct {
	begun, ended time.Duration
	outcome      outcome
}

// overlaps tells whether a part of the request lies in the span.
func (r *request) overlaps(s span) bool { return r.begun < s.to && r.ended > s.from }

// span is a time of the load.
type span struct{ from, to time.Duration }

func (s span) length() time.Duration { return s.to - s.from }

const (
	writerCount = 32
	readerCount = 32
	// rowCount is how many rows there are to read.
	rowCount = 1000
	// idBits is the part of an id that counts the writes of one writer.
	idBits = 20
	// patience is how long a load may stand still.
	patience = 20 * time.Second
	// stragglers is how long the last requests may take when a load ends.
	stragglers = 30 * time.Second
)

// worker sends one request after the other. Its requests are its own until the
// load has ended.
type worker struct {
	number   int
	requests []request
	errors   map[string]string // by kind, one of each
	counts   map[string]int
}

// id is that of the nth write of the worker.
func (w *worker) id(n int) int64 { return int64(w.number)<<idBits | int64(n) }

// load is writers and readers that use a client all the time.
type load struct {
	client   client
	pace     time.Duration
	deadline time.Duration // of a write
	began    time.Time
	stop     chan struct{}
	ending   sync.Once
	running  sync.WaitGroup

	writers, readers []*worker
	written, read    atomic.Int64
}

// startLoad starts a load whose writers are numbered from first.
func startLoad(c client, first, writers, readers int, pace, deadline time.Duration) *load {
	l := &load{client: c, pace: pace, deadline: deadline, began: time.Now(), stop: make(chan struct{})}
	for n := range writers {
		w := newWorker(first + n)
		l.writers = append(l.writers, w)
		l.running.Go(func() { l.work(w, &l.written, l.write) })
	}
	for n := range readers {
		w := newWorker(n)
		l.readers = append(l.readers, w)
		l.running.Go(func() { l.work(w, &l.read, l.readRow) })
	}
	return l
}

func newWorker(number int) *worker {
	return &worker{number: number, errors: map[string]string{}, counts: map[string]int{}}
}

func (l *load) work(w *worker, count *atomic.Int64, send func(*worker, int) error) {
	for n := 0; ; n++ {
		select {
		case <-l.stop:
			return
		case <-time.After(l.pace):
		}
		r := request{begun: time.Since(l.began)}
		err := send(w, n)
		r.ended = time.Since(l.began)
		if err != nil {
			var kind string
			r.outcome, kind = l.client.judge(err)
			w.errors[kind] = err.Error()
			w.counts[kind]++
		}
		w.requests = append(w.requests, r)
		count.Add(1)
	}
}

func (l *load) write(w *worker, n int) error {
	ctx := context.Background()
	if l.deadline > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, l.deadline)
		defer cancel()
	}
	return l.client.write(ctx, w.id(n))
}

func (l *load) readRow(w *worker, n int) error {
	return l.client.read(context.Background(), int64((w.number*31+n)%rowCount))
}

// goesOn waits for two more answers a worker, whoever gets them.
func (l *load) goesOn() error {
	writes, reads := l.written.Load()+int64(2*len(l.writers)), l.read.Load()+int64(2*len(l.readers))
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if l.written.Load() >= writes && l.read.Load() >= reads {
			return nil
		}
	}
	return fmt.Errorf("the load does not go on: %d of %d writes, %d of %d reads after %v",
		l.written.Load(), writes, l.read.Load(), reads, patience)
}

// halt has each worker end after its request.
func (l *load) halt() { l.ending.Do(func() { close(l.stop) }) }

// end stops the load and waits for its last requests. It may be called again.
func (l *load) end() error {
	l.halt()
	if !Ended(&l.running, stragglers) {
		return fmt.Errorf("requests that have no answer %v after the end of the load", stragglers)
	}
	return nil
}

// Ended waits for goroutines, and tells whether they end in that time.
func Ended(running *sync.WaitGroup, within time.Duration) bool {
	ended := make(chan struct{})
	go func() {
		running.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return true
	case <-time.After(within):
		return false
	}
}

// now is the time since the load began.
func (l *load) now() time.Duration { return time.Since(l.began) }
