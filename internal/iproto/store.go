package iproto

import (
	"cmp"
	"database/sql"
	"encoding"
	"fmt"
	"math"
	"reflect"
	"time"

	"github.com/vmihailenco/msgpack/v5"
)

// maxPointers bounds how deep a destination may be: a level of the value may have a
// pointer or two, and a type of pointers to itself has no end.
const maxPointers = 3 * MaxDepth

// store decodes the next value, which has been seen to be well-formed, into dst, which
// has an address. What does not fit is an error: numbers are not cut.
func (s *scanner) store(dst reflect.Value, depth int) error {
	if depth == 0 {
		return errTooDeep
	}
	start := s.pos
	k, n, err := s.head()
	if err != nil {
		return err
	}
	if k == kindNil {
		dst.SetZero()
		return nil
	}
	after := s.pos
	s.pos = start
	if dst.Kind() == reflect.Pointer {
		if dst.IsNil() {
			if err := s.spendMany(1, dst.Type().Elem()); err != nil {
				return err
			}
			dst.Set(reflect.New(dst.Type().Elem()))
		}
		return s.store(dst.Elem(), depth-1)
	}
	nested := k == kindArray || k == kindMap
	if nested && isSQLNull(dst.Type()) {
		err := s.store(dst.Field(0), depth-1)
		dst.Field(1).SetBool(err == nil)
		return err
	}
	switch into := dst.Addr().Interface().(type) {
	case *time.Time:
		return assign(s, into)
	case *Interval:
		return assign(s, into)
	case sql.Scanner:
		if nested && isByKind(dst.Type()) {
			break // it scans plain columns
		}
		value, err := s.value()
		if err != nil {
			return err
		}
		scanned := into.Scan(value)
		if scanned != nil && isSQLNull(dst.Type()) {
			s.pos = start // Scan knows fewer types than V may be of
			if s.store(dst.Field(0), depth-1) == nil {
				dst.Field(1).SetBool(true)
				return nil
			}
		}
		return scanned
	case msgpack.CustomDecoder, msgpack.Unmarshaler:
		if nested && !has(dst.Type(), decoders) {
			break
		}
		raw, err := s.raw()
		if err != nil {
			return err
		}
		return unmarshal(raw, into)
	}
	if dst.Kind() == reflect.Interface {
		return s.storeAny(dst)
	}
	if k == kindExt {
		if known := madeFrom(dst.Type()); known != nil {
			return s.store(dst.Addr().Convert(reflect.PointerTo(known)).Elem(), depth-1)
		}
		if wrapsKnown(dst.Type()) {
			return s.store(dst.Field(0), depth-1)
		}
		return s.storeExtension(dst)
	}
	s.pos = after
	if done, err := s.storeBytes(dst, k, n); done {
		return err
	}
	switch k {
	case kindArray:
		return s.storeArray(dst, n, depth)
	case kindMap:
		return s.storeMap(dst, n, depth)
	}
	return storeScalar(dst, k, n)
}

func mismatch(what any, dst reflect.Value) error {
	return fmt.Errorf("cannot decode %v into %s", what, typeName(dst.Type()))
}

func inField(name string, err error) error { return fmt.Errorf("field %s: %w", name, err) }

// assign decodes into a type that values of rows have.
func assign[T any](s *scanner, dst *T) error {
	value, err := s.value()
	if err != nil {
		return err
	}
	typed, ok := value.(T)
	if !ok {
		return fmt.Errorf("cannot decode %s into %s", typeName(reflect.TypeOf(value)), typeName(reflect.TypeFor[T]()))
	}
	*dst = typed
	return nil
}

func (s *scanner) storeAny(dst reflect.Value) error {
	value, err := s.value()
	if err != nil {
		return err
	}
	v := reflect.ValueOf(value)
	if !v.Type().AssignableTo(dst.Type()) {
		return mismatch(typeName(v.Type()), dst)
	}
	dst.Set(v)
	return nil
}

// storeExtension has msgpack decode into what is registered for the extension. All other
// types get what a row would hold: most often text.
func (s *scanner) storeExtension(dst reflect.Value) error {
	raw, err := s.raw()
	if err != nil {
		return err
	}
	registered := decode(raw, dst.Addr().Interface())
	if registered == nil {
		return nil
	}
	plain := scanner{b: raw, typed: true}
	value, err := plain.value()
	if err != nil {
		return registered
	}
	var text string
	switch value := value.(type) {
	case Decimal:
		if isNumber(dst) {
			return storeDecimal(dst, string(value))
		}
		text = string(value)
	case UUID:
		text = value.String()
	case string:
		text = value
	default:
		return mismatch(TypeName(value), dst)
	}
	if done, err := storeText(dst, []byte(text)); done {
		return err
	}
	return mismatch(TypeName(value), dst)
}

// storeBytes decodes strings and binaries. What the kind of dst takes goes in as it would
// come out: its methods for text and bytes are for the others, and for text into bytes.
func (s *scanner) storeBytes(dst reflect.Value, k kind, n uint64) (done bool, err error) {
	if k != kindStr && k != kindBin {
		return false, nil
	}
	data := s.take(n)
	if k == kindBin {
		if storeRaw(dst, data) {
			return true, nil
		}
		if into, ok := dst.Addr().Interface().(encoding.BinaryUnmarshaler); ok {
			return true, into.UnmarshalBinary(data)
		}
	}
	if done, err := storeText(dst, data); done {
		return true, err
	}
	if s.plain && k == kindStr && isNumber(dst) && storeDecimal(dst, string(data)) == nil {
		return true, nil
	}
	return true, mismatch(k, dst)
}

// storeText never keeps a reference to text.
func storeText(dst reflect.Value, text []byte) (done bool, err error) {
	if dst.Kind() == reflect.String {
		dst.SetString(string(text))
		return true, nil
	}
	if into, ok := dst.Addr().Interface().(encoding.TextUnmarshaler); ok {
		return true, into.UnmarshalText(text)
	}
	return storeRaw(dst, text), nil
}

// storeRaw stores in a slice or array of bytes, and tells whether dst is one that fits.
func storeRaw(dst reflect.Value, data []byte) bool {
	switch t := dst.Type(); {
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
		dst.SetBytes(append(make([]byte, 0, len(data)), data...))
	case t.Kind() == reflect.Array && t.Elem().Kind() == reflect.Uint8 && t.Len() == len(data):
		copy(dst.Bytes(), data)
	default:
		return false
	}
	return true
}

func (s *scanner) storeArray(dst reflect.Value, n uint64, depth int) error {
	switch {
	case dst.Kind() == reflect.Slice && !isByte(dst.Type().Elem()):
		if err := s.spendMany(n, dst.Type().Elem()); err != nil {
			return err
		}
		dst.Set(reflect.MakeSlice(dst.Type(), int(n), int(n)))
	case dst.Kind() == reflect.Array && uint64(dst.Len()) == n:
	case dst.Kind() == reflect.Struct:
		return s.storeTuple(dst, n, depth)
	default:
		return mismatch(fmt.Sprintf("an array of %d", n), dst)
	}
	for i := range int(n) {
		if err := s.store(dst.Index(i), depth-1); err != nil {
			return fmt.Errorf("element %d: %w", i+1, err)
		}
	}
	return nil
}

// storeTuple decodes an array into the fields of a struct, in their order, as a tuple of
// a space is one.
func (s *scanner) storeTuple(dst reflect.Value, n uint64, depth int) error {
	shape := shapeOf(dst.Type())
	if shape.err != nil {
		return shape.err
	}
	for i := range n {
		if i >= uint64(len(shape.fields)) {
			return s.skip(n-i, MaxDepth)
		}
		if err := s.storeField(dst, &shape.fields[i], depth); err != nil {
			return err
		}
	}
	return nil
}

func (s *scanner) storeField(dst reflect.Value, f *field, depth int) error {
	for i, at := range f.index {
		if i > 0 && dst.Kind() == reflect.Pointer {
			if dst.IsNil() {
				if !dst.CanSet() {
					return inField(f.name, mismatch("anything", dst))
				}
				dst.Set(reflect.New(dst.Type().Elem()))
			}
			dst = dst.Elem()
		}
		dst = dst.Field(at)
	}
	if err := s.store(dst, depth-1); err != nil {
		return inField(f.name, err)
	}
	return nil
}

func (s *scanner) storeMap(dst reflect.Value, n uint64, depth int) error {
	switch dst.Kind() {
	case reflect.Map:
	case reflect.Struct:
		return s.storeStruct(dst, n, depth)
	default:
		return mismatch(kindMap, dst)
	}
	t := dst.Type()
	if err := cmp.Or(s.spend(perMap+int(n)*perPair), s.spendMany(n, t.Key()), s.spendMany(n, t.Elem())); err != nil {
		return err
	}
	dst.Set(reflect.MakeMapWithSize(t, int(min(n, 64)))) // keys may repeat
	for range n {
		key, value := reflect.New(t.Key()).Elem(), reflect.New(t.Elem()).Elem()
		if err := s.store(key, depth-1); err != nil {
			return fmt.Errorf("a key: %w", err)
		}
		if !key.Comparable() {
			return s.malformed("a key of a map is %v", key.Elem().Type())
		}
		if err := s.store(value, depth-1); err != nil {
			return fmt.Errorf("key %s: %w", Shown(fmt.Sprint(key)), err)
		}
		dst.SetMapIndex(key, value)
	}
	return nil
}

// storeStruct decodes a map by the names of the fields. Other keys are left out.
func (s *scanner) storeStruct(dst reflect.Value, n uint64, depth int) error {
	shape := shapeOf(dst.Type())
	if shape.err != nil {
		return shape.err
	}
	for range n {
		key, err := s.value()
		if err != nil {
			return err
		}
		var found *field
		for i := range shape.fields {
			if shape.fields[i].name == key {
				found = &shape.fields[i]
			}
		}
		if found == nil {
			err = s.skip(1, MaxDepth)
		} else {
			err = s.storeField(dst, found, depth)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// storeScalar stores a boolean or a number.
func storeScalar(dst reflect.Value, k kind, n uint64) error {
	if k == kindBool {
		if dst.Kind() != reflect.Bool {
			return mismatch(k, dst)
		}
		dst.SetBool(n == 1)
		return nil
	}
	fits := false
	switch {
	case dst.CanInt():
		var i int64
		if i, fits = toInt(k, n); fits && !dst.OverflowInt(i) {
			dst.SetInt(i)
			return nil
		}
	case dst.CanUint():
		var u uint64
		if u, fits = toUint(k, n); fits && !dst.OverflowUint(u) {
			dst.SetUint(u)
			return nil
		}
	case dst.CanFloat():
		var f float64
		if f, fits = toFloat(k, n); fits && !dst.OverflowFloat(f) {
			dst.SetFloat(f)
			return nil
		}
	default:
		return mismatch(k, dst)
	}
	return mismatch(number(k, n), dst)
}

// number is a number as text.
func number(k kind, n uint64) string {
	switch k {
	case kindUint:
		return fmt.Sprint(n)
	case kindInt:
		return fmt.Sprint(int64(n))
	}
	return fmt.Sprint(math.Float64frombits(n))
}

// Floats of 2^63 and 2^64, the first that do not fit.
const (
	firstAboveInt64  = 1 << 63
	firstAboveUint64 = 1 << 64
)

// toInt takes a float that is an integer too, as Lua's numbers are.
func toInt(k kind, n uint64) (int64, bool) {
	switch k {
	case kindUint:
		return int64(n), n <= math.MaxInt64
	case kindInt:
		return int64(n), true
	}
	f := math.Float64frombits(n)
	return int64(f), f == math.Trunc(f) && f >= -firstAboveInt64 && f < firstAboveInt64
}

func toUint(k kind, n uint64) (uint64, bool) {
	switch k {
	case kindUint:
		return n, true
	case kindInt:
		return 0, false
	}
	f := math.Float64frombits(n)
	return uint64(f), f == math.Trunc(f) && f >= 0 && f < firstAboveUint64
}

// toFloat takes an integer that a float64 holds exactly.
func toFloat(k kind, n uint64) (float64, bool) {
	switch k {
	case kindUint:
		f := float64(n)
		return f, f < firstAboveUint64 && uint64(f) == n
	case kindInt:
		return float64(int64(n)), int64(float64(int64(n))) == int64(n)
	}
	return math.Float64frombits(n), true
}
