package gormtarantool

import (
	"database/sql"
	"database/sql/driver"
	"reflect"
	"strings"

	"gorm.io/gorm/clause"
)

// The server knows (a, b) IN (VALUES (1, 2), (3, 4)), and not the shorter form that
// GORM writes.

// tupleRows are the rows of such a list.
type tupleRows struct {
	rows []reflect.Value
	bare bool // the parentheses around it are there
}

// Build writes the list.
func (t tupleRows) Build(builder clause.Builder) {
	if !t.bare {
		_ = builder.WriteByte('(')
	}
	_, _ = builder.WriteString("VALUES ")
	for i, row := range t.rows {
		if i > 0 {
			_ = builder.WriteByte(',')
		}
		_ = builder.WriteByte('(')
		for j := range row.Len() {
			if j > 0 {
				_ = builder.WriteByte(',')
			}
			builder.AddVar(builder, row.Index(j).Interface())
		}
		_ = builder.WriteByte(')')
	}
	if !t.bare {
		_ = builder.WriteByte(')')
	}
}

// tuplesOf finds the rows in a value that is a slice of slices.
func tuplesOf(v any) ([]reflect.Value, bool) {
	if _, ok := v.(driver.Valuer); ok || v == nil {
		return nil, false
	}
	rv := reflect.ValueOf(v)
	if rv.Kind() != reflect.Slice && rv.Kind() != reflect.Array || rv.Len() == 0 {
		return nil, false
	}
	rows := make([]reflect.Value, rv.Len())
	for i := range rows {
		row := rv.Index(i)
		if row.Kind() == reflect.Interface {
			row = row.Elem()
		}
		if row.Kind() != reflect.Slice && row.Kind() != reflect.Array || row.Len() < 2 || row.Type().Elem().Kind() == reflect.Uint8 {
			return nil, false
		}
		if _, ok := row.Interface().(driver.Valuer); ok {
			return nil, false
		}
		rows[i] = row
	}
	return rows, true
}

// tupleIn is clause.IN of several columns.
type tupleIn struct {
	column any
	rows   tupleRows
}

// Build writes the condition. The list alone would be looked for by a full scan of
// the table, so an index on the first column gets a condition of its own.
func (in tupleIn) Build(builder clause.Builder) {
	columns, ok := in.column.([]clause.Column)
	if !ok || len(columns) == 0 {
		in.build(builder, " IN ")
		return
	}
	_ = builder.WriteByte('(')
	builder.WriteQuoted(columns[0])
	_, _ = builder.WriteString(" IN (")
	for i, row := range in.rows.rows {
		if i > 0 {
			_ = builder.WriteByte(',')
		}
		builder.AddVar(builder, row.Index(0).Interface())
	}
	_, _ = builder.WriteString(") AND ")
	in.build(builder, " IN ")
	_ = builder.WriteByte(')')
}

// NegationBuild writes what Not makes of it.
func (in tupleIn) NegationBuild(builder clause.Builder) { in.build(builder, " NOT IN ") }

func (in tupleIn) build(builder clause.Builder, operator string) {
	builder.WriteQuoted(in.column)
	_, _ = builder.WriteString(operator)
	in.rows.Build(builder)
}

// withTuples are the values of a condition in raw SQL, with lists of rows in the
// server's form, and whether there are any.
func withTuples(text string, vars []any) ([]any, bool) {
	var changed []any
	at := 0
	for i, v := range vars {
		bare := false
		if next := strings.IndexByte(text[at:], '?'); next >= 0 {
			bare = strings.HasSuffix(text[:at+next], "(")
			at += next + 1
		}
		name, named := v.(sql.NamedArg)
		if named {
			v, bare = name.Value, strings.Contains(text, "(@"+name.Name)
		}
		rows, ok := tuplesOf(v)
		if !ok {
			continue
		}
		if changed == nil {
			changed = append(changed, vars...)
		}
		changed[i] = tupleRows{rows, bare}
		if named {
			changed[i] = sql.Named(name.Name, changed[i])
		}
	}
	if changed == nil {
		return vars, false
	}
	return changed, true
}
