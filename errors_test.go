package tntsql_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tntsql/tntsql"
	"github.com/tntsql/tntsql/tarantooltest"
)

func TestAnErrorOfTheServerHasItsCodeItsNameAndItsInstance(t *testing.T) {
	rs := sharedSet(t)
	db := open(t)
	name := table(t, rs, "ID INTEGER PRIMARY KEY")
	mustExec(t, db, "INSERT INTO "+name+" VALUES (1)")
	_, err := db.ExecContext(t.Context(), "INSERT INTO "+name+" VALUES (1)")

	var server *tntsql.Error
	require.ErrorAs(t, err, &server)
	assert.EqualValues(t, 3, server.Code)
	assert.Equal(t, "ER_TUPLE_FOUND", server.Name)
	assert.Equal(t, "ClientError", server.Type)
	assert.Contains(t, server.Message, "Duplicate key exists in unique index")
	require.NotEmpty(t, server.Stack)
	assert.Equal(t, server.Message, server.Stack[0].Message)
	assert.EqualValues(t, 3, server.Stack[0].Code)
	assert.Equal(t, rs.UUID(0), server.Instance.UUID)
	assert.Equal(t, rs.Addr(0), server.Instance.Address)
	assert.Equal(t, "tntsql: "+server.Message+" (ER_TUPLE_FOUND, code 3) from "+server.Instance.String(), err.Error())
}

// raised is the error of a Lua chunk on an instance of the mode.
func raised(t testing.TB, m tntsql.Mode, chunk string, args ...any) *tntsql.Error {
	t.Helper()
	_, err := tntsql.Eval(t.Context(), open(t), m, chunk, args...)
	var server *tntsql.Error
	require.ErrorAs(t, err, &server)
	return server
}

func TestErrorOfAReadOnlyInstanceHasItsReason(t *testing.T) {
	rs := sharedSet(t)
	err := raised(t, tntsql.ModeRO, "box.space._schema:delete{'nothing'}")
	assert.EqualValues(t, 7, err.Code)
	assert.Equal(t, "ER_READONLY", err.Name)
	assert.Equal(t, "ClientError", err.Type)
	assert.Equal(t, "ro", err.Instance.Role)
	assert.True(t, tntsql.IsReadOnly(err))
	require.Len(t, err.Stack, 1)
	assert.NotEmpty(t, err.Stack[0].File)
	assert.Positive(t, err.Stack[0].Line)
	assert.Equal(t, err.Fields, err.Stack[0].Fields)
	if rs.AtLeast(2, 10, 0) {
		assert.Equal(t, "config", err.Fields["reason"])
	} else {
		assert.NotContains(t, err.Fields, "reason")
	}
}

func TestErrorsOfUsersHaveTheirTypeAndFields(t *testing.T) {
	rs := sharedSet(t)
	err := raised(t, tntsql.ModeRW, "box.error{type = 'OutOfStock', code = 4711, reason = 'no more of it', item = 42, rare = true}")
	assert.EqualValues(t, 4711, err.Code)
	assert.Empty(t, err.Name, "the server has no name for the code")
	assert.Equal(t, "no more of it", err.Message)
	assert.Equal(t, "CustomError", err.Type)
	want := map[string]any{"custom_type": "OutOfStock"}
	if rs.AtLeast(3, 0, 0) {
		want["item"], want["rare"] = int64(42), true
	}
	assert.Equal(t, want, err.Fields)
	assert.Equal(t, "tntsql: no more of it (code 4711) from "+err.Instance.String(), err.Error())
}

func TestAnErrorShowsTheBeginningOfALongText(t *testing.T) {
	long := &tntsql.Error{Code: 32, Name: "ER_PROC_LUA", Message: strings.Repeat("x", 1<<20)}
	for _, err := range []error{long, &tntsql.BatchError{Err: long}, &tntsql.OutcomeUnknownError{Err: long}} {
		assert.Less(t, len(err.Error()), 5_000)
		assert.Contains(t, err.Error(), "xxx… (1048576 bytes in all) (ER_PROC_LUA, code 32)")
	}
}

func TestErrorsHaveTheirCauses(t *testing.T) {
	sharedSet(t)
	err := raised(t, tntsql.ModeRW, `
		local cause = box.error.new{type = 'Disk', code = 5, reason = 'the disk is full'}
		local middle = box.error.new{type = 'Log', code = 6, reason = 'cannot write'}
		local e = box.error.new{type = 'Shop', code = 7000, reason = 'cannot sell'}
		middle:set_prev(cause)
		e:set_prev(middle)
		e:raise()`)
	require.Len(t, err.Stack, 3)
	for i, want := range []struct {
		code    uint32
		message string
		typ     string
	}{{7000, "cannot sell", "Shop"}, {6, "cannot write", "Log"}, {5, "the disk is full", "Disk"}} {
		frame := err.Stack[i]
		assert.Equal(t, want.code, frame.Code)
		assert.Equal(t, want.message, frame.Message)
		assert.Equal(t, "CustomError", frame.Type)
		assert.Equal(t, want.typ, frame.Fields["custom_type"])
	}
	assert.EqualValues(t, 7000, err.Code, "what happened is the first")
	assert.Equal(t, "cannot sell", err.Message)
	assert.Equal(t, "Shop", err.Fields["custom_type"])
}

func TestErrorsOfLuaHaveAType(t *testing.T) {
	err := raised(t, tntsql.ModeRW, "error('no luck')")
	assert.Equal(t, "ER_PROC_LUA", err.Name)
	assert.Equal(t, "LuajitError", err.Type)
	assert.Contains(t, err.Message, "no luck")
}

func TestHintsOfTypesThatDoNotFit(t *testing.T) {
	rs := sharedSet(t)
	db := open(t, "read_mode=rw", "seq_scan=true")
	const bytesHint = "; pass a string for a STRING, and []byte for a VARBINARY"
	name := table(t, rs, "ID INTEGER PRIMARY KEY, S STRING, V VARBINARY")
	mustExec(t, db, "INSERT INTO "+name+" VALUES (1, 'a', x'00')")
	for _, c := range []struct {
		text string
		arg  any
		hint string
	}{
		{"INSERT INTO T (ID, S) VALUES (2, ?)", []byte("x"), bytesHint},
		{"INSERT INTO T (ID, V) VALUES (2, ?)", "x", bytesHint},
		{"UPDATE T SET S = ? WHERE ID = 1", []byte("x"), bytesHint},
		{"SELECT * FROM T WHERE S = ?", []byte("x"), bytesHint},
		{"SELECT * FROM T WHERE V = ?", "x", bytesHint},
		{"SELECT S || ? FROM T WHERE ID = 1", []byte("x"), bytesHint},
		{"INSERT INTO T (ID, S) VALUES (2, ?)", 5, ""},
		{"INSERT INTO T (ID) VALUES (?)", "x to decimal", ""},
	} {
		_, err := db.ExecContext(t.Context(), strings.Replace(c.text, " T ", " "+name+" ", 1), c.arg)
		var server *tntsql.Error
		require.ErrorAs(t, err, &server, c.text)
		assert.Equal(t, server.Message+" ("+server.Name+fmt.Sprintf(", code %d) from %s", server.Code, server.Instance)+c.hint, strings.TrimPrefix(err.Error(), "tntsql: "))
	}
	if !rs.AtLeast(2, 10, 0) {
		return
	}
	name = table(t, rs, "ID INTEGER PRIMARY KEY, C1 DECIMAL, C2 UUID, C3 DATETIME, C4 INTERVAL, C5 ARRAY, C6 MAP")
	for i, hint := range []string{"tntsql.Decimal", "tntsql.UUID", "time.Time", "tntsql.Interval", "tntsql.Doc", "by name: sql.Named and :name"} {
		_, err := db.ExecContext(t.Context(), fmt.Sprintf("INSERT INTO %s (ID, C%d) VALUES (1, ?)", name, i+1), "text")
		assert.ErrorContains(t, err, hint)
		assert.Regexp(t, `; pass a .*$`, err.Error())
	}
}

func TestHintsOfErrors(t *testing.T) {
	rs := sharedSet(t)
	if !rs.AtLeast(3, 0, 0) {
		t.Skipf("Tarantool %s scans tables freely and lets every user run SQL", rs.Version())
	}
	name := table(t, rs, "ID INTEGER PRIMARY KEY")
	lua(t, rs, 0, "box.schema.user.create('limited', {password = 'l', if_not_exists = true})")
	inStep(t, rs)
	for _, c := range []struct{ dsn, text, hint string }{
		{rs.DSN(), "SELECT * FROM " + name, "; write FROM SEQSCAN, or put seq_scan=true in the DSN"},
		{strings.Replace(rs.DSN(), "app:secret@", "", 1), "SELECT 1", "; the DSN names no user"},
		{strings.Replace(rs.DSN(), "app:secret", "limited:l", 1), "SELECT 1", "; an administrator grants it: box.schema.user.grant(user, 'execute', 'sql')"},
	} {
		db, _ := openDSN(t, c.dsn)
		_, err := db.ExecContext(t.Context(), c.text)
		assert.ErrorContains(t, err, c.hint)
	}
}

func TestHintOfNamesInUpperCase(t *testing.T) {
	const hint = "; Tarantool 2.x takes names without double quotes in upper case"
	rs := sharedSet(t)
	name := table(t, rs, "ID INTEGER PRIMARY KEY")
	db, _ := openDSN(t, rs.DSN())
	for text, hinted := range map[string]bool{
		"SELECT ID FROM lower_case WHERE ID = 1":           !rs.AtLeast(3, 0, 0),
		`SELECT ID FROM "lower_case" WHERE ID = 1`:         false,
		"SELECT lower_case FROM " + name + " WHERE ID = 1": !rs.AtLeast(3, 0, 0),
		"SELECT ID FROM UPPER_CASE WHERE ID = 1":           !rs.AtLeast(3, 0, 0),
	} {
		_, err := db.ExecContext(t.Context(), text)
		require.Error(t, err, text)
		assert.Equal(t, hinted, strings.HasSuffix(err.Error(), hint), err)
	}
}

func TestHintOfSeveralStatementsInAText(t *testing.T) {
	const hint = "; a text has one statement, ExecBatch takes several"
	db, _ := openDSN(t, sharedSet(t).DSN())
	for text, hinted := range map[string]bool{
		"SELECT 1; SELECT 2":                  true,
		"VALUES (1); create table x (id int)": true,
		"SELECT 1 AS INDEX":                   false,
		"SELECT 1 FROM":                       false,
	} {
		_, err := db.ExecContext(t.Context(), text)
		require.Error(t, err, text)
		assert.Equal(t, hinted, strings.HasSuffix(err.Error(), hint), err)
	}
}

func TestHintOfTheGrantThatUpdatesNeed(t *testing.T) {
	rs := sharedSet(t)
	name := table(t, rs, "ID INTEGER PRIMARY KEY")
	lua(t, rs, 0, `
		box.schema.user.create('writer', {password = 'w', if_not_exists = true})
		box.schema.user.grant('writer', 'read,write', 'space', ...)
		pcall(box.schema.user.grant, 'writer', 'execute', 'sql')`, name)
	db, _ := openDSN(t, strings.Replace(rs.DSN(), "app:secret", "writer:w", 1))
	mustExec(t, db, "INSERT INTO "+name+" VALUES (1)")
	_, err := db.ExecContext(t.Context(), "DELETE FROM "+name+" WHERE ID = 1")
	require.ErrorContains(t, err, "box.schema.user.grant(user, 'read', 'universe')")
	lua(t, rs, 0, "box.schema.user.grant('writer', 'read', 'universe')")
	eventually(t, "grant", func() bool {
		other, connector := openDSN(t, strings.Replace(rs.DSN(), "app:secret", "writer:w", 1))
		defer connector.Close()
		_, err = other.ExecContext(t.Context(), "DELETE FROM "+name+" WHERE ID = 1")
		return err == nil
	})
}

func TestAClosedHandle(t *testing.T) {
	db, connector := openDSN(t, sharedSet(t).DSN())
	conn, err := db.Conn(t.Context())
	require.NoError(t, err)
	require.NoError(t, conn.PingContext(t.Context()))
	require.NoError(t, connector.Close())
	require.NoError(t, connector.Close(), "again")

	assert.ErrorIs(t, conn.PingContext(t.Context()), tntsql.ErrClosed)
	_, err = conn.ExecContext(t.Context(), "SELECT 1")
	assert.ErrorIs(t, err, tntsql.ErrClosed)
	_, err = tntsql.Call(t.Context(), conn, tntsql.ModeRW, "who")
	assert.ErrorIs(t, err, tntsql.ErrClosed)
	require.NoError(t, conn.Close())

	assert.ErrorIs(t, db.PingContext(t.Context()), tntsql.ErrClosed)
	assert.ErrorIs(t, connector.WaitReady(t.Context(), tntsql.ModeAny), tntsql.ErrClosed)
	assert.Empty(t, connector.Topology().Instances)
}

// unfinished are requests that take longer than a test waits, and may write.
var unfinished = map[string]func(ctx context.Context, db tntsql.Execer) error{
	"CALL": func(ctx context.Context, db tntsql.Execer) error {
		_, err := tntsql.Call(ctx, db, tntsql.ModeRW, "pause", 5)
		return err
	},
	"EVAL": func(ctx context.Context, db tntsql.Execer) error {
		_, err := tntsql.Eval(ctx, db, tntsql.ModeRW, "return pause(...)", 5)
		return err
	},
	"write": func(ctx context.Context, db tntsql.Execer) error {
		_, err := db.ExecContext(ctx, "DELETE FROM NUMBERS WHERE ID = PAUSE(5)")
		return err
	},
	"read that calls a function": func(ctx context.Context, db tntsql.Execer) error {
		_, err := db.ExecContext(ctx, "SELECT PAUSE(5)")
		return err
	},
}

const createNumbers = "box.execute('CREATE TABLE IF NOT EXISTS NUMBERS (ID DOUBLE PRIMARY KEY)'); box.execute('INSERT INTO NUMBERS VALUES (1.5)')"

func requireOutcomeUnknown(t *testing.T, err, cause error, uuid string) {
	t.Helper()
	require.ErrorIs(t, err, tntsql.ErrOutcomeUnknown)
	var unknown *tntsql.OutcomeUnknownError
	require.ErrorAs(t, err, &unknown)
	assert.Equal(t, uuid, unknown.Instance.UUID)
	require.Error(t, unknown.Err)
	if cause != nil {
		assert.ErrorIs(t, err, cause)
	}
	assert.Equal(t, 1, strings.Count(err.Error(), "tntsql: "), err)
}

func TestADeadlineOfAWriteInFlightLeavesItsOutcomeUnknown(t *testing.T) {
	const deadline = 100 * time.Millisecond
	rs := sharedSet(t)
	lua(t, rs, 0, createNumbers)
	for name, run := range unfinished {
		t.Run(name, func(t *testing.T) {
			db := open(t)
			require.NoError(t, db.PingContext(withMode(t, tntsql.ModeRW)))
			requirePrompt(t, deadline, deadline+100*time.Millisecond, func() {
				err := run(within(t, deadline), db)
				requireOutcomeUnknown(t, err, context.DeadlineExceeded, rs.UUID(0))
			})
			assert.Equal(t, rs.UUID(0), served(t, withMode(t, tntsql.ModeRW), db), "others go on")
		})
	}
}

func TestACanceledWriteInFlightTellsTheCause(t *testing.T) {
	rs := sharedSet(t)
	lua(t, rs, 0, createNumbers)
	errOwn := errors.New("the user has left")
	for name, run := range unfinished {
		t.Run(name, func(t *testing.T) {
			before := pauses(t, rs)
			ctx, cancel := context.WithCancelCause(t.Context())
			db := open(t)
			ended := make(chan error, 1)
			go func() { ended <- run(ctx, db) }()
			eventually(t, "request in flight", func() bool { return pauses(t, rs) > before })
			cancel(errOwn)
			err := <-ended
			requireOutcomeUnknown(t, err, context.Canceled, rs.UUID(0))
			assert.ErrorIs(t, err, errOwn)
		})
	}
}

func TestTheEndOfAContextBeforeAnythingIsSentIsNoUnknownOutcome(t *testing.T) {
	db := open(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, tntsql.Raw(t.Context(), db, func(c *tntsql.Conn) error {
		_, call := c.Call(ctx, tntsql.ModeRW, "pause", 5)
		_, write := c.ExecContext(ctx, "DELETE FROM NUMBERS", nil)
		for _, err := range []error{call, write, c.Ping(ctx)} {
			assert.ErrorIs(t, err, context.Canceled)
			assert.NotErrorIs(t, err, tntsql.ErrOutcomeUnknown)
		}
		return nil
	}))
}

func TestRequestTimeoutIsForContextsWithoutADeadline(t *testing.T) {
	rs := sharedSet(t)
	db := open(t, "request_timeout=50ms")
	_, err := tntsql.Call(t.Context(), db, tntsql.ModeRW, "pause", 5)
	requireOutcomeUnknown(t, err, context.DeadlineExceeded, rs.UUID(0))
	_, err = tntsql.Call(within(t, time.Minute), db, tntsql.ModeRW, "pause", 0.2)
	assert.NoError(t, err)
}

func TestRequestTimeoutOfStatements(t *testing.T) {
	rs := tarantooltest.Start(t, tarantooltest.Instances(1))
	db, _ := openDSN(t, rs.DSN("read_mode=rw", "request_timeout=50ms"))
	name := table(t, rs, "ID INTEGER PRIMARY KEY")
	mustExec(t, db, "INSERT INTO "+name+" VALUES (1)")
	for range 3 { // by id at last
		require.Equal(t, int64(1), valueOf[int64](t, t.Context(), db, "SELECT ID FROM "+name+" WHERE ID = ?", 1))
	}
	require.NoError(t, rs.Stop(0))
	requirePrompt(t, 50*time.Millisecond, 150*time.Millisecond, func() {
		err := db.QueryRowContext(t.Context(), "SELECT ID FROM "+name+" WHERE ID = ?", 1).Scan(new(int))
		assert.ErrorContains(t, err, "no answer within request_timeout (50ms)")
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.NotErrorIs(t, err, tntsql.ErrOutcomeUnknown)
	})
	requirePrompt(t, 50*time.Millisecond, 150*time.Millisecond, func() {
		_, err := db.ExecContext(t.Context(), "INSERT INTO "+name+" VALUES (2)")
		requireOutcomeUnknown(t, err, context.DeadlineExceeded, rs.UUID(0))
	})
	require.NoError(t, rs.Continue(0))
}

func TestADeadlineOfAReadIsTheContextsErrorOnly(t *testing.T) {
	rs := tarantooltest.Start(t, tarantooltest.Instances(1))
	db, _ := openDSN(t, rs.DSN("read_mode=rw"))
	require.NoError(t, db.PingContext(t.Context()))
	require.NoError(t, rs.Stop(0))
	for _, text := range []string{"SELECT 1", "VALUES (UPPER('a'))", "EXPLAIN QUERY PLAN DELETE FROM NO_SUCH_TABLE"} {
		requirePrompt(t, 50*time.Millisecond, 150*time.Millisecond, func() {
			_, err := firstValue(within(t, 50*time.Millisecond), db, text)
			assert.ErrorIs(t, err, context.DeadlineExceeded, text)
			assert.NotErrorIs(t, err, tntsql.ErrOutcomeUnknown, text)
		})
	}
	require.NoError(t, rs.Continue(0))
}

func TestAConnectionLostUnderAWriteLeavesItsOutcomeUnknown(t *testing.T) {
	for name, run := range unfinished {
		t.Run(name, func(t *testing.T) {
			rs := ownSet(t, 1)
			lua(t, rs, 0, createNumbers)
			db, _ := openDSN(t, rs.DSN())
			ended := make(chan error, 1)
			go func() { ended <- run(t.Context(), db) }()
			eventually(t, "request in flight", func() bool { return pauses(t, rs) == 1 })
			rs.Kill(0)
			err := <-ended
			requireOutcomeUnknown(t, err, nil, rs.UUID(0))
			assert.Contains(t, err.Error(), fmt.Sprintf("tntsql: outcome unknown on %s: connection lost: ", rs.Addr(0)))
			assert.Contains(t, err.Error(), "; it may have been applied: look before sending it again")
		})
	}
}
