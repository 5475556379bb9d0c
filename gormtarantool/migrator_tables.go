package gormtarantool

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"
)

// HasTable tells whether a table of the name, or of the model, is there.
func (m Migrator) HasTable(value any) bool {
	has := false
	_ = m.RunWithValue(value, func(stmt *gorm.Statement) error {
		t, err := m.dialector.lookup(m.DB, stmt.Table)
		has = t != nil && !t.view
		return err
	})
	return has
}

// firstUserSpace is the lowest id of a space that is not the system's.
const firstUserSpace = 512

// GetTables lists the tables that the user may see.
func (m Migrator) GetTables() ([]string, error) {
	rows, err := query(m.DB, `SELECT "name", "flags" FROM "_vspace" WHERE "id" >= ?`, firstUserSpace)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, row := range rows {
		if view, _ := asMap(row[1])["view"].(bool); view {
			continue
		}
		name, _ := row[0].(string)
		names = append(names, m.dialector.known(name))
	}
	return names, nil
}

// CreateTable creates models' tables with their indexes and constraints. If a part
// fails, the table is dropped again. A model without a primary key gets a generated
// one in a column of its own, "_rowid".
func (m Migrator) CreateTable(values ...any) error {
	for _, value := range m.ReorderModels(values, false) {
		if err := m.RunWithValue(value, func(stmt *gorm.Statement) error {
			return m.createTable(stmt, value)
		}); err != nil {
			return err
		}
	}
	return nil
}

func (m Migrator) createTable(stmt *gorm.Statement, value any) error {
	if stmt.Schema == nil {
		return errors.New("failed to get schema")
	}
	d := &definition{migrator: m, stmt: stmt}
	if err := d.add(); err != nil {
		return err
	}
	text := "CREATE TABLE ? (" + strings.Join(d.parts, ",") + ")"
	if option, ok := m.DB.Get("gorm:table_options"); ok {
		text += " " + strings.TrimSpace(fmt.Sprint(option))
	}
	if err := m.exec(text, append([]any{m.CurrentTable(stmt)}, d.values...)...); err != nil {
		return err
	}
	err := func() error {
		for _, idx := range stmt.Schema.ParseIndexes() {
			if err := m.DB.Migrator().CreateIndex(value, idx.Name); err != nil {
				return err
			}
		}
		for _, field := range d.defaults {
			if err := m.AlterColumn(value, field.DBName); err != nil {
				return err
			}
		}
		for _, key := range d.keys {
			if err := m.indexForeignKey(stmt.Table, key); err != nil {
				return err
			}
		}
		return nil
	}()
	if err != nil {
		return errors.Join(err, m.dropTable(stmt))
	}
	return nil
}

// definition is what stands between the parentheses of a CREATE TABLE.
type definition struct {
	migrator Migrator
	stmt     *gorm.Statement
	parts    []string
	values   []any
	keys     []*schema.Constraint
	defaults []*schema.Field // for later
}

func (d *definition) part(text string, values ...any) {
	d.parts = append(d.parts, text)
	d.values = append(d.values, values...)
}

func (d *definition) add() error {
	s := d.stmt.Schema
	declaresKey, err := d.columns()
	if err != nil {
		return err
	}
	if !declaresKey {
		d.primaryKey()
	}
	uniques := s.ParseUniqueConstraints()
	for _, name := range slices.Sorted(maps.Keys(uniques)) {
		unique := uniques[name]
		text, values := unique.Build()
		d.part(text, values...)
	}
	checks := s.ParseCheckConstraints()
	for _, name := range slices.Sorted(maps.Keys(checks)) {
		check := checks[name]
		text, values := check.Build()
		d.part(text, values...)
	}
	if config := d.migrator.DB.Config; config.DisableForeignKeyConstraintWhenMigrating || config.IgnoreRelationshipsWhenMigrating {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(s.Relationships.Relations)) {
		rel := s.Relationships.Relations[name]
		if rel.Field.IgnoreMigration {
			continue
		}
		if key := rel.ParseConstraint(); key != nil && key.Schema == s {
			if key = d.migrator.supported(key); key == nil {
				continue
			}
			text, values := key.Build()
			d.part(text, values...)
			d.keys = append(d.keys, key)
		}
	}
	return nil
}

// columns tells whether one of them declares the primary key.
func (d *definition) columns() (declaresKey bool, err error) {
	m := d.migrator
	for _, name := range d.stmt.Schema.DBNames {
		field := d.stmt.Schema.FieldsByDBName[name]
		if field.IgnoreMigration {
			continue
		}
		declared := m.DataTypeOf(field)
		if err := m.dialector.supports(field, declared); err != nil {
			return false, err
		}
		if m.timeDefault(field) {
			d.defaults = append(d.defaults, field)
		}
		declaresKey = declaresKey || strings.Contains(strings.ToUpper(declared), "PRIMARY KEY")
		d.part("? ?", clause.Column{Name: name}, m.DB.Migrator().FullDataTypeOf(field))
	}
	return declaresKey, nil
}

// hiddenKey is the primary key of a table whose model has none: every table of the
// server needs one. GORM neither reads nor writes it.
const hiddenKey = "_rowid"

func (d *definition) primaryKey() {
	s := d.stmt.Schema
	if len(s.PrimaryFields) == 0 {
		d.part("? INTEGER PRIMARY KEY AUTOINCREMENT", clause.Column{Name: hiddenKey})
		return
	}
	columns := make([]string, len(s.PrimaryFields))
	generated := generatedField(s)
	for i, field := range s.PrimaryFields {
		columns[i] = d.stmt.Quote(field.DBName)
		if field == generated {
			columns[i] += " AUTOINCREMENT"
		}
	}
	d.part("PRIMARY KEY (" + strings.Join(columns, ",") + ")")
}

// DropTable drops tables, and foreign keys of other tables that refer to them.
func (m Migrator) DropTable(values ...any) error {
	values = m.ReorderModels(values, false)
	for _, value := range slices.Backward(values) {
		if err := m.RunWithValue(value, m.dropTable); err != nil {
			return err
		}
	}
	return nil
}

func (m Migrator) dropTable(stmt *gorm.Statement) error {
	t, err := m.dialector.lookup(m.DB, stmt.Table)
	if err != nil || t == nil {
		return err
	}
	drop := func() error { return m.exec("DROP TABLE IF EXISTS ?", m.CurrentTable(stmt)) }
	err = drop()
	if hasCode(err, erDropSpace, erAlterSpace) {
		if err := m.dropReferences(t); err != nil {
			return err
		}
		err = drop()
	}
	if err != nil {
		return err
	}
	for _, name := range t.checks() {
		if err := m.dropCheck(t, name); err != nil {
			return err
		}
	}
	return nil
}

// RenameTable renames a table, and the sequence of its ids: that keeps the old name
// otherwise, and a new table of this name could not be created.
func (m Migrator) RenameTable(oldName, newName any) error {
	from, err := m.nameOf(oldName)
	if err != nil {
		return err
	}
	to, err := m.nameOf(newName)
	if err != nil {
		return err
	}
	if err := m.exec("ALTER TABLE ? RENAME TO ?", clause.Table{Name: from}, clause.Table{Name: to}); err != nil {
		return err
	}
	return m.exec(`UPDATE "_sequence" SET "name" = ? WHERE "name" = ?`, m.dialector.stored(to), m.dialector.stored(from))
}

func (m Migrator) nameOf(value any) (name string, err error) {
	err = m.RunWithValue(value, func(stmt *gorm.Statement) error {
		name = stmt.Table
		return nil
	})
	return name, err
}

// TableType tells a table from a view.
func (m Migrator) TableType(value any) (gorm.TableType, error) {
	var found tableType
	err := m.withTable(value, func(_ *gorm.Statement, t *table) error {
		found = tableType{name: m.dialector.known(t.name), view: t.view}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

type tableType struct {
	name string
	view bool
}

func (tableType) Schema() string          { return "" }
func (t tableType) Name() string          { return t.name }
func (tableType) Comment() (string, bool) { return "", false }
func (t tableType) Type() string {
	if t.view {
		return "VIEW"
	}
	return "BASE TABLE"
}

// CreateView creates a view. To replace one, it is dropped first.
func (m Migrator) CreateView(name string, option gorm.ViewOption) error {
	if option.Replace {
		if err := m.DropView(name); err != nil {
			return err
		}
		option.Replace = false
	}
	return m.Migrator.CreateView(name, option)
}
