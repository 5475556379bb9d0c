package gormtarantool

import (
	"slices"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"
)

// Codes with which the server refuses to add a constraint to a table that has rows.
const (
	erForeignKeyNotEmpty = 167 // before 2.11
	erCheckNotEmpty      = 195 // before 2.11
)

// HasConstraint tells whether a table has a constraint, by its name or that of a field.
func (m Migrator) HasConstraint(value any, name string) bool {
	has := false
	_ = m.RunWithValue(value, func(stmt *gorm.Statement) error {
		constraint, tableName := m.GuessConstraintInterfaceAndTable(stmt, name)
		if constraint != nil {
			name = constraint.GetName()
		}
		t, err := m.dialector.lookup(m.DB, tableName)
		if err != nil || t == nil {
			return err
		}
		has, err = m.hasConstraint(t, m.dialector.stored(name))
		return err
	})
	return has
}

func (m Migrator) hasConstraint(t *table, name string) (bool, error) {
	if slices.Contains(t.checks(), name) || slices.Contains(t.foreignKeys(0), name) {
		return true, nil
	}
	indexes, err := t.indexes(m.DB)
	if err != nil {
		return false, err
	}
	if slices.ContainsFunc(indexes, func(i index) bool { return i.unique && i.name == name }) {
		return true, nil
	}
	if m.dialector.server.version.atLeast(2, 11) {
		return false, nil
	}
	for _, text := range []string{
		`SELECT 1 FROM "_ck_constraint" WHERE "space_id" = ? AND "name" = ?`,
		`SELECT 1 FROM "_fk_constraint" WHERE "child_id" = ? AND "name" = ?`,
	} {
		rows, err := query(m.DB, text, t.id, name)
		if err != nil || len(rows) > 0 {
			return len(rows) > 0, err
		}
	}
	return false, nil
}

// checks are the names of CHECK constraints. They are a part of the definition since
// 2.11.
func (t *table) checks() []string {
	var names []string
	for name := range asMap(t.flags["constraint"]) {
		names = append(names, name)
	}
	for _, c := range t.columns {
		for name := range asMap(c.raw["constraint"]) {
			names = append(names, name)
		}
	}
	return names
}

// foreignKeys are the names of those that refer to a space, or of all if that is 0.
// They are a part of the definition since 2.11.
func (t *table) foreignKeys(to int64) []string {
	var names []string
	add := func(keys map[string]any) {
		for name, key := range keys {
			if space, _ := asMap(key)["space"].(int64); to == 0 || space == to {
				names = append(names, name)
			}
		}
	}
	add(asMap(t.flags["foreign_key"]))
	for _, c := range t.columns {
		add(asMap(c.raw["foreign_key"]))
	}
	return names
}

// CreateConstraint adds a constraint, which the rows that are there must fulfil.
func (m Migrator) CreateConstraint(value any, name string) error {
	return m.RunWithValue(value, func(stmt *gorm.Statement) error {
		constraint, tableName := m.GuessConstraintInterfaceAndTable(stmt, name)
		if constraint == nil {
			return nil
		}
		key, foreign := constraint.(*schema.Constraint)
		if foreign {
			if key = m.supported(key); key == nil {
				return nil
			}
			constraint = key
		}
		text, vars := constraint.Build()
		err := m.exec("ALTER TABLE ? ADD "+text, append([]any{m.tableOf(stmt, tableName)}, vars...)...)
		if hasCode(err, erMultiStatement, erForeignKeyNotEmpty, erCheckNotEmpty) {
			t, lookupErr := m.dialector.lookup(m.DB, tableName)
			if lookupErr != nil || t == nil {
				return err
			}
			c := t.keep()
			c.statements = append(c.statements, m.alterText(tableName, "ADD "+text, vars))
			if foreign && !m.dialector.server.version.atLeast(2, 11) {
				c.violations = orphans(stmt, tableName, key)
			}
			err = m.alter(t, c, "add constraint "+constraint.GetName())
		}
		if err == nil && foreign {
			err = m.indexForeignKey(tableName, key)
		}
		return err
	})
}

// orphans is the query for rows that refer to nothing. Before 2.11 only SQL looks at
// foreign keys, not the chunk's inserts.
func orphans(stmt *gorm.Statement, tableName string, key *schema.Constraint) string {
	var filled, same []string
	for i, field := range key.ForeignKeys {
		filled = append(filled, "c."+stmt.Quote(field.DBName)+" IS NOT NULL")
		same = append(same, "p."+stmt.Quote(key.References[i].DBName)+" = c."+stmt.Quote(field.DBName))
	}
	return "SELECT 1 FROM " + stmt.Quote(tableName) + " AS c WHERE " + strings.Join(filled, " AND ") +
		" AND NOT EXISTS (SELECT 1 FROM " + stmt.Quote(key.ReferenceSchema.Table) + " AS p WHERE " + strings.Join(same, " AND ") + ") LIMIT 1"
}

func (m Migrator) tableOf(stmt *gorm.Statement, name string) any {
	if stmt.TableExpr != nil && name == stmt.Table {
		return *stmt.TableExpr
	}
	return clause.Table{Name: name}
}

// alterText is the text of an ALTER TABLE.
func (m Migrator) alterText(tableName, action string, vars []any) string {
	tx := m.DB.Session(&gorm.Session{DryRun: true, NewDB: true})
	stmt := tx.Exec("ALTER TABLE ? "+action, append([]any{clause.Table{Name: tableName}}, vars...)...).Statement
	return m.Explain(stmt.SQL.String(), stmt.Vars...)
}

// supported is a foreign key as the server can have it, nil if it can not: the columns
// that it refers to must be unique. Since 2.11 there is no ON DELETE and ON UPDATE.
func (m Migrator) supported(key *schema.Constraint) *schema.Constraint {
	if !isUnique(key.ReferenceSchema, key.References) {
		m.DB.Logger.Warn(m.DB.Statement.Context,
			"gormtarantool: foreign key %s is left out: what it refers to in %s is not unique", key.Name, key.ReferenceSchema.Table)
		return nil
	}
	if !m.dialector.server.version.atLeast(2, 11) {
		return key
	}
	plain := *key
	for _, action := range []*string{&plain.OnDelete, &plain.OnUpdate} {
		if a := strings.ToUpper(*action); a != "" && a != "RESTRICT" && a != "NO ACTION" {
			m.DB.Logger.Warn(m.DB.Statement.Context,
				"gormtarantool: foreign key %s: Tarantool %s has no %s, it refuses the change instead", key.Name, m.dialector.server.version, a)
		}
		*action = ""
	}
	return &plain
}

// isUnique tells whether a model says that fields are unique together.
func isUnique(s *schema.Schema, fields []*schema.Field) bool {
	if s == nil || len(fields) == 1 && fields[0].Unique || sameFields(s.PrimaryFields, fields) {
		return true
	}
	for _, idx := range s.ParseIndexes() {
		indexed := make([]*schema.Field, len(idx.Fields))
		for i, option := range idx.Fields {
			indexed[i] = option.Field
		}
		if strings.EqualFold(idx.Class, "UNIQUE") && sameFields(indexed, fields) {
			return true
		}
	}
	return false
}

func sameFields(a, b []*schema.Field) bool {
	if len(a) != len(b) {
		return false
	}
	for _, field := range a {
		if !slices.ContainsFunc(b, func(other *schema.Field) bool { return other.DBName == field.DBName }) {
			return false
		}
	}
	return true
}

// indexForeignKey makes the index that the server wants: since 2.11 no row of the
// other table can be deleted without it.
func (m Migrator) indexForeignKey(tableName string, key *schema.Constraint) error {
	if !m.dialector.server.version.atLeast(2, 11) {
		return nil
	}
	t, err := m.dialector.lookup(m.DB, tableName)
	if err != nil || t == nil {
		return err
	}
	indexes, err := t.indexes(m.DB)
	if err != nil {
		return err
	}
	var fields []int
	var columns []clause.Column
	for _, field := range key.ForeignKeys {
		fields = append(fields, t.field(m.dialector.stored(field.DBName)))
		columns = append(columns, clause.Column{Name: field.DBName})
	}
	if slices.ContainsFunc(indexes, func(i index) bool { return slices.Equal(i.fields, fields) }) {
		return nil
	}
	return m.exec("CREATE INDEX ? ON ? ?", clause.Column{Name: "idx_" + key.Name}, clause.Table{Name: tableName}, columns)
}

// DropConstraint drops a constraint.
func (m Migrator) DropConstraint(value any, name string) error {
	return m.RunWithValue(value, func(stmt *gorm.Statement) error {
		constraint, tableName := m.GuessConstraintInterfaceAndTable(stmt, name)
		if constraint != nil {
			name = constraint.GetName()
		}
		t, err := m.dialector.lookup(m.DB, tableName)
		if err != nil {
			return err
		}
		if err := m.exec("ALTER TABLE ? DROP CONSTRAINT ?", m.tableOf(stmt, tableName), clause.Column{Name: name}); err != nil {
			return err
		}
		if t != nil && slices.Contains(t.checks(), m.dialector.stored(name)) {
			return m.dropCheck(t, m.dialector.stored(name))
		}
		return nil
	})
}

// dropCheck drops the function that a CHECK constraint was, which the server leaves
// behind: the constraint could not be created again.
func (m Migrator) dropCheck(t *table, name string) error {
	return m.exec(`DELETE FROM "_func" WHERE "name" = ?`, "check_"+t.name+"_"+name)
}

// dropReferences drops the foreign keys of other tables that refer to one.
func (m Migrator) dropReferences(t *table) error {
	type reference struct{ table, name string }
	var found []reference
	if m.dialector.server.version.atLeast(2, 11) {
		rows, err := query(m.DB, `SELECT "name", "flags", "format" FROM "_vspace" WHERE "id" >= ?`, firstUserSpace)
		if err != nil {
			return err
		}
		for _, row := range rows {
			other := &table{flags: asMap(row[1])}
			other.name, _ = row[0].(string)
			for _, field := range asList(row[2]) {
				other.columns = append(other.columns, columnOf(asMap(field)))
			}
			for _, name := range other.foreignKeys(t.id) {
				found = append(found, reference{other.name, name})
			}
		}
	} else {
		rows, err := query(m.DB, `SELECT s."name", k."name" FROM "_fk_constraint" AS k JOIN "_vspace" AS s ON s."id" = k."child_id"
			WHERE k."parent_id" = ?`, t.id)
		if err != nil {
			return err
		}
		for _, row := range rows {
			other, _ := row[0].(string)
			name, _ := row[1].(string)
			found = append(found, reference{other, name})
		}
	}
	for _, r := range found {
		if err := m.exec("ALTER TABLE " + quoted(r.table) + " DROP CONSTRAINT " + quoted(r.name)); err != nil {
			return err
		}
	}
	return nil
}
