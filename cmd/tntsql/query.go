package main

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tntsql/tntsql"
	"github.com/tntsql/tntsql/internal/sqltext"
)

func (t *tool) queryCommand() *cobra.Command {
	var modeName string
	var out output
	cmd := &cobra.Command{
		Use:   "query [DSN] [SQL]",
		Short: "Run a statement: reads where the mode says, writes on the master",
		Long: `Run one SQL statement, and print its rows. Without SQL, or with "-" for it, the statement
is read from the standard input.

A read is served by an instance of --mode, a write by the master; while there is none, it
waits for one. Of a write, the result is one row: rows_affected and generated_ids.

Formats:
  table  NULL, an empty string as '', VARBINARY as x'00ff'; below, on stderr: how many rows
         there are, and which instance served them
  csv    with a line of column names; NULL is --null, VARBINARY is hexadecimal
  json   an object a line for each row; INTEGER and DECIMAL are numbers with all their
         digits, VARBINARY is a hexadecimal string

In all of them DATETIME is RFC 3339; ARRAY and MAP are JSON, with a DECIMAL in them as a
string. Rows of csv and json are printed one by one.`,
		Example: `  tntsql query tarantool://app@10.0.0.1,10.0.0.2/ "SELECT * FROM users WHERE id = 1"
  tntsql query "SELECT count(*) FROM users" --mode rw
  tntsql query "UPDATE users SET name = 'Ann' WHERE id = 1" --format json
  tntsql query --format csv < report.sql > report.csv
  tntsql query "SELECT * FROM SEQSCAN users" --format json | jq .name`,
		Args: atMost(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			mode, err := parseMode(modeName)
			if err != nil {
				return err
			}
			if err := out.check(); err != nil {
				return err
			}
			dsn := ""
			if len(args) == 2 || len(args) == 1 && isDSN(args[0]) {
				dsn, args = args[0], args[1:]
			}
			cfg, err := t.config(dsn)
			if err != nil {
				return err
			}
			text, err := t.statement(cmd.Context(), args)
			if err != nil {
				return err
			}
			return t.runQuery(cmd.Context(), cfg, text, mode, out)
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&modeName, "mode", "m", "", modeUsage)
	flags.StringVarP(&out.format, "format", "f", "table", "table, csv or json")
	flags.StringVar(&out.null, "null", "", "what csv has for NULL (default: nothing, as for an empty string)")
	return cmd
}

// statement is the argument or, without one, what the standard input has.
func (t *tool) statement(ctx context.Context, args []string) (string, error) {
	if len(args) == 1 && args[0] != "-" {
		return args[0], nil
	}
	if t.typed {
		fmt.Fprintln(t.err, "tntsql: type the statement; Ctrl-D at the beginning of a line ends it")
	} else {
		defer t.progress(func() string { return "waiting for a statement on the standard input" })()
	}
	text, err := readAll(ctx, t.in)
	if err != nil {
		return "", err
	}
	if strings.TrimSpace(text) == "" {
		return "", usagef("no statement: give it as an argument or on the standard input")
	}
	return text, nil
}

// readAll is io.ReadAll that does not outlast the context; what it reads from may.
func readAll(ctx context.Context, r io.Reader) (string, error) {
	type result struct {
		text []byte
		err  error
	}
	done := make(chan result, 1)
	go func() {
		text, err := io.ReadAll(r)
		done <- result{text, err}
	}()
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case got := <-done:
		return string(got.text), got.err
	}
}

func (t *tool) runQuery(ctx context.Context, cfg *tntsql.Config, text string, mode tntsql.Mode, out output) error {
	kind := sqltext.Parse(text).Kind
	switch {
	case kind != sqltext.Read && mode == tntsql.ModeRO:
		return usagef("--mode ro: this statement is no read, and writes go to the master: leave the mode out")
	case mode != 0:
		cfg.ReadMode = mode
	}
	c, err := connector(cfg)
	if err != nil {
		return err
	}
	db := sql.OpenDB(c)
	defer func() { _ = db.Close() }() // it never fails
	ctx, cancel := t.bounded(ctx)
	defer cancel()
	buffer := bufio.NewWriterSize(t.out, 64<<10)
	q := query{tool: t, connector: c, db: db, out: out.writer(buffer, t.style())}
	ctx, q.info = tntsql.Capture(ctx)
	var count int
	if kind == sqltext.Read {
		count, err = q.read(ctx, cfg.ReadMode, text)
	} else {
		count, err = q.write(ctx, text)
	}
	var refused *tntsql.Error
	if kind == sqltext.Unknown && errors.As(err, &refused) && severalStatements(text) {
		err = fmt.Errorf("%w; one statement at a time is run", err)
	}
	if flushErr := buffer.Flush(); err == nil {
		err = flushErr
	}
	if err == nil && out.format == "table" {
		q.summary(count)
	}
	return err
}

// severalStatements is a guess, for a text that the server has refused.
func severalStatements(text string) bool {
	return strings.Contains(strings.TrimRight(text, "; \t\r\n"), ";")
}

// query is one statement under way.
type query struct {
	*tool
	connector *tntsql.Connector
	db        *sql.DB
	info      *tntsql.Info
	out       rowWriter
}

// read prints the rows of a statement, and counts them.
func (q *query) read(ctx context.Context, mode tntsql.Mode, text string) (int, error) {
	stop := q.progress(func() string { return awaited(q.connector, mode) })
	rows, err := q.db.QueryContext(ctx, text)
	stop()
	if err != nil {
		return 0, err
	}
	return printRows(rows, q.out)
}

// write prints what became of a statement that has no rows, and counts those that it
// changed.
func (q *query) write(ctx context.Context, text string) (int, error) {
	stop := q.progress(func() string { return awaited(q.connector, tntsql.ModeRW) })
	result, err := q.db.ExecContext(ctx, text)
	stop()
	if err != nil {
		return 0, err
	}
	return printResult(result, q.info.GeneratedIDs, q.out)
}

// summary says on stderr how the statement was served.
func (q *query) summary(count int) {
	rows := "rows"
	if count == 1 {
		rows = "row"
	}
	fmt.Fprintf(q.err, "(%d %s from %s, %s, in %s)\n", count, rows, printable(q.info.Instance.String()), q.info.Instance.Role,
		span(q.info.Duration, true))
}

// printRows prints all rows, and closes them.
func printRows(rows *sql.Rows, w rowWriter) (count int, err error) {
	defer func() { _ = rows.Close() }() // what matters is in rows.Err
	types, err := rows.ColumnTypes()
	if err != nil {
		return 0, err
	}
	columns := make([]column, len(types))
	for i, t := range types {
		columns[i] = column{name: t.Name(), sqlType: t.DatabaseTypeName()}
	}
	if len(columns) == 0 {
		return 0, nil
	}
	if err := w.begin(columns); err != nil {
		return 0, err
	}
	values := make([]any, len(columns))
	targets := make([]any, len(columns))
	for i := range values {
		targets[i] = &values[i]
	}
	for ; rows.Next(); count++ {
		if err := rows.Scan(targets...); err != nil {
			return count, err
		}
		if err := w.row(values); err != nil {
			return count, err
		}
	}
	if err := rows.Err(); err != nil {
		return count, err
	}
	return count, w.end()
}

// printResult prints what became of a write as one row.
func printResult(result sql.Result, generated []int64, w rowWriter) (count int, err error) {
	affected, err := result.RowsAffected()
	if err != nil {
		return 0, err
	}
	ids := make([]any, len(generated))
	for i, id := range generated {
		ids[i] = id
	}
	if err := w.begin([]column{{"rows_affected", "INTEGER"}, {"generated_ids", "ARRAY"}}); err != nil {
		return 0, err
	}
	if err := w.row([]any{affected, ids}); err != nil {
		return 0, err
	}
	return int(affected), w.end()
}
