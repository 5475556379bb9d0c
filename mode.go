package tntsql

import (
	"context"
	"fmt"
	"strings"
)

// Mode says which instances may serve a request. The zero value is invalid.
type Mode uint8

const (
	ModeAny      Mode = iota + 1 // any healthy instance
	ModeRW                       // a read-write instance
	ModeRO                       // a read-only instance
	ModePreferRW                 // a read-write instance, else a read-only one
	ModePreferRO                 // a read-only instance, else a read-write one
)

var modeNames = []string{"any", "rw", "ro", "prefer_rw", "prefer_ro"}

// ParseMode returns the Mode of a name: any, rw, ro, prefer_rw or prefer_ro.
func ParseMode(name string) (Mode, error) {
	m, err := parseMode(name)
	if err != nil {
		return 0, fmt.Errorf("tntsql: mode: %w", err)
	}
	return m, nil
}

func parseMode(name string) (Mode, error) {
	for i, known := range modeNames {
		if name == known {
			return Mode(i + 1), nil
		}
	}
	return 0, wantOneOf(modeNames)
}

func (m Mode) valid() bool { return m >= ModeAny && m <= ModePreferRO }

// String returns the name that ParseMode reads. An invalid Mode gives its number, such as "Mode(0)".
func (m Mode) String() string {
	if !m.valid() {
		return fmt.Sprintf("Mode(%d)", uint8(m))
	}
	return modeNames[m-1]
}

// MarshalText implements encoding.TextMarshaler. An invalid Mode is an error.
func (m Mode) MarshalText() ([]byte, error) {
	if !m.valid() {
		return nil, fmt.Errorf("tntsql: %s is not a valid mode", m)
	}
	return []byte(m.String()), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (m *Mode) UnmarshalText(text []byte) error {
	parsed, err := ParseMode(string(text))
	if err != nil {
		return err
	}
	*m = parsed
	return nil
}

type modeKey struct{}

// WithMode returns a context whose statements go to an instance of mode m.
// It decides for reads. A write goes to a read-write instance unless m is ModeRO, and a statement
// in a transaction to the transaction's instance. A statement fails if m is invalid.
func WithMode(ctx context.Context, m Mode) context.Context {
	return context.WithValue(ctx, modeKey{}, m)
}

// ModeFromContext returns the Mode that WithMode put into ctx, and whether there is one.
func ModeFromContext(ctx context.Context) (Mode, bool) {
	m, ok := ctx.Value(modeKey{}).(Mode)
	return m, ok
}

// wantOneOf is the error of a value that is none of names.
func wantOneOf(names []string) error {
	last := len(names) - 1
	return fmt.Errorf("want %s or %s", strings.Join(names[:last], ", "), names[last])
}
