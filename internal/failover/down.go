package failover

import (
	"fmt"
	"syscall"
	"time"
)

var allDown = Scenario{
	Name: "all-down",
	What: "kill -9 of all instances, which are back after 5 s",
	Disturb: func(t *Trial) error {
		return t.During("all instances are down", func() error {
			for i := range t.Set.Len() {
				t.Set.Kill(i)
			}
			t.Rest(time.Second)
			if err := t.measureWaiting(4 * time.Second); err != nil {
				return err
			}
			for i := range t.Set.Len() {
				if err := t.Set.Restart(i); err != nil {
					return err
				}
			}
			return t.load.goesOn()
		})
	},
	Promises: []Promise{eachReaderOnce, onlyUnknown, nothingLost, waitsIdly},
}

// measureWaiting measures the CPU that this process needs in the meantime.
func (t *Trial) measureWaiting(d time.Duration) error {
	before, err := processorTime()
	if err != nil {
		return err
	}
	begun := time.Now()
	t.Rest(d)
	after, err := processorTime()
	t.waitingCPU = time.Duration(float64(after-before) / time.Since(begun).Seconds())
	return err
}

func processorTime() (time.Duration, error) {
	var used syscall.Rusage
	err := syscall.Getrusage(syscall.RUSAGE_SELF, &used)
	return time.Duration(used.Utime.Nano() + used.Stime.Nano()), err
}

// eachReaderOnce: a read is sent twice at most, so one that was in flight when
// two of its instances died may fail.
func eachReaderOnce(r *Result) string {
	if total(r.Driver.ReadErrors) <= readerCount {
		return ""
	}
	return readsWithoutError(r)
}

// waitsIdly bounds the CPU a second of all workers waiting for any instance.
func waitsIdly(r *Result) string {
	r.Notes = append(r.Notes, fmt.Sprintf("%d waiting requests took %s of CPU a second", writerCount+readerCount, Duration(r.WaitingCPU)))
	return within("the CPU time a second while no instance was up", r.WaitingCPU, r.slack(50*time.Millisecond))
}
