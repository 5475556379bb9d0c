package gormtarantool

import (
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/migrator"
	"gorm.io/gorm/schema"
)

func (i index) has(field int) bool { return slices.Contains(i.fields, field) }

// indexName is the stored name of an index, for its name or that of a field.
func (m Migrator) indexName(stmt *gorm.Statement, name string) string {
	if stmt.Schema != nil {
		if idx := stmt.Schema.LookIndex(name); idx != nil {
			name = idx.Name
		}
	}
	return m.dialector.stored(name)
}

// HasIndex tells whether a table has an index, by its name or that of a field.
func (m Migrator) HasIndex(value any, name string) bool {
	has := false
	_ = m.withTable(value, func(stmt *gorm.Statement, t *table) error {
		indexes, err := t.indexes(m.DB)
		wanted := m.indexName(stmt, name)
		has = slices.ContainsFunc(indexes, func(i index) bool { return i.name == wanted })
		return err
	})
	return has
}

// BuildIndexOptions are an index's columns. It is of whole values: a length is left out.
func (m Migrator) BuildIndexOptions(options []schema.IndexOption, stmt *gorm.Statement) []any {
	whole := slices.Clone(options)
	for i := range whole {
		whole[i].Length = 0
	}
	return m.Migrator.BuildIndexOptions(whole, stmt)
}

// CreateIndex creates an index of plain columns.
func (m Migrator) CreateIndex(value any, name string) error {
	return m.RunWithValue(value, func(stmt *gorm.Statement) error {
		if stmt.Schema == nil {
			return errors.New("failed to get schema")
		}
		idx := stmt.Schema.LookIndex(name)
		if idx == nil {
			return fmt.Errorf("failed to create index with name %s", name)
		}
		if idx.Where != "" {
			return fmt.Errorf("gormtarantool: index %s: the server has no indexes with a condition", name)
		}
		for _, option := range idx.Fields {
			if option.Expression != "" {
				return fmt.Errorf("gormtarantool: index %s: the server has no indexes of expressions", name)
			}
		}
		text := "CREATE INDEX ? ON ??"
		if strings.EqualFold(idx.Class, "UNIQUE") {
			text = "CREATE UNIQUE INDEX ? ON ??"
		}
		return m.exec(text, clause.Column{Name: idx.Name}, m.CurrentTable(stmt), m.BuildIndexOptions(idx.Fields, stmt))
	})
}

// RenameIndex renames an index.
func (m Migrator) RenameIndex(value any, oldName, newName string) error {
	return m.withTable(value, func(stmt *gorm.Statement, t *table) error {
		indexes, err := t.indexes(m.DB)
		if err != nil {
			return err
		}
		from := m.indexName(stmt, oldName)
		for _, i := range indexes {
			if i.name == from {
				return m.exec(`UPDATE "_index" SET "name" = ? WHERE "id" = ? AND "iid" = ?`,
					m.dialector.stored(newName), t.id, i.iid)
			}
		}
		return fmt.Errorf("gormtarantool: table %s has no index %q", t.name, oldName)
	})
}

// GetIndexes lists a table's indexes, its primary key and unique constraints among
// them. The key of a model that has none is left out.
func (m Migrator) GetIndexes(value any) ([]gorm.Index, error) {
	var found []gorm.Index
	err := m.withTable(value, func(_ *gorm.Statement, t *table) error {
		indexes, err := t.indexes(m.DB)
		if err != nil {
			return err
		}
		for _, i := range indexes {
			if i.iid == 0 && i.has(t.field(hiddenKey)) {
				continue
			}
			described := &migrator.Index{
				TableName:       m.dialector.known(t.name),
				NameValue:       m.dialector.known(i.name),
				PrimaryKeyValue: sql.NullBool{Bool: i.iid == 0, Valid: true},
				UniqueValue:     sql.NullBool{Bool: i.unique, Valid: true},
			}
			for _, field := range i.fields {
				if field < len(t.columns) {
					described.ColumnList = append(described.ColumnList, m.dialector.known(t.columns[field].name))
				}
			}
			found = append(found, described)
		}
		return nil
	})
	return found, err
}
