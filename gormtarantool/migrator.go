package gormtarantool

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/migrator"
	"gorm.io/gorm/schema"

	"github.com/tntsql/tntsql"
)

// Migrator is GORM's Migrator for Tarantool. All its statements run under ModeRW.
//
// DDL works outside of transactions only. What ALTER TABLE cannot do to a table with
// rows is done by one Lua chunk, all or nothing, for which the user needs execute on
// universe: adding, renaming, altering and dropping columns, and adding CHECK and FOREIGN KEY
// constraints. It keeps the server busy while it runs, about a second for some
// hundred thousand rows if they must be rewritten.
type Migrator struct {
	migrator.Migrator

	dialector *Dialector
}

// onMaster has all statements of db run on the master.
func onMaster(db *gorm.DB) *gorm.DB {
	ctx := db.Statement.Context
	if mode, ok := tntsql.ModeFromContext(ctx); ok && mode == tntsql.ModeRW {
		return db
	}
	return db.WithContext(tntsql.WithMode(ctx, tntsql.ModeRW))
}

// CurrentDatabase is empty: a Tarantool instance is one database, without a name.
func (Migrator) CurrentDatabase() string { return "" }

// noDefault is how a tag says that a column has a default that GORM need not know.
const noDefault = "(-)"

// FullDataTypeOf is a column's type with NOT NULL and its default.
func (m Migrator) FullDataTypeOf(field *schema.Field) clause.Expr {
	text := m.DataTypeOf(field)
	if field.NotNull && !field.AutoIncrement {
		text += " NOT NULL"
	}
	if def := m.defaultOf(field); def != "" && !m.timeDefault(field) {
		text += " DEFAULT " + def
	}
	return clause.Expr{SQL: text}
}

// defaultOf is the SQL text of a field's default, empty if it has none.
func (m Migrator) defaultOf(field *schema.Field) string {
	switch {
	case !field.HasDefaultValue || field.DefaultValue == noDefault:
		return ""
	case m.timeDefault(field):
		at := field.DefaultValueInterface.(time.Time)
		return "CAST('" + at.UTC().Format(time.RFC3339Nano) + "' AS DATETIME)"
	case field.DefaultValueInterface != nil:
		return m.dialector.literal(field, m.Explain("?", field.DefaultValueInterface))
	default:
		return m.dialector.literal(field, field.DefaultValue)
	}
}

// timeDefault tells of a default that is no literal in SQL: CREATE TABLE takes none of
// these, a table's format does.
func (m Migrator) timeDefault(field *schema.Field) bool {
	_, isTime := field.DefaultValueInterface.(time.Time)
	return isTime && baseType(m.DataTypeOf(field)) == "DATETIME"
}

// literal is a default as the server wants it: 1.5 is a DECIMAL since 2.10, which a
// DOUBLE column does not take.
func (d *Dialector) literal(field *schema.Field, text string) string {
	if baseType(d.DataTypeOf(field)) == "DOUBLE" && !strings.ContainsAny(text, "eE") {
		if _, err := strconv.ParseFloat(text, 64); err == nil {
			return text + "e0"
		}
	}
	return text
}

// typeAliases are other names of types, and types that hold all values of another.
var typeAliases = map[string][]string{
	"string":   {"text", "varchar"},
	"integer":  {"int"},
	"unsigned": {"integer"},
	"boolean":  {"bool"},
	"decimal":  {"dec"},
}

// GetTypeAliases are types for which a column of the named one need not be altered.
func (Migrator) GetTypeAliases(name string) []string { return typeAliases[strings.ToLower(name)] }

// withTable runs f with a model's table as it is on the server.
func (m Migrator) withTable(value any, f func(*gorm.Statement, *table) error) error {
	return m.RunWithValue(value, func(stmt *gorm.Statement) error {
		t, err := m.dialector.lookup(m.DB, stmt.Table)
		if err != nil {
			return err
		}
		if t == nil {
			return fmt.Errorf("gormtarantool: there is no table %q", stmt.Table)
		}
		return f(stmt, t)
	})
}
