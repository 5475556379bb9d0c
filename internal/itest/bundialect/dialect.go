// Package bundialect is bun's dialect for Tarantool.
//
// bun writes all values into the text. Quoted names are the same on every
// server; unquoted ones in fragments are upper case before Tarantool 3.0, so
// write Where("? > ?", bun.Ident("age"), 30) if the program runs there too.
// Tarantool has neither RETURNING nor ON CONFLICT nor bun's bulk UPDATE.
// Columns of time.Time need 2.10, and sequential scans need the parameter
// seq_scan=true on 3.x.
package bundialect

import (
	"database/sql"
	"encoding/hex"
	"reflect"
	"time"

	"github.com/uptrace/bun/dialect"
	"github.com/uptrace/bun/dialect/feature"
	"github.com/uptrace/bun/dialect/sqltype"
	"github.com/uptrace/bun/schema"
)

const features = feature.CTE | feature.SelectExists | feature.TableNotExists | feature.TableTruncate |
	feature.AutoIncrement | feature.CreateIndexIfNotExists

// name is none of bun's own.
const name = dialect.Name(3301)

// Dialect is a schema.Dialect.
type Dialect struct {
	schema.BaseDialect
	tables *schema.Tables
}

// New returns a dialect for one bun.DB.
func New() *Dialect {
	d := new(Dialect)
	d.tables = schema.NewTables(d)
	return d
}

// Init does nothing: all servers get the same text.
func (*Dialect) Init(*sql.DB) {}

// Name is a number that bun does not know.
func (*Dialect) Name() dialect.Name { return name }

// Features are what bun asks for before it writes optional clauses.
func (*Dialect) Features() feature.Feature { return features }

// Tables are the models that bun has seen.
func (d *Dialect) Tables() *schema.Tables { return d.tables }

// IdentQuote is the only quote of names.
func (*Dialect) IdentQuote() byte { return '"' }

// DefaultVarcharLen is none: strings are STRING.
func (*Dialect) DefaultVarcharLen() int { return 0 }

// DefaultSchema is none: there are no schemas.
func (*Dialect) DefaultSchema() string { return "" }

// OnTable gives the columns of a model Tarantool's types, except where a tag
// names one.
func (*Dialect) OnTable(table *schema.Table) {
	for _, f := range table.Fields {
		if f.UserSQLType == "" {
			f.DiscoveredSQLType = columnType(f)
			f.CreateTableSQLType = f.DiscoveredSQLType
		}
	}
}

func columnType(f *schema.Field) string {
	switch f.DiscoveredSQLType {
	case sqltype.SmallInt, sqltype.Integer, sqltype.BigInt:
		if f.IndirectType.Kind() == reflect.Uint64 {
			return "UNSIGNED"
		}
		return "INTEGER"
	case sqltype.Real, sqltype.DoublePrecision:
		return "DOUBLE"
	case sqltype.Blob:
		return "VARBINARY"
	case sqltype.Timestamp:
		return "DATETIME"
	case sqltype.Boolean:
		return "BOOLEAN"
	default: // JSON is stored as its text
		return "STRING"
	}
}

// AppendSequence makes a column generate its values.
func (*Dialect) AppendSequence(b []byte, _ *schema.Table, _ *schema.Field) []byte {
	return append(b, " AUTOINCREMENT"...)
}

// AppendTime writes a DATETIME: a string is not converted to one by itself.
func (*Dialect) AppendTime(b []byte, t time.Time) []byte {
	b = t.AppendFormat(append(b, "CAST('"...), time.RFC3339Nano)
	return append(b, "' AS DATETIME)"...)
}

// AppendBytes writes a VARBINARY.
func (*Dialect) AppendBytes(b, value []byte) []byte {
	if value == nil {
		return dialect.AppendNull(b)
	}
	b = append(b, "X'"...)
	b = hex.AppendEncode(b, value)
	return append(b, '\'')
}
