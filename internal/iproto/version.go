package iproto

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// Version is a server's version. The zero Version is an unknown one, older
// than every other.
type Version struct{ Major, Minor, Patch int }

// AtLeast reports whether v is the given version or a later one.
func (v Version) AtLeast(major, minor, patch int) bool {
	return cmp.Or(cmp.Compare(v.Major, major), cmp.Compare(v.Minor, minor), cmp.Compare(v.Patch, patch)) >= 0
}

// IsZero reports whether the version is unknown.
func (v Version) IsZero() bool { return v == Version{} }

func (v Version) String() string {
	if v.IsZero() {
		return "unknown"
	}
	return fmt.Sprintf("%d.%d.%d", v.Major, v.Minor, v.Patch)
}

// ParseVersion reads "2.6.0", or "3.8.0-entrypoint-5-gabc" without its suffix.
func ParseVersion(text string) (Version, bool) {
	number, _, _ := strings.Cut(text, "-")
	parts := strings.Split(number, ".")
	if len(parts) != 3 {
		return Version{}, false
	}
	var n [3]int
	for i, part := range parts {
		u, err := strconv.ParseUint(part, 10, 16)
		if err != nil {
			return Version{}, false
		}
		n[i] = int(u)
	}
	return Version{n[0], n[1], n[2]}, true
}

// newest stands for a server that takes everything.
var newest = Version{Major: 1 << 20}
