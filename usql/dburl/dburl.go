// Package dburl registers Tarantool with github.com/xo/dburl, and the driver with
// database/sql. Import it for that alone:
//
//	import _ "github.com/tntsql/tntsql/usql/dburl"
//
//	db, err := dburl.Open("tt://app:secret@10.0.0.1/?hosts=10.0.0.2,10.0.0.3&read_mode=prefer_ro")
//
// The scheme is tarantool, or tnt or tt for short. What follows it is a DSN of
// github.com/tntsql/tntsql, with these differences:
//
//   - dburl reads URLs by net/url, which takes no list of hosts with ports: the others are
//     in the parameter hosts. A list without ports is fine.
//   - Without a host, it is localhost, unless a parameter names one: hosts, socket or srv.
//   - tarantool:/var/run/tnt.sock and tarantool+unix:/var/run/tnt.sock are a Unix socket.
//
// A URL that can be no DSN is refused by dburl.Parse, with an error that quotes no password.
package dburl

import (
	"fmt"
	"net/url"
	"reflect"
	"strings"

	"github.com/xo/dburl"

	"github.com/tntsql/tntsql"
)

func init() {
	scheme := dburl.Scheme{
		Generator: generate,
		Transport: dburl.TransportAny, // tarantool+srv and tarantool+unix
		Aliases:   []string{"tnt", "tt"},
	}
	setName(&scheme, tntsql.DriverName)
	dburl.Register(scheme)
}

// setName sets the field that dburl has renamed since v0.24, which usql needs: Driver is
// now Name.
func setName(scheme *dburl.Scheme, name string) {
	fields := reflect.ValueOf(scheme).Elem()
	for _, field := range []string{"Driver", "Name"} {
		if f := fields.FieldByName(field); f.IsValid() {
			f.SetString(name)
		}
	}
}

// generate makes a DSN of a URL. The driver is that of the scheme.
func generate(u *dburl.URL) (dsn, driver string, err error) {
	scheme, host, path := tntsql.DriverName, u.Host, strings.TrimPrefix(u.Path, "/")
	switch u.Transport {
	case "tcp":
		if host == "" && !namesHost(u.Query()) {
			host = "localhost"
		}
	case "unix":
		if host != "" && host != "." {
			path = host + u.Path // tarantool+unix://var/run/tnt.sock
		}
		host, path = escape("/"+path), ""
	case "srv":
		scheme += "+srv"
	default:
		return "", "", fmt.Errorf("tarantool+%s: want +srv or +unix", u.Transport)
	}
	var b strings.Builder
	b.WriteString(scheme + "://")
	if u.User != nil {
		b.WriteString(escape(u.User.Username()))
		if password, ok := u.User.Password(); ok {
			b.WriteString(":" + escape(password))
		}
		b.WriteString("@")
	}
	b.WriteString(host + "/" + path)
	if u.RawQuery != "" {
		b.WriteString("?" + u.RawQuery)
	}
	if u.Fragment != "" {
		b.WriteString("#" + u.EscapedFragment()) // for ParseDSN to refuse
	}
	if _, err := tntsql.ParseDSN(b.String()); err != nil {
		return "", "", err
	}
	return b.String(), "", nil
}

// namesHost tells that a parameter says which hosts there are.
func namesHost(query url.Values) bool {
	return query.Has("hosts") || query.Has("socket") || query.Has("srv")
}

// escape percent-encodes all but unreserved characters.
func escape(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }
