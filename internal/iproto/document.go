package iproto

import (
	"cmp"
	"database/sql/driver"
	"encoding"
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

// A struct of the user's is the map of its exported fields, each of which is encoded
// and decoded as it would be on its own.

// field is one entry of the map that a struct is.
type field struct {
	name      string
	index     []int
	omitEmpty bool
}

// shape is what is known of a type of struct.
type shape struct {
	document bool // it is the map of its fields
	fields   []field
	err      error // why its fields are no map
}

// shapes has those that were asked for.
var shapes sync.Map

func shapeOf(t reflect.Type) *shape {
	if known, ok := shapes.Load(t); ok {
		return known.(*shape)
	}
	s := &shape{document: isDocument(t)}
	s.fields, s.err = fieldsOf(t)
	shapes.Store(t, s)
	return s
}

// fieldsOf returns the fields of a struct in their order.
func fieldsOf(t reflect.Type) ([]field, error) {
	fields, err := collectFields(t, nil, nil)
	if err == nil && len(fields) == 0 && t.NumField() > 0 && !hasExported(t) {
		err = fmt.Errorf("%s has no exported fields", typeName(t))
	}
	// Of two with one name the outer one counts, as in Go.
	outer := make(map[string]int)
	for _, f := range fields {
		if depth, ok := outer[f.name]; !ok || len(f.index) < depth {
			outer[f.name] = len(f.index)
		}
	}
	fields = slices.DeleteFunc(fields, func(f field) bool { return outer[f.name] < len(f.index) })
	seen := make(map[string]bool)
	for _, f := range fields {
		if seen[f.name] {
			err = fmt.Errorf("%s has two fields with the name %s", typeName(t), f.name)
		}
		seen[f.name] = true
	}
	return fields, err
}

func hasExported(t reflect.Type) bool {
	return slices.ContainsFunc(reflect.VisibleFields(t), func(f reflect.StructField) bool { return f.IsExported() })
}

func collectFields(t reflect.Type, index []int, within []reflect.Type) ([]field, error) {
	var fields []field
	within = append(within, t)
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(tagOf(f), ",")
		at := append(slices.Clone(index), i)
		embedded := f.Type
		if embedded.Kind() == reflect.Pointer {
			embedded = embedded.Elem()
		}
		switch {
		case tagOf(f) == "-":
		case f.Anonymous && name == "" && isDocument(embedded):
			if slices.Contains(within, embedded) {
				continue
			}
			inner, err := collectFields(embedded, at, within)
			if err != nil {
				return nil, err
			}
			fields = append(fields, inner...)
		case f.IsExported():
			fields = append(fields, field{cmp.Or(name, f.Name), at, strings.Contains(options, "omitempty")})
		case f.Anonymous && (embedded.Kind() == reflect.Struct || has(embedded, encoders)):
			return nil, fmt.Errorf("%s embeds %s, which is not exported: give the field a name", typeName(t), typeName(f.Type))
		}
	}
	return fields, nil
}

// tagOf returns a field's tag "msgpack", else "json".
func tagOf(f reflect.StructField) string {
	if tag, ok := f.Tag.Lookup("msgpack"); ok {
		return tag
	}
	return f.Tag.Get(structTag)
}

var valuerType = reflect.TypeFor[driver.Valuer]()

// encoders are what a type has that says how it is encoded.
var encoders = []reflect.Type{
	valuerType, decimalType, reflect.TypeFor[msgpack.CustomEncoder](), reflect.TypeFor[msgpack.Marshaler](),
	reflect.TypeFor[encoding.BinaryMarshaler](), reflect.TypeFor[encoding.TextMarshaler](),
}

// decoders are what a type has that says how msgpack decodes it.
var decoders = []reflect.Type{reflect.TypeFor[msgpack.CustomDecoder](), reflect.TypeFor[msgpack.Unmarshaler]()}

// isDocument reports whether t is a struct that is the map of its fields. One that
// encodes itself is not, nor one with options of msgpack for the whole of it.
func isDocument(t reflect.Type) bool {
	if t.Kind() != reflect.Struct || madeFrom(t) != nil {
		return false
	}
	if _, ok := t.FieldByName("_msgpack"); ok {
		return false
	}
	return !has(t, encoders)
}

// has reports whether t or a pointer to it implements one of the interfaces.
func has(t reflect.Type, interfaces []reflect.Type) bool {
	return slices.ContainsFunc(interfaces, func(i reflect.Type) bool {
		return reflect.PointerTo(t).Implements(i) && !promoted(t, i)
	})
}

// promoted reports whether t has the methods from a type that it embeds beside other
// fields: they say nothing of those.
func promoted(t, methods reflect.Type) bool {
	if t.Kind() != reflect.Struct {
		return false
	}
	embedded, others := false, false
	for i := range t.NumField() {
		f := t.Field(i)
		switch {
		case f.Anonymous && (f.Type.Implements(methods) || reflect.PointerTo(f.Type).Implements(methods)):
			embedded = true
		case (f.IsExported() || f.Anonymous) && tagOf(f) != "-":
			others = true
		}
	}
	return embedded && others
}

// madeFrom returns the type of values of rows that a type of struct is made from, as
// type Date time.Time is, or nil.
func madeFrom(t reflect.Type) reflect.Type {
	if t.Kind() != reflect.Struct {
		return nil
	}
	for _, known := range []reflect.Type{reflect.TypeFor[time.Time](), reflect.TypeFor[Interval]()} {
		if t.ConvertibleTo(known) {
			return known
		}
	}
	return nil
}

// isByKind reports whether arrays or maps are made of t by its kind, not by a method.
func isByKind(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Struct:
		return shapeOf(t).document && len(shapeOf(t).fields) > 0
	case reflect.Slice, reflect.Array, reflect.Map:
		return !has(t, encoders)
	}
	return false
}

// wrapsKnown reports whether t has nothing but an embedded type of values of rows, as
// struct{ time.Time } has.
func wrapsKnown(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && t.NumField() == 1 && t.Field(0).Anonymous && t.Field(0).IsExported() &&
		madeFrom(t.Field(0).Type) != nil
}

// structure appends a struct as a map.
func (e encoder) structure(b []byte, v reflect.Value, depth int) ([]byte, error) {
	shape := shapeOf(v.Type())
	if !shape.document {
		// A copy that has an address has the pointer's methods too.
		addressable := reflect.New(v.Type())
		addressable.Elem().Set(v)
		switch p := addressable.Interface().(type) {
		case *big.Int, decimaler, driver.Valuer:
			return e.reflected(b, addressable, depth)
		default:
			return e.marshal(b, p)
		}
	}
	if shape.err != nil {
		return b, shape.err
	}
	type entry struct {
		name  string
		value reflect.Value
	}
	var entries []entry
	for _, f := range shape.fields {
		value, err := v.FieldByIndexErr(f.index)
		if err != nil || f.omitEmpty && omitted(value) {
			continue // the error is a nil pointer to the embedded struct
		}
		entries = append(entries, entry{f.name, value})
	}
	b = appendMapLen(b, len(entries))
	for _, f := range entries {
		var err error
		if b, err = e.append(appendString(b, f.name), f.value.Interface(), depth); errors.Is(err, errTooDeep) {
			// The path would be as long as the value is deep.
			return b, fmt.Errorf("%s: %w", typeName(v.Type()), errTooDeep)
		} else if err != nil {
			return b, inField(f.name, err)
		}
	}
	return b, nil
}

func omitted(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		return v.IsNil()
	case reflect.Slice, reflect.Map:
		return v.Len() == 0
	}
	if zeroer, ok := v.Interface().(interface{ IsZero() bool }); ok {
		return zeroer.IsZero()
	}
	return v.IsZero()
}
