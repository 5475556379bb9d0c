package tntsql

import (
	"database/sql/driver"
	"fmt"

	"github.com/tntsql/tntsql/internal/iproto"
)

// Decimal is an exact decimal number as text, such as "-1.50" or "1e-7". As a parameter a
// plain string would be a STRING, which a DECIMAL column does not take. DECIMAL columns scan
// into it, and into a string, with all digits of their scale: "1.50". The empty one is 0. It
// has at most 38 digits, 76 since Tarantool 3.5, and needs Tarantool 2.10.
type Decimal = iproto.Decimal

// UUID is a UUID as its 16 bytes, for programs that use no package for them. Its String
// is the canonical form, and columns scan into it. It needs Tarantool 2.10.
type UUID = iproto.UUID

// ParseUUID reads the canonical form, "64d22e4d-ac92-4a23-899a-e59f34af5479".
func ParseUUID(text string) (UUID, error) {
	u, err := iproto.ParseUUID(text)
	if err != nil {
		return UUID{}, fmt.Errorf("tntsql: %w", err)
	}
	return u, nil
}

// Interval is a value of an INTERVAL column: Year, Month, Week, Day, Hour, Min, Sec and
// Nsec, each of either sign, and Adjust. It needs Tarantool 2.10.
type Interval = iproto.Interval

// What Interval's Adjust may be: the day at which one arrives when months are added to
// a day near the end of its month.
const (
	AdjustNone   = iproto.AdjustNone   // the last day of a month that is too short
	AdjustExcess = iproto.AdjustExcess // that many days into the month after one that is too short
	AdjustLast   = iproto.AdjustLast   // as AdjustNone, and from a last day to a last day
)

// Doc is a value of a MAP, ARRAY or ANY column as the Go type T: a struct, a map, a slice
// or what is in one. A struct is a MAP of its exported fields, by their tags "msgpack", else
// "json"; each field goes in as a parameter does, and comes out as Scan would have it. Two
// fields with one name at the same depth are an error. Keys that T has no field for are left
// out. A number that does not fit is an error, and integers keep their 64 bits.
//
// Valid is false for NULL. As a parameter, a Doc that is a MAP must be bound by name
// (sql.Named and :name), and servers before 2.10 take none.
type Doc[T any] struct {
	V     T
	Valid bool
}

// Scan implements sql.Scanner.
func (d *Doc[T]) Scan(src any) error {
	*d = Doc[T]{}
	if src == nil {
		return nil
	}
	if err := iproto.Convert(src, &d.V); err != nil {
		return fmt.Errorf("%s: %w", iproto.TypeName(d), err)
	}
	d.Valid = true
	return nil
}

// Value implements driver.Valuer. It is made of maps, slices and plain values; decimals
// are Decimal, and UUIDs UUID.
func (d Doc[T]) Value() (driver.Value, error) {
	if !d.Valid {
		return nil, nil
	}
	plain, err := iproto.Plain(d.V)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", iproto.TypeName(d), err)
	}
	return plain, nil
}
