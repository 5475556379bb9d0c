package gormtarantool

import (
	"fmt"
	"reflect"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/tntsql/tntsql"
)

// insertMissing inserts the rows that are not there. The server's INSERT OR IGNORE is
// of no use: it keeps quiet about every error, a foreign key's too.
func (c *creation) insertMissing(conflict clause.OnConflict) error {
	target, err := c.target(conflict)
	named := conflict.OnConstraint != "" || len(conflict.Columns) > 0
	if err != nil && named {
		return err
	}
	rows := c.all()
	violation := c.insert(rows)
	if tntsql.IsUniqueViolation(violation) && len(rows) > 1 && target != nil {
		rest, err := c.absent(target, rows)
		switch {
		case err != nil:
			return err
		case len(rest) == 0:
			return nil
		case len(rest) < len(rows):
			rows, violation = rest, c.insert(rest)
		}
	}
	return c.oneByOne(rows, violation, func(row int, violation error) error {
		if !named {
			return nil
		}
		return c.unlessThere(target, row, violation)
	})
}

// absent leaves out the rows whose key is there, found in one query. Only keys of
// integers and strings are compared; the other rows may be there or not.
func (c *creation) absent(target, rows []int) ([]int, error) {
	keys := map[string]bool{}
	var values []any
	for _, row := range rows {
		if key, text, ok := c.plainKey(target, row); ok && !keys[text] {
			keys[text] = false
			values = append(values, key)
		}
	}
	if len(values) == 0 {
		return rows, nil
	}
	stmt := c.db.Statement
	columns := make([]clause.Column, len(target))
	for i, column := range target {
		columns[i] = c.values.Columns[column]
	}
	in := clause.IN{Column: columns, Values: values}
	if len(columns) == 1 {
		in.Column = columns[0]
	}
	tx := c.db.Session(&gorm.Session{NewDB: true, Context: tntsql.WithMode(stmt.Context, tntsql.ModeRW)})
	found, err := tx.Table(stmt.Table).Clauses(clause.Select{Columns: columns}).Where(in).Rows()
	if err != nil {
		return nil, err
	}
	defer found.Close() //nolint:errcheck // Err has what matters
	key := make([]any, len(columns))
	dst := make([]any, len(columns))
	for i := range key {
		dst[i] = &key[i]
	}
	for found.Next() {
		if err := found.Scan(dst...); err != nil {
			return nil, err
		}
		keys[keyText(key)] = true
	}
	if err := found.Err(); err != nil {
		return nil, err
	}
	var rest []int
	for _, row := range rows {
		if _, text, ok := c.plainKey(target, row); !ok || !keys[text] {
			rest = append(rest, row)
		}
	}
	return rest, nil
}

// plainKey is the key of a row for clause.IN, and its text.
func (c *creation) plainKey(target []int, row int) (value any, text string, ok bool) {
	key := make([]any, len(target))
	for i, column := range target {
		if column < 0 {
			return nil, "", false
		}
		v := reflect.Indirect(reflect.ValueOf(c.values.Values[row][column]))
		switch {
		case v.Kind() == reflect.String:
			key[i] = v.String()
		case v.CanInt():
			key[i] = v.Int()
		case v.CanUint():
			key[i] = v.Uint()
		default:
			return nil, "", false
		}
	}
	if len(key) == 1 {
		return key[0], keyText(key), true
	}
	return key, keyText(key), true
}

// keyText is the same for keys that are equal, whatever their Go types.
func keyText(key []any) string {
	var b strings.Builder
	for _, v := range key {
		fmt.Fprintf(&b, "%q,", fmt.Sprint(v))
	}
	return b.String()
}
