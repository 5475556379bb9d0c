package tntsql

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// typedField is a field of type T with its text form. T's zero value is "not set".
type typedField[T comparable] struct {
	of     func(*Config) *T
	format func(T) string
	parse  func(string) (T, error)
}

func (f typedField[T]) text(c *Config) string {
	var unset T
	if value := *f.of(c); value != unset {
		return f.format(value)
	}
	return ""
}

func (f typedField[T]) set(c *Config, text string) error {
	value, err := f.parse(text)
	if err == nil {
		*f.of(c) = value
	}
	return err
}

func textField(of func(*Config) *string, parse func(string) (string, error)) field {
	return typedField[string]{of, func(s string) string { return s }, parse}
}

func anyText(s string) (string, error) { return s, nil }

func parseSRV(name string) (string, error) { return strings.ToLower(name), checkName(name) }

func modeField(of func(*Config) *Mode) field {
	return typedField[Mode]{of, Mode.String, parseMode}
}

func enumField[T ~string](of func(*Config) *T, values ...T) field {
	names := make([]string, len(values))
	for i, value := range values {
		names[i] = string(value)
	}
	return typedField[T]{of, func(value T) string { return string(value) }, func(text string) (T, error) {
		if !slices.Contains(names, text) {
			return "", wantOneOf(names)
		}
		return T(text), nil
	}}
}

func tlsModeField(of func(*Config) *TLSMode) field {
	f := enumField(of, TLSDisable, TLSVerifyFull, TLSVerifyCA, TLSSkipVerify).(typedField[TLSMode])
	parse := f.parse
	f.parse = func(text string) (TLSMode, error) {
		if text == "true" {
			return TLSVerifyFull, nil
		}
		return parse(text)
	}
	return f
}

func boolField(of func(*Config) *bool) field {
	return typedField[bool]{of, strconv.FormatBool, parseBool}
}

// optionalBoolField is for a bool whose absence is not the same as false.
func optionalBoolField(of func(*Config) **bool) field {
	format := func(value *bool) string { return strconv.FormatBool(*value) }
	return typedField[*bool]{of, format, func(text string) (*bool, error) {
		value, err := parseBool(text)
		if err != nil {
			return nil, err
		}
		return &value, nil
	}}
}

func parseBool(text string) (bool, error) {
	if text != "true" && text != "false" {
		return false, wantOneOf([]string{"true", "false"})
	}
	return text == "true", nil
}

func countField(of func(*Config) *int, least, most int) field {
	return typedField[int]{of, strconv.Itoa, func(text string) (int, error) {
		count, err := strconv.Atoi(text)
		if err != nil || count < least || count > most {
			return 0, fmt.Errorf("want an integer from %d to %d", least, most)
		}
		return count, nil
	}}
}

func stmtCacheField(of func(*Config) *int) field {
	f := countField(of, 0, 1<<16).(typedField[int])
	parse := f.parse
	f.parse = func(text string) (int, error) {
		count, err := parse(text)
		if err == nil && count == 0 {
			count = NoStmtCache
		}
		return count, err
	}
	f.format = func(count int) string {
		if count == NoStmtCache {
			return "0"
		}
		return strconv.Itoa(count)
	}
	return f
}

// durationField takes durations of at least least, and those of NoWait (text "0") and NoLimit
// (text "none") that are among special.
func durationField(of func(*Config) *time.Duration, least time.Duration, special ...time.Duration) field {
	return typedField[time.Duration]{of, formatDuration, func(text string) (time.Duration, error) {
		d, err := parseDuration(text)
		switch {
		case err != nil:
			return 0, err
		case slices.Contains(special, d):
			return d, nil
		case d == NoLimit:
			return 0, errors.New("there must be a limit")
		case d < least && least == 1:
			return 0, errors.New("must be more than 0")
		case d < least:
			return 0, fmt.Errorf("must be at least %s", formatDuration(least))
		}
		return d, nil
	}}
}

func parseDuration(text string) (time.Duration, error) {
	if text == "none" {
		return NoLimit, nil
	}
	d, err := time.ParseDuration(text)
	switch {
	case err != nil && onlyBytes(text, isDigit):
		return 0, errors.New("a duration needs a unit, such as 5s or 300ms")
	case err != nil:
		return 0, errors.New("want a duration, such as 5s or 300ms")
	case d == 0:
		return NoWait, nil
	case d < 0: // -1ns is not NoWait
		return 0, errors.New("must not be negative")
	}
	return d, nil
}

// formatDuration writes "1h", not "1h0m0s".
func formatDuration(d time.Duration) string {
	switch d {
	case NoWait:
		return "0"
	case NoLimit:
		return "none"
	}
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

type sizeUnit struct {
	name  string
	bytes int64
}

// sizeUnits begins with the largest. The last one divides every size.
var sizeUnits = []sizeUnit{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}}

func sizeField(of func(*Config) *int64, least int64, special ...int64) field {
	return typedField[int64]{of, formatSize, func(text string) (int64, error) {
		size, err := parseSize(text)
		if err == nil && size < least && !slices.Contains(special, size) {
			err = fmt.Errorf("must be at least %s", formatSize(least))
		}
		return size, err
	}}
}

func parseSize(text string) (int64, error) {
	if text == "none" {
		return NoLimit, nil
	}
	for _, unit := range sizeUnits {
		digits, ok := strings.CutSuffix(text, unit.name)
		if !ok {
			continue
		}
		n, err := strconv.ParseUint(digits, 10, 63)
		if err != nil {
			break
		}
		if int64(n) > NoLimit/unit.bytes {
			return 0, errors.New("too large")
		}
		return int64(n) * unit.bytes, nil
	}
	return 0, errors.New("want an integer with a unit, B, KiB, MiB or GiB, or none")
}

func formatSize(size int64) string {
	if size == NoLimit {
		return "none"
	}
	unit := sizeUnits[slices.IndexFunc(sizeUnits, func(u sizeUnit) bool { return size%u.bytes == 0 })]
	return strconv.FormatInt(size/unit.bytes, 10) + unit.name
}

// hostsField and socketField add hosts. Their text is that of no parameter: FormatDSN writes all hosts before the "/".
type (
	hostsField  struct{}
	socketField struct{}
)

func (hostsField) text(*Config) string  { return "" }
func (socketField) text(*Config) string { return "" }

func (hostsField) set(c *Config, text string) error {
	c.Hosts = append(c.Hosts, strings.Split(text, ",")...)
	return nil
}

func (socketField) set(c *Config, path string) error {
	c.Hosts = append(c.Hosts, path)
	return checkSocket(path)
}

const sessionPrefix = "session."

// sessionField is the session setting of this name.
type sessionField string

func (f sessionField) text(c *Config) string {
	switch value := c.Session[string(f)].(type) {
	case string:
		return value
	case bool:
		return strconv.FormatBool(value)
	}
	return ""
}

func (f sessionField) set(c *Config, text string) error {
	if err := checkSettingName(string(f)); err != nil {
		return err
	}
	if c.Session == nil {
		c.Session = map[string]any{}
	}
	c.Session[string(f)] = text
	if value, err := parseBool(text); err == nil {
		c.Session[string(f)] = value
	}
	return nil
}

// checkSettingName refuses the settings that have a parameter of their own, too.
func checkSettingName(name string) error {
	switch {
	case !isSettingName(name):
		return errors.New(`a name has letters and "_"`)
	case strings.EqualFold(name, "sql_seq_scan"):
		return errors.New("use seq_scan")
	case strings.EqualFold(name, "sql_full_metadata"):
		return errors.New("use full_metadata")
	}
	return nil
}

func isSettingName(name string) bool {
	return name != "" && onlyBytes(name, func(b byte) bool { return isLetter(b) || b == '_' })
}
