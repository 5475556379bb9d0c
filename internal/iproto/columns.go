package iproto

import (
	"bytes"
	"strings"
	"unicode"

	"github.com/tarantool/go-iproto"

	"github.com/tntsql/tntsql/internal/bytecache"
)

// Nullability of a result column is known only with the session setting
// sql_full_metadata.
type Nullability uint8

// The three answers to whether a column may hold NULL.
const (
	NullabilityUnknown Nullability = iota
	Nullable
	NotNull
)

// Columns describes the columns of a result set. It is shared by all replies
// with the same metadata and must not be changed.
type Columns struct {
	Names         []string
	Types         []string // as the server says them: "integer", "string", …
	Nullable      []Nullability
	Autoincrement []bool // nil without sql_full_metadata
}

// columnSize is what one column takes in Columns, apart from its texts.
const columnSize = 16 + 16 + 1 + 1

// minColumn is the length of the shortest column in metadata: a map with an
// empty name and an empty type.
const minColumn = 5

// ColumnCache keeps the Columns of each distinct metadata, so that a repeated
// statement does not parse its metadata again. A nil *ColumnCache parses every
// time. It is safe for concurrent use.
type ColumnCache struct {
	cache *bytecache.Cache[*Columns]
	lower bool
}

// NewColumnCache returns a cache of at most limit bytes. With lower, a column
// name without a lower-case letter is lower-cased: servers before 3.0 fold
// unquoted names to upper case.
func NewColumnCache(limit int, lower bool) *ColumnCache {
	return &ColumnCache{cache: bytecache.New[*Columns](limit), lower: lower}
}

// columns returns the columns that metadata, one well-formed value, describes.
func (c *ColumnCache) columns(metadata []byte) (*Columns, error) {
	if c == nil {
		return parseColumns(bytes.Clone(metadata), false)
	}
	if columns, ok := c.cache.GetBytes(metadata); ok {
		return columns, nil
	}
	metadata = bytes.Clone(metadata)
	columns, err := parseColumns(metadata, c.lower)
	if err != nil {
		return nil, err
	}
	c.cache.Add(view(metadata), columns, len(metadata)+columnSize*len(columns.Names))
	return columns, nil
}

// parseColumns makes names and types views of metadata.
func parseColumns(metadata []byte, lower bool) (*Columns, error) {
	s := scanner{b: metadata}
	n, err := s.array()
	if err != nil {
		return nil, err
	}
	if n > uint64(len(metadata)/minColumn) {
		return nil, s.malformed("%d columns in %d bytes", n, len(metadata))
	}
	columns := &Columns{
		Names:    make([]string, n),
		Types:    make([]string, n),
		Nullable: make([]Nullability, n),
	}
	for i := range columns.Names {
		err := s.fields(func(key int) (bool, error) { return columns.field(&s, i, key) })
		if err != nil {
			return nil, err
		}
		if lower && !strings.ContainsFunc(columns.Names[i], unicode.IsLower) {
			columns.Names[i] = strings.ToLower(columns.Names[i])
		}
	}
	return columns, nil
}

func (c *Columns) field(s *scanner, i, key int) (read bool, err error) {
	if key > int(iproto.IPROTO_FIELD_TYPE) && c.Autoincrement == nil {
		c.Autoincrement = make([]bool, len(c.Names)) // what follows comes with sql_full_metadata only
	}
	switch iproto.MetadataKey(key) {
	case iproto.IPROTO_FIELD_NAME:
		c.Names[i], err = s.text()
	case iproto.IPROTO_FIELD_TYPE:
		c.Types[i], err = s.text()
	case iproto.IPROTO_FIELD_IS_NULLABLE:
		var nullable bool
		if nullable, err = s.bool(); nullable {
			c.Nullable[i] = Nullable
		} else {
			c.Nullable[i] = NotNull
		}
	case iproto.IPROTO_FIELD_IS_AUTOINCREMENT:
		c.Autoincrement[i], err = s.bool()
	default:
		return false, nil
	}
	return true, err
}
