package tntsql

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

const (
	scheme    = "tarantool"
	schemeSRV = "tarantool+srv"
)

// ParseDSN reads
//
//	tarantool://[user[:password]@]host[:port][,host[:port]...]/[?param=value&...]
//
// The port is 3301 if absent. An IPv6 address stands in brackets, its zone after "%25". A Unix socket is
// its absolute path, percent-encoded, in place of a host. User and password are percent-encoded; "+" is
// a plus. The last "/" may be left out. Config has the parameters; those that are not given have
// their defaults. An error names the part that is wrong and quotes neither the DSN nor the password.
func ParseDSN(dsn string) (*Config, error) {
	c, err := parseDSN(dsn)
	if err != nil {
		return nil, fmt.Errorf("tntsql: DSN: %w", err)
	}
	return c, nil
}

func parseDSN(dsn string) (*Config, error) {
	if dsn == "" {
		return nil, errors.New("it is empty: want " + scheme + "://host:port/")
	}
	kind, rest, ok := strings.Cut(dsn, "://")
	kind = strings.ToLower(kind)
	if !ok || kind != scheme && kind != schemeSRV {
		return nil, fmt.Errorf("scheme: want %s:// or %s://", scheme, schemeSRV)
	}
	userinfo, rest, hasUserinfo, err := cutUserinfo(rest)
	if err != nil {
		return nil, err
	}
	hosts, query, err := cutHosts(rest)
	if err != nil {
		return nil, err
	}
	c := NewConfig()
	if err := c.setUserinfo(userinfo); err != nil {
		return nil, err
	}
	q := queryParser{
		config: c,
		seen:   map[string]bool{},
		// Without "@", "app:33/?word=1" and "app?word=1" may be a user and a password whose host is
		// missing.
		quotesNames: hasUserinfo || !strings.Contains(hosts, ":") && slashBeforeQuery(rest),
	}
	if kind == schemeSRV {
		err = q.set("srv", hosts)
	} else {
		err = c.setHosts(hosts)
	}
	if err != nil {
		return nil, err
	}
	if err := q.parse(query); err != nil {
		return nil, err
	}
	if err := c.finish(); err != nil {
		return nil, err
	}
	return c, nil
}

func slashBeforeQuery(rest string) bool {
	before, _, _ := strings.Cut(rest, "?")
	return strings.HasSuffix(before, "/")
}

// cutUserinfo cuts at the only raw "@". With a second one, or with a delimiter before it, the parts
// cannot be told from each other, and the rest may be a part of the password.
func cutUserinfo(text string) (userinfo, rest string, found bool, err error) {
	at := strings.IndexByte(text, '@')
	if at < 0 {
		return "", text, false, nil
	}
	userinfo, rest = text[:at], text[at+1:]
	bad := strings.IndexAny(userinfo, "/?#,")
	if bad < 0 {
		if !strings.Contains(rest, "@") {
			return userinfo, rest, true, nil
		}
		bad = at
	}
	part := "user"
	if strings.Contains(text[:bad], ":") {
		part = "password"
	}
	hint := ""
	if last := strings.LastIndexByte(text, '@'); strings.Contains(text[:last], "?") {
		hint = `, and "@" in a parameter as %40`
	}
	return "", "", false, fmt.Errorf(`%s: percent-encode %q as %%%02X%s`, part, text[bad:bad+1], text[bad], hint)
}

func cutHosts(text string) (hosts, query string, err error) {
	if strings.Contains(text, "#") {
		return "", "", errors.New(`fragment: not allowed; percent-encode "#" as %23 in a parameter`)
	}
	hosts, query, _ = strings.Cut(text, "?")
	hosts, path, _ := strings.Cut(hosts, "/")
	switch {
	case path == "":
	case strings.Contains(path, "=") && !strings.Contains(path, "/"):
		return "", "", errors.New(`path: only "/" is allowed; parameters begin with "?"`)
	default:
		return "", "", errors.New(`path: only "/" is allowed; a Unix socket is percent-encoded, "/" as %2F`)
	}
	return hosts, query, nil
}

func (c *Config) setUserinfo(text string) error {
	user, password, _ := strings.Cut(text, ":")
	var err error
	if c.User, err = percentDecode(user); err != nil {
		return fmt.Errorf("user: %w", err)
	}
	if c.Password, err = percentDecode(password); err != nil {
		return fmt.Errorf("password: %w", err)
	}
	return nil
}

func (c *Config) setHosts(text string) error {
	if text == "" {
		return nil
	}
	for i, host := range strings.Split(text, ",") {
		host, err := percentDecode(host)
		if err != nil {
			return fmt.Errorf("host %d: %w", i+1, err)
		}
		c.Hosts = append(c.Hosts, host)
	}
	return nil
}

type queryParser struct {
	config      *Config
	seen        map[string]bool
	quotesNames bool
}

func (q *queryParser) parse(query string) error {
	position := 0
	for pair := range strings.SplitSeq(query, "&") {
		if pair == "" {
			continue
		}
		position++
		name, value, ok := strings.Cut(pair, "=")
		if !ok {
			return fmt.Errorf(`parameter %d: want name=value; percent-encode "&" as %%26`, position)
		}
		name, err := percentDecode(name)
		if err != nil {
			return fmt.Errorf("name of parameter %d: %w", position, err)
		}
		if _, ok := lookupParam(name); !ok {
			return q.unknown(name, position)
		}
		if err := q.set(name, value); err != nil {
			return err
		}
	}
	return nil
}

// set sets a parameter whose name is known.
func (q *queryParser) set(name, escaped string) error {
	p, _ := lookupParam(name)
	if q.seen[name] {
		return fmt.Errorf("%s: given twice", p.name)
	}
	q.seen[name] = true
	value, err := percentDecode(escaped)
	if err == nil && value == "" {
		err = errors.New("needs a value")
	}
	if err == nil {
		err = p.set(q.config, value)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	return nil
}

func (q *queryParser) unknown(name string, position int) error {
	near := nearestParam(name)
	shown := fmt.Sprintf("unknown parameter %q", name)
	if near == "" && !q.quotesNames || len(name) > 40 || !onlyBytes(name, isNameByte) {
		shown = fmt.Sprintf("parameter %d is unknown", position)
	}
	if near != "" {
		return fmt.Errorf("%s; did you mean %q?", shown, near)
	}
	return errors.New(shown)
}

// FormatDSN returns a DSN from which ParseDSN reads the same Config. Parameters that have their
// default are left out, and so are the fields that no text can carry. It contains the password;
// String does not.
func (c *Config) FormatDSN() string {
	return c.format(percentEncode(c.Password, ""))
}

func (c *Config) format(password string) string {
	var b strings.Builder
	b.WriteString(c.formatAuthority(password))
	separator := "/?"
	defaults := NewConfig()
	for _, p := range paramsOf(c) {
		text := p.text(c)
		if text == "" || text == p.text(defaults) || p.name == "srv" {
			continue
		}
		b.WriteString(separator + p.name + "=" + percentEncode(text, "/:,"))
		separator = "&"
	}
	if separator == "/?" {
		b.WriteByte('/')
	}
	return b.String()
}

func (c *Config) formatAuthority(password string) string {
	userinfo := percentEncode(c.User, "")
	if password != "" {
		userinfo += ":" + password
	}
	if userinfo != "" {
		userinfo += "@"
	}
	if c.SRV != "" {
		return schemeSRV + "://" + userinfo + percentEncode(c.SRV, "")
	}
	hosts := slices.Clone(c.Hosts)
	for i, host := range hosts {
		hosts[i] = percentEncode(host, "[]:")
	}
	return scheme + "://" + userinfo + strings.Join(hosts, ",")
}

// percentEncode percent-encodes every byte but the unreserved ones of RFC 3986 and those of keep.
func percentEncode(s, keep string) string {
	var b strings.Builder
	for i := range len(s) {
		if isNameByte(s[i]) || s[i] == '~' || strings.IndexByte(keep, s[i]) >= 0 {
			b.WriteByte(s[i])
		} else {
			fmt.Fprintf(&b, "%%%02X", s[i])
		}
	}
	return b.String()
}

// percentDecode leaves "+" alone and has an error of its own, since url.PathUnescape quotes the text in its.
func percentDecode(s string) (string, error) {
	decoded, err := url.PathUnescape(s)
	if err != nil {
		return "", errors.New(`two hexadecimal digits must follow "%"; percent-encode "%" itself as %25`)
	}
	return decoded, nil
}
