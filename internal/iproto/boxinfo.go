package iproto

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// BoxInfo is a part of box.info. A field that the server does not have is zero.
type BoxInfo struct {
	Status     string // "running", "loading", "orphan", "hot_standby", …
	ReadOnly   bool   // in effect
	UUID       string // of the instance
	ReplicaSet string // its uuid
	Name       string // of the instance (since 3.0)
	Version    string // for example "2.6.0-0-g47aa4e01e"
	Term       uint64 // of the election (since 2.6.1)
	// Peers are the registered members of the replica set, the instance itself
	// among them. An anonymous replica is in no list.
	Peers []Peer
}

// Peer is an entry of box.info.replication.
type Peer struct {
	UUID string
	// Address is where the instance follows it: "host:port", or the absolute
	// path of a Unix socket. It is empty for one that it does not follow, as
	// itself.
	Address string
}

// maxPeers is how many members a replica set can have: a vclock has 32
// components.
const maxPeers = 32

// ParseBoxInfo reads the body of a reply to CALL box.info.
func ParseBoxInfo(body []byte) (BoxInfo, error) {
	s, err := findData(body)
	if err != nil {
		return BoxInfo{}, err
	}
	n, err := s.array()
	if err != nil {
		return BoxInfo{}, err
	}
	if n == 0 {
		return BoxInfo{}, fmt.Errorf("%w: empty reply to box.info", ErrMalformed)
	}
	var info BoxInfo
	if err := s.names(func(name string) (bool, error) { return info.field(&s, name) }); err != nil {
		return BoxInfo{}, err
	}
	return info, nil
}

func (info *BoxInfo) field(s *scanner, name string) (read bool, err error) {
	switch name {
	case "status":
		info.Status, err = s.optionalName()
	case "ro":
		info.ReadOnly, err = s.bool()
	case "uuid":
		info.UUID, err = s.optionalName()
	case "name":
		info.Name, err = s.optionalName()
	case "version":
		info.Version, err = s.optionalName()
	case "cluster", "replicaset":
		// The replica set's uuid is cluster.uuid in 2.x, replicaset.uuid
		// in 3.x, where cluster is what replica sets belong to.
		err = s.names(func(name string) (bool, error) {
			if name != "uuid" {
				return false, nil
			}
			info.ReplicaSet, err = s.optionalName()
			return true, err
		})
	case "election":
		err = s.names(func(name string) (bool, error) {
			if name != "term" {
				return false, nil
			}
			info.Term, err = s.uint()
			return true, err
		})
	case "replication":
		err = s.names(func(string) (bool, error) { return true, info.peer(s) })
	default:
		return false, nil
	}
	return true, err
}

// peer reads one entry of box.info.replication.
func (info *BoxInfo) peer(s *scanner) error {
	var p Peer
	err := s.names(func(name string) (read bool, err error) {
		switch name {
		case "uuid":
			p.UUID, err = s.optionalName()
		case "upstream":
			err = s.names(func(name string) (bool, error) {
				if name != "peer" {
					return false, nil
				}
				uri, err := s.optionalText()
				p.Address = peerAddress(uri)
				return true, err
			})
		default:
			return false, nil
		}
		return true, err
	})
	if err == nil && p.UUID != "" && len(info.Peers) < maxPeers {
		info.Peers = append(info.Peers, p)
	}
	return err
}

// peerAddress is the address in a URI of box.cfg.replication, such as
// "user@host:3301?transport=ssl" or "user@unix/:/path"; empty if it means
// something on the server's own host alone, such as a port without a host.
func peerAddress(uri string) string {
	uri, _, _ = strings.Cut(uri, "?")
	uri = uri[strings.LastIndexByte(uri, '@')+1:]
	if len(uri) > maxName || !isName(uri) {
		return ""
	}
	if path := strings.TrimPrefix(uri, "unix/:"); strings.HasPrefix(path, "/") {
		return path
	}
	host, port, err := net.SplitHostPort(uri)
	if err != nil || host == "" {
		return ""
	}
	if number, err := strconv.ParseUint(port, 10, 16); err != nil || number == 0 {
		return ""
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		host = ip.String()
	} else if strings.ContainsFunc(host, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(`/\:[]`, r) }) {
		return ""
	}
	return net.JoinHostPort(strings.ToLower(host), port)
}

// optionalText reads a string, or anything else as none: Lua has nil and
// box.NULL where a string is missing.
func (s *scanner) optionalText() (string, error) {
	start := s.pos
	k, n, err := s.head()
	if err != nil {
		return "", err
	}
	if k == kindStr {
		return string(s.take(n)), nil
	}
	s.pos = start
	return "", s.skip(1, MaxDepth)
}

// maxName is how long a name may be that a server gives, the host and port of an address
// included. Servers have 63 bytes for those of their own; a host name has 253.
const maxName = 260

// isName tells of a text that can stand in a line of a log or a table as it is.
func isName(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, unicode.IsControl)
}

// optionalName is optionalText for what is kept and shown.
func (s *scanner) optionalName() (string, error) {
	text, err := s.optionalText()
	switch {
	case err != nil:
		return "", err
	case len(text) > maxName:
		return "", s.malformed("a name of %d bytes", len(text))
	case !isName(text):
		return "", s.malformed("a name with control characters")
	}
	return text, nil
}

// names reads a map with names for keys, as fields reads one with integers. Any
// other value has no names, as an empty table of Lua, which is an array.
func (s *scanner) names(field func(name string) (read bool, err error)) error {
	start := s.pos
	k, n, err := s.head()
	if err != nil {
		return err
	}
	if k != kindMap {
		s.pos = start
		return s.skip(1, MaxDepth)
	}
	return pairs(s, n, (*scanner).optionalText, field)
}
