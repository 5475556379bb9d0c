package iproto

import (
	"database/sql/driver"
	"fmt"
	"io"
	"math"

	"github.com/tarantool/go-iproto"
)

// Result is the reply to an EXECUTE.
type Result struct {
	Columns      *Columns // nil if the statement has no result set
	Affected     int64    // rows inserted, updated or deleted
	GeneratedIDs []int64  // by AUTOINCREMENT, in the order of the rows

	first int     // where the first row is
	rows  scanner // stands at the next row
	read  int
	left  int
}

// ParseExecute reads the body of a reply to an EXECUTE. It does not look at
// the rows; Next does.
func ParseExecute(body []byte, columns *ColumnCache) (Result, error) {
	var (
		r            Result
		rows, counts bool
	)
	s := scanner{b: body}
	n, err := s.mapLen()
	if err != nil {
		return Result{}, err
	}
	for ; n > 0; n-- {
		key, err := s.key()
		if err != nil {
			return Result{}, err
		}
		switch iproto.Key(key) {
		case iproto.IPROTO_METADATA:
			r.Columns, err = s.columns(columns)
		case iproto.IPROTO_DATA:
			rows = true
			// The rows come last; going through them here would
			// double the work.
			err = r.begin(&s, n == 1)
		case iproto.IPROTO_SQL_INFO:
			counts = true
			err = r.info(&s)
		default:
			err = s.skip(1, MaxDepth)
		}
		if err != nil {
			return Result{}, err
		}
	}
	switch {
	case rows != (r.Columns != nil):
		return Result{}, fmt.Errorf("%w: column metadata or rows without the other", ErrMalformed)
	case !rows && !counts:
		return Result{}, fmt.Errorf("%w: reply with neither rows nor a row count", ErrMalformed)
	case r.left > 0 && len(r.Columns.Names) >= (len(body)-r.rows.pos)/r.left:
		return Result{}, fmt.Errorf("%w: %d rows of %d columns in %d bytes",
			ErrMalformed, r.left, len(r.Columns.Names), len(body)-r.rows.pos)
	}
	return r, nil
}

// columns reads column metadata.
func (s *scanner) columns(cache *ColumnCache) (*Columns, error) {
	metadata, err := s.raw()
	if err != nil {
		return nil, err
	}
	return cache.columns(metadata)
}

// begin stands the rows at the array that s is at.
func (r *Result) begin(s *scanner, last bool) error {
	rows := *s
	n, err := rows.array()
	if err != nil {
		return err
	}
	r.rows, r.first, r.left = rows, rows.pos, int(n)
	if n >= slabRows {
		r.rows.slabs = new(slabs)
	}
	if last {
		return nil
	}
	return s.skip(1, MaxDepth)
}

func (r *Result) info(s *scanner) error {
	return s.fields(func(key int) (bool, error) {
		switch iproto.SqlInfoKey(key) {
		case iproto.SQL_INFO_ROW_COUNT:
			n, err := s.uint()
			if err == nil && n > math.MaxInt64 {
				err = s.malformed("a row count of %d", n)
			}
			r.Affected = int64(n)
			return true, err
		case iproto.SQL_INFO_AUTOINCREMENT_IDS:
			return true, r.ids(s)
		default:
			return false, nil
		}
	})
}

func (r *Result) ids(s *scanner) error {
	n, err := s.array()
	if err != nil {
		return err
	}
	r.GeneratedIDs = make([]int64, n)
	for i := range r.GeneratedIDs {
		k, id, err := s.head()
		if err != nil {
			return err
		}
		if k != kindInt && (k != kindUint || id > math.MaxInt64) {
			return s.malformed("a generated id is %v", k)
		}
		r.GeneratedIDs[i] = int64(id)
	}
	return nil
}

// Len returns how many rows Next has not read yet.
func (r *Result) Len() int { return r.left }

// Next decodes the next row into dest, which must have an element for each
// column. At the end it returns io.EOF. Strings and byte slices may view the
// body. After an error every further call returns it again.
func (r *Result) Next(dest []driver.Value) error {
	if r.left == 0 {
		return io.EOF
	}
	s := r.rows
	if err := s.row(dest); err != nil {
		return fmt.Errorf("row %d: %w", r.read+1, err)
	}
	r.rows.pos = s.pos
	r.read++
	r.left--
	return nil
}

func (s *scanner) row(dest []driver.Value) error {
	n, err := s.array()
	if err != nil {
		return err
	}
	if n != uint64(len(dest)) {
		return fmt.Errorf("%w: %d values for %d columns", ErrMalformed, n, len(dest))
	}
	for i := range dest {
		if dest[i], err = s.value(); err != nil {
			return fmt.Errorf("column %d: %w", i+1, err)
		}
	}
	return nil
}

// Prepared is the reply to a PREPARE.
type Prepared struct {
	ID      uint32
	Params  int      // how many parameters the statement has
	Columns *Columns // nil if the statement has no result set
}

// ParsePrepare reads the body of a reply to a PREPARE.
func ParsePrepare(body []byte, columns *ColumnCache) (Prepared, error) {
	var (
		p            Prepared
		id, bindings bool
	)
	s := scanner{b: body}
	err := s.fields(func(key int) (_ bool, err error) {
		switch iproto.Key(key) {
		case iproto.IPROTO_STMT_ID:
			id = true
			p.ID, err = s.uint32()
		case iproto.IPROTO_BIND_COUNT:
			bindings = true
			var n uint32
			n, err = s.uint32()
			p.Params = int(n)
		case iproto.IPROTO_METADATA:
			p.Columns, err = s.columns(columns)
		default:
			return false, nil
		}
		return true, err
	})
	if err == nil && !(id && bindings) {
		err = fmt.Errorf("%w: reply to PREPARE without a statement id or parameter count", ErrMalformed)
	}
	if err != nil {
		return Prepared{}, err
	}
	return p, nil
}
