package gormtarantool

import (
	"database/sql"
	"errors"
	"slices"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/tntsql/tntsql"
)

var (
	errConstraintTarget = errors.New("gormtarantool: OnConflict.OnConstraint is not supported: name the columns")
	errNoTarget         = errors.New("gormtarantool: OnConflict needs columns, or a model with a primary key")
)

// upsert updates the rows that are there and inserts the others: the server has no
// ON CONFLICT, and its INSERT OR REPLACE loses columns and generates no ids.
func (c *creation) upsert(conflict clause.OnConflict) error {
	target, err := c.target(conflict)
	if err != nil {
		return err
	}
	var rest []int
	for row := range c.values.Values {
		updated, err := c.update(conflict, target, row)
		if err != nil {
			return err
		}
		if !updated {
			rest = append(rest, row)
		}
	}
	if len(rest) == 0 {
		return nil
	}
	violation := c.insert(rest)
	return c.oneByOne(rest, violation, func(row int, violation error) error {
		updated, err := c.update(conflict, target, row)
		if err != nil || updated {
			return err
		}
		// OnConflict's own condition may leave the row as it is.
		return c.unlessThere(target, row, violation)
	})
}

// unlessThere is the violation, unless it is of the key that OnConflict names.
func (c *creation) unlessThere(target []int, row int, violation error) error {
	key := c.key(target, row)
	if key == nil {
		return violation
	}
	there, err := c.exists(key, row)
	if err != nil || there {
		return err
	}
	return violation
}

// oneByOne does what an INSERT of several rows could not, because one of them is there
// already: settle decides about each that is.
func (c *creation) oneByOne(rows []int, violation error, settle func(row int, violation error) error) error {
	if !tntsql.IsUniqueViolation(violation) {
		return violation
	}
	if len(rows) == 1 {
		return settle(rows[0], violation)
	}
	for i, row := range rows {
		err := c.insert(rows[i : i+1])
		if tntsql.IsUniqueViolation(err) {
			err = settle(row, err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// target are the positions of the columns that decide whether a row is there: -1 for
// one that has no value.
func (c *creation) target(conflict clause.OnConflict) ([]int, error) {
	if conflict.OnConstraint != "" {
		return nil, errConstraintTarget
	}
	var names []string
	for _, column := range conflict.Columns {
		names = append(names, column.Name)
	}
	if stmt := c.db.Statement; len(names) == 0 && stmt.Schema != nil {
		names = stmt.Schema.PrimaryFieldDBNames
	}
	if len(names) == 0 {
		return nil, errNoTarget
	}
	target := make([]int, len(names))
	for i, name := range names {
		target[i] = c.column(name)
	}
	return target, nil
}

func (c *creation) column(name string) int {
	return slices.IndexFunc(c.values.Columns, func(column clause.Column) bool { return column.Name == name })
}

// key is the condition that finds a row, nil if the row has no key yet.
func (c *creation) key(target []int, row int) []clause.Expression {
	key := make([]clause.Expression, len(target))
	for i, column := range target {
		if column < 0 {
			return nil
		}
		value := c.values.Values[row][column]
		if _, generated := value.(clause.Expression); generated || value == nil {
			return nil
		}
		key[i] = clause.Eq{Column: c.values.Columns[column], Value: value}
	}
	return key
}

// update does what OnConflict says to a row that is there, and tells whether it is.
func (c *creation) update(conflict clause.OnConflict, target []int, row int) (bool, error) {
	key := c.key(target, row)
	if key == nil {
		return false, nil
	}
	set := c.assignments(conflict.DoUpdates, target, row)
	if len(set) == 0 {
		return c.exists(key, row)
	}
	c.next()
	stmt := c.db.Statement
	where, _ := conditions(stmt, conflict.Where.Exprs)
	_, _ = stmt.WriteString("UPDATE ")
	stmt.WriteQuoted(clause.Table{Name: clause.CurrentTable})
	_, _ = stmt.WriteString(" SET ")
	converted(stmt, set).Build(stmt)
	_, _ = stmt.WriteString(" WHERE ")
	clause.Where{Exprs: append(slices.Clone(key), where...)}.Build(stmt)
	if stmt.Error != nil {
		return false, stmt.Error
	}
	before := c.affected
	if _, _, err := c.exec(false); err != nil {
		return false, err
	}
	if c.affected == before {
		return false, nil
	}
	return true, c.fetchID(key, row)
}

// assignments are OnConflict's for a row: a column of "excluded" is the row's own
// value. Those of the key are left out, which they would not change: the server
// updates no primary key.
func (c *creation) assignments(updates clause.Set, target []int, row int) clause.Set {
	var set clause.Set
	for _, a := range updates {
		excluded, ok := a.Value.(clause.Column)
		if !ok || excluded.Table != "excluded" {
			set = append(set, a)
			continue
		}
		column := c.column(excluded.Name)
		if column < 0 || slices.Contains(target, column) && excluded.Name == a.Column.Name {
			continue
		}
		set = append(set, clause.Assignment{Column: a.Column, Value: c.values.Values[row][column]})
	}
	return set
}

// exists looks for a row, and takes its id.
func (c *creation) exists(key []clause.Expression, row int) (bool, error) {
	column, wanted := "1", len(c.ids.missing([]int{row})) > 0 && c.ids.field != nil
	if wanted {
		column = c.db.Statement.Quote(c.ids.field.DBName)
	}
	stmt := c.db.Statement
	tx := c.db.Session(&gorm.Session{NewDB: true, Context: tntsql.WithMode(stmt.Context, tntsql.ModeRW)}).
		Table(stmt.Table).Select(column)
	for _, condition := range key {
		tx = tx.Where(condition)
	}
	rows, err := tx.Rows()
	if err != nil {
		return false, err
	}
	var id int64
	err = scanOne(rows, &id)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return false, nil
	case err == nil && wanted:
		err = c.ids.set(row, id)
	}
	return err == nil, err
}

// fetchID takes the id of a row that was updated by another key.
func (c *creation) fetchID(key []clause.Expression, row int) error {
	if len(c.ids.missing([]int{row})) == 0 || c.ids.field == nil {
		return nil
	}
	_, err := c.exists(key, row)
	return err
}
