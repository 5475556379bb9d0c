package faults

import (
	"context"
	"database/sql"
	"errors"
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
	What:     "10,000 cycles of sql.Open and Close: used, unused, refused by the host, and with a wrong password",
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
		// Each kind of use, and whether it shall succeed.
		kinds := []struct {
			name, dsn string
			cycles    int
			use, ok   bool
		}{
			{"unused", set.DSN(), opens - used, false, true},
			{"used", set.DSN(), used * 8 / 10, true, true},
			{"refused", strings.Replace(set.DSN("selection_timeout=0s"), set.Addr(0), closed, 1), used / 10, true, false},
			{"wrong password", strings.Replace(set.DSN("selection_timeout=0s"), ":"+password, ":wrong", 1), used / 10, true, false},
		}
		if err := cycles(t, kinds[1].dsn, openCallers, true, true); err != nil { // what is kept for good is there
			return err
		}
		goroutines, files := runtime.NumGoroutine(), openFiles()
		for _, kind := range kinds {
			t.Options.progress("%d cycles, %s", kind.cycles, kind.name)
			if err := cycles(t, kind.dsn, kind.cycles, kind.use, kind.ok); err != nil {
				return err
			}
			t.Count(kind.cycles, 0)
		}
		leaves(t, "goroutines", runtime.NumGoroutine, goroutines)
		leaves(t, "file descriptors", openFiles, files)
		return nil
	},
}

// cycles opens and closes handles.
func cycles(t *Trial, dsn string, n int, use, ok bool) error {
	var (
		callers sync.WaitGroup
		left    atomic.Int64
		failed  = make([]error, openCallers)
	)
	left.Store(int64(n))
	for i := range openCallers {
		callers.Go(func() {
			for left.Add(-1) >= 0 && failed[i] == nil {
				failed[i] = cycle(t, dsn, use, ok)
			}
		})
	}
	callers.Wait()
	return errors.Join(failed...)
}

func cycle(t *Trial, dsn string, use, ok bool) error {
	db, err := sql.Open("tarantool", dsn)
	if err != nil {
		return err
	}
	if use {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		err = db.QueryRowContext(ctx, "SELECT 1").Scan(new(int))
		if err != nil {
			t.Options.Heard.Error(err)
		}
		if (err == nil) != ok {
			t.Violation(LeavesNone, "a query after sql.Open: %v", err)
		} else if err != nil && !errors.Is(err, tntsql.ErrNoInstance) {
			t.Violation(LeavesNone, "a query without an instance: %v", err)
		}
	}
	return db.Close()
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
