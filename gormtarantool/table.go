package gormtarantool

import (
	"fmt"
	"strings"
	"time"

	"gorm.io/gorm"
)

// table is what the server's system spaces say about one.
type table struct {
	id      int64
	name    string // as stored
	engine  string
	view    bool
	columns []column
	flags   map[string]any
}

type column struct {
	name     string // as stored
	typ      string // "integer"
	nullable bool
	def      *string // the default, without quotes
	raw      map[string]any
}

// index is one of a table's indexes.
type index struct {
	iid    int64
	name   string
	unique bool
	fields []int // of the table, from 0
}

// lookup reads a table's definition, nil if there is none of the name or the user may
// not see it.
func (d *Dialector) lookup(db *gorm.DB, name string) (*table, error) {
	rows, err := query(db, `SELECT "id", "engine", "flags", "format" FROM "_vspace" WHERE "name" = ?`, d.stored(name))
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	t := &table{name: d.stored(name)}
	t.id, _ = rows[0][0].(int64)
	t.engine, _ = rows[0][1].(string)
	t.flags = asMap(rows[0][2])
	t.view, _ = t.flags["view"].(bool)
	for _, field := range asList(rows[0][3]) {
		t.columns = append(t.columns, columnOf(asMap(field)))
	}
	return t, nil
}

func columnOf(raw map[string]any) column {
	c := column{raw: raw, nullable: true}
	c.name, _ = raw["name"].(string)
	c.typ, _ = raw["type"].(string)
	if nullable, ok := raw["is_nullable"].(bool); ok {
		c.nullable = nullable
	}
	if value := raw["default"]; value != nil {
		text := fmt.Sprint(value)
		if at, ok := value.(time.Time); ok {
			text = at.UTC().Format(time.RFC3339Nano)
		}
		// Before 3.0 it is SQL text.
		if n := len(text); n >= 2 && text[0] == '\'' && text[n-1] == '\'' {
			text = strings.ReplaceAll(text[1:n-1], "''", "'")
		}
		c.def = &text
	}
	return c
}

// field is the position of a column, -1 if the table has none of the name.
func (t *table) field(name string) int {
	for i, c := range t.columns {
		if c.name == name {
			return i
		}
	}
	return -1
}

// indexes reads those of a table, the primary key first.
func (t *table) indexes(db *gorm.DB) ([]index, error) {
	rows, err := query(db, `SELECT "iid", "name", "opts", "parts" FROM "_vindex" WHERE "id" = ? ORDER BY "iid"`, t.id)
	if err != nil {
		return nil, err
	}
	indexes := make([]index, len(rows))
	for i, row := range rows {
		indexes[i].iid, _ = row[0].(int64)
		indexes[i].name, _ = row[1].(string)
		indexes[i].unique, _ = asMap(row[2])["unique"].(bool)
		for _, part := range asList(row[3]) {
			number := asMap(part)["field"]
			if short := asList(part); len(short) > 0 { // made by an old Lua schema
				number = short[0]
			}
			field, _ := number.(int64)
			indexes[i].fields = append(indexes[i].fields, int(field))
		}
	}
	return indexes, nil
}

// generated is the position of the column with AUTOINCREMENT, -1 if there is none, or
// if the user may not know.
func (t *table) generated(db *gorm.DB, since211 bool) int {
	space := `"_space_sequence"`
	if since211 {
		space = `"_vspace_sequence"`
	}
	rows, err := query(db, `SELECT "field" FROM `+space+` WHERE "id" = ?`, t.id)
	if err != nil || len(rows) == 0 {
		return -1
	}
	field, ok := rows[0][0].(int64)
	if !ok {
		return -1
	}
	return int(field)
}

// query reads rows of system spaces, in dry runs too.
func query(db *gorm.DB, text string, args ...any) (all [][]any, err error) {
	tx := db.Session(&gorm.Session{NewDB: true})
	tx.DryRun = false
	rows, err := tx.Raw(text, args...).Rows()
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // Err has what matters
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	for rows.Next() {
		row := make([]any, len(columns))
		dst := make([]any, len(columns))
		for i := range row {
			dst[i] = &row[i]
		}
		if err := rows.Scan(dst...); err != nil {
			return nil, err
		}
		all = append(all, row)
	}
	return all, rows.Err()
}

func asMap(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

func asList(v any) []any {
	l, _ := v.([]any)
	return l
}
