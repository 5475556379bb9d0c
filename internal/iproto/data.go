package iproto

import (
	"fmt"
	"reflect"
	"time"

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
// than dst. The types may be the user's own, with tags "msgpack", else "json".
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
			err = decodeInto(raw, d)
		}
		if err != nil {
			return fmt.Errorf("value %d: %w", i+1, err)
		}
	}
	return nil
}

// decodeInto decodes into types of rows as a row is decoded, into all others by
// msgpack.
func decodeInto(raw []byte, dst any) error {
	if v := reflect.ValueOf(dst); v.Kind() != reflect.Pointer || v.IsNil() {
		return fmt.Errorf("cannot decode into %T, only into a pointer", dst)
	}
	switch dst := dst.(type) {
	case *any:
		return assign(raw, dst)
	case *[]any:
		return assign(raw, dst)
	case *map[string]any:
		return assign(raw, dst)
	case *time.Time:
		return assign(raw, dst)
	}
	return unmarshal(raw, dst)
}

// assign decodes as in a row; nil is the zero value.
func assign[T any](raw []byte, dst *T) error {
	s := scanner{b: raw}
	value, err := s.value()
	if err != nil {
		return err
	}
	typed, ok := value.(T)
	if !ok && value != nil {
		return fmt.Errorf("cannot decode %T into %T", value, *dst)
	}
	*dst = typed
	return nil
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
