package failover

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tntsql/tntsql"
)

var cut = Scenario{
	Name:    "cut",
	What:    "the network to a replica, then to the master, keeps all packets for 10 s and closes nothing",
	Proxied: true,
	Disturb: func(t *Trial) error {
		for _, i := range []int{1, 0} {
			err := t.During(fmt.Sprintf("instance %d is cut off", i), func() error {
				if err := t.Proxies[i].Stall(); err != nil {
					return err
				}
				t.Rest(10 * time.Second)
				return t.Proxies[i].Heal()
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

var resets = Scenario{
	Name:    "resets",
	What:    "all connections to one instance after the other are reset, twelve times",
	Proxied: true,
	Disturb: func(t *Trial) error {
		for n := range t.Times(12) {
			p := t.Proxies[n%len(t.Proxies)]
			err := t.During(fmt.Sprintf("reset of instance %d", n%len(t.Proxies)), func() error {
				if err := p.Reset(); err != nil {
					return err
				}
				time.Sleep(50 * time.Millisecond)
				if err := p.Heal(); err != nil {
					return err
				}
				return t.load.goesOn()
			})
			if err != nil {
				return err
			}
			t.Rest(time.Second)
		}
		return nil
	},
	Promises: []Promise{readsWithoutError, onlyUnknown, nothingLost, suspectsAtMost(0)},
}

var latency = Scenario{
	Name:    "latency",
	What:    "every reply of every instance arrives 200 ms late, for 5 s",
	Proxied: true,
	Disturb: func(t *Trial) error {
		return t.During("200 ms of latency", func() error {
			for _, p := range t.Proxies {
				if err := p.Delay(200); err != nil {
					return err
				}
			}
			t.Rest(5 * time.Second)
			err := t.load.goesOn()
			for _, p := range t.Proxies {
				err = errors.Join(err, p.Heal())
			}
			return err
		})
	},
	Promises: []Promise{readsWithoutError, writesWithoutError, nothingLost, suspectsAtMost(0), readsAtMost(2 * time.Second)},
}

const (
	fastEthernet = 12_500  // kB/s: 100 Mbit/s
	bigRows      = 60      // in the report
	bigRow       = 700_000 // bytes
)

// bigRows are 40 MiB in the report.
func (t *Trial) bigRows() int { return max(1, int(bigRows*t.Options.Scale)) }

var bigReply = Scenario{
	Name:    "big-reply",
	What:    "three replies of 40 MiB at 100 Mbit/s, one after the other, beside the point reads",
	Proxied: true,
	Prepare: func(t *Trial) error {
		_, err := t.Set.Lua(t.Set.Master(), `
			local rows, size = ...
			box.execute('CREATE TABLE BIG (ID INTEGER PRIMARY KEY, S STRING)')
			for id = 1, rows do
				box.space.BIG:insert{id, string.rep('x', size)}
			end`, t.bigRows(), bigRow)
		return err
	},
	Disturb: func(t *Trial) error {
		for _, p := range t.Proxies {
			if err := p.Rate(fastEthernet); err != nil {
				return err
			}
		}
		return t.During("big replies", func() error {
			for range t.Times(3) {
				if err := t.readBig(); err != nil {
					return err
				}
			}
			return nil
		})
	},
	Promises: []Promise{readsWithoutError, writesWithoutError, nothingLost, suspectsAtMost(0), readsP99(100 * time.Millisecond)},
}

// readBig reads the whole big table.
func (t *Trial) readBig() error {
	ctx, info := tntsql.Capture(context.Background())
	begun := time.Now()
	rows, err := t.DB.QueryContext(ctx, "SELECT S FROM BIG WHERE ID > 0")
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }() // rows.Err tells all
	size := 0
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			return err
		}
		size += len(s)
	}
	if size != t.bigRows()*bigRow {
		return fmt.Errorf("a big reply has %d bytes, not %d", size, t.bigRows()*bigRow)
	}
	t.Note("%d MiB in %s, sent %d times", size>>20, Duration(time.Since(begun)), info.Attempts)
	return rows.Err()
}
