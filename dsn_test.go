package tntsql

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// configWith is a Config with the defaults but for what change does.
func configWith(change func(c *Config)) *Config {
	c := NewConfig()
	change(c)
	return c
}

func hostsConfig(hosts ...string) *Config {
	return configWith(func(c *Config) { c.Hosts = hosts })
}

func userConfig(user, password string) *Config {
	return configWith(func(c *Config) { c.User, c.Password, c.Hosts = user, password, []string{"h:3301"} })
}

func pointer[T any](value T) *T { return &value }

// dsnCases are the seeds of FuzzParseDSN, too.
var dsnCases = []struct {
	dsn  string
	want *Config
}{
	{"tarantool://h/", hostsConfig("h:3301")},
	{"tarantool://h", hostsConfig("h:3301")},
	{"tarantool://h?", hostsConfig("h:3301")},
	{"tarantool://h/?", hostsConfig("h:3301")},
	{"TARANTOOL://h/", hostsConfig("h:3301")},
	{"tarantool://h:3302/", hostsConfig("h:3302")},
	{"tarantool://h:03302/", hostsConfig("h:3302")},
	{"tarantool://h:65535/", hostsConfig("h:65535")},
	{"tarantool://H.Example.ORG/", hostsConfig("h.example.org:3301")},
	{"tarantool://h./", hostsConfig("h.:3301")},
	{"tarantool://tnt_1-a/", hostsConfig("tnt_1-a:3301")},
	{"tarantool://10.0.0.1,10.0.0.2:3302,h3/", hostsConfig("10.0.0.1:3301", "10.0.0.2:3302", "h3:3301")},
	{"tarantool://h1,h2", hostsConfig("h1:3301", "h2:3301")},
	{"tarantool://h:1,h:2/", hostsConfig("h:1", "h:2")},
	{"tarantool://[::1]/", hostsConfig("[::1]:3301")},
	{"tarantool://[::1]:3302,h/", hostsConfig("[::1]:3302", "h:3301")},
	{"tarantool://[2001:DB8:0:0::1]/", hostsConfig("[2001:db8::1]:3301")},
	{"tarantool://[fe80::1%25eth0]:3302/", hostsConfig("[fe80::1%eth0]:3302")},
	{"tarantool://%2Fvar%2Frun%2Ftnt.sock/", hostsConfig("/var/run/tnt.sock")},
	{"tarantool://%2Fa%2Cb%40c%3A1%3F%23%25%5B%5D,h/", hostsConfig("/a,b@c:1?#%[]", "h:3301")},
	{"tarantool://?hosts=h2:3302,h3", hostsConfig("h2:3302", "h3:3301")},
	{"tarantool:///?hosts=h2%3A3302%2Ch3", hostsConfig("h2:3302", "h3:3301")},
	{"tarantool://h1/?hosts=h2,[::1]:3302,/x.sock", hostsConfig("h1:3301", "h2:3301", "[::1]:3302", "/x.sock")},
	{"tarantool://h1/?hosts=[fe80::1%25eth0]", hostsConfig("h1:3301", "[fe80::1%eth0]:3301")},
	{"tarantool:///?socket=/var/run/tnt.sock", hostsConfig("/var/run/tnt.sock")},
	{"tarantool://h/?socket=%2Fa%2Cb&hosts=h2", hostsConfig("h:3301", "/a,b", "h2:3301")},

	{"tarantool://app@h/", userConfig("app", "")},
	{"tarantool://app:@h/", userConfig("app", "")},
	{"tarantool://@h/", userConfig("", "")},
	{"tarantool://:@h/", userConfig("", "")},
	{"tarantool://app:secret@h/", userConfig("app", "secret")},
	{"tarantool://app:secret@h", userConfig("app", "secret")},
	{"tarantool://app:a:b@h/", userConfig("app", "a:b")},
	{"tarantool://a+b:c+d@h/", userConfig("a+b", "c+d")},
	{"tarantool://app:a&b=c;d!$'()*~[]@h/", userConfig("app", "a&b=c;d!$'()*~[]")},
	{"tarantool://app:two words@h/", userConfig("app", "two words")},
	{"tarantool://us%3Aer:p%40ss%3Aw%2Fo%3Fr%23d%25%26%2C%5B%5D@h/", userConfig("us:er", "p@ss:w/o?r#d%&,[]")},
	{"tarantool://%D0%90%D0%BD%D0%BD%D0%B0:пароль@h/", userConfig("Анна", "пароль")},
	{"tarantool://app:%00%ff@h/", userConfig("app", "\x00\xff")},

	{"tarantool+srv://app@tnt.Example.org/", configWith(func(c *Config) { c.User, c.SRV = "app", "tnt.example.org" })},
	{"tarantool:///?srv=tnt.example.org", configWith(func(c *Config) { c.SRV = "tnt.example.org" })},

	{"tarantool://h?read_mode=ro", configWith(func(c *Config) { c.Hosts, c.ReadMode = []string{"h:3301"}, ModeRO })},
	{"tarantool://h/?&read%5Fmode=ro&&column_case=preserve&", configWith(func(c *Config) {
		c.Hosts, c.ReadMode, c.ColumnCase = []string{"h:3301"}, ModeRO, ColumnCasePreserve
	})},
	{"tarantool://h/?selection_timeout=300ms&connect_timeout=1m30s&request_timeout=1.5s", configWith(func(c *Config) {
		c.Hosts = []string{"h:3301"}
		c.SelectionTimeout, c.ConnectTimeout, c.RequestTimeout = 300*time.Millisecond, 90*time.Second, 1500*time.Millisecond
	})},
	{"tarantool://h/?session.sql_default_engine=vinyl&session.sql_defer_foreign_keys=true", configWith(func(c *Config) {
		c.Hosts = []string{"h:3301"}
		c.Session = map[string]any{"sql_default_engine": "vinyl", "sql_defer_foreign_keys": true}
	})},
	{"tarantool://h/?session.a=x+y?/:z%26=%3D", configWith(func(c *Config) {
		c.Hosts, c.Session = []string{"h:3301"}, map[string]any{"a": "x+y?/:z&=="}
	})},
	{"tarantool://app:secret@h1,h2/?tls=true&tls_ca=/etc/ca.pem&tls_cert=c&tls_key=k&tls_server_name=tnt&auth=pap-sha256",
		configWith(func(c *Config) {
			c.User, c.Password, c.Hosts = "app", "secret", []string{"h1:3301", "h2:3301"}
			c.TLSMode, c.TLSCA, c.TLSCert, c.TLSKey, c.TLSServerName = TLSVerifyFull, "/etc/ca.pem", "c", "k", "tnt"
			c.Auth = AuthPAPSHA256
		})},
}

func TestParseDSNReadsEveryPart(t *testing.T) {
	for _, tt := range dsnCases {
		t.Run(tt.dsn, func(t *testing.T) {
			got, err := parseDSN(tt.dsn)
			require.NoError(t, err)
			assert.Equal(t, tt.want, got)

			again, err := parseDSN(got.FormatDSN())
			require.NoError(t, err, got.FormatDSN())
			assert.Equal(t, got, again)
		})
	}
}

// paramSamples has, for each parameter, values and the field's value that they stand for.
// A value that FormatDSN writes otherwise has its text after "=>"
var paramSamples = map[string]struct {
	values map[string]any
	get    func(c *Config) any
}{
	"hosts":  {map[string]any{"h2,/x => ": []string{"h:3301", "h2:3301", "/x"}}, func(c *Config) any { return c.Hosts }},
	"socket": {map[string]any{"/x => ": []string{"h:3301", "/x"}}, func(c *Config) any { return c.Hosts }},
	"read_mode": {map[string]any{
		"any": ModeAny, "rw": ModeRW, "ro": ModeRO, "prefer_rw": ModePreferRW, "prefer_ro": ModePreferRO,
	}, func(c *Config) any { return c.ReadMode }},
	"read_after_write": {map[string]any{
		"session": ReadAfterWriteSession, "all": ReadAfterWriteAll, "off": ReadAfterWriteOff,
	}, func(c *Config) any { return c.ReadAfterWrite }},
	"read_only": {map[string]any{"true": true, "false": false}, func(c *Config) any { return c.ReadOnly }},
	"selection_timeout": {map[string]any{
		"1ns": time.Nanosecond, "0": NoWait, "0s => 0": NoWait, "none": time.Duration(NoLimit),
	}, func(c *Config) any { return c.SelectionTimeout }},
	"connect_timeout": {map[string]any{"300ms": 300 * time.Millisecond}, func(c *Config) any { return c.ConnectTimeout }},
	"request_timeout": {map[string]any{"1m": time.Minute, "none": time.Duration(NoLimit)},
		func(c *Config) any { return c.RequestTimeout }},
	"close_timeout": {map[string]any{"90s => 1m30s": 90 * time.Second, "none": time.Duration(NoLimit)},
		func(c *Config) any { return c.CloseTimeout }},
	"refresh_interval": {map[string]any{"10ms": 10 * time.Millisecond}, func(c *Config) any { return c.RefreshInterval }},
	"probe_timeout":    {map[string]any{"10ms": 10 * time.Millisecond}, func(c *Config) any { return c.ProbeTimeout }},
	"dead_timeout": {map[string]any{"1h": time.Hour, "60s => ": time.Minute, "none": time.Duration(NoLimit)},
		func(c *Config) any { return c.DeadTimeout }},
	"discovery": {map[string]any{"static": DiscoveryStatic, "replication": DiscoveryReplication},
		func(c *Config) any { return c.Discovery }},
	"balancer": {map[string]any{
		"round_robin": BalancerRoundRobin, "least_inflight": BalancerLeastInflight, "nearest": BalancerNearest,
	}, func(c *Config) any { return c.Balancer }},
	"max_lag":            {map[string]any{"2s": 2 * time.Second, "none": time.Duration(NoLimit)}, func(c *Config) any { return c.MaxLag }},
	"conns_per_instance": {map[string]any{"1": 1, "1024": 1024}, func(c *Config) any { return c.ConnsPerInstance }},
	"max_in_flight":      {map[string]any{"1": 1, "1000000": 1_000_000}, func(c *Config) any { return c.MaxInFlight }},
	"tx_timeout":         {map[string]any{"1.5µs": 1500 * time.Nanosecond}, func(c *Config) any { return c.TxTimeout }},
	"stmt_cache":         {map[string]any{"1": 1, "65536": 65536, "0": NoStmtCache}, func(c *Config) any { return c.StmtCache }},
	"column_case": {map[string]any{"lower": ColumnCaseLower, "preserve": ColumnCasePreserve},
		func(c *Config) any { return c.ColumnCase }},
	"seq_scan": {map[string]any{"true": pointer(true), "false": pointer(false)}, func(c *Config) any { return c.SeqScan }},
	"session.NAME": {map[string]any{"true": true, "false": false, "a b&c=d": "a b&c=d"},
		func(c *Config) any { return c.Session["NAME"] }},
	"full_metadata": {map[string]any{"true": true, "false": false}, func(c *Config) any { return c.FullMetadata }},
	"max_response_size": {map[string]any{
		"1KiB": int64(1024), "1025B": int64(1025), "3MiB": int64(3 << 20), "1024MiB => 1GiB": int64(1 << 30), "none": int64(NoLimit),
		"9223372036854775807B => none": int64(NoLimit),
	}, func(c *Config) any { return c.MaxResponseSize }},
	"auth": {map[string]any{"auto": AuthAuto, "chap-sha1": AuthCHAPSHA1, "pap-sha256": AuthPAPSHA256},
		func(c *Config) any { return c.Auth }},
	"tls": {map[string]any{
		"disable": TLSDisable, "true => verify-full": TLSVerifyFull, "verify-full": TLSVerifyFull,
		"verify-ca": TLSVerifyCA, "skip-verify": TLSSkipVerify,
	}, func(c *Config) any { return c.TLSMode }},
	"tls_ca":          {map[string]any{"/ca+1.pem": "/ca+1.pem"}, func(c *Config) any { return c.TLSCA }},
	"tls_cert":        {map[string]any{"/cert.pem": "/cert.pem"}, func(c *Config) any { return c.TLSCert }},
	"tls_key":         {map[string]any{"/key.pem": "/key.pem"}, func(c *Config) any { return c.TLSKey }},
	"tls_server_name": {map[string]any{"tnt": "tnt"}, func(c *Config) any { return c.TLSServerName }},
	"srv":             {map[string]any{"tnt.example.org => ": "tnt.example.org"}, func(c *Config) any { return c.SRV }},
}

// paramContext is the DSN with which a parameter is valid, up to the parameter's name.
func paramContext(name string) string {
	switch name {
	case "srv":
		return "tarantool:///?"
	case "tls_ca", "tls_server_name":
		return "tarantool://h/?tls=verify-ca&"
	case "tls_cert":
		return "tarantool://h/?tls=verify-ca&tls_key=other&"
	case "tls_key":
		return "tarantool://h/?tls=verify-ca&tls_cert=other&"
	}
	return "tarantool://h/?"
}

func TestEveryParameterIsReadAndWritten(t *testing.T) {
	for _, p := range params {
		samples, ok := paramSamples[p.name]
		require.True(t, ok, "no samples of parameter %s", p.name)
		for value, want := range samples.values {
			text, written, differs := strings.Cut(value, " => ")
			if !differs {
				written = text
			}
			t.Run(p.name+"="+text, func(t *testing.T) {
				c, err := parseDSN(paramContext(p.name) + p.name + "=" + percentEncode(text, ""))
				require.NoError(t, err)
				assert.Equal(t, want, samples.get(c))

				query := p.name + "=" + percentEncode(written, "/:,")
				if written == "" || written == p.def {
					assert.NotContains(t, c.FormatDSN(), p.name+"=")
				} else {
					assert.Contains(t, strings.FieldsFunc(c.FormatDSN(), func(r rune) bool { return r == '?' || r == '&' }), query)
				}
				again, err := parseDSN(c.FormatDSN())
				require.NoError(t, err)
				assert.Equal(t, c, again)
			})
		}
	}
}

func TestParseDSNAcceptsEveryParameter(t *testing.T) {
	for _, p := range params {
		for value := range paramSamples[p.name].values {
			text, _, _ := strings.Cut(value, " => ")
			_, err := ParseDSN(paramContext(p.name) + p.name + "=" + percentEncode(text, ""))
			assert.NoError(t, err, "%s=%s", p.name, text)
		}
	}
}
