package main

import (
	"encoding/csv"
	"fmt"
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// output is how rows are printed.
type output struct {
	format string
	null   string // of csv
}

func (o output) check() error {
	switch o.format {
	case "csv":
		return nil
	case "table", "json":
		if o.null != "" {
			return usagef("--null is for --format csv")
		}
		return nil
	}
	return usagef("--format %q: want table, csv or json", o.format)
}

func (o output) writer(w io.Writer, s style) rowWriter {
	switch o.format {
	case "csv":
		return &csvWriter{w: csv.NewWriter(w), null: o.null}
	case "json":
		return &jsonWriter{w: w}
	}
	return &tableWriter{w: w, style: s}
}

type column struct {
	name    string
	sqlType string // in upper case
}

// numeric tells that the column holds numbers only: a string in it is a decimal.
func (c column) numeric() bool {
	switch c.sqlType {
	case "INTEGER", "UNSIGNED", "DOUBLE", "DECIMAL", "NUMBER":
		return true
	}
	return false
}

// rowWriter prints the rows of one result. The values of a row are not kept.
type rowWriter interface {
	begin(columns []column) error
	row(values []any) error
	end() error
}

// csvWriter prints CSV as RFC 4180 has it, but with lines that end in "\n".
type csvWriter struct {
	w      *csv.Writer
	null   string
	fields []string
}

func (c *csvWriter) begin(columns []column) error {
	c.fields = make([]string, len(columns))
	for i, col := range columns {
		c.fields[i] = col.name
	}
	return c.w.Write(c.fields)
}

func (c *csvWriter) row(values []any) error {
	for i, v := range values {
		if v == nil {
			c.fields[i] = c.null
		} else {
			c.fields[i] = plainText(v)
		}
	}
	return c.w.Write(c.fields)
}

func (c *csvWriter) end() error {
	c.w.Flush()
	return c.w.Error()
}

// jsonWriter prints an object a line.
type jsonWriter struct {
	w       io.Writer
	columns []column
	keys    [][]byte
	line    []byte
}

func (j *jsonWriter) begin(columns []column) error {
	seen := make(map[string]bool, len(columns))
	for _, c := range columns {
		if seen[c.name] {
			return fmt.Errorf("two columns are named %q, which an object cannot have: name one of them by AS", c.name)
		}
		seen[c.name] = true
		j.keys = append(j.keys, append(appendJSONString(nil, c.name), ':'))
	}
	j.columns = columns
	return nil
}

func (j *jsonWriter) row(values []any) error {
	line := append(j.line[:0], '{')
	for i, v := range values {
		if i > 0 {
			line = append(line, ',')
		}
		line = append(line, j.keys[i]...)
		if number, ok := v.(string); ok && j.columns[i].numeric() {
			line = appendJSONNumber(line, number)
		} else {
			line = appendJSON(line, v)
		}
	}
	j.line = append(line, '}', '\n')
	_, err := j.w.Write(j.line)
	return err
}

func (*jsonWriter) end() error { return nil }

// tableWriter gathers the rows: the widths of the columns are those of all.
type tableWriter struct {
	w     io.Writer
	style style
	table table.Writer
}

func (t *tableWriter) begin(columns []column) error {
	t.table = newTable(style{color: t.style.color}) // of any width: nothing is cut
	heads := make(table.Row, len(columns))
	configs := make([]table.ColumnConfig, len(columns))
	for i, c := range columns {
		heads[i] = t.style.paint(text.Colors{text.Bold}, printable(c.name))
		configs[i] = table.ColumnConfig{Number: i + 1}
		if c.numeric() {
			configs[i].Align, configs[i].AlignHeader = text.AlignRight, text.AlignRight
		}
	}
	t.table.AppendHeader(heads)
	t.table.SetColumnConfigs(configs)
	return nil
}

func (t *tableWriter) row(values []any) error {
	cells := make(table.Row, len(values))
	for i, v := range values {
		cells[i] = t.cell(v)
	}
	t.table.AppendRow(cells)
	return nil
}

func (t *tableWriter) end() error {
	_, err := io.WriteString(t.w, t.table.Render()+"\n")
	return err
}

// cell tells NULL, an empty string and the strings that read like one of them apart.
func (t *tableWriter) cell(v any) string {
	switch v := v.(type) {
	case nil:
		return t.style.paint(text.Colors{text.Faint}, "NULL")
	case []byte:
		return "x'" + plainText(v) + "'"
	case string:
		if v == "" || v == "NULL" || strings.HasPrefix(v, "'") || strings.HasPrefix(v, "x'") {
			v = "'" + strings.ReplaceAll(v, "'", "''") + "'"
		}
		return printable(v)
	}
	return printable(plainText(v))
}
