package faults

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"math/rand/v2"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tntsql/tntsql"
	"github.com/tntsql/tntsql/tarantooltest"
)

const (
	opens = 10_000 // cycles of sql.Open and Close
	// usedOpens is how many of them are used, in the short form.
	usedOpens   = 1_000
	openCallers = 8
)

var openAndClose = Scenario{
	Name:     "open-close",
	What:     "10,000 cycles of sql.Open and Close: used, unused, closed while it connects, refused by the host, and with a wrong password",
	Promises: []Promise{LeavesNone},
	Run: func(t *Trial) error {
		set, err := t.Start(tarantooltest.Instances(1))
		if err != nil {
			return err
		}
		closed, err := closedPort()
		if err != nil {
			return err
		}
		used := min(opens, int(usedOpens*max(1, t.Options.Scale)))
		refused := strings.Replace(set.DSN("selection_timeout=0s"), set.Addr(0), closed, 1)
		stranger := strings.Replace(set.DSN("selection_timeout=0s"), ":"+password, ":wrong", 1)
		kinds := []opening{
			{name: "unused", dsn: set.DSN(), cycles: opens - used},
			{name: "used", dsn: set.DSN(), cycles: used * 7 / 10, within: patience, want: always},
			{name: "closed while it connects", dsn: set.DSN(), cycles: used / 10, within: shortDeadline, want: perhaps},
			{name: "refused", dsn: refused, cycles: used / 10, within: patience, want: never},
			{name: "wrong password", dsn: stranger, cycles: used / 10, within: patience, want: never},
		}
		first := kinds[1]
		first.cycles = openCallers
		if err := first.run(t); err != nil { // what is kept for good is there
			return err
		}
		goroutines, files := runtime.NumGoroutine(), openFiles()
		for _, kind := range kinds {
			t.Options.progress("%d cycles, %s", kind.cycles, kind.name)
			if err := kind.run(t); err != nil {
				return err
			}
			t.Count(kind.cycles, 0)
		}
		if err := first.endsAtOnce(t); err != nil {
			return err
		}
		leaves(t, "goroutines", runtime.NumGoroutine, goroutines)
		leaves(t, "file descriptors", openFiles, files)
		return nil
	},
}

// opening is a kind of handles.
type opening struct {
	name, dsn string
	cycles    int
	within    time.Duration // of the query; 0 for none
	want      success
}

// success is whether a query shall succeed.
type success int

const (
	always success = iota
	perhaps
	never
)

// run opens and closes handles.
func (o opening) run(t *Trial) error {
	var (
		callers sync.WaitGroup
		left    atomic.Int64
		failed  = make([]error, openCallers)
		d       = newDials()
	)
	left.Store(int64(o.cycles))
	for i := range openCallers {
		callers.Go(func() {
			for left.Add(-1) >= 0 && failed[i] == nil {
				failed[i] = o.cycle(t, d)
			}
		})
	}
	callers.Wait()
	d.allClosed(t, o.name)
	return errors.Join(failed...)
}

func (o opening) cycle(t *Trial, d *dials) error {
	open := func(dsn string) (*sql.DB, error) { return sql.Open("tarantool", dsn) }
	if o.want != always { // whose connections are counted
		open = d.open
	}
	db, err := open(o.dsn)
	if err != nil {
		return err
	}
	if o.within > 0 {
		within := o.within
		if o.want == perhaps {
			within = rand.N(within)
		}
		ctx, cancel := context.WithTimeout(context.Background(), within)
		defer cancel()
		err = db.QueryRowContext(ctx, "SELECT 1").Scan(new(int))
		if err != nil {
			t.Options.Heard.Error(err)
		}
		switch {
		case o.want == perhaps:
		case (err == nil) != (o.want == always):
			t.Violation(LeavesNone, "a query after sql.Open: %v", err)
		case err != nil && !errors.Is(err, tntsql.ErrNoInstance):
			t.Violation(LeavesNone, "a query without an instance: %v", err)
		}
	}
	return db.Close()
}

// endsAtOnce looks for goroutines of the driver's pool when Close returns.
func (o opening) endsAtOnce(t *Trial) error {
	const handles = 50
	for range handles {
		if err := o.cycle(t, nil); err != nil {
			return err
		}
		stacks := make([]byte, mega)
		stacks = stacks[:runtime.Stack(stacks, true)]
		if at := bytes.Index(stacks, []byte("tntsql/pool.")); at >= 0 {
			t.Violation(LeavesNone, "a goroutine goes on when Close has returned: %s", stacks[at:min(len(stacks), at+200)])
			return nil
		}
	}
	return nil
}

// closedPort is an address at which nobody listens.
func closedPort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// leaves waits until there are no more of something than before.
func leaves(t *Trial, what string, count func() int, before int) {
	const grace = 10 * time.Second
	for end := time.Now().Add(grace); count() > before; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Violation(LeavesNone, "%d %s are left, before there were %d", count(), what, before)
			return
		}
	}
	t.Note("%s: %d before, %d after", what, before, count())
}

// openFiles is how many file descriptors this process has, where the system tells.
func openFiles() int {
	for _, directory := range []string{"/proc/self/fd", "/dev/fd"} {
		if entries, err := os.ReadDir(directory); err == nil {
			return len(entries)
		}
	}
	return 0
}
