package bench

import (
	"fmt"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tntsql/tntsql/discovery"
)

// selection is the name of what is measured without a server.
const selection = "selection"

// instanceCounts are the sizes of clusters to select an instance from.
var instanceCounts = []int{3, 30, 100}

// A Selection is what it takes to choose an instance for a read, on all cores at
// once.
type Selection struct {
	Instances   int
	Nanoseconds float64 // of one goroutine
	Mallocs     float64
}

func measureSelections(length time.Duration) (all []Selection, err error) {
	for _, n := range instanceCounts {
		s, err := measureSelection(n, length)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

func snapshotOf(instances int) *discovery.Snapshot {
	all := make([]discovery.Instance, instances)
	for i := range all {
		name := strconv.Itoa(i)
		all[i] = discovery.Instance{Address: name, UUID: name, Role: discovery.RoleRO, Status: discovery.StatusRunning}
	}
	all[0].Role = discovery.RoleRW
	return discovery.New(nil, all)
}

func measureSelection(instances int, length time.Duration) (Selection, error) {
	const chunk = 1024 // between two looks at the clock
	var (
		s          = snapshotOf(instances)
		goroutines = runtime.GOMAXPROCS(0)
		ready      = make(chan struct{})
		begun      time.Time
		picks      atomic.Int64
		found      atomic.Int64
		workers    sync.WaitGroup
	)
	for range goroutines {
		workers.Go(func() {
			<-ready
			turn, chosen := uint64(0), int64(0)
			for ; turn%chunk != 0 || turn == 0 || time.Since(begun) < length; turn++ {
				if s.Pick(discovery.ModePreferRO, turn) >= 0 {
					chosen++
				}
			}
			picks.Add(int64(turn))
			found.Add(chosen)
		})
	}
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	begun = time.Now()
	close(ready)
	workers.Wait()
	elapsed := time.Since(begun)
	runtime.ReadMemStats(&after)
	n := picks.Load()
	if found.Load() != n {
		return Selection{}, fmt.Errorf("no instance of %d selected, %d times", instances, n-found.Load())
	}
	return Selection{
		Instances:   instances,
		Nanoseconds: float64(elapsed.Nanoseconds()) * float64(goroutines) / float64(n),
		Mallocs:     float64(after.Mallocs-before.Mallocs) / float64(n),
	}, nil
}
