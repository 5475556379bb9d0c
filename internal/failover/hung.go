package failover

import (
	"errors"
	"fmt"
	"time"
)

var hung = Scenario{
	Name:   "hung",
	What:   "the master, then a replica, is stopped with SIGSTOP for 10 s",
	Beside: true,
	Disturb: func(t *Trial) error {
		for _, i := range []int{0, 1} {
			err := t.During(fmt.Sprintf("SIGSTOP of instance %d", i), func() error {
				if err := t.Set.Stop(i); err != nil {
					return err
				}
				t.Rest(10 * time.Second)
				return t.Set.Continue(i)
			})
			if err := errors.Join(err, t.load.goesOn()); err != nil {
				return err
			}
			t.Rest(2 * time.Second)
		}
		return nil
	},
	Promises: []Promise{readsWithoutError, writesWithoutError, nothingLost, readsWithinProbe, halfTheReads, suspectsAtMost(2)},
}
