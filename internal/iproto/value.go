package iproto

import (
	"fmt"
	"math"
	"reflect"
)

// Values may view the body that they come from. A value that alone would keep
// a body of more than copyAbove bytes alive, over copyRatio times its own
// size, is copied instead.
const (
	copyAbove = 64 << 10
	copyRatio = 4
)

// A map of one pair is 5 bytes in a body and 350 in Go. What the arrays and maps of one
// value may take is bounded, so that no body takes all the memory there is.
const (
	nestedRatio = 8       // of the body, or
	nestedFloor = 1 << 30 // bytes, if that is more

	perElement   = 32 // of an array: an interface, and what it points at
	perMap       = 400
	perPair      = 192 // with those of the smaller maps that it grew out of
	perExtension = 256 // a datetime with its zone, the longest of them but for errors
)

// Sharing one empty array is safe: appending to it makes another.
var emptyArray any = []any{}

// value decodes one value into what database/sql and a Lua programmer expect:
// int64 (uint64 above MaxInt64), float64, string, []byte, bool, nil, []any,
// map[string]any (map[any]any if a key is no string), and for the extensions
// string (DECIMAL, UUID, ERROR), time.Time (DATETIME) and Interval.
func (s *scanner) value() (any, error) {
	start := s.pos
	k, n, err := s.head()
	if err != nil {
		return nil, err
	}
	if k == kindArray || k == kindMap {
		// Once the whole value is known to be well-formed, its lengths
		// can be trusted for allocation.
		s.pos = start
		if err := s.skip(1, MaxDepth); err != nil {
			return nil, err
		}
		s.pos = start
		if s.room == 0 {
			s.room = roomOf(s.b)
		}
		return s.nested()
	}
	return s.scalar(k, n)
}

func roomOf(body []byte) int { return max(nestedRatio*len(body), nestedFloor) }

// spend takes room for an array or a map, before it is made.
func (s *scanner) spend(bytes int) error {
	if s.room -= bytes; s.room < 0 {
		return fmt.Errorf("an array or map of a reply of %d bytes would take over %d MiB of memory",
			len(s.b), roomOf(s.b)>>20)
	}
	return nil
}

// spendMany is spend for n values of a type of the user's.
func (s *scanner) spendMany(n uint64, t reflect.Type) error {
	if size := uint64(t.Size()); size > 0 && n > uint64(s.room)/size {
		s.room = 0
		return s.spend(1)
	}
	return s.spend(int(n) * int(t.Size()))
}

func (s *scanner) scalar(k kind, n uint64) (any, error) {
	switch k {
	case kindNil:
		return nil, nil
	case kindBool:
		return n == 1, nil
	case kindUint:
		if n > math.MaxInt64 {
			return n, nil
		}
		return s.slabs.int(int64(n)), nil
	case kindInt:
		return s.slabs.int(int64(n)), nil
	case kindFloat:
		return s.slabs.float(math.Float64frombits(n)), nil
	case kindStr:
		return s.slabs.text(view(s.keep(n))), nil
	case kindBin:
		return s.keep(n), nil
	default:
		id, data := s.extension(n)
		if s.typed && id == extUUID {
			return decodeUUID(data)
		}
		v, err := decodeExtension(id, data)
		if text, ok := v.(string); ok && s.typed && id == extDecimal {
			return Decimal(text), nil
		}
		return v, err
	}
}

// keep is take for bytes that are handed out.
func (s *scanner) keep(n uint64) []byte {
	data := s.take(n)
	if len(s.b) > copyAbove && len(data)*copyRatio < len(s.b) {
		return s.slabs.copy(data)
	}
	return data
}

// nested decodes a value that skip has found well-formed.
func (s *scanner) nested() (any, error) {
	k, n, err := s.head()
	if err != nil {
		return nil, err
	}
	switch k {
	case kindArray:
		if n == 0 {
			return emptyArray, nil
		}
		if err := s.spend((int(n) + 1) * perElement); err != nil {
			return nil, err
		}
		array := make([]any, n)
		for i := range array {
			if array[i], err = s.nested(); err != nil {
				return nil, err
			}
		}
		return array, nil
	case kindMap:
		return s.nestedMap(n)
	case kindStr, kindBin:
		err = s.spend(int(n) + perElement)
	case kindExt:
		err = s.spend(int(n)*nestedRatio + perExtension)
	}
	if err != nil {
		return nil, err
	}
	return s.scalar(k, n)
}

func (s *scanner) nestedMap(n uint64) (any, error) {
	if err := s.spend(perMap + int(n)*perPair); err != nil {
		return nil, err
	}
	// Keys may repeat, so the length says little about the map's size.
	named := make(map[string]any, min(n, 64))
	for ; n > 0; n-- {
		key, err := s.nested()
		if err != nil {
			return nil, err
		}
		name, ok := key.(string)
		if !ok {
			return s.mixedMap(named, key, n)
		}
		if named[name], err = s.nested(); err != nil {
			return nil, err
		}
	}
	return named, nil
}

// mixedMap goes on with the n pairs from the first key that is no string.
func (s *scanner) mixedMap(named map[string]any, key any, n uint64) (any, error) {
	if err := s.spend(perMap + (len(named)+int(n))*perPair); err != nil {
		return nil, err
	}
	mixed := make(map[any]any, len(named)+1)
	for name, value := range named {
		mixed[name] = value
	}
	for {
		if key != nil && !reflect.TypeOf(key).Comparable() {
			return nil, s.malformed("a key of a map is %T", key)
		}
		value, err := s.nested()
		if err != nil {
			return nil, err
		}
		mixed[key] = value
		if n--; n == 0 {
			return mixed, nil
		}
		if key, err = s.nested(); err != nil {
			return nil, err
		}
	}
}

// hashable tells whether the next value can be a key of a map, to Go and to Lua.
func (s scanner) hashable() bool {
	k, _, err := s.head()
	return err == nil && k != kindArray && k != kindMap && k != kindBin
}

// decodeExtension never keeps a reference to data.
func decodeExtension(id int8, data []byte) (any, error) {
	switch id {
	case extDecimal:
		return decodeDecimal(data)
	case extUUID:
		u, err := decodeUUID(data)
		if err != nil {
			return nil, err
		}
		return u.String(), nil
	case extError:
		text, err := errorText(data)
		if err != nil {
			return nil, err
		}
		return text, nil
	case extDatetime:
		return decodeTime(data)
	case extInterval:
		return decodeInterval(data)
	default:
		return nil, fmt.Errorf("extension type %d of MessagePack is not supported", id)
	}
}
