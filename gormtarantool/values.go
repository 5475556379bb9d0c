package gormtarantool

import (
	"database/sql/driver"
	"fmt"
	"reflect"
	"strconv"
	"sync"

	"gorm.io/gorm/schema"

	"github.com/tntsql/tntsql"
)

// A conversion makes a Go value fit a column. The server converts nothing, where
// other databases do, and GORM counts on them: the foreign key of a polymorphic
// association is a string in Go and has the primary key's type in the database.
type conversion func(v any) any

// conversions are those of fields, by *schema.Field; nil for most.
type conversions struct{ known sync.Map }

func (c *conversions) of(d *Dialector, field *schema.Field) conversion {
	if convert, ok := c.known.Load(field); ok {
		return convert.(conversion)
	}
	convert := conversionFor(baseType(d.DataTypeOf(field)), field)
	c.known.Store(field, convert)
	return convert
}

func conversionFor(column string, field *schema.Field) conversion {
	goType := field.IndirectFieldType
	text := goType.Kind() == reflect.String || field.GORMDataType == schema.String || field.DataType == schema.String
	switch column {
	case "INTEGER", "UNSIGNED":
		if goType.Kind() == reflect.String || goType.Kind() == reflect.Struct {
			return onText(func(s string) any {
				if n, err := strconv.ParseInt(s, 10, 64); err == nil {
					return n
				}
				return nil
			})
		}
	case "UUID":
		if text {
			return onText(func(s string) any {
				if id, err := tntsql.ParseUUID(s); err == nil {
					return id
				}
				return nil
			})
		}
	case "DECIMAL", "DEC":
		if text {
			return onText(func(s string) any { return tntsql.Decimal(s) })
		}
	case "STRING", "TEXT", "VARCHAR":
		if typeOfGo(goType) != "" || field.Serializer != nil || isBytes(goType) {
			return toText
		}
	}
	return nil
}

func isBytes(t reflect.Type) bool {
	return t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8
}

// onText converts strings, and what has a string as its value, by f. What f gives
// nil for stays as it is: the server's error tells more.
func onText(f func(string) any) conversion {
	return func(v any) any {
		s, ok := textOf(v)
		if !ok {
			return v
		}
		if converted := f(s); converted != nil {
			return converted
		}
		return v
	}
}

func textOf(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case tntsql.Decimal, tntsql.UUID, nil:
		return "", false
	case driver.Valuer:
		if rv := reflect.ValueOf(v); rv.Kind() == reflect.Pointer && rv.IsNil() {
			return "", false
		}
		value, err := v.Value()
		if err != nil {
			return "", false
		}
		s, ok := value.(string)
		return s, ok
	}
	rv := reflect.ValueOf(v)
	if rv.Kind() == reflect.Pointer {
		rv = rv.Elem()
	}
	if rv.Kind() != reflect.String {
		return "", false
	}
	return rv.String(), true
}

// toText is the text of what would be sent as another type.
func toText(v any) any {
	rv := reflect.ValueOf(v)
	if rv.Kind() == reflect.Pointer && rv.IsNil() {
		return nil
	}
	if valuer, ok := v.(driver.Valuer); ok {
		value, err := valuer.Value()
		if err != nil {
			return v // the driver asks again, and reports it
		}
		v = value
	}
	switch v := v.(type) {
	case fmt.Stringer:
		return v.String()
	case []byte:
		if v == nil {
			return nil
		}
		return string(v)
	}
	if rv := reflect.ValueOf(v); rv.IsValid() && isBytes(rv.Type()) && !rv.IsNil() {
		return string(rv.Bytes())
	}
	return v
}
