package failover

import (
	"math/rand/v2"
	"time"
)

var switchover = Scenario{
	Name:   "switchover",
	What:   "the master hands over by read_only, ten times",
	Beside: true,
	Disturb: func(t *Trial) error {
		for n := range t.Times(10) {
			err := t.During("switchover", func() error {
				if err := t.Set.Promote((n + 1) % t.Set.Len()); err != nil {
					return err
				}
				// go-tarantool's pool looks once a second: no switchover
				// shall be in step with that.
				t.Rest(2*time.Second + rand.N(time.Second))
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	},
	Promises: []Promise{readsWithoutError, writesWithoutError, nothingLost, writableWithin(20 * time.Millisecond)},
}
