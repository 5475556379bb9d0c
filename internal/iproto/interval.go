package iproto

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Adjust says which day an Interval arrives at when months are added to a day
// near the end of its month. The names are those of the server's Lua module.
const (
	AdjustNone   = iota // the last day of a month that is too short
	AdjustExcess        // that many days into the month after one that is too short
	AdjustLast          // like AdjustNone, and from a last day to a last day
)

// adjustments has the number of each Adjust in the extension.
var adjustments = [...]int64{AdjustNone: 1, AdjustExcess: 0, AdjustLast: 2}

// Interval is a value of an INTERVAL column. As a parameter it needs Tarantool
// 2.10. Year, Month, Week and Nsec have 32 bits in the server.
type Interval struct {
	Year, Month, Week, Day, Hour, Min, Sec, Nsec int64
	Adjust                                       int // AdjustNone, AdjustExcess or AdjustLast
}

// Fields of INTERVAL in its extension.
const (
	intervalYear = iota
	intervalMonth
	intervalWeek
	intervalDay
	intervalHour
	intervalMin
	intervalSec
	intervalNsec
	intervalAdjust
	intervalFields
)

// String returns the interval as the server prints it, for example
// "+1 years, 2 months, -3 days".
func (v Interval) String() string {
	var text strings.Builder
	for _, part := range [...]struct {
		n    int64
		unit string
	}{
		{v.Year, "years"}, {v.Month, "months"}, {v.Week, "weeks"}, {v.Day, "days"},
		{v.Hour, "hours"}, {v.Min, "minutes"}, {v.Sec, "seconds"}, {v.Nsec, "nanoseconds"},
	} {
		switch {
		case part.n == 0:
		case text.Len() == 0:
			fmt.Fprintf(&text, "%+d %s", part.n, part.unit)
		default:
			fmt.Fprintf(&text, ", %d %s", part.n, part.unit)
		}
	}
	if text.Len() == 0 {
		return "+0 seconds"
	}
	return text.String()
}

// fields returns the fields in the order of the extension's keys.
func (v *Interval) fields(adjust *int64) [intervalFields]*int64 {
	return [intervalFields]*int64{
		&v.Year, &v.Month, &v.Week, &v.Day, &v.Hour, &v.Min, &v.Sec, &v.Nsec, adjust,
	}
}

func appendInterval(b []byte, v Interval) ([]byte, error) {
	for _, n := range [...]int64{v.Year, v.Month, v.Week, v.Nsec} {
		if n != int64(int32(n)) {
			return b, errors.New("years, months, weeks and nanoseconds of an INTERVAL have 32 bits")
		}
	}
	if v.Adjust < AdjustNone || v.Adjust > AdjustLast {
		return b, fmt.Errorf("INTERVAL with the unknown adjustment %d", v.Adjust)
	}
	adjust := adjustments[v.Adjust]
	data := make([]byte, 1, 64)
	for key, n := range v.fields(&adjust) {
		if *n != 0 {
			data[0]++
			data = appendInt(append(data, byte(key)), *n)
		}
	}
	return appendExt(b, extInterval, data), nil
}

func decodeInterval(data []byte) (Interval, error) {
	var (
		v      Interval
		adjust int64
	)
	if len(data) == 0 {
		return v, fmt.Errorf("%w: empty INTERVAL", ErrMalformed)
	}
	fields := v.fields(&adjust)
	s := scanner{b: data, pos: 1}
	for range data[0] {
		key, err := s.uint()
		if err != nil {
			return Interval{}, err
		}
		k, n, err := s.head()
		if err != nil {
			return Interval{}, err
		}
		if key >= intervalFields || k != kindInt && (k != kindUint || n > math.MaxInt64) {
			return Interval{}, s.malformed("field %d of INTERVAL is %v", key, k)
		}
		*fields[key] = int64(n)
	}
	v.Adjust = slices.Index(adjustments[:], adjust)
	if v.Adjust < 0 {
		return Interval{}, s.malformed("INTERVAL with the adjustment %d", adjust)
	}
	return v, nil
}
