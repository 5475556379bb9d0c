package gormtarantool

import (
	"database/sql"
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/migrator"
	"gorm.io/gorm/schema"

	"github.com/tntsql/tntsql"
)

// HasColumn tells whether a table has a column, by the name of the field or the
// column.
func (m Migrator) HasColumn(value any, name string) bool {
	has := false
	_ = m.withTable(value, func(stmt *gorm.Statement, t *table) error {
		has = t.field(m.storedColumn(stmt, name)) >= 0
		return nil
	})
	return has
}

// storedColumn is a column as the server knows it, for the name of a field or column.
func (m Migrator) storedColumn(stmt *gorm.Statement, name string) string {
	if stmt.Schema != nil {
		if field := stmt.Schema.LookUpField(name); field != nil {
			name = field.DBName
		}
	}
	return m.dialector.stored(name)
}

// AddColumn adds a column, with its default in the rows that are there.
func (m Migrator) AddColumn(value any, name string) error {
	return m.withField(value, name, func(stmt *gorm.Statement, t *table, field *schema.Field) error {
		if field.IgnoreMigration {
			return nil
		}
		added, err := m.columnOf(field)
		if err != nil {
			return err
		}
		c := t.keep()
		c.columns = append(c.columns, added)
		if field.Unique {
			text, vars := (&schema.UniqueConstraint{
				Name:  m.DB.NamingStrategy.UniqueName(stmt.Table, field.DBName),
				Field: field,
			}).Build()
			c.statements = append(c.statements, m.alterText(stmt.Table, "ADD "+text, vars))
		}
		return m.alter(t, c, "add column "+field.DBName)
	})
}

// withField is withTable for a field of a model.
func (m Migrator) withField(value any, name string, f func(*gorm.Statement, *table, *schema.Field) error) error {
	return m.withTable(value, func(stmt *gorm.Statement, t *table) error {
		if stmt.Schema == nil {
			return fmt.Errorf("failed to look up field with name: %s", name)
		}
		field := stmt.Schema.LookUpField(name)
		if field == nil {
			return fmt.Errorf("failed to look up field with name: %s", name)
		}
		return f(stmt, t, field)
	})
}

// columnOf is the column that a field wants, for a change.
func (m Migrator) columnOf(field *schema.Field) (map[string]any, error) {
	declared := m.DataTypeOf(field)
	if err := m.dialector.supports(field, declared); err != nil {
		return nil, err
	}
	c := map[string]any{
		"name":        m.dialector.stored(field.DBName),
		"type":        storedType(declared),
		"nullable":    !field.NotNull && !field.PrimaryKey,
		"set_default": true,
	}
	if def := m.defaultOf(field); def != "" && !strings.EqualFold(def, "NULL") {
		if field.DefaultValueInterface == nil && !isLiteral.MatchString(def) {
			return nil, fmt.Errorf("gormtarantool: column %s: the default %s is no literal", field.DBName, def)
		}
		c["default"] = def
	}
	return c, nil
}

// isLiteral tells literals from expressions, which a table's format cannot have for
// defaults.
var isLiteral = regexp.MustCompile(`^(?i:[-+]?[0-9.]+(e[-+]?[0-9]+)?|x?'([^']|'')*'|true|false)$`)

// storedType is how a table's format names a type.
func storedType(declared string) string {
	base := strings.ToLower(baseType(declared))
	for name, aliases := range typeAliases {
		for _, alias := range aliases {
			if base == alias && name != "unsigned" {
				return name
			}
		}
	}
	return base
}

// DropColumn drops a column, with indexes that have it. A column that a CHECK
// constraint names stays, with an error.
func (m Migrator) DropColumn(value any, name string) error {
	return m.withTable(value, func(stmt *gorm.Statement, t *table) error {
		at := t.field(m.storedColumn(stmt, name))
		if at < 0 {
			return noColumn(t, name)
		}
		c := t.keep()
		c.columns = append(c.columns[:at], c.columns[at+1:]...)
		return m.alter(t, c, "drop column "+name)
	})
}

func noColumn(t *table, name string) error {
	return fmt.Errorf("gormtarantool: table %s has no column %q", t.name, name)
}

// AlterColumn gives a column the type, the nullability and the default of its field.
// Values are converted by CAST; if one cannot be, nothing changes.
func (m Migrator) AlterColumn(value any, name string) error {
	return m.withField(value, name, func(_ *gorm.Statement, t *table, field *schema.Field) error {
		at := t.field(m.dialector.stored(field.DBName))
		if at < 0 {
			return noColumn(t, name)
		}
		altered, err := m.columnOf(field)
		if err != nil {
			return err
		}
		altered["from"] = at + 1
		c := t.keep()
		c.columns[at] = altered
		return m.alter(t, c, "alter column "+field.DBName)
	})
}

// RenameColumn renames a column. One that a CHECK constraint names keeps its name, with
// an error.
func (m Migrator) RenameColumn(value any, oldName, newName string) error {
	return m.withTable(value, func(stmt *gorm.Statement, t *table) error {
		at := t.field(m.storedColumn(stmt, oldName))
		if at < 0 {
			return noColumn(t, oldName)
		}
		c := t.keep()
		c.columns[at]["name"] = m.storedColumn(stmt, newName)
		return m.alter(t, c, "rename column "+oldName)
	})
}

// scanTypes are Go types that hold what a column has.
var scanTypes = map[string]reflect.Type{
	"boolean":   reflect.TypeFor[sql.NullBool](),
	"integer":   reflect.TypeFor[sql.NullInt64](),
	"unsigned":  reflect.TypeFor[sql.Null[uint64]](),
	"double":    reflect.TypeFor[sql.NullFloat64](),
	"string":    reflect.TypeFor[sql.NullString](),
	"varbinary": reflect.TypeFor[[]byte](),
	"datetime":  reflect.TypeFor[sql.Null[time.Time]](),
	"decimal":   reflect.TypeFor[sql.Null[tntsql.Decimal]](),
	"uuid":      reflect.TypeFor[sql.Null[tntsql.UUID]](),
	"interval":  reflect.TypeFor[sql.Null[tntsql.Interval]](),
}

// ColumnTypes describes a table's columns. Unique is what GORM's tag unique makes: a
// constraint with the name that GORM gives it.
func (m Migrator) ColumnTypes(value any) ([]gorm.ColumnType, error) {
	var found []gorm.ColumnType
	err := m.withTable(value, func(stmt *gorm.Statement, t *table) error {
		indexes, err := t.indexes(m.DB)
		if err != nil {
			return err
		}
		generated := t.generated(m.DB, m.dialector.server.version.atLeast(2, 11))
		for i, c := range t.columns {
			if c.name == hiddenKey {
				continue
			}
			name := m.dialector.known(c.name)
			unique := m.dialector.stored(m.DB.NamingStrategy.UniqueName(stmt.Table, name))
			described := migrator.ColumnType{
				NameValue:          valid(name),
				DataTypeValue:      valid(c.typ),
				ColumnTypeValue:    valid(c.typ),
				PrimaryKeyValue:    sql.NullBool{Valid: true},
				UniqueValue:        sql.NullBool{Valid: true},
				AutoIncrementValue: sql.NullBool{Bool: i == generated, Valid: true},
				NullableValue:      sql.NullBool{Bool: c.nullable, Valid: true},
				ScanTypeValue:      reflect.TypeFor[any](),
			}
			if scan, ok := scanTypes[c.typ]; ok {
				described.ScanTypeValue = scan
			}
			for _, index := range indexes {
				switch {
				case index.iid == 0:
					described.PrimaryKeyValue.Bool = index.has(i)
				case index.unique && len(index.fields) == 1 && index.has(i) && index.name == unique:
					described.UniqueValue.Bool = true
				}
			}
			if c.def != nil {
				described.DefaultValueValue = valid(inWordsOf(stmt.Schema, name, *c.def))
			}
			found = append(found, described)
		}
		return nil
	})
	return found, err
}

func valid(s string) sql.NullString { return sql.NullString{String: s, Valid: true} }

// inWordsOf is a default as the model writes it, if it is the same value: the server
// has 1.5 where a tag may say 1.50, and GORM compares texts.
func inWordsOf(s *schema.Schema, column, stored string) string {
	if s == nil {
		return stored
	}
	field := s.LookUpField(column)
	if field == nil || !field.HasDefaultValue {
		return stored
	}
	wanted := field.DefaultValue
	if at, ok := field.DefaultValueInterface.(time.Time); ok && strings.Contains(stored, at.UTC().Format(time.RFC3339Nano)) {
		return wanted
	}
	if strings.EqualFold(strings.Trim(wanted, `'"`), strings.Trim(stored, `'"`)) && field.GORMDataType != schema.String {
		return wanted
	}
	x, err1 := strconv.ParseFloat(wanted, 64)
	y, err2 := strconv.ParseFloat(stored, 64)
	if err1 == nil && err2 == nil && x == y {
		return wanted
	}
	return stored
}
