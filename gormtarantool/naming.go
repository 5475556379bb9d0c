package gormtarantool

import (
	"strings"

	"gorm.io/gorm/clause"
)

// Folding says when the names that GORM writes are folded to upper case. Tarantool
// 2.x does that to every name without quotes. If GORM quoted its own as they are,
// Where("name = ?") would not find its column "name" there. So on 2.x they are
// written without quotes, and the server folds them as it does those in raw SQL;
// a keyword, or any name on 3.x, is quoted in upper case. A name with an upper-case
// letter, or that begins with an underscore, as system spaces do, is never folded.
type Folding uint8

const (
	FoldAuto   Folding = iota // on 2.x, where the server folds; not on 3.x, which keeps names as they are
	FoldAlways                // on 3.x too: for a schema made under 2.x
	FoldNever                 // nowhere: names in raw SQL need double quotes on 2.x
)

func (f Folding) folds(server version) bool {
	switch f {
	case FoldAlways:
		return true
	case FoldNever:
		return false
	default:
		return !server.atLeast(3, 0)
	}
}

// folded is a name as the server stores it.
func folded(name string, fold bool) string {
	if !fold || strings.HasPrefix(name, "_") || name != strings.ToLower(name) {
		return name
	}
	return strings.ToUpper(name)
}

// unfolded is the name that GORM knows for one that the server has stored.
func unfolded(name string, fold bool) string {
	if !fold || strings.HasPrefix(name, "_") || name != strings.ToUpper(name) {
		return name
	}
	return strings.ToLower(name)
}

// stored is a name of GORM's as the server stores it: what system spaces and PRAGMA know.
func (d *Dialector) stored(name string) string { return folded(name, d.fold) }

// known is a stored name as GORM knows it.
func (d *Dialector) known(name string) string { return unfolded(name, d.fold) }

// quoteTo quotes each part of a dotted name, unless it need not be where the server
// folds. A part that has quotes already is written as it is.
func quoteTo(writer clause.Writer, name string, fold, serverFolds bool) {
	for first := true; ; first = false {
		if !first {
			_ = writer.WriteByte('.')
		}
		var part string
		var quoted, more bool
		part, name, quoted, more = cutPart(name)
		if !quoted && !(fold && serverFolds && plain(part)) {
			part = `"` + escapeQuotes(folded(part, fold)) + `"`
		}
		_, _ = writer.WriteString(part)
		if !more {
			return
		}
	}
}

// cutPart cuts the first part off a dotted name, and tells whether it has quotes and
// whether more parts follow.
func cutPart(name string) (part, rest string, quoted, more bool) {
	if end := endOfQuoted(name); end > 0 {
		part, rest = name[:end], name[end:]
		return part, strings.TrimPrefix(rest, "."), true, rest != ""
	}
	part, rest, more = strings.Cut(name, ".")
	return part, rest, false, more
}

// endOfQuoted is the length of the quoted part that name begins with, 0 if none is
// complete and followed by a dot or the end.
func endOfQuoted(name string) int {
	if !strings.HasPrefix(name, `"`) {
		return 0
	}
	for i := 1; i < len(name); i++ {
		switch {
		case name[i] != '"':
		case i+1 < len(name) && name[i+1] == '"':
			i++
		case i+1 == len(name) || name[i+1] == '.':
			return i + 1
		default:
			return 0
		}
	}
	return 0
}

func escapeQuotes(name string) string { return strings.ReplaceAll(name, `"`, `""`) }

// quoted is a stored name in double quotes.
func quoted(name string) string { return `"` + escapeQuotes(name) + `"` }
