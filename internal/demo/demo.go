// Package demo shows the driver at work: which instance serves which statement,
// and what an application notices of a change of master.
package demo

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"strings"
	"time"

	_ "github.com/tntsql/tntsql" // registers the driver
	"github.com/tntsql/tntsql/tarantooltest"
)

// Options change how Run shows things.
type Options struct {
	// Color allows bold text and colors.
	Color bool
	// Phase is how long the writers write before and after the change of
	// master. Default: one second.
	Phase time.Duration
}

// Run starts a replica set of three Tarantool instances on the loopback
// interface, shows on it what the driver does, and ends it. It returns early when
// the context ends, with its error, and leaves nothing behind then either.
func Run(ctx context.Context, w io.Writer, o Options) (err error) {
	if o.Phase == 0 {
		o.Phase = time.Second
	}
	out := &screen{w: w, color: o.Color}
	out.printf("Starting three instances of Tarantool on 127.0.0.1 … ")
	start := time.Now()
	// With MVCC, a write of the new master can conflict with one that it still
	// replicates from the old one.
	rs, err := tarantooltest.New(ctx, tarantooltest.Cfg(map[string]any{"memtx_use_mvcc_engine": false}))
	if err != nil {
		out.printf("\n")
		return err
	}
	defer func() {
		if closeErr := rs.Close(); err == nil {
			err = closeErr
		}
	}()
	version, _, _ := strings.Cut(rs.Version(), "-")
	out.printf("%s, ready in %s\n", version, milliseconds(time.Since(start)))

	// With sessions the reads after CREATE TABLE would go to the master until the
	// replicas are known to have the table; the demo waits for them itself.
	db, err := sql.Open("tarantool", rs.DSN("read_after_write=off"))
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := db.Close(); err == nil {
			err = closeErr
		}
	}()
	d := &demo{out: out, rs: rs, db: db, phase: o.Phase}
	if err := d.showRouting(ctx); err != nil {
		return err
	}
	return d.showNewMaster(ctx)
}

type demo struct {
	out   *screen
	rs    *tarantooltest.ReplicaSet
	db    *sql.DB
	phase time.Duration
}

// name is the letter of the instance at an address.
func (d *demo) name(address string) string {
	for i := range d.rs.Len() {
		if d.rs.Addr(i) == address {
			return letter(i)
		}
	}
	return "none"
}

func letter(instance int) string { return string(rune('A' + instance)) }

// replicated waits until every instance has what the master has now: replication
// is asynchronous, and a read may reach any instance.
func (d *demo) replicated(ctx context.Context) error {
	master := d.rs.Master()
	if master < 0 {
		return fmt.Errorf("demo: no instance is writable")
	}
	lsn, err := d.rs.Lua(master, "return box.info.id, box.info.lsn")
	if err != nil {
		return err
	}
	for i := range d.rs.Len() {
		for {
			has, err := d.rs.Lua(i, "local id, lsn = ... return (box.info.vclock[id] or 0) >= lsn", lsn...)
			if err != nil {
				return err
			}
			if has[0] == true {
				break
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(time.Millisecond):
			}
		}
	}
	return nil
}
