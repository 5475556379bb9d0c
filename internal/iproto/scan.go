package iproto

import (
	"encoding/binary"
	"fmt"
	"math"
	"unsafe"
)

// kind is what a MessagePack value is, whatever its width.
type kind uint8

const (
	kindInvalid kind = iota
	kindNil
	kindBool  // 0 or 1
	kindUint  // the value
	kindInt   // the bits of a negative int64
	kindFloat // the bits of a float64
	kindStr   // the length; the bytes follow
	kindBin   // the length; the bytes follow
	kindArray // the number of elements
	kindMap   // the number of pairs
	kindExt   // the length; the type and then the bytes follow
)

var kindNames = [...]string{
	kindNil: "nil", kindBool: "a boolean", kindUint: "an unsigned integer", kindInt: "a negative integer",
	kindFloat: "a float", kindStr: "a string", kindBin: "a binary", kindArray: "an array", kindMap: "a map",
	kindExt: "an extension",
}

func (k kind) String() string { return kindNames[k] }

// codes describes the first bytes 0xc0–0xdf: the kind, and how many bytes of a
// number (the value or the length) follow.
var codes = [32]struct {
	kind  kind
	width uint8
}{
	0x00: {kindNil, 0},
	0x02: {kindBool, 0}, 0x03: {kindBool, 0},
	0x04: {kindBin, 1}, 0x05: {kindBin, 2}, 0x06: {kindBin, 4},
	0x07: {kindExt, 1}, 0x08: {kindExt, 2}, 0x09: {kindExt, 4},
	0x0a: {kindFloat, 4}, 0x0b: {kindFloat, 8},
	0x0c: {kindUint, 1}, 0x0d: {kindUint, 2}, 0x0e: {kindUint, 4}, 0x0f: {kindUint, 8},
	0x10: {kindInt, 1}, 0x11: {kindInt, 2}, 0x12: {kindInt, 4}, 0x13: {kindInt, 8},
	0x14: {kindExt, 0}, 0x15: {kindExt, 0}, 0x16: {kindExt, 0}, 0x17: {kindExt, 0}, 0x18: {kindExt, 0},
	0x19: {kindStr, 1}, 0x1a: {kindStr, 2}, 0x1b: {kindStr, 4},
	0x1c: {kindArray, 2}, 0x1d: {kindArray, 4},
	0x1e: {kindMap, 2}, 0x1f: {kindMap, 4},
}

// scanner reads MessagePack values from b, beginning at pos.
type scanner struct {
	b     []byte
	pos   int
	typed bool   // decimals and UUIDs are Decimal and UUID, not text
	plain bool   // b has values of rows: decimals are text
	slabs *slabs // nil: each value has an allocation of its own
	room  int    // bytes that the arrays and maps of the value may still take
}

func (s *scanner) malformed(format string, args ...any) error {
	return fmt.Errorf("%w at byte %d: %s", ErrMalformed, s.pos, fmt.Sprintf(format, args...))
}

func (s *scanner) truncated() error { return s.malformed("the bytes end inside a value") }

// head reads the first bytes of a value: its kind, and the number or length
// that they hold. A length that it returns has been compared with the bytes
// left: a string is there in full, and an array or map has at least a byte for
// each of its elements.
func (s *scanner) head() (kind, uint64, error) {
	if s.pos >= len(s.b) {
		return 0, 0, s.truncated()
	}
	c := s.b[s.pos]
	switch {
	case c <= 0x7f:
		s.pos++
		return kindUint, uint64(c), nil
	case c >= 0xe0:
		s.pos++
		return kindInt, uint64(int64(int8(c))), nil
	case c <= 0x8f:
		return s.sized(kindMap, 1, uint64(c&0x0f))
	case c <= 0x9f:
		return s.sized(kindArray, 1, uint64(c&0x0f))
	case c <= 0xbf:
		return s.sized(kindStr, 1, uint64(c&0x1f))
	}
	code := codes[c-0xc0]
	size := 1 + int(code.width)
	if len(s.b)-s.pos < size {
		return 0, 0, s.truncated()
	}
	var n uint64
	number := s.b[s.pos+1 : s.pos+size]
	switch code.width {
	case 1:
		n = uint64(number[0])
	case 2:
		n = uint64(binary.BigEndian.Uint16(number))
	case 4:
		n = uint64(binary.BigEndian.Uint32(number))
	case 8:
		n = binary.BigEndian.Uint64(number)
	}
	switch code.kind {
	case kindInvalid:
		return 0, 0, s.malformed("no value begins with 0x%02x", c)
	case kindNil, kindUint:
	case kindBool:
		n = uint64(c & 1)
	case kindInt:
		unused := 64 - 8*code.width
		if n = uint64(int64(n<<unused) >> unused); int64(n) >= 0 {
			code.kind = kindUint
		}
	case kindFloat:
		if code.width == 4 {
			n = math.Float64bits(float64(math.Float32frombits(uint32(n))))
		}
	case kindExt:
		if code.width == 0 {
			n = 1 << (c - 0xd4)
		}
		return s.sized(kindExt, size, n)
	default:
		return s.sized(code.kind, size, n)
	}
	s.pos += size
	return code.kind, n, nil
}

// sized steps over a head of the given size if n elements can follow it.
func (s *scanner) sized(k kind, size int, n uint64) (kind, uint64, error) {
	need := n
	switch k {
	case kindMap:
		need = 2 * n
	case kindExt:
		need = n + 1
	}
	if left := len(s.b) - s.pos - size; left < 0 || need > uint64(left) {
		return 0, 0, s.malformed("%v of length %d in %d bytes", k, n, len(s.b)-s.pos)
	}
	s.pos += size
	return k, n, nil
}

// skip steps over n values whose arrays and maps are nested at most depth deep.
func (s *scanner) skip(n uint64, depth int) error {
	for ; n > 0; n-- {
		k, size, err := s.head()
		if err != nil {
			return err
		}
		switch k {
		case kindStr, kindBin:
			s.pos += int(size)
		case kindExt:
			s.pos += int(size) + 1
		case kindMap:
			size *= 2
			fallthrough
		case kindArray:
			if depth <= 0 {
				return s.malformed("nested too deep")
			}
			if err := s.skip(size, depth-1); err != nil {
				return err
			}
		}
	}
	return nil
}

// raw steps over one value and returns its bytes.
func (s *scanner) raw() ([]byte, error) {
	start := s.pos
	if err := s.skip(1, MaxDepth); err != nil {
		return nil, err
	}
	return s.b[start:s.pos:s.pos], nil
}

// take returns the next n bytes, which head has seen to be there.
func (s *scanner) take(n uint64) []byte {
	start := s.pos
	s.pos += int(n)
	return s.b[start:s.pos:s.pos]
}

// extension returns the type and the n bytes of an extension after its head.
func (s *scanner) extension(n uint64) (int8, []byte) {
	id := int8(s.b[s.pos])
	s.pos++
	return id, s.take(n)
}

// expect reads the head of a value that must be of kind want.
func (s *scanner) expect(want kind) (uint64, error) {
	start := s.pos
	k, n, err := s.head()
	if err != nil {
		return 0, err
	}
	if k != want {
		s.pos = start
		return 0, s.malformed("%v where %v is expected", k, want)
	}
	return n, nil
}

func (s *scanner) array() (uint64, error)  { return s.expect(kindArray) }
func (s *scanner) mapLen() (uint64, error) { return s.expect(kindMap) }
func (s *scanner) uint() (uint64, error)   { return s.expect(kindUint) }

func (s *scanner) uint32() (uint32, error) {
	n, err := s.uint()
	if err == nil && n > math.MaxUint32 {
		err = s.malformed("%d does not fit 32 bits", n)
	}
	return uint32(n), err
}

func (s *scanner) bool() (bool, error) {
	n, err := s.expect(kindBool)
	return n == 1, err
}

// text reads a string as a view of the bytes.
func (s *scanner) text() (string, error) {
	n, err := s.expect(kindStr)
	if err != nil {
		return "", err
	}
	return view(s.take(n)), nil
}

// kept is text that may outlive the bytes.
func (s *scanner) kept() (string, error) {
	n, err := s.expect(kindStr)
	if err != nil {
		return "", err
	}
	return view(s.keep(n)), nil
}

// key reads a key of a map whose keys are small unsigned integers. Any other
// key is -1: no key of the protocol, to be skipped with its value.
func (s *scanner) key() (int, error) {
	start := s.pos
	k, n, err := s.head()
	if err != nil {
		return 0, err
	}
	if k == kindUint && n <= math.MaxInt32 {
		return int(n), nil
	}
	s.pos = start
	return -1, s.skip(1, MaxDepth)
}

// fields reads a map with integer keys. It calls field with each key, standing
// at the value; a field that it does not read (it returns false) is skipped.
func (s *scanner) fields(field func(key int) (read bool, err error)) error {
	n, err := s.mapLen()
	if err != nil {
		return err
	}
	return pairs(s, n, (*scanner).key, field)
}

// pairs reads n keys with their values.
func pairs[K any](s *scanner, n uint64, key func(*scanner) (K, error), field func(K) (read bool, err error)) error {
	for ; n > 0; n-- {
		k, err := key(s)
		if err != nil {
			return err
		}
		read, err := field(k)
		if err != nil {
			return err
		}
		if !read {
			if err := s.skip(1, MaxDepth); err != nil {
				return err
			}
		}
	}
	return nil
}

// view is b as a string, without a copy. b must not change any more.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
