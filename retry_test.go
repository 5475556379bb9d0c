package tntsql_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/tntsql/tntsql"
)

// cutMark is a part of a request whose reply a cutter loses.
const cutMark = "/* cut */"

// cutter stands between a client and its server. A connection that carries the
// mark is cut when its reply comes, as often as the cutter has cuts left.
type cutter struct {
	cuts atomic.Int32
}

func (c *cutter) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &cutConn{Conn: conn, cutter: c}, nil
}

type cutConn struct {
	net.Conn
	cutter *cutter
	marked atomic.Bool
}

func (c *cutConn) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte(cutMark)) && c.cutter.cuts.Add(-1) >= 0 {
		c.marked.Store(true)
	}
	return c.Conn.Write(p)
}

var errCut = errors.New("cut")

func (c *cutConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if c.marked.Load() {
		return 0, errCut
	}
	return n, err
}

// openCutter gives a handle on the master whose replies may be lost.
func openCutter(t *testing.T) (*sql.DB, *cutter) {
	t.Helper()
	c := new(cutter)
	cfg := mustParse(t, dsnOf([]string{sharedSet(t).Addr(0)}, quiet))
	cfg.Dial = c.dial
	db, connector := openConfig(t, cfg)
	knowsAll(t, connector)
	mustExec(t, db, "VALUES (1)") // what a new connection is told first has come
	return db, c
}

func TestAWriteWhoseReplyIsLostIsDoneOnce(t *testing.T) {
	rs := sharedSet(t)
	name := table(t, rs, "ID INTEGER PRIMARY KEY AUTOINCREMENT, N INTEGER")
	lua(t, rs, 0, `
local name, mark = ...
box.space[name]:insert{1, 0}
box.schema.func.create('COUNT_' .. name, {language = 'LUA', returns = 'integer', exports = {'LUA', 'SQL'},
    body = "function() box.space." .. name .. ":update(1, {{'+', 'N', 1}}) return 1 end"})
_G[mark] = function() box.space[name]:update(1, {{'+', 'N', 1}}) end`, name, cutMark)
	exec := func(text string) func(context.Context, *sql.DB) error {
		return func(ctx context.Context, db *sql.DB) error { _, err := db.ExecContext(ctx, text); return err }
	}
	for kind, run := range map[string]func(context.Context, *sql.DB) error{
		"UPDATE": exec(cutMark + " UPDATE " + name + " SET N = N + 1 WHERE ID = 1"),
		"read that calls a function": func(ctx context.Context, db *sql.DB) error {
			_, err := firstValue(ctx, db, cutMark+" SELECT COUNT_"+name+"()")
			return err
		},
		"CALL": func(ctx context.Context, db *sql.DB) error {
			_, err := tntsql.Call(ctx, db, tntsql.ModeRW, cutMark)
			return err
		},
		"EVAL": func(ctx context.Context, db *sql.DB) error {
			_, err := tntsql.Eval(ctx, db, tntsql.ModeRW, "_G[...]()", cutMark)
			return err
		},
	} {
		t.Run(kind, func(t *testing.T) {
			db, cutter := openCutter(t)
			before := lua(t, rs, 0, "return box.space[...]:get(1).N", name).(int64)
			cutter.cuts.Store(1)
			ctx, info := tntsql.Capture(t.Context())
			err := run(ctx, db)
			requireOutcomeUnknown(t, err, errCut, rs.UUID(0))
			assert.Equal(t, 1, info.Attempts)
			assert.NoError(t, run(ctx, db), "the handle goes on")
			assert.EqualValues(t, 2, lua(t, rs, 0, "return box.space[...]:get(1).N", name).(int64)-before, "once each time")
		})
	}
}

func TestAReadWhoseReplyIsLostIsSentOnceMore(t *testing.T) {
	db, cutter := openCutter(t)
	ctx, info := tntsql.Capture(t.Context())
	for cuts, want := range []error{nil, nil, errCut} {
		cutter.cuts.Store(int32(cuts))
		_, err := firstValue(ctx, db, cutMark+" SELECT 1")
		assert.ErrorIs(t, err, want)
		assert.NotErrorIs(t, err, tntsql.ErrOutcomeUnknown)
		assert.Equal(t, min(cuts+1, 2), info.Attempts)
	}
}

// A reply that nobody waits for any more must not reach anybody else.
func TestAnswersAreNotMixedUpWhenCallersLeave(t *testing.T) {
	db := open(t, "read_mode=rw")
	var wg sync.WaitGroup
	var left atomic.Int64
	for g := range 20 {
		wg.Go(func() {
			for i := range 50 {
				want := int64(1000*g + i)
				ctx, cancel := context.WithTimeout(t.Context(), 3*time.Millisecond)
				reply, err := tntsql.Eval(ctx, db, tntsql.ModeRW, "local n, pause = ...; require('fiber').sleep(pause) return n",
					want, rand.Float64()/200)
				cancel()
				if err != nil {
					assert.ErrorIs(t, err, context.DeadlineExceeded)
					left.Add(1)
				} else {
					assert.Equal(t, []any{want}, reply.Values())
				}
				var got int64
				if assert.NoError(t, db.QueryRowContext(t.Context(), "SELECT ?", want).Scan(&got)) {
					assert.Equal(t, want, got)
				}
			}
		})
	}
	wg.Wait()
	assert.Positive(t, left.Load(), "callers that left")
}
