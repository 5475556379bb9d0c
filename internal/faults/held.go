package faults

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tntsql/tntsql"
)

const (
	holders = 200
	// holdingTime is how long they go on in the short form.
	holdingTime = 3 * time.Second
	// betweenReads is less than replicas are asked for what they have.
	betweenReads = 10 * time.Millisecond
)

var heldConns = Scenario{
	Name:     "held-conns",
	What:     "200 goroutines take a sql.Conn, write, read until a replica answers, and give it back, again and again",
	Promises: []Promise{OwnWrites, StaysFlat, LeavesNone},
	Run: func(t *Trial) error {
		set, err := t.Start()
		if err != nil {
			return err
		}
		if _, err := set.Lua(0, `
			box.execute('CREATE TABLE H (ID INTEGER PRIMARY KEY, N INTEGER)')
			for id = 0, ... - 1 do box.space.H:insert{id, 0} end`, holders); err != nil {
			return err
		}
		cfg, err := tntsql.ParseDSN(set.DSN("read_mode=prefer_ro"))
		if err != nil {
			return err
		}
		d := newDials()
		cfg.Dial = d.dial
		db, connector, err := t.Open(cfg)
		if err != nil {
			return err
		}
		if err := ready(connector); err != nil {
			return err
		}
		h := &holding{trial: t, db: db}
		if err := h.run(t.Options.scaled(holdingTime)); err != nil {
			return err
		}
		reads, writes := h.reads.Load(), h.writes.Load()
		t.Count(int(reads+writes), 0)
		made, closed := d.count()
		t.Note("%d of %d reads were answered by replicas; %d sockets", h.byReplica.Load(), reads, made)
		if most := set.Len() * (1 + cfg.ConnsPerInstance); made > most || closed > 0 {
			t.Violation(StaysFlat, "%d sockets were made where %d do, and %d closed", made, most, closed)
		}
		return nil
	},
}

// holding is callers of whom each has a row of its own.
type holding struct {
	trial                    *Trial
	db                       *sql.DB
	writes, reads, byReplica atomic.Int64
}

func (h *holding) run(length time.Duration) error {
	var (
		running sync.WaitGroup
		failed  = make(chan error, holders)
		end     = time.Now().Add(length)
	)
	for id := range holders {
		running.Go(func() {
			for n := 1; time.Now().Before(end); n++ {
				if err := h.hold(id, n); err != nil {
					h.trial.Options.Heard.Error(err)
					failed <- err
					return
				}
			}
		})
	}
	running.Wait()
	close(failed)
	return <-failed
}

// hold is one use of a sql.Conn.
func (h *holding) hold(id, n int) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	conn, err := h.db.Conn(ctx)
	if err != nil {
		return err
	}
	if _, err := conn.ExecContext(ctx, "UPDATE H SET N = ? WHERE ID = ?", n, id); err != nil {
		_ = conn.Close()
		return fmt.Errorf("write %d of caller %d: %w", n, id, err)
	}
	h.writes.Add(1)
	if err := h.readBack(ctx, conn, id, n); err != nil {
		_ = conn.Close()
		return fmt.Errorf("read %d of caller %d: %w", n, id, err)
	}
	return conn.Close()
}

// readBack reads until a replica has answered, which is after it is known to have the write.
func (h *holding) readBack(ctx context.Context, conn *sql.Conn, id, n int) error {
	for {
		ctx, info := tntsql.Capture(ctx)
		var got int
		if err := conn.QueryRowContext(ctx, "SELECT N FROM H WHERE ID = ?", id).Scan(&got); err != nil {
			return err
		}
		h.reads.Add(1)
		if got != n {
			h.trial.Violation(OwnWrites, "a sql.Conn wrote %d and read %d on %s", n, got, info.Instance)
		}
		if info.Instance.Role == "ro" {
			h.byReplica.Add(1)
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(betweenReads):
		}
	}
}
