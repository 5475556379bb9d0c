package faults

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/tntsql/tntsql"
	"github.com/tntsql/tntsql/tarantooltest"
)

// injections are texts that would do something if they were part of a statement.
var injections = []string{
	"'", "''", `"`, "\\", "\\'", ";", "--", "/*", "*/", "?", "$1", ":id", "@id", "%s", "\x00", "\r\n", "\xff\xfe",
	"'; DROP TABLE SECRETS; --",
	"' OR '1'='1",
	"1); DELETE FROM SECRETS; --",
	"x' UNION SELECT S FROM SECRETS --",
	"/*+ mode=rw */",
	"*/ /*+ mode=rw */ SELECT",
	"COMMIT", "START TRANSACTION", "SET SESSION \"sql_seq_scan\" = true",
	"') ; box.cfg{read_only=false} --",
	"${jndi}", strings.Repeat("'", 10_000), strings.Repeat("A", 500_000),
}

var parameters = Scenario{
	Name:     "parameters",
	What:     "texts that would change a statement are its parameters, by position and by name, of queries, calls and batches",
	Promises: []Promise{NoInjection},
	Run: func(t *Trial) error {
		set, err := t.Start(tarantooltest.Instances(2))
		if err != nil {
			return err
		}
		if _, err := set.Lua(0, `
			box.execute('CREATE TABLE SECRETS (ID INTEGER PRIMARY KEY, S STRING)')
			box.space.SECRETS:insert{1, 'secret'}`); err != nil {
			return err
		}
		cfg, err := tntsql.ParseDSN(set.DSN("read_mode=ro"))
		if err != nil {
			return err
		}
		p := &parameterized{trial: t, text: make(map[string]int)}
		cfg.Trace = &tntsql.Trace{Start: p.start}
		db, connector, err := t.Open(cfg)
		if err != nil {
			return err
		}
		if err := ready(connector); err != nil {
			return err
		}
		for i, injection := range injections {
			p.use(db, i, injection)
		}
		var left int
		err = db.QueryRowContext(tntsql.WithMode(context.Background(), tntsql.ModeRW), "SELECT COUNT(*) FROM SECRETS WHERE ID > 0").Scan(&left)
		if err != nil || left != 1+len(injections) {
			t.Violation(NoInjection, "there are %d rows, %v", left, err)
		}
		return nil
	},
}

// parameterized has noted each text that went to a server.
type parameterized struct {
	trial *Trial
	text  map[string]int
}

func (p *parameterized) start(_ context.Context, s tntsql.TraceStart) { p.text[s.Query]++ }

// use has the text be a parameter everywhere.
func (p *parameterized) use(db *sql.DB, n int, text string) {
	p.trial.Count(0, 1)
	ctx, info := tntsql.Capture(context.Background())
	for _, query := range []struct {
		sql string
		arg any
	}{
		{"SELECT S FROM SECRETS WHERE S = ? AND ID > 0", text},
		{"SELECT S FROM SECRETS WHERE S = :s AND ID > 0", sql.Named("s", text)},
		{"SELECT S FROM SECRETS WHERE S = $1 AND ID > 0", text},
	} {
		var s string
		clear(p.text)
		err := db.QueryRowContext(ctx, query.sql, query.arg).Scan(&s)
		p.trial.Count(1, 0)
		if !errors.Is(err, sql.ErrNoRows) {
			p.trial.Violation(NoInjection, "parameter %d found %q: %v", n, s, err)
		}
		if p.text[query.sql] == 0 || len(p.text) != 1 {
			p.trial.Violation(NoInjection, "parameter %d changed the text: %q", n, p.text)
		}
		if info.Mode != tntsql.ModeRO || info.Instance.Role != "ro" {
			p.trial.Violation(NoInjection, "parameter %d changed the route: %v, %v", n, info.Mode, info.Instance)
		}
	}
	p.roundTrip(ctx, info, db, n, text)
}

// roundTrip stores the text, and has it come back by all ways.
func (p *parameterized) roundTrip(ctx context.Context, info *tntsql.Info, db *sql.DB, n int, text string) {
	p.trial.Count(2, 0)
	_, err := db.ExecContext(ctx, "INSERT INTO SECRETS VALUES (?, ?)", n+2, text)
	if err != nil || info.Instance.Role != "rw" {
		p.trial.Violation(NoInjection, "parameter %d was not stored: %v, on %v", n, err, info.Instance)
	}
	var s string
	rw := tntsql.WithMode(ctx, tntsql.ModeRW)
	if err := db.QueryRowContext(rw, "SELECT S FROM SECRETS WHERE ID = ?", n+2).Scan(&s); err != nil || s != text {
		p.trial.Violation(NoInjection, "parameter %d came back as %.100q: %v", n, s, err)
	}
	p.called(ctx, info, db, n, text)
	p.batched(ctx, db, n, text)
}

// called has a procedure and a chunk give the text back.
func (p *parameterized) called(ctx context.Context, info *tntsql.Info, db *sql.DB, n int, text string) {
	for name, call := range map[string]func() (*tntsql.Reply, error){
		"chunk":     func() (*tntsql.Reply, error) { return tntsql.Eval(ctx, db, tntsql.ModeRO, "return ...", text) },
		"procedure": func() (*tntsql.Reply, error) { return tntsql.Call(ctx, db, tntsql.ModeRO, "tostring", text) },
	} {
		p.trial.Count(1, 0)
		reply, err := call()
		if err != nil || fmt.Sprint(reply.Values()...) != text || info.Instance.Role != "ro" {
			p.trial.Violation(NoInjection, "parameter %d of a %s: %.200v, on %v", n, name, err, info.Instance)
		}
	}
}

// batched has a batch read the text and store it, and then another in its place: it must
// not be found by what comes after it.
func (p *parameterized) batched(ctx context.Context, db *sql.DB, n int, text string) {
	p.trial.Count(1, 0)
	text += "." // which it has not been before
	results, err := tntsql.ExecBatch(ctx, db,
		tntsql.Query{SQL: "UPDATE SECRETS SET S = :s WHERE ID = :id", Args: []any{sql.Named("id", n+2), sql.Named("s", text)}},
		tntsql.Query{SQL: "SELECT S FROM SECRETS WHERE S = ? AND ID = ?", Args: []any{text, n + 2}},
		tntsql.Query{SQL: "UPDATE SECRETS SET S = ? WHERE ID = ?", Args: []any{fmt.Sprint("stored ", n), n + 2}},
	)
	if err != nil {
		p.trial.Violation(NoInjection, "parameter %d of a batch: %.200v", n, err)
		return
	}
	if rows := results[1].Rows; len(rows) != 1 || rows[0][0] != text {
		p.trial.Violation(NoInjection, "parameter %d of a batch came back as %.100q", n, rows)
	}
}
