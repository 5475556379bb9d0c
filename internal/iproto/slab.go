package iproto

import "unsafe"

// slabs are where the values of a result of many rows are put, many to an allocation: one
// for each value would take a third of the time that decoding takes. What is handed out
// stays as it is, so a value that outlives the others keeps its slab, and a short text
// those of its neighbours: 4 KiB at most. A long text has an allocation of its own.
type slabs struct {
	ints   []int64
	floats []float64
	texts  []string
	bytes  []byte
}

const (
	// slabRows is how many rows a result has at least for slabs to pay.
	slabRows = 16
	// slabValues is the size of a slab of values that an interface points at.
	slabValues = 32
	// slabBytes is the size of a slab of strings and binaries that are copied, and
	// slabLongest the longest of those.
	slabBytes   = 1024
	slabLongest = 64
)

// place puts v into the slab and returns where.
func place[T any](slab *[]T, v T) unsafe.Pointer {
	if len(*slab) == cap(*slab) {
		*slab = make([]T, 0, slabValues)
	}
	*slab = append(*slab, v)
	return unsafe.Pointer(&(*slab)[len(*slab)-1])
}

// pointAt has an interface that holds a value of the type point at another of that type.
// An interface is a word for the type and one for the value's address; nobody writes to
// what it points at.
func pointAt(v *any, value unsafe.Pointer) {
	(*struct{ typ, value unsafe.Pointer })(unsafe.Pointer(v)).value = value
}

func (s *slabs) int(n int64) any {
	if s == nil || 0 <= n && n <= 0xff { // Go has the small ones
		return n
	}
	var v any = int64(0)
	pointAt(&v, place(&s.ints, n))
	return v
}

func (s *slabs) float(n float64) any {
	if s == nil {
		return n
	}
	var v any = float64(0)
	pointAt(&v, place(&s.floats, n))
	return v
}

func (s *slabs) text(n string) any {
	if s == nil || n == "" || len(n) > slabLongest {
		return n
	}
	var v any = ""
	pointAt(&v, place(&s.texts, n))
	return v
}

// copy returns a copy of data, not nil when it is empty: nil would be NULL.
func (s *slabs) copy(data []byte) []byte {
	n := len(data)
	if s == nil || n > slabLongest {
		return append(make([]byte, 0, n), data...)
	}
	if n > cap(s.bytes)-len(s.bytes) {
		s.bytes = make([]byte, 0, slabBytes)
	}
	at := len(s.bytes)
	s.bytes = append(s.bytes, data...)
	return s.bytes[at : at+n : at+n]
}
