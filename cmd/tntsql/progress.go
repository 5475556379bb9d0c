package main

import (
	"fmt"
	"time"
)

const (
	progressAfter = time.Second     // what takes less needs no word
	progressEvery = 5 * time.Second // that the same is said again
)

// progress says on stderr what is waited for, after a while and whenever that changes,
// until the function that it returns is called.
func (t *tool) progress(what func() string) (stop func()) {
	begun, quit, done := time.Now(), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(progressAfter)
		defer tick.Stop()
		said, when := "", time.Time{}
		for {
			select {
			case <-quit:
				return
			case <-tick.C:
			}
			if now := what(); now != said || time.Since(when) >= progressEvery {
				fmt.Fprintf(t.err, "tntsql: %s (%v)\n", now, time.Since(begun).Round(time.Second))
				said, when = now, time.Now()
			}
		}
	}()
	return func() {
		close(quit)
		<-done
	}
}
