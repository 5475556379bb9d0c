package bench

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// A Sample is what a contender did in one slice of time.
type Sample struct {
	Operations int
	Elapsed    time.Duration
	P50, P99   time.Duration
	Mallocs    uint64 // allocations of the whole process, which had nothing else to do
	Bytes      uint64
	Meanwhile  int // operations of the case that ran meanwhile
}

// throughput is in operations a second.
func (s *Sample) throughput() float64 { return float64(s.Operations) / s.Elapsed.Seconds() }

// took is how many seconds an operation of one goroutine took on average.
func (s *Sample) took() float64 { return 1 / s.throughput() }

func (s *Sample) p50() float64 { return s.P50.Seconds() }

func (s *Sample) p99() float64 { return s.P99.Seconds() }

func (s *Sample) mallocs() float64 { return float64(s.Mallocs) / float64(s.Operations) }

func (s *Sample) bytes() float64 { return float64(s.Bytes) / float64(s.Operations) }

func (s *Sample) meanwhile() float64 { return float64(s.Meanwhile) / s.Elapsed.Seconds() }

// stride keeps the goroutines on rows of their own for a while.
const stride = 7919

// take has goroutines do a contender's operation for a slice of time, each at least
// once. The first number that operations get is from.
func take(c contender, goroutines int, length time.Duration, from int) (Sample, error) {
	var (
		histograms = make([]histogram, goroutines)
		ready      = make(chan struct{})
		begun      time.Time
		failed     firstError
		meanwhile  int
		workers    sync.WaitGroup
		beside     sync.WaitGroup
		over       atomic.Bool
	)
	for g := range goroutines {
		workers.Go(func() {
			<-ready
			last, end := begun, begun.Add(length)
			for n := from + g*stride; ; n++ {
				if err := c.do(context.Background(), n); err != nil {
					failed.set(err)
				}
				now := time.Now()
				histograms[g].add(now.Sub(last))
				last = now
				if now.After(end) || failed.is() {
					return
				}
			}
		})
	}
	if c.meanwhile != nil {
		beside.Go(func() {
			<-ready
			for ; !over.Load() && !failed.is(); meanwhile++ {
				if err := c.meanwhile(context.Background(), meanwhile); err != nil {
					failed.set(err)
				}
			}
		})
	}
	runtime.GC() // one contender does not pay for another's garbage
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	begun = time.Now()
	close(ready)
	workers.Wait()
	elapsed := time.Since(begun)
	over.Store(true)
	beside.Wait()
	runtime.ReadMemStats(&after)

	all := &histograms[0]
	for i := range histograms[1:] {
		all.merge(&histograms[i+1])
	}
	return Sample{
		Operations: all.total,
		Elapsed:    elapsed,
		P50:        all.percentile(50),
		P99:        all.percentile(99),
		Mallocs:    after.Mallocs - before.Mallocs,
		Bytes:      after.TotalAlloc - before.TotalAlloc,
		Meanwhile:  meanwhile,
	}, failed.get()
}

// firstError is the first error of several goroutines.
type firstError struct {
	err atomic.Pointer[error]
}

func (f *firstError) set(err error) { f.err.CompareAndSwap(nil, &err) }

func (f *firstError) is() bool { return f.err.Load() != nil }

func (f *firstError) get() error {
	if err := f.err.Load(); err != nil {
		return *err
	}
	return nil
}
