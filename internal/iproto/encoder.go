package iproto

import (
	"bytes"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/vmihailenco/msgpack/v5"
)

// encoder encodes Go values for one server.
type encoder struct {
	server Version
	lua    bool // arguments of CALL and EVAL, not parameters of SQL
}

var errTooDeep = fmt.Errorf("nested deeper than %d, or contains itself", MaxDepth)

// safely is append for values of the user, whose methods may panic. When it
// fails it returns b.
func (e encoder) safely(b []byte, v any) (out []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			out, err = b, fmt.Errorf("panic while %s was encoded: %v", TypeName(v), p)
		}
	}()
	if out, err = e.append(b, v, MaxDepth); err != nil {
		return b, err
	}
	return out, nil
}

func (e encoder) append(b []byte, v any, depth int) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return appendNil(b), nil
	case bool:
		return appendBool(b, v), nil
	case int:
		return appendInt(b, int64(v)), nil
	case int64:
		return appendInt(b, v), nil
	case uint64:
		return appendUint(b, v), nil
	case float64:
		return appendFloat(b, v), nil
	case string:
		return appendString(b, v), nil
	case []byte:
		return appendBytes(b, v), nil
	case json.RawMessage:
		return appendBytes(b, v), nil
	case time.Time:
		if err := e.needs("DATETIME", v); err != nil {
			return b, err
		}
		return appendTime(b, v)
	case Decimal:
		if err := e.needs("DECIMAL", v); err != nil {
			return b, err
		}
		return appendDecimalText(b, v.text(), e.server)
	case Interval:
		if err := e.needs("INTERVAL", v); err != nil {
			return b, err
		}
		return appendInterval(b, v)
	}
	if depth == 0 {
		return b, errTooDeep
	}
	return e.reflected(b, reflect.ValueOf(v), depth-1)
}

func appendBytes(b, data []byte) []byte {
	if data == nil {
		return appendNil(b)
	}
	return appendBinary(b, data)
}

// needs refuses what the server cannot take. Servers before 2.10 crash when a
// parameter of a statement is an extension; Lua knew some of them earlier.
func (e encoder) needs(sqlType string, v any) error {
	needed := Version{2, 10, 0}
	if e.lua {
		switch sqlType {
		case "ARRAY", "MAP":
			return nil
		case "DECIMAL":
			needed = Version{2, 3, 1}
		case "UUID":
			needed = Version{2, 4, 1}
		}
	}
	if e.server.AtLeast(needed.Major, needed.Minor, needed.Patch) {
		return nil
	}
	return fmt.Errorf("%s as %s needs Tarantool %v or later, the server's version is %v",
		typeName(reflect.TypeOf(v)), sqlType, needed, e.server)
}

var (
	stringerType = reflect.TypeFor[fmt.Stringer]()
	decimalType  = reflect.TypeFor[decimaler]()
	boolType     = reflect.TypeFor[bool]()
	stringType   = reflect.TypeFor[string]()
)

// isUUID reports whether t is a UUID of any package. They would be
// driver.Valuers of text, which a UUID column does not take. A ULID, which has 16 bytes
// too, has another text.
func isUUID(t reflect.Type) bool {
	if t.Kind() != reflect.Array || t.Len() != 16 || t.Elem().Kind() != reflect.Uint8 || !t.Implements(stringerType) {
		return false
	}
	if known, ok := uuidTypes.Load(t); ok {
		return known.(bool)
	}
	is := reflect.Zero(t).Interface().(fmt.Stringer).String() == UUID{}.String()
	uuidTypes.Store(t, is)
	return is
}

// uuidTypes are those that were asked for.
var uuidTypes sync.Map

// isNull reports whether t is like uuid.NullUUID or decimal.NullDecimal, whose
// Value returns text as well, or an sql.Null, whose Value has only what database/sql
// knows.
func isNull(t reflect.Type) bool {
	if isSQLNull(t) {
		return true
	}
	if t.Kind() != reflect.Struct || t.NumField() != 2 || t.Field(1).Name != "Valid" || t.Field(1).Type != boolType {
		return false
	}
	inner := t.Field(0)
	return inner.IsExported() && (isUUID(inner.Type) || inner.Type.Implements(decimalType))
}

// isSQLNull reports whether t is an sql.Null[T], a struct of V and Valid.
func isSQLNull(t reflect.Type) bool {
	return t.PkgPath() == "database/sql" && strings.HasPrefix(t.Name(), "Null[")
}

// reflected appends what append has no case for.
func (e encoder) reflected(b []byte, v reflect.Value, depth int) ([]byte, error) {
	t := v.Type()
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			// As database/sql does it: a method of the pointer may take nil.
			if valuer, ok := v.Interface().(driver.Valuer); ok && !t.Elem().Implements(valuerType) {
				return e.valuer(b, valuer, depth)
			}
			return appendNil(b), nil
		}
		if elem := t.Elem(); isUUID(elem) || isNull(elem) || e.isDocument(elem) {
			return e.reflected(b, v.Elem(), depth)
		}
	}
	switch {
	case isUUID(t):
		if err := e.needs("UUID", v.Interface()); err != nil {
			return b, err
		}
		return appendExt(b, extUUID, arrayBytes(v)), nil
	case isNull(t):
		if !v.Field(1).Bool() {
			return appendNil(b), nil
		}
		return e.append(b, v.Field(0).Interface(), depth)
	case e.isDocument(t):
		return e.structure(b, v, depth)
	}
	switch v := v.Interface().(type) {
	case *big.Int:
		if err := e.needs("DECIMAL", v); err != nil {
			return b, err
		}
		return appendBigInt(b, v, 0, e.server)
	case decimaler:
		if err := e.needs("DECIMAL", v); err != nil {
			return b, err
		}
		return appendDecimaler(b, v, e.server)
	case driver.Valuer:
		return e.valuer(b, v, depth)
	case msgpack.CustomEncoder, msgpack.Marshaler:
		if e.lua {
			return e.marshal(b, v)
		}
	}
	return e.byKind(b, v, depth)
}

func (e encoder) valuer(b []byte, v driver.Valuer, depth int) ([]byte, error) {
	value, err := v.Value()
	if err != nil {
		return b, err
	}
	return e.append(b, value, depth)
}

// isDocument reports whether t is a struct that this encoder makes a map of.
func (e encoder) isDocument(t reflect.Type) bool {
	return e.lua && t.Kind() == reflect.Struct && shapeOf(t).document
}

func (e encoder) byKind(b []byte, v reflect.Value, depth int) ([]byte, error) {
	switch v.Kind() {
	case reflect.Bool:
		return appendBool(b, v.Bool()), nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return appendInt(b, v.Int()), nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return appendUint(b, v.Uint()), nil
	case reflect.Float32, reflect.Float64:
		return appendFloat(b, v.Float()), nil
	case reflect.String:
		return appendString(b, v.String()), nil
	case reflect.Pointer:
		return e.append(b, v.Elem().Interface(), depth)
	case reflect.Slice:
		if v.IsNil() {
			return appendNil(b), nil
		}
		if isByte(v.Type().Elem()) {
			return appendBinary(b, v.Bytes()), nil
		}
		return e.array(b, v, depth)
	case reflect.Array:
		if isByte(v.Type().Elem()) {
			return appendBinary(b, arrayBytes(v)), nil
		}
		return e.array(b, v, depth)
	case reflect.Map:
		if v.IsNil() {
			return appendNil(b), nil
		}
		return e.mapping(b, v, depth)
	case reflect.Struct:
		if known := madeFrom(v.Type()); known != nil {
			return e.append(b, v.Convert(known).Interface(), depth)
		}
		if wrapsKnown(v.Type()) {
			return e.append(b, v.Field(0).Interface(), depth)
		}
		if e.lua {
			return e.structure(b, v, depth)
		}
		return b, fmt.Errorf("unsupported type %s: pass a struct as a tntsql.Doc", typeName(v.Type()))
	}
	return b, fmt.Errorf("unsupported type %s", typeName(v.Type()))
}

// isByte reports whether a slice of t is bytes. A driver.Valuer is encoded as its Value.
func isByte(t reflect.Type) bool { return t.Kind() == reflect.Uint8 && !t.Implements(valuerType) }

// arrayBytes are those of an array whose elements may be of a named type.
func arrayBytes(v reflect.Value) []byte {
	addressable := reflect.New(v.Type()).Elem()
	addressable.Set(v)
	return addressable.Bytes()
}

// typeName is a type's name as users know it: the types of this package are exported by
// package tntsql.
func typeName(t reflect.Type) string { return exportedNames.Replace(fmt.Sprint(t)) }

// TypeName is the type of v as users know it.
func TypeName(v any) string { return typeName(reflect.TypeOf(v)) }

var exportedNames = func() *strings.Replacer {
	var names []string
	for _, t := range []reflect.Type{reflect.TypeFor[Decimal](), reflect.TypeFor[UUID](), reflect.TypeFor[Interval]()} {
		// Arguments of generic types have the whole path.
		names = append(names, t.PkgPath()+"."+t.Name(), "tntsql."+t.Name(), t.String(), "tntsql."+t.Name())
	}
	return strings.NewReplacer(names...)
}()

func (e encoder) array(b []byte, v reflect.Value, depth int) ([]byte, error) {
	if err := e.needs("ARRAY", v.Interface()); err != nil {
		return b, err
	}
	b = appendArrayLen(b, v.Len())
	for i := range v.Len() {
		var err error
		if b, err = e.append(b, v.Index(i).Interface(), depth); err != nil {
			return b, err
		}
	}
	return b, nil
}

// mapping appends a map in the order of its encoded keys, so that equal maps
// are equal bytes.
func (e encoder) mapping(b []byte, v reflect.Value, depth int) ([]byte, error) {
	if err := e.needs("MAP", v.Interface()); err != nil {
		return b, err
	}
	type pair struct {
		key   []byte
		value reflect.Value
	}
	pairs := make([]pair, 0, v.Len())
	for iter := v.MapRange(); iter.Next(); {
		var (
			key []byte
			err error
		)
		if k := iter.Key(); k.Type() == stringType {
			key = appendString(nil, k.String())
		} else if key, err = e.append(nil, k.Interface(), depth); err != nil {
			return b, err
		}
		if !(scanner{b: key}).hashable() {
			return b, fmt.Errorf("a key of a map is %s: it must be text, a number or the like", typeName(iter.Key().Type()))
		}
		pairs = append(pairs, pair{key, iter.Value()})
	}
	slices.SortFunc(pairs, func(x, y pair) int { return bytes.Compare(x.key, y.key) })
	b = appendMapLen(b, len(pairs))
	for i, p := range pairs {
		var err error
		if i > 0 && bytes.Equal(p.key, pairs[i-1].key) {
			return b, errors.New("two keys of a map are encoded alike: one of them would be lost")
		}
		if b, err = e.append(append(b, p.key...), p.value.Interface(), depth); err != nil {
			return b, err
		}
	}
	return b, nil
}
