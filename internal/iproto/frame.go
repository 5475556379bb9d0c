package iproto

import (
	"fmt"
	"math"

	"github.com/tarantool/go-iproto"
)

// maxHeaderFields bounds a header's map; servers send three to five fields.
const maxHeaderFields = 16

// Header is the header of a response.
type Header struct {
	Type          uint32 // 0 for OK; with IPROTO_TYPE_ERROR for an error
	Sync          uint64 // of the request
	SchemaVersion uint32 // its lower 32 bits
}

// ParseHeader reads the header that frame, without its length, begins with.
// bodyAt is where the body begins, the length of frame if there is none. A
// header is a flat map with a type: integer keys, and values that hold no
// others.
func ParseHeader(frame []byte) (h Header, bodyAt int, err error) {
	s := scanner{b: frame}
	n, err := s.mapLen()
	if err != nil {
		return Header{}, 0, err
	}
	if n > maxHeaderFields {
		return Header{}, 0, fmt.Errorf("%w: header of %d fields", ErrMalformed, n)
	}
	typed := false
	for ; n > 0; n-- {
		kk, key, err := s.head()
		if err != nil {
			return Header{}, 0, err
		}
		k, v, err := s.head()
		if err != nil {
			return Header{}, 0, err
		}
		switch {
		case kk != kindUint && kk != kindInt:
			return Header{}, 0, s.malformed("a key of the header is %v", kk)
		case k == kindArray || k == kindMap || k == kindExt:
			return Header{}, 0, s.malformed("%v in the header", k)
		case k == kindStr || k == kindBin:
			s.pos += int(v)
		}
		if kk != kindUint {
			continue
		}
		switch iproto.Key(min(key, math.MaxInt32)) {
		case iproto.IPROTO_REQUEST_TYPE:
			typed = true
			h.Type = uint32(v)
			err = s.headerInt(k, v, math.MaxUint32)
		case iproto.IPROTO_SYNC:
			h.Sync = v
			err = s.headerInt(k, v, math.MaxUint64)
		case iproto.IPROTO_SCHEMA_VERSION:
			h.SchemaVersion = uint32(v)
			err = s.headerInt(k, v, math.MaxUint64)
		}
		if err != nil {
			return Header{}, 0, err
		}
	}
	if !typed {
		return Header{}, 0, fmt.Errorf("%w: header without a type", ErrMalformed)
	}
	return h, s.pos, nil
}

func (s *scanner) headerInt(k kind, v, limit uint64) error {
	if k != kindUint || v > limit {
		return s.malformed("%v in the header where an integer of at most %d is expected", k, limit)
	}
	return nil
}
