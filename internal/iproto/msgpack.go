package iproto

import (
	"bytes"
	"database/sql"
	"encoding"
	"encoding/binary"
	"fmt"
	"reflect"
	"time"

	"github.com/vmihailenco/msgpack/v5"
)

// Types of the user's own go through msgpack, both ways. What msgpack and the
// server understand differently are extensions: msgpack's time is one that the
// server does not know, and msgpack knows none of the server's.

// structTag is used for fields without a "msgpack" tag.
const structTag = "json"

// extMsgpackTime is the timestamp of the MessagePack specification.
const extMsgpackTime = -1

// marshal appends what msgpack makes of v. What contains itself is found first:
// it would overflow msgpack's stack, which no recover can catch.
func (e encoder) marshal(b []byte, v any) ([]byte, error) {
	if tooDeep(reflect.ValueOf(v), MaxDepth) {
		return b, errTooDeep
	}
	var encoded bytes.Buffer
	m := msgpack.NewEncoder(&encoded)
	m.UseCompactInts(true)
	m.SetSortMapKeys(true)
	m.SetCustomStructTag(structTag)
	if err := m.Encode(v); err != nil {
		return b, err
	}
	s := scanner{b: encoded.Bytes()}
	if err := s.skip(1, MaxDepth); err != nil {
		return b, fmt.Errorf("%s is encoded as %w", TypeName(v), err)
	}
	if s.pos != encoded.Len() {
		return b, fmt.Errorf("%s is encoded as more than one value", TypeName(v))
	}
	s.pos = 0
	return s.rewrite(b, func(b []byte, id int8, data []byte) ([]byte, error) {
		switch id {
		case extDecimal, extUUID, extDatetime, extInterval:
			return appendExt(b, id, data), e.needs(extensionNames[id], v)
		case extMsgpackTime:
			t, err := decodeMsgpackTime(data)
			if err != nil {
				return b, err
			}
			return e.append(b, t, 0)
		default:
			return b, fmt.Errorf("%s is encoded with the extension type %d, which Tarantool does not know", TypeName(v), id)
		}
	})
}

// unmarshal decodes one well-formed value into dst, a pointer.
func unmarshal(raw []byte, dst any) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic while %s was decoded: %v", TypeName(dst), p)
		}
	}()
	first := decode(raw, dst)
	if first == nil {
		return nil
	}
	// Types that are registered for the server's extensions have had them.
	// All others get what Go programs have: text, and time.Time.
	s := scanner{b: raw}
	plain, err := s.rewrite(nil, plainExtension)
	if err != nil || bytes.Equal(plain, raw) {
		return first
	}
	return decode(plain, dst)
}

func decode(raw []byte, dst any) error {
	m := msgpack.NewDecoder(bytes.NewReader(raw))
	m.SetCustomStructTag(structTag)
	m.UseLooseInterfaceDecoding(true)
	// msgpack would fail on a key that is no string, and panic on one that
	// cannot be hashed.
	m.SetMapDecoder(func(m *msgpack.Decoder) (any, error) { return decodeNext(m) })
	return m.Decode(dst)
}

// decodeNext decodes the next value as in a row.
func decodeNext(m *msgpack.Decoder) (any, error) {
	raw, err := m.DecodeRaw()
	if err != nil {
		return nil, err
	}
	s := scanner{b: raw}
	return s.value()
}

// plainExtension appends the extension as something that msgpack knows.
func plainExtension(b []byte, id int8, data []byte) ([]byte, error) {
	v, err := decodeExtension(id, data)
	if err != nil {
		return b, err
	}
	switch v := v.(type) {
	case string:
		return appendString(b, v), nil
	case time.Time:
		seconds := binary.BigEndian.AppendUint32(nil, uint32(v.Nanosecond()))
		return appendExt(b, extMsgpackTime, binary.BigEndian.AppendUint64(seconds, uint64(v.Unix()))), nil
	default:
		return appendExt(b, id, data), nil
	}
}

// decodeMsgpackTime reads the three forms of a timestamp.
func decodeMsgpackTime(data []byte) (time.Time, error) {
	switch len(data) {
	case 4:
		return time.Unix(int64(binary.BigEndian.Uint32(data)), 0).UTC(), nil
	case 8:
		n := binary.BigEndian.Uint64(data)
		return time.Unix(int64(n&(1<<34-1)), int64(n>>34)).UTC(), nil
	case 12:
		nanoseconds := binary.BigEndian.Uint32(data)
		return time.Unix(int64(binary.BigEndian.Uint64(data[4:])), int64(nanoseconds)).UTC(), nil
	default:
		return time.Time{}, fmt.Errorf("%w: timestamp of %d bytes", ErrMalformed, len(data))
	}
}

// rewrite appends one well-formed value to b, with its extensions as extension
// appends them.
func (s *scanner) rewrite(b []byte, extension func(b []byte, id int8, data []byte) ([]byte, error)) ([]byte, error) {
	for values := uint64(1); values > 0; values-- {
		start := s.pos
		k, n, err := s.head()
		if err != nil {
			return b, err
		}
		switch k {
		case kindExt:
			if b, err = extension(b, int8(s.b[s.pos]), s.b[s.pos+1:s.pos+1+int(n)]); err != nil {
				return b, err
			}
			s.pos += 1 + int(n)
			continue
		case kindStr, kindBin:
			s.pos += int(n)
		case kindArray:
			values += n
		case kindMap:
			values += 2 * n
		}
		b = append(b, s.b[start:s.pos]...)
	}
	return b, nil
}

// The server's types may be fields of the user's structs.

// EncodeMsgpack implements msgpack.CustomEncoder.
func (d Decimal) EncodeMsgpack(m *msgpack.Encoder) error {
	b, err := appendDecimalText(nil, d.text(), newest)
	if err != nil {
		return err
	}
	return m.Encode(msgpack.RawMessage(b))
}

// DecodeMsgpack implements msgpack.CustomDecoder.
func (d *Decimal) DecodeMsgpack(m *msgpack.Decoder) error { return scanNext(m, d) }

// EncodeMsgpack implements msgpack.CustomEncoder.
func (u UUID) EncodeMsgpack(m *msgpack.Encoder) error {
	return m.Encode(msgpack.RawMessage(appendExt(nil, extUUID, u[:])))
}

// DecodeMsgpack implements msgpack.CustomDecoder.
func (u *UUID) DecodeMsgpack(m *msgpack.Decoder) error { return scanNext(m, u) }

func scanNext(m *msgpack.Decoder, dst sql.Scanner) error {
	value, err := decodeNext(m)
	if err != nil {
		return err
	}
	return dst.Scan(value)
}

// EncodeMsgpack implements msgpack.CustomEncoder.
func (v Interval) EncodeMsgpack(m *msgpack.Encoder) error {
	b, err := appendInterval(nil, v)
	if err != nil {
		return err
	}
	return m.Encode(msgpack.RawMessage(b))
}

// DecodeMsgpack implements msgpack.CustomDecoder.
func (v *Interval) DecodeMsgpack(m *msgpack.Decoder) error {
	value, err := decodeNext(m)
	if err != nil {
		return err
	}
	interval, ok := value.(Interval)
	if !ok {
		return fmt.Errorf("%s where an INTERVAL is expected", TypeName(value))
	}
	*v = interval
	return nil
}

// tooDeep tells of a value that is nested deeper than depth. What encodes itself
// is taken as it is.
func tooDeep(v reflect.Value, depth int) bool {
	if !v.IsValid() || v.CanInterface() && encodesItself(v.Interface()) {
		return false
	}
	if depth == 0 {
		return true
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		return tooDeep(v.Elem(), depth-1)
	case reflect.Slice, reflect.Array:
		if isScalar(v.Type().Elem()) {
			return false
		}
		for i := range v.Len() {
			if tooDeep(v.Index(i), depth-1) {
				return true
			}
		}
	case reflect.Map:
		for iter := v.MapRange(); iter.Next(); {
			if tooDeep(iter.Key(), depth-1) || tooDeep(iter.Value(), depth-1) {
				return true
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			// msgpack goes into what is embedded, exported or not.
			if f := v.Type().Field(i); (f.IsExported() || f.Anonymous) && tooDeep(v.Field(i), depth-1) {
				return true
			}
		}
	}
	return false
}

func encodesItself(v any) bool {
	switch v.(type) {
	case msgpack.CustomEncoder, msgpack.Marshaler, encoding.BinaryMarshaler, encoding.TextMarshaler, time.Time:
		return true
	}
	return false
}

func isScalar(t reflect.Type) bool {
	return t.Kind() <= reflect.Complex128 || t.Kind() == reflect.String
}
