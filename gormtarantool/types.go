package gormtarantool

import (
	"fmt"
	"math/big"
	"reflect"
	"strings"

	"gorm.io/gorm/schema"

	"github.com/tntsql/tntsql"
)

// DataTypeOf is the SQL type of a field's column: of its type tag, in which names of
// other databases' types are understood, else of its Go type.
func (d *Dialector) DataTypeOf(field *schema.Field) string {
	if _, tagged := field.TagSettings["TYPE"]; !tagged {
		if t := typeOfGo(field.IndirectFieldType); t != "" {
			return t
		}
		if strings.EqualFold(field.TagSettings["SERIALIZER"], "gob") {
			return "VARBINARY" // its text is none
		}
	}
	switch field.DataType {
	case schema.Bool:
		return "BOOLEAN"
	case schema.Int, schema.Uint:
		return "INTEGER" // from -2^63 to 2^64-1
	case schema.Float:
		return "DOUBLE"
	case schema.String:
		return "STRING"
	case schema.Time:
		return "DATETIME"
	case schema.Bytes:
		return "VARBINARY"
	default:
		return translateType(string(field.DataType))
	}
}

// typeOfGo is the type of what the driver sends as a MessagePack extension, which no
// other column takes.
func typeOfGo(t reflect.Type) string {
	switch {
	case t == reflect.TypeFor[tntsql.Decimal](), t.Implements(reflect.TypeFor[decimaler]()), t == reflect.TypeFor[big.Int]():
		return "DECIMAL"
	case isUUID(t):
		return "UUID"
	case t.Kind() == reflect.Struct && t.NumField() == 2 && t.Field(1).Name == "Valid":
		return typeOfGo(t.Field(0).Type) // decimal.NullDecimal, uuid.NullUUID, sql.Null
	default:
		return ""
	}
}

// decimaler is what shopspring's decimal.Decimal has.
type decimaler interface {
	Coefficient() *big.Int
	Exponent() int32
}

// isUUID tells of the UUIDs of any package, which the driver sends as such.
func isUUID(t reflect.Type) bool {
	return t.Kind() == reflect.Array && t.Len() == 16 && t.Elem().Kind() == reflect.Uint8 &&
		t.Implements(reflect.TypeFor[fmt.Stringer]())
}

// typeNames are the types of other databases that a tag may name, and the server's own.
var typeNames = map[string]string{}

func init() {
	for name, others := range map[string]string{
		"BOOLEAN":   "bool boolean",
		"INTEGER":   "int integer tinyint smallint mediumint bigint int2 int4 int8 serial bigserial",
		"UNSIGNED":  "unsigned",
		"DOUBLE":    "double float real float4 float8",
		"DECIMAL":   "decimal dec numeric",
		"STRING":    "string text tinytext mediumtext longtext char character varchar nchar nvarchar citext clob json jsonb",
		"VARBINARY": "varbinary binary blob tinyblob mediumblob longblob bytea bytes",
		"DATETIME":  "datetime timestamp timestamptz date",
		"UUID":      "uuid",
	} {
		for _, other := range strings.Fields(others) {
			typeNames[other] = name
		}
	}
}

// typeSuffixes are words that belong to a type's name.
var typeSuffixes = []string{"precision", "varying", "unsigned", "with time zone", "without time zone"}

// translateType gives the server's name for a type, and leaves out its length and
// precision, which no type of the server's has. What comes behind stays.
func translateType(declared string) string {
	name, rest := declared, ""
	if end := strings.IndexAny(declared, " ("); end >= 0 {
		name, rest = declared[:end], declared[end:]
	}
	name = strings.ToLower(name)
	translated, ok := typeNames[name]
	if !ok {
		return declared
	}
	rest = strings.TrimSpace(rest)
	for again := true; again; {
		again = false
		if strings.HasPrefix(rest, "(") {
			if end := strings.IndexByte(rest, ')'); end > 0 {
				rest, again = strings.TrimSpace(rest[end+1:]), true
			}
		}
		for _, suffix := range typeSuffixes {
			if len(rest) >= len(suffix) && strings.EqualFold(rest[:len(suffix)], suffix) {
				rest, again = strings.TrimSpace(rest[len(suffix):]), true
			}
		}
	}
	if rest == "" {
		return translated
	}
	return translated + " " + rest
}

// baseType is the type alone of a column's declaration.
func baseType(declared string) string {
	name, _, _ := strings.Cut(declared, " ")
	name, _, _ = strings.Cut(name, "(")
	return strings.ToUpper(name)
}

// typesSince210 are those that SQL got with 2.10.
var typesSince210 = map[string]bool{
	"DATETIME": true, "DECIMAL": true, "DEC": true, "UUID": true,
	"INTERVAL": true, "ARRAY": true, "MAP": true, "ANY": true,
}

// UnsupportedTypeError is of a field whose column the server cannot have.
type UnsupportedTypeError struct {
	Field  string // "User.CreatedAt"
	Type   string // "DATETIME"
	Server string // the version found
	Needed string // the version that has the type
}

func (e *UnsupportedTypeError) Error() string {
	hint := ""
	if e.Type == "DATETIME" {
		hint = "; a time can be an int64 there, which autoCreateTime and autoUpdateTime fill"
	}
	return fmt.Sprintf("gormtarantool: %s: %s columns need Tarantool %s, this is %s%s", e.Field, e.Type, e.Needed, e.Server, hint)
}

// supports fails for a column that the server cannot have.
func (d *Dialector) supports(field *schema.Field, declared string) error {
	base := baseType(declared)
	if !typesSince210[base] || d.server.version.atLeast(2, 10) {
		return nil
	}
	return &UnsupportedTypeError{
		Field:  field.Schema.Name + "." + field.Name,
		Type:   base,
		Server: d.server.version.String(),
		Needed: "2.10",
	}
}
