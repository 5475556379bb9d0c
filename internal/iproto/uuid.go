package iproto

import (
	"encoding/hex"
	"fmt"
)

// UUID is a value of a UUID column. As a parameter it needs Tarantool 2.10.
type UUID [16]byte

// ParseUUID reads the canonical form, "64d22e4d-ac92-4a23-899a-e59f34af5479".
// Upper-case digits are accepted.
func ParseUUID(text string) (UUID, error) {
	var u UUID
	if len(text) != 36 || text[8] != '-' || text[13] != '-' || text[18] != '-' || text[23] != '-' {
		return u, fmt.Errorf("not a UUID: %.40q", text)
	}
	digits := text[:8] + text[9:13] + text[14:18] + text[19:23] + text[24:]
	if _, err := hex.Decode(u[:], []byte(digits)); err != nil {
		return u, fmt.Errorf("not a UUID: %.40q", text)
	}
	return u, nil
}

// String returns the canonical form, in lower case.
func (u UUID) String() string {
	var text [36]byte
	hex.Encode(text[:8], u[:4])
	hex.Encode(text[9:13], u[4:6])
	hex.Encode(text[14:18], u[6:8])
	hex.Encode(text[19:23], u[8:10])
	hex.Encode(text[24:], u[10:])
	text[8], text[13], text[18], text[23] = '-', '-', '-', '-'
	return string(text[:])
}

func decodeUUID(data []byte) (UUID, error) {
	if len(data) != len(UUID{}) {
		return UUID{}, fmt.Errorf("%w: UUID of %d bytes", ErrMalformed, len(data))
	}
	return UUID(data), nil
}

// Scan takes the canonical form, as rows have it, or 16 bytes. It makes a *UUID an
// sql.Scanner.
func (u *UUID) Scan(src any) (err error) {
	switch src := src.(type) {
	case string:
		*u, err = ParseUUID(src)
	case []byte:
		*u, err = decodeUUID(src)
	case UUID:
		*u = src
	default:
		err = fmt.Errorf("cannot scan %s into a UUID", TypeName(src))
	}
	return err
}
