package iproto

import (
	"cmp"
	"database/sql/driver"
	"encoding"
	"reflect"
	"slices"
	"strings"
	"sync"

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

// structs has the fields of each type of struct that was asked for.
var structs sync.Map

// fieldsOf returns the fields of a struct in their order. Tags are "msgpack", else "json".
func fieldsOf(t reflect.Type) []field {
	if fields, ok := structs.Load(t); ok {
		return fields.([]field)
	}
	fields := collectFields(t, nil, nil)
	// Of two with one name the outer one counts, as in Go.
	outer := make(map[string]int)
	for _, f := range fields {
		if depth, ok := outer[f.name]; !ok || len(f.index) < depth {
			outer[f.name] = len(f.index)
		}
	}
	fields = slices.DeleteFunc(fields, func(f field) bool { return outer[f.name] < len(f.index) })
	structs.Store(t, fields)
	return fields
}

func collectFields(t reflect.Type, index []int, within []reflect.Type) []field {
	var fields []field
	within = append(within, t)
	for i := range t.NumField() {
		f := t.Field(i)
		tag, ok := f.Tag.Lookup("msgpack")
		if !ok {
			tag = f.Tag.Get(structTag)
		}
		name, options, _ := strings.Cut(tag, ",")
		at := append(slices.Clone(index), i)
		embedded := f.Type
		if embedded.Kind() == reflect.Pointer {
			embedded = embedded.Elem()
		}
		switch {
		case tag == "-":
		case f.Anonymous && name == "" && isDocument(embedded):
			if !slices.Contains(within, embedded) {
				fields = append(fields, collectFields(embedded, at, within)...)
			}
		case f.IsExported():
			fields = append(fields, field{cmp.Or(name, f.Name), at, strings.Contains(options, "omitempty")})
		}
	}
	return fields
}

// encoders are what a type has that says how it is encoded.
var encoders = []reflect.Type{
	reflect.TypeFor[driver.Valuer](), decimalType, reflect.TypeFor[msgpack.CustomEncoder](), reflect.TypeFor[msgpack.Marshaler](),
	reflect.TypeFor[encoding.BinaryMarshaler](), reflect.TypeFor[encoding.TextMarshaler](),
}

// isDocument reports whether t is a struct that is the map of its fields. One that
// encodes itself is not, nor one with options of msgpack for the whole of it.
func isDocument(t reflect.Type) bool {
	if t.Kind() != reflect.Struct {
		return false
	}
	if _, ok := t.FieldByName("_msgpack"); ok {
		return false
	}
	return !slices.ContainsFunc(encoders, reflect.PointerTo(t).Implements)
}

// structure appends a struct as a map.
func (e encoder) structure(b []byte, v reflect.Value, depth int) ([]byte, error) {
	if !isDocument(v.Type()) {
		// A copy that has an address has the pointer's methods too.
		addressable := reflect.New(v.Type())
		addressable.Elem().Set(v)
		return e.marshal(b, addressable.Interface())
	}
	type entry struct {
		name  string
		value reflect.Value
	}
	var entries []entry
	for _, f := range fieldsOf(v.Type()) {
		value, err := v.FieldByIndexErr(f.index)
		if err != nil || f.omitEmpty && omitted(value) {
			continue // the error is a nil pointer to the embedded struct
		}
		entries = append(entries, entry{f.name, value})
	}
	b = appendMapLen(b, len(entries))
	for _, f := range entries {
		var err error
		if b, err = e.append(appendString(b, f.name), f.value.Interface(), depth); err != nil {
			return b, inField(f.name, err)
		}
	}
	return b, nil
}

func omitted(v reflect.Value) bool {
	if zeroer, ok := v.Interface().(interface{ IsZero() bool }); ok && v.Kind() != reflect.Pointer {
		return zeroer.IsZero()
	}
	switch v.Kind() {
	case reflect.Slice, reflect.Map:
		return v.Len() == 0
	}
	return v.IsZero()
}
