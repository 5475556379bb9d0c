package tntsql

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math"
	"net"
	"slices"
	"time"
)

const (
	// NoLimit is "none" of a DSN, for durations and sizes.
	NoLimit = math.MaxInt64
	// NoWait is "selection_timeout=0" of a DSN: a statement without an instance of its mode fails at once.
	NoWait time.Duration = -1
	// NoStmtCache is "stmt_cache=0" of a DSN.
	NoStmtCache = -1
)

// ReadAfterWrite says which reads see which writes.
type ReadAfterWrite string

const (
	ReadAfterWriteSession ReadAfterWrite = "session" // reads of a session see its own writes
	ReadAfterWriteAll     ReadAfterWrite = "all"     // the whole Connector is one session
	ReadAfterWriteOff     ReadAfterWrite = "off"
)

// Discovery says where the instances of the cluster come from.
type Discovery string

const (
	DiscoveryStatic      Discovery = "static"      // Hosts alone
	DiscoveryReplication Discovery = "replication" // also the peers that they replicate with, as box.info lists them
)

// Balancer says which of the instances of a mode serves a request.
type Balancer string

const (
	BalancerRoundRobin    Balancer = "round_robin"
	BalancerLeastInflight Balancer = "least_inflight" // the one with the fewest unanswered requests
	BalancerNearest       Balancer = "nearest"        // the one with the lowest smoothed latency
)

// ColumnCase says how the names of result columns are reported.
type ColumnCase string

const (
	ColumnCaseLower    ColumnCase = "lower"    // in lower case if they have no lower-case letter
	ColumnCasePreserve ColumnCase = "preserve" // as the server sends them
)

// Auth is an authentication method.
type Auth string

const (
	AuthAuto      Auth = "auto" // what the server asks for; pap-sha256 over TLS only
	AuthCHAPSHA1  Auth = "chap-sha1"
	AuthPAPSHA256 Auth = "pap-sha256" // sends the password as it is, without TLS too
)

// TLSMode says whether connections use TLS and what is verified.
type TLSMode string

const (
	TLSDisable    TLSMode = "disable"
	TLSVerifyFull TLSMode = "verify-full" // the server's certificate and its name
	TLSVerifyCA   TLSMode = "verify-ca"   // the certificate alone
	TLSSkipVerify TLSMode = "skip-verify" // neither
)

// Config is what a DSN says, and what no text can carry. Start from NewConfig or ParseDSN;
// NewConnector gives a zero field its default, too. Each comment names the parameter of the DSN.
// Printed or logged, a Config shows "***" for its password.
type Config struct {
	// User and Password log in. Without a User the session is that of the server's guest.
	User, Password string
	// Hosts are the addresses of instances: "host", "host:3301", "[::1]:3301" or the absolute path
	// of a Unix socket. The port is 3301 if absent. A name with several IP addresses stands for an
	// instance at each; it is looked up every 30s, and more often while no instance can be reached.
	Hosts []string
	// SRV (srv) is a name; the hosts are those of DNS SRV _tarantool._tcp.SRV, looked up as often. It
	// excludes Hosts. Priorities and weights decide about the order in Topology alone.
	SRV string

	// ReadMode (read_mode) is the mode of reads whose context has none. Default: ModeAny.
	ReadMode Mode
	// ReadAfterWrite (read_after_write) is ReadAfterWriteSession by default.
	ReadAfterWrite ReadAfterWrite
	// ReadOnly (read_only) refuses everything that writes, before any I/O.
	ReadOnly bool

	// SelectionTimeout (selection_timeout) is how long a statement waits for an instance of its
	// mode. NoWait and NoLimit are allowed. Default: 15s.
	SelectionTimeout time.Duration
	// ConnectTimeout (connect_timeout) bounds one connection attempt: dial, greeting, auth. Default: 5s.
	ConnectTimeout time.Duration
	// RequestTimeout (request_timeout) is the time from request to reply, for a request whose
	// context has no deadline. Default: NoLimit.
	RequestTimeout time.Duration
	// CloseTimeout (close_timeout) is how long Close waits for work in flight, requests and open transactions. NoLimit is allowed. Default: 5s.
	CloseTimeout time.Duration
	// RefreshInterval (refresh_interval) is how often an instance is asked for its role. At least 10ms. Default: 1s.
	RefreshInterval time.Duration
	// ProbeTimeout (probe_timeout): an instance that answers nothing on its control connection for
	// this long is suspect and picked last. At least 10ms. Default: 1s.
	ProbeTimeout time.Duration
	// DeadTimeout (dead_timeout): connections of an instance that sent no frame on any of them for
	// this long are closed. At least 10ms; NoLimit is allowed. Default: 60s.
	DeadTimeout time.Duration

	// Discovery (discovery) is DiscoveryStatic by default. DiscoveryReplication needs a user who may
	// call box.info (a warning in the log says if he may not); peers are logged in to as Hosts are.
	Discovery Discovery
	// Balancer (balancer) is BalancerRoundRobin by default.
	Balancer Balancer
	// MaxLag (max_lag) keeps reads from replicas that are farther behind, or unknown to be less.
	// At least 10ms. Default: NoLimit.
	MaxLag time.Duration
	// ConnsPerInstance (conns_per_instance) is the number of data connections to each instance, at
	// most. 1 to 1024. Default: 4.
	ConnsPerInstance int
	// MaxInFlight (max_in_flight) is the number of unanswered requests to each instance beyond which
	// statements wait unsent. 1 to 1000000. Default: 512.
	MaxInFlight int

	// TxTimeout (tx_timeout) is when the server ends a transaction, unless BeginTx's deadline is
	// earlier. Default: 1h.
	TxTimeout time.Duration
	// StmtCache (stmt_cache) is the number of statements that a server keeps prepared per connection:
	// reads that are used again. 1 to 65536, or NoStmtCache. Default: 256. With FullMetadata, Session
	// or a SeqScan of false there are none: sessions share them, whatever their settings.
	StmtCache int
	// ColumnCase (column_case) is ColumnCaseLower by default.
	ColumnCase ColumnCase
	// SeqScan (seq_scan) allows full scans on Tarantool 3.x, or refuses them. Nil leaves it to the server.
	SeqScan *bool
	// Session (session.NAME) has other session settings, applied to each connection. A name has letters and "_",
	// a value is a bool or a string that is not empty; the strings "true" and "false" are the bools.
	Session map[string]any
	// FullMetadata (full_metadata) asks for nullability and autoincrement of result columns.
	FullMetadata bool
	// MaxResponseSize (max_response_size) is in bytes. A larger reply is refused with an error. At
	// least 1 KiB; NoLimit is allowed. Default: 256 MiB.
	MaxResponseSize int64

	// Auth (auth) is AuthAuto by default.
	Auth Auth
	// TLSMode (tls) is TLSDisable by default, with which the other TLS fields are an error.
	TLSMode TLSMode
	// TLSCA, TLSCert and TLSKey (tls_ca, tls_cert, tls_key) are the names of PEM files: the CA
	// certificates (default: the system's), the client's certificate and its key.
	TLSCA, TLSCert, TLSKey string
	// TLSServerName (tls_server_name) is the name that the server's certificate must have. Default: the host.
	TLSServerName string

	// TLS turns TLS on and is used as it is, with the host as ServerName if it has none. The other
	// TLS fields must be unset.
	TLS *tls.Config
	// Dial opens the connection beneath TLS. The network is "tcp" or "unix". Without a Resolver, it
	// gets the names in Hosts as they are. Default: a net.Dialer.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Resolver looks up the names in Hosts, and SRV. Default: net.DefaultResolver.
	Resolver *net.Resolver
	// Logger gets what happens to instances and connections, and no parameter value. Default: nil, silence.
	Logger *slog.Logger
	// Trace is told of each statement, of what is sent again and of changes of the topology.
	Trace *Trace
	// Credentials is asked for each connection, in place of User and Password. The address is the
	// instance's, in the form of Hosts.
	Credentials func(ctx context.Context, address string) (user, password string, err error)
}

// NewConfig returns a Config with the defaults. It has no hosts.
func NewConfig() *Config {
	c := &Config{}
	for _, p := range params {
		if p.def != "" {
			_ = p.set(c, p.def) // a default is valid: the tests set each
		}
	}
	return c
}

// Clone returns a copy that shares nothing with c but what Dial, Resolver, Logger, Trace and Credentials refer to.
func (c *Config) Clone() *Config {
	clone := *c
	clone.Hosts = slices.Clone(c.Hosts)
	clone.Session = maps.Clone(c.Session)
	clone.TLS = c.TLS.Clone()
	if c.SeqScan != nil {
		seqScan := *c.SeqScan
		clone.SeqScan = &seqScan
	}
	return &clone
}

// normalize returns a valid copy with the defaults in place of zero fields. It writes each field as
// DSN text and reads that back, so that a hand-made Config obeys the rules of a DSN.
func (c *Config) normalize() (*Config, error) {
	n, err := c.normalized()
	if err != nil {
		return nil, fmt.Errorf("tntsql: Config: %w", err)
	}
	return n, nil
}

func (c *Config) normalized() (*Config, error) {
	n, defaults := c.Clone(), NewConfig()
	for _, p := range paramsOf(n) {
		text := cmp.Or(p.text(n), p.text(defaults))
		if text == "" {
			continue
		}
		if err := p.set(n, text); err != nil {
			return nil, fmt.Errorf("%s: %w", p.name, err)
		}
	}
	if err := n.finish(); err != nil {
		return nil, err
	}
	return n, nil
}

// finish normalizes the hosts and checks what no parameter can check alone.
func (c *Config) finish() error {
	hosts, err := normalizeHosts(c.Hosts)
	if err != nil {
		return err
	}
	c.Hosts = hosts
	switch {
	case len(hosts) == 0 && c.SRV == "":
		return errors.New("hosts: there is none")
	case len(hosts) > 0 && c.SRV != "":
		return errors.New("srv: the hosts come from DNS; give no others")
	case c.User == "" && c.Password != "":
		return errors.New("user: missing; a password needs one")
	}
	if err := c.checkSession(); err != nil {
		return err
	}
	return c.checkTLS()
}

func (c *Config) checkSession() error {
	for name, value := range c.Session {
		if err := checkSettingName(name); err != nil {
			return fmt.Errorf("%s%s: %w", sessionPrefix, name, err)
		}
		switch value.(type) {
		case string, bool:
		default:
			return fmt.Errorf("%s%s: want a bool or a string, not %T", sessionPrefix, name, value)
		}
		if value == "" {
			return fmt.Errorf("%s%s: needs a value", sessionPrefix, name)
		}
	}
	return nil
}

func (c *Config) checkTLS() error {
	enabled := c.TLSMode != TLSDisable
	if c.TLS != nil && enabled {
		return errors.New("tls: TLS is given; leave TLSMode unset")
	}
	for _, file := range []struct{ name, value string }{
		{"tls_ca", c.TLSCA}, {"tls_cert", c.TLSCert}, {"tls_key", c.TLSKey}, {"tls_server_name", c.TLSServerName},
	} {
		if file.value != "" && !enabled {
			return fmt.Errorf("%s: needs tls=verify-full, verify-ca or skip-verify", file.name)
		}
	}
	switch {
	case c.TLSCert != "" && c.TLSKey == "":
		return errors.New("tls_cert: needs tls_key")
	case c.TLSKey != "" && c.TLSCert == "":
		return errors.New("tls_key: needs tls_cert")
	}
	return nil
}

// The methods below have value receivers: a Config printed by value shows no password either.

// String returns the DSN with "***" for the password.
func (c Config) String() string {
	if c.Password == "" {
		return c.format("")
	}
	return c.format("***")
}

// GoString is String's text as a Go conversion.
func (c Config) GoString() string {
	return fmt.Sprintf("tntsql.Config(%q)", c.String())
}

// Format implements fmt.Formatter: every verb formats String's text, and %#v GoString's.
func (c Config) Format(f fmt.State, verb rune) {
	if verb == 'v' && f.Flag('#') {
		_, _ = io.WriteString(f, c.GoString())
		return
	}
	_, _ = fmt.Fprintf(f, fmt.FormatString(f, verb), c.String())
}

// LogValue implements slog.LogValuer.
func (c Config) LogValue() slog.Value {
	return slog.StringValue(c.String())
}
