package tntsql

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/tntsql/tntsql/internal/iproto"
)

// rows decodes the rows of a reply one by one, as they are asked for.
type rows struct {
	result  iproto.Result
	uniform []bool // whether ScanTypes fit, by column; nil before they are asked for
}

var (
	_ driver.Rows                           = (*rows)(nil)
	_ driver.RowsColumnTypeDatabaseTypeName = (*rows)(nil)
	_ driver.RowsColumnTypeScanType         = (*rows)(nil)
	_ driver.RowsColumnTypeNullable         = (*rows)(nil)
	_ driver.RowsColumnTypeLength           = (*rows)(nil)
)

// Columns is empty for a statement without a result set. The names are the caller's:
// GORM writes into them.
func (r *rows) Columns() []string {
	if r.result.Columns == nil {
		return nil
	}
	return slices.Clone(r.result.Columns.Names)
}

func (r *rows) Next(dest []driver.Value) error {
	err := r.result.Next(dest)
	if err == nil || errors.Is(err, io.EOF) {
		return err
	}
	return fmt.Errorf("tntsql: %w", err)
}

// Close lets go of the reply.
func (r *rows) Close() error {
	r.result = iproto.Result{Columns: r.result.Columns}
	return nil
}

// ColumnTypeDatabaseTypeName is the SQL type that the server reports, in upper
// case. It is not always the type of the values: a parameter, or a column of
// NUMBER, SCALAR or ANY, may hold another one in each row.
func (r *rows) ColumnTypeDatabaseTypeName(index int) string {
	return strings.ToUpper(r.result.Columns.Types[index])
}

// scanTypes are types that receive every value of a column, NULL too.
var scanTypes = map[string]reflect.Type{
	"integer":   reflect.TypeFor[sql.Null[int64]](),
	"unsigned":  reflect.TypeFor[sql.Null[uint64]](),
	"double":    reflect.TypeFor[sql.Null[float64]](),
	"string":    reflect.TypeFor[sql.Null[string]](),
	"text":      reflect.TypeFor[sql.Null[string]](), // of EXPLAIN and PRAGMA
	"boolean":   reflect.TypeFor[sql.Null[bool]](),
	"varbinary": reflect.TypeFor[[]byte](),
	"decimal":   reflect.TypeFor[sql.Null[string]](),
	"uuid":      reflect.TypeFor[sql.Null[string]](),
	"datetime":  reflect.TypeFor[sql.Null[time.Time]](),
	"interval":  reflect.TypeFor[sql.Null[Interval]](),
}

// ColumnTypeScanType is a type that receives every value of the column, NULL too. It is
// any where a column holds values of several types, which the server's word for the column
// may hide: an INTEGER above math.MaxInt64 is one.
func (r *rows) ColumnTypeScanType(index int) reflect.Type {
	if r.uniform == nil {
		r.uniform = r.result.Uniform()
	}
	if t, ok := scanTypes[r.result.Columns.Types[index]]; ok && r.uniform[index] {
		return t
	}
	return reflect.TypeFor[any]()
}

// ColumnTypeLength is math.MaxInt64, no limit of its own, for STRING and VARBINARY:
// servers know of none, VARCHAR(n) included.
func (r *rows) ColumnTypeLength(index int) (length int64, ok bool) {
	switch r.result.Columns.Types[index] {
	case "string", "text", "varbinary":
		return math.MaxInt64, true
	}
	return 0, false
}

// ColumnTypeNullable is known only if the server was asked for it.
func (r *rows) ColumnTypeNullable(index int) (nullable, ok bool) {
	if r.result.Columns.Nullable == nil {
		return false, false
	}
	switch r.result.Columns.Nullable[index] {
	case iproto.Nullable:
		return true, true
	case iproto.NotNull:
		return false, true
	}
	return false, false
}
