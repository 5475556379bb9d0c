package iproto

import (
	"fmt"
	"reflect"

	"github.com/tarantool/go-iproto"
)

// ParseData reads the values that a CALL or EVAL returned, as Go values: those
// of a row, with MAP as map[string]any, or map[any]any if a key is no string.
// They may view the body.
func ParseData(body []byte) ([]any, error) {
	s, err := findData(body)
	if err != nil {
		return nil, err
	}
	values, err := s.value()
	if err != nil {
		return nil, err
	}
	return values.([]any), nil
}

// DecodeData decodes the values that a CALL or EVAL returned into what dst
// points at, the first into the first; a nil skips one. There may be more values
// than dst. A struct has the fields of a map, by the tags "msgpack", else "json", or the
// elements of an array. A number that does not fit is an error.
func DecodeData(body []byte, dst ...any) error {
	s, err := findData(body)
	if err != nil {
		return err
	}
	n, err := s.array()
	if err != nil {
		return err
	}
	if uint64(len(dst)) > n {
		return fmt.Errorf("%d values where %d are expected", n, len(dst))
	}
	for i, d := range dst {
		raw, err := s.raw()
		if err == nil && d != nil {
			err = decodeInto(scanner{b: raw}, d)
		}
		if err != nil {
			return fmt.Errorf("value %d: %w", i+1, err)
		}
	}
	return nil
}

// decodeInto decodes the well-formed value that s is at into what dst points at.
func decodeInto(s scanner, dst any) (err error) {
	v := reflect.ValueOf(dst)
	if v.Kind() != reflect.Pointer || v.IsNil() {
		return fmt.Errorf("cannot decode into %s, only into a pointer", TypeName(dst))
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic while %s was decoded: %v", TypeName(dst), p)
		}
	}()
	s.room = roomOf(s.b)
	return s.store(v.Elem(), maxPointers)
}

// findData returns a scanner that stands at the array of IPROTO_DATA. The body
// has been seen to be well-formed.
func findData(body []byte) (scanner, error) {
	s := scanner{b: body}
	at := -1
	err := s.fields(func(key int) (bool, error) {
		if iproto.Key(key) == iproto.IPROTO_DATA {
			at = s.pos
		}
		return false, nil
	})
	if err == nil && at < 0 {
		err = fmt.Errorf("%w: reply without data", ErrMalformed)
	}
	if err != nil {
		return scanner{}, err
	}
	s.pos = at
	data := s
	if _, err := data.array(); err != nil {
		return scanner{}, err
	}
	return s, nil
}

// Convert stores a value of a row in what dst points at, as DecodeData does. Decimals are
// text there, so text that reads as a number goes into numbers, as it does for Scan.
func Convert(v, dst any) error {
	raw, err := encode(v)
	if err != nil {
		return err
	}
	return decodeInto(scanner{b: raw, plain: true}, dst)
}

// Plain returns a value of the user's as one of a row, but for decimals and UUIDs, which
// are Decimal and UUID: as text they would be strings to the server.
func Plain(v any) (any, error) {
	raw, err := encode(v)
	if err != nil {
		return nil, err
	}
	s := scanner{b: raw, typed: true}
	return s.value()
}

func encode(v any) ([]byte, error) {
	e := encoder{server: newest, lua: true}
	return e.safely(nil, v)
}
