package iproto

import "math"

// ofType is what the values of a column are that has one Go type, by the name of the
// type in metadata. Columns of all other types hold values of several.
var ofType = map[string]func(k kind, n uint64, ext int8) bool{
	"integer":   func(k kind, n uint64, _ int8) bool { return k == kindInt || k == kindUint && n <= math.MaxInt64 },
	"unsigned":  isKind(kindUint),
	"double":    isKind(kindFloat),
	"string":    isKind(kindStr),
	"text":      isKind(kindStr), // of EXPLAIN and PRAGMA
	"boolean":   isKind(kindBool),
	"varbinary": isKind(kindBin),
	"decimal":   isExtension(extDecimal),
	"uuid":      isExtension(extUUID),
	"datetime":  isExtension(extDatetime),
	"interval":  isExtension(extInterval),
}

func isKind(want kind) func(kind, uint64, int8) bool {
	return func(k kind, _ uint64, _ int8) bool { return k == want }
}

func isExtension(want int8) func(kind, uint64, int8) bool {
	return func(k kind, _ uint64, ext int8) bool { return k == kindExt && ext == want }
}

// Uniform tells of each column whether one Go type receives all of its values: whether
// each is NULL or of the type that the metadata name. They name the first row's for VALUES
// and UNION, the parameter's last one for SELECT ?, and an INTEGER may be above
// math.MaxInt64. It goes through all rows, those that have been read too.
func (r *Result) Uniform() []bool {
	uniform := make([]bool, len(r.Columns.Names))
	for i, typ := range r.Columns.Types {
		uniform[i] = ofType[typ] != nil
	}
	s := r.rows
	s.pos = r.first
	for range r.read + r.left {
		if n, err := s.array(); err != nil || n != uint64(len(uniform)) {
			return uniform // Next tells of it
		}
		for i := range uniform {
			start := s.pos
			k, n, err := s.head()
			if err != nil {
				return uniform
			}
			var ext int8
			if k == kindExt {
				ext = int8(s.b[s.pos])
			}
			uniform[i] = uniform[i] && (k == kindNil || ofType[r.Columns.Types[i]](k, n, ext))
			s.pos = start
			if s.skip(1, MaxDepth) != nil {
				return uniform
			}
		}
	}
	return uniform
}
