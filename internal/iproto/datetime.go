package iproto

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"
)

// What a DATETIME of the server can hold: seconds since 1970, the offset from
// UTC in minutes. Nanoseconds may hold a leap second.
const (
	minDatetime = -185604722870400
	maxDatetime = 185480451417600

	minOffset = -12 * 60
	maxOffset = 14 * 60

	maxNanoseconds = 2_000_000_000
)

// DATETIME is the seconds in 8 bytes and, unless all of it is zero, 8 bytes
// more: nanoseconds, offset, index of the zone's name.
const (
	shortDatetime = 8
	longDatetime  = 16
)

func appendTime(b []byte, t time.Time) ([]byte, error) {
	seconds := t.Unix()
	if seconds < minDatetime || seconds > maxDatetime {
		return b, fmt.Errorf("the year %d is out of the range of DATETIME", t.Year())
	}
	_, offset := t.Zone()
	if offset%60 != 0 {
		return b, fmt.Errorf("the offset %v of %s has seconds, DATETIME keeps minutes: pass the time as UTC()",
			time.Duration(offset)*time.Second, t.Location())
	}
	minutes := offset / 60
	if minutes < minOffset || minutes > maxOffset {
		return b, errors.New("the offset of the time's zone is out of the range of DATETIME, -12:00 to +14:00")
	}
	zone := int16(0)
	if t.Location() != time.UTC {
		zone = zoneIndex(t.Location().String(), minutes)
	}
	data := binary.LittleEndian.AppendUint64(make([]byte, 0, longDatetime), uint64(seconds))
	if t.Nanosecond() != 0 || minutes != 0 || zone != 0 {
		data = binary.LittleEndian.AppendUint32(data, uint32(t.Nanosecond()))
		data = binary.LittleEndian.AppendUint16(data, uint16(minutes))
		data = binary.LittleEndian.AppendUint16(data, uint16(zone))
	}
	return appendExt(b, extDatetime, data), nil
}

func decodeTime(data []byte) (time.Time, error) {
	if len(data) != shortDatetime && len(data) != longDatetime {
		return time.Time{}, fmt.Errorf("%w: DATETIME of %d bytes", ErrMalformed, len(data))
	}
	seconds := int64(binary.LittleEndian.Uint64(data))
	var (
		nanoseconds   int32
		minutes, zone int16
	)
	if len(data) == longDatetime {
		nanoseconds = int32(binary.LittleEndian.Uint32(data[8:]))
		minutes = int16(binary.LittleEndian.Uint16(data[12:]))
		zone = int16(binary.LittleEndian.Uint16(data[14:]))
	}
	if seconds < minDatetime || seconds > maxDatetime || nanoseconds < 0 || nanoseconds >= maxNanoseconds ||
		minutes < minOffset || minutes > maxOffset {
		return time.Time{}, fmt.Errorf("%w: DATETIME out of range", ErrMalformed)
	}
	t := time.Unix(seconds, int64(nanoseconds))
	return t.In(location(t, zone, int(minutes)*60)), nil
}

// location returns where t has the given offset: the zone, or, when this host
// does not know it or knows other rules for it, a fixed offset.
func location(t time.Time, zone int16, offset int) *time.Location {
	name := zoneName(zone)
	if offset == 0 && (name == "" || name == "Z" || name == "UTC") {
		return time.UTC
	}
	if loc := loadZone(name); loc != nil {
		if _, o := t.In(loc).Zone(); o == offset {
			return loc
		}
	}
	return time.FixedZone(name, offset)
}
