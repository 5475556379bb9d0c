package iproto

import (
	"strconv"
	"strings"
	"sync"
	"time"
)

// zoneTable has the server's zones by number and by name.
type zoneTable struct {
	names   map[int16]string
	indexes map[string]int16 // aliases too, no abbreviations
	offsets map[string]abbreviation
}

type abbreviation struct {
	index   int16
	minutes int
}

var zones = sync.OnceValue(func() *zoneTable {
	t := &zoneTable{names: map[int16]string{}, indexes: map[string]int16{}, offsets: map[string]abbreviation{}}
	each := func(table string, add func(index int16, name, minutes string)) {
		for _, entry := range strings.Fields(table) {
			parts := strings.SplitN(entry+":", ":", 3)
			index, _ := strconv.ParseInt(parts[0], 10, 16)
			add(int16(index), parts[1], strings.TrimSuffix(parts[2], ":"))
		}
	}
	each(zoneAbbreviations, func(index int16, name, minutes string) {
		t.names[index] = name
		if n, err := strconv.Atoi(minutes); err == nil {
			t.offsets[name] = abbreviation{index, n}
		}
	})
	each(zoneNames, func(index int16, name, _ string) {
		t.names[index] = name
		t.indexes[name] = index
	})
	each(zoneAliases, func(index int16, name, _ string) { t.indexes[name] = index })
	return t
})

// zoneName returns the name of a zone, empty if there is none of that number.
func zoneName(index int16) string {
	if index == 0 {
		return ""
	}
	return zones().names[index]
}

// zoneIndex returns the number of a zone, 0 if the server does not know it. An
// abbreviation means one offset to the server: "CET" is not the zone of that
// name in summer.
func zoneIndex(name string, minutes int) int16 {
	if a, ok := zones().offsets[name]; ok && a.minutes == minutes {
		return a.index
	}
	return zones().indexes[name]
}

// locations has the *time.Location, perhaps nil, of each zone that was asked
// for. There are no more of them than zones in the table.
var locations sync.Map

// loadZone returns a zone of the tz database, nil if this host does not know it.
func loadZone(name string) *time.Location {
	if name == "" {
		return nil
	}
	if loc, ok := locations.Load(name); ok {
		return loc.(*time.Location)
	}
	loc, err := time.LoadLocation(name)
	if err != nil {
		loc = nil
	}
	locations.Store(name, loc)
	return loc
}
