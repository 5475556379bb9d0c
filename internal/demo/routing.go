package demo

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/tntsql/tntsql"
)

// step is one statement of the first table.
type step struct {
	text    string // of the statement or call
	because string // why it has the mode that it has
	run     func(ctx context.Context, db *sql.DB) error
}

const selectName = "SELECT name FROM city WHERE id = ?"

func exec(because, text string, args ...any) step {
	return step{text, because, func(ctx context.Context, db *sql.DB) error {
		_, err := db.ExecContext(ctx, text, args...)
		return err
	}}
}

func query(because, text string, args ...any) step {
	return step{text, because, func(ctx context.Context, db *sql.DB) error {
		var name string
		return db.QueryRowContext(ctx, text, args...).Scan(&name)
	}}
}

// with runs a step under a Mode in the context.
func with(m tntsql.Mode, s step) step {
	run := s.run
	s.run = func(ctx context.Context, db *sql.DB) error {
		return run(tntsql.WithMode(ctx, m), db)
	}
	return s
}

var schema = []step{
	exec("a write", "CREATE TABLE city (id INT PRIMARY KEY, name STRING)"),
	exec("a write", "INSERT INTO city VALUES (?, ?), (?, ?)", 1, "Tula", 2, "Omsk"),
}

var statements = []step{
	query("read_mode of the DSN", selectName, 1),
	query("the same", selectName, 1),
	query("the same", selectName, 1),
	with(tntsql.ModeRW, query("WithMode(ModeRW)", selectName, 1)),
	with(tntsql.ModeRO, query("WithMode(ModeRO)", selectName, 1)),
	with(tntsql.ModePreferRO, query("WithMode(ModePreferRO)", selectName, 1)),
	query("hint in the text", "/*+ mode=rw */ "+selectName, 1),
	exec("Exec, for its effects", selectName, 1),
	exec("a write", "/* a SELECT? */ insert into city values (3, 'Orsk')"),
	with(tntsql.ModePreferRO, exec("a write, despite WithMode", "UPDATE city SET name = ? WHERE id = ?", "Perm", 2)),
	{"tntsql.Call(…, ModeRO, \"box.info\")", "the caller knows", func(ctx context.Context, db *sql.DB) error {
		_, err := tntsql.Call(ctx, db, tntsql.ModeRO, "box.info")
		return err
	}},
	{"conn.Raw: Eval(…, ModeRW, \"return …\")", "the caller knows", func(ctx context.Context, db *sql.DB) error {
		conn, err := db.Conn(ctx)
		if err != nil {
			return err
		}
		err = conn.Raw(func(dc any) error {
			_, err := dc.(*tntsql.Conn).Eval(ctx, tntsql.ModeRW, "return box.info.ro")
			return err
		})
		return errors.Join(err, conn.Close())
	}},
	{"db.PingContext(ctx)", "read_mode of the DSN", func(ctx context.Context, db *sql.DB) error { return db.PingContext(ctx) }},
}

// showRouting runs statements and shows which instance served each, and why.
func (d *demo) showRouting(ctx context.Context) error {
	d.out.title("1. Which instance serves a statement, and why")
	d.showInstances()
	var rows [][]cell
	add := func(steps []step) error {
		for _, s := range steps {
			row, err := d.serve(ctx, s)
			if err != nil {
				return err
			}
			rows = append(rows, row)
		}
		return nil
	}
	if err := add(schema); err != nil {
		return err
	}
	if err := d.replicated(ctx); err != nil {
		return err
	}
	if err := add(statements); err != nil {
		return err
	}
	d.out.table([]string{"STATEMENT", "KIND", "MODE", "WHY THIS MODE", "SERVED BY", "SENT", "TIME"}, rows)

	if _, err := d.db.ExecContext(ctx, "COMMIT"); !errors.Is(err, tntsql.ErrSessionStatement) {
		return fmt.Errorf("demo: COMMIT was not refused: %w", err)
	}
	d.out.printf("\n  %s\n", d.out.paint(faint, "COMMIT as a text is refused before it is sent (ErrSessionStatement): all sessions share the connections."))
	return nil
}

func (d *demo) showInstances() {
	master := d.rs.Master()
	for i := range d.rs.Len() {
		role := cell{text: "ro", style: readOnly}
		if i == master {
			role = cell{text: "rw", style: readWrite}
		}
		d.out.printf("  %s  %s  %s\n", letter(i), d.out.paint(role.style, role.text), d.rs.Addr(i))
	}
	d.out.printf("\n")
}

// serve runs a step and tells in a row of the table how it went.
func (d *demo) serve(ctx context.Context, s step) ([]cell, error) {
	ctx, info := tntsql.Capture(ctx)
	if err := s.run(ctx, d.db); err != nil {
		return nil, fmt.Errorf("%s: %w", s.text, err)
	}
	return []cell{
		{text: short(s.text)},
		{text: info.Kind.String()},
		{text: info.Mode.String()},
		{text: s.because},
		d.servedBy(info.Instance),
		number(info.Attempts),
		duration(info.Duration),
	}, nil
}

func (d *demo) servedBy(in tntsql.InstanceRef) cell {
	c := cell{text: d.name(in.Address) + "  " + in.Role, style: readOnly}
	if in.Role == "rw" {
		c.style = readWrite
	}
	return c
}

// short is a text that leaves room for the other columns.
func short(text string) string {
	const most = 38
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}
