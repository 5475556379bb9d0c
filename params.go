package tntsql

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// param is one parameter of a DSN and the field of Config that it sets.
type param struct {
	name    string
	def     string // default, as DSN text; "" leaves the field unset
	meaning string // Markdown, for README's table
	field
}

// field reads and writes one field of Config as DSN text, not percent-encoded.
type field interface {
	text(c *Config) string // "" if the field is not set
	set(c *Config, text string) error
}

// params drives ParseDSN, FormatDSN, the checks of a hand-made Config, README's table and the tests.
var params = []param{
	{name: "hosts", field: hostsField{},
		meaning: "more hosts, `h2:3301,h3`: for tools that cannot write a host list"},
	{name: "socket", field: socketField{},
		meaning: "one more host: the absolute path of a Unix socket"},
	{name: "srv", field: textField(func(c *Config) *string { return &c.SRV }, parseSRV),
		meaning: "the hosts are those of DNS SRV `_tarantool._tcp.` and this name; the same as `tarantool+srv://name/`"},
	{name: "read_mode", def: "any", field: modeField(func(c *Config) *Mode { return &c.ReadMode }),
		meaning: "mode of reads: `any`, `rw`, `ro`, `prefer_rw`, `prefer_ro`"},
	{name: "read_after_write", def: "session",
		field:   enumField(func(c *Config) *ReadAfterWrite { return &c.ReadAfterWrite }, ReadAfterWriteSession, ReadAfterWriteAll, ReadAfterWriteOff),
		meaning: "reads of a session see its own writes: `session`; `all`: one session for the whole handle; `off`"},
	{name: "read_only", def: "false", field: boolField(func(c *Config) *bool { return &c.ReadOnly }),
		meaning: "this handle refuses everything that writes, before any I/O"},
	{name: "selection_timeout", def: "15s",
		field:   durationField(func(c *Config) *time.Duration { return &c.SelectionTimeout }, 1, NoWait, NoLimit),
		meaning: "how long a statement waits for an instance of its mode (a clean election on 3.8 takes over 3 s); `0` fails at once, when each instance has been tried; `none` waits without limit"},
	{name: "connect_timeout", def: "5s", field: durationField(func(c *Config) *time.Duration { return &c.ConnectTimeout }, 1),
		meaning: "one connection attempt: dial, greeting, auth"},
	{name: "request_timeout", def: "none",
		field:   durationField(func(c *Config) *time.Duration { return &c.RequestTimeout }, 1, NoLimit),
		meaning: "from request to reply, for a request whose context has no deadline"},
	{name: "close_timeout", def: "5s", field: durationField(func(c *Config) *time.Duration { return &c.CloseTimeout }, 1, NoLimit),
		meaning: "how long Close waits for work in flight: requests and open transactions; `none`: until it is done"},
	{name: "refresh_interval", def: "1s",
		field:   durationField(func(c *Config) *time.Duration { return &c.RefreshInterval }, 10*time.Millisecond),
		meaning: "how often an instance is asked for its role, with jitter; at least `10ms`"},
	{name: "probe_timeout", def: "1s",
		field:   durationField(func(c *Config) *time.Duration { return &c.ProbeTimeout }, 10*time.Millisecond),
		meaning: "an instance that answers nothing on its control connection for this long is suspect and picked last; at least `10ms`"},
	{name: "dead_timeout", def: "60s",
		field:   durationField(func(c *Config) *time.Duration { return &c.DeadTimeout }, 10*time.Millisecond, NoLimit),
		meaning: "connections of an instance that sent no frame on any of them for this long are closed; at least `10ms`; `none`: never"},
	{name: "discovery", def: "static",
		field:   enumField(func(c *Config) *Discovery { return &c.Discovery }, DiscoveryStatic, DiscoveryReplication),
		meaning: "`static`: the hosts of the DSN; `replication`: also the peers that they replicate with (the user needs `execute` on the function `box.info`)"},
	{name: "balancer", def: "round_robin",
		field:   enumField(func(c *Config) *Balancer { return &c.Balancer }, BalancerRoundRobin, BalancerLeastInflight, BalancerNearest),
		meaning: "which of the instances of a mode: `round_robin`, `least_inflight`, `nearest` (lowest smoothed latency)"},
	{name: "max_lag", def: "none",
		field:   durationField(func(c *Config) *time.Duration { return &c.MaxLag }, 10*time.Millisecond, NoLimit),
		meaning: "reads only from replicas that are less far behind; unknown counts as too far; at least `10ms`"},
	{name: "conns_per_instance", def: "4", field: countField(func(c *Config) *int { return &c.ConnsPerInstance }, 1, 1024),
		meaning: "data connections to each instance, at most: `1` to `1024`"},
	{name: "max_in_flight", def: "512",
		field:   countField(func(c *Config) *int { return &c.MaxInFlight }, 1, 1_000_000),
		meaning: "unanswered requests to each instance, beyond which statements wait unsent (the server's own `net_msg_max` is 768 for all clients): `1` to `1000000`"},
	{name: "tx_timeout", def: "1h", field: durationField(func(c *Config) *time.Duration { return &c.TxTimeout }, 1),
		meaning: "the server ends a transaction after this, or after BeginTx's deadline if that is earlier"},
	{name: "stmt_cache", def: "256", field: stmtCacheField(func(c *Config) *int { return &c.StmtCache }),
		meaning: "server-side prepared statements kept per connection, reads only: up to `65536`; `0` turns it off. There are none with `full_metadata`, `session.NAME` or `seq_scan=false`, which sessions that share a statement may not have in common"},
	{name: "column_case", def: "lower",
		field:   enumField(func(c *Config) *ColumnCase { return &c.ColumnCase }, ColumnCaseLower, ColumnCasePreserve),
		meaning: "`lower`: a result column without a lower-case letter is lower-cased (2.x reports unquoted names in upper case); `preserve`: as sent"},
	{name: "seq_scan", field: optionalBoolField(func(c *Config) **bool { return &c.SeqScan }),
		meaning: "`true`: allow full scans on 3.x (session setting `sql_seq_scan`); `false`: refuse them; unset: as the server has it"},
	{name: sessionPrefix + "NAME", field: sessionField("NAME"),
		meaning: "any other session setting, applied to each connection: a name of letters and `_`; `true`, `false` or a string"},
	{name: "full_metadata", def: "false", field: boolField(func(c *Config) *bool { return &c.FullMetadata }),
		meaning: "ask for nullability and autoincrement of result columns (more bytes in every reply)"},
	{name: "max_response_size", def: "256MiB",
		field:   sizeField(func(c *Config) *int64 { return &c.MaxResponseSize }, 1<<10, NoLimit),
		meaning: "a larger reply is refused with an error, and the connection goes on; at least `1KiB`; `none`: no limit"},
	{name: "auth", def: "auto", field: enumField(func(c *Config) *Auth { return &c.Auth }, AuthAuto, AuthCHAPSHA1, AuthPAPSHA256),
		meaning: "`auto`, `chap-sha1`, `pap-sha256`; `auto` uses pap over TLS only"},
	{name: "tls", def: "disable", field: tlsModeField(func(c *Config) *TLSMode { return &c.TLSMode }),
		meaning: "`disable`; `verify-full` (or `true`): certificate and host name; `verify-ca`: certificate; `skip-verify`: neither"},
	{name: "tls_ca", field: textField(func(c *Config) *string { return &c.TLSCA }, anyText),
		meaning: "file of the CA certificates, PEM; unset: the system's"},
	{name: "tls_cert", field: textField(func(c *Config) *string { return &c.TLSCert }, anyText),
		meaning: "file of the client's certificate, PEM; needs `tls_key`"},
	{name: "tls_key", field: textField(func(c *Config) *string { return &c.TLSKey }, anyText),
		meaning: "file of the client's key, PEM"},
	{name: "tls_server_name", field: textField(func(c *Config) *string { return &c.TLSServerName }, anyText),
		meaning: "the name that the server's certificate must have; unset: the host"},
}

// lookupParam finds a parameter by the name in a DSN. A setting whose name is not allowed is
// found as session.NAME itself, so that no error quotes it.
func lookupParam(name string) (param, bool) {
	setting, isSetting := strings.CutPrefix(name, sessionPrefix)
	for _, p := range params {
		switch {
		case isSetting && p.name == sessionPrefix+"NAME":
			if isSettingName(setting) {
				p.name = name
			}
			p.field = sessionField(setting)
			return p, true
		case !isSetting && p.name == name:
			return p, true
		}
	}
	return param{}, false
}

// paramsOf returns params with a row for each session setting of c in place of session.NAME.
func paramsOf(c *Config) []param {
	var all []param
	for _, p := range params {
		if p.name != sessionPrefix+"NAME" {
			all = append(all, p)
			continue
		}
		for _, setting := range slices.Sorted(maps.Keys(c.Session)) {
			all = append(all, param{name: sessionPrefix + setting, field: sessionField(setting)})
		}
	}
	return all
}

// nearestParam returns the parameter that name is probably a misspelling of, or "".
func nearestParam(name string) string {
	name = strings.ToLower(name)
	if ours, ok := otherNames[name]; ok {
		return ours
	}
	nearest, least := "", 3
	for _, p := range params {
		if d := editDistance(name, p.name, least); d < least && d < len(p.name)/2 {
			nearest, least = p.name, d
		}
	}
	return nearest
}

// otherNames are what other drivers call parameters, in lower case.
var otherNames = map[string]string{
	"timeout": "request_timeout", "readtimeout": "request_timeout", "connecttimeout": "connect_timeout", "dialtimeout": "connect_timeout",
	"sslmode": "tls", "ssl": "tls", "readpreference": "read_mode", "target_session_attrs": "read_mode",
	"maxpoolsize": "conns_per_instance", "pool_max_conns": "conns_per_instance", "statement_cache_capacity": "stmt_cache",
}

// editDistance is Levenshtein's, or limit if the lengths alone make it that much.
func editDistance(a, b string, limit int) int {
	if max(len(a)-len(b), len(b)-len(a)) >= limit {
		return limit
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(diagonal+cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
