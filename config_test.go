package tntsql

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// documentedDefaults is what users were promised; params must not drift from it.
var documentedDefaults = map[string]string{
	"hosts": "", "socket": "", "srv": "",
	"read_mode":          "any",
	"read_after_write":   "session",
	"read_only":          "false",
	"selection_timeout":  "15s",
	"connect_timeout":    "5s",
	"request_timeout":    "none",
	"close_timeout":      "5s",
	"refresh_interval":   "1s",
	"probe_timeout":      "1s",
	"dead_timeout":       "60s",
	"discovery":          "static",
	"balancer":           "round_robin",
	"max_lag":            "none",
	"conns_per_instance": "4",
	"max_in_flight":      "512",
	"tx_timeout":         "1h",
	"stmt_cache":         "256",
	"column_case":        "lower",
	"seq_scan":           "",
	"session.NAME":       "",
	"full_metadata":      "false",
	"max_response_size":  "256MiB",
	"auth":               "auto",
	"tls":                "disable",
	"tls_ca":             "", "tls_cert": "", "tls_key": "", "tls_server_name": "",
}

func TestDefaultsAreTheDocumentedOnes(t *testing.T) {
	defaults := map[string]string{}
	for _, p := range params {
		defaults[p.name] = p.def
	}
	assert.Equal(t, documentedDefaults, defaults)

	assert.Equal(t, &Config{
		ReadMode:         ModeAny,
		ReadAfterWrite:   ReadAfterWriteSession,
		SelectionTimeout: 15 * time.Second,
		ConnectTimeout:   5 * time.Second,
		RequestTimeout:   NoLimit,
		CloseTimeout:     5 * time.Second,
		RefreshInterval:  time.Second,
		ProbeTimeout:     time.Second,
		DeadTimeout:      time.Minute,
		Discovery:        DiscoveryStatic,
		Balancer:         BalancerRoundRobin,
		MaxLag:           NoLimit,
		ConnsPerInstance: 4,
		MaxInFlight:      512,
		TxTimeout:        time.Hour,
		StmtCache:        256,
		ColumnCase:       ColumnCaseLower,
		MaxResponseSize:  256 << 20,
		Auth:             AuthAuto,
		TLSMode:          TLSDisable,
	}, NewConfig())
}

func TestNormalizeGivesZeroFieldsTheirDefaults(t *testing.T) {
	made := &Config{Hosts: []string{"H1", "[::1]", "/x.sock"}, Session: map[string]any{"a": "true", "b": "c"}}
	got, err := made.normalize()
	require.NoError(t, err)
	want := hostsConfig("h1:3301", "[::1]:3301", "/x.sock")
	want.Session = map[string]any{"a": true, "b": "c"}
	assert.Equal(t, want, got)
	assert.Equal(t, &Config{Hosts: []string{"H1", "[::1]", "/x.sock"}, Session: map[string]any{"a": "true", "b": "c"}}, made,
		"normalize changed its receiver")
}

func TestNormalizeKeepsWhatNoTextCarries(t *testing.T) {
	made := &Config{Hosts: []string{"h"}, TLS: &tls.Config{ServerName: "tnt"}, Logger: slog.New(slog.DiscardHandler)}
	got, err := made.normalize()
	require.NoError(t, err)
	assert.Equal(t, "tnt", got.TLS.ServerName)
	assert.Same(t, made.Logger, got.Logger)
}

func TestNormalizeRefusesWhatADSNCannotSay(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(c *Config)
		want   string
	}{
		"no host":               {func(c *Config) { c.Hosts = nil }, "hosts: there is none"},
		"bad host":              {func(c *Config) { c.Hosts = []string{"a", "b:c"} }, "host 2: port must be 1 to 65535"},
		"password, no user":     {func(c *Config) { c.Password = "p" }, "user: missing; a password needs one"},
		"invalid mode":          {func(c *Config) { c.ReadMode = 9 }, "read_mode: want any, rw, ro, prefer_rw or prefer_ro"},
		"negative timeout":      {func(c *Config) { c.RequestTimeout = -time.Second }, "request_timeout: must not be negative"},
		"minus 2":               {func(c *Config) { c.SelectionTimeout = -2 }, "selection_timeout: must not be negative"},
		"NoWait elsewhere":      {func(c *Config) { c.ConnectTimeout = NoWait }, "connect_timeout: must be more than 0"},
		"NoLimit elsewhere":     {func(c *Config) { c.ProbeTimeout = NoLimit }, "probe_timeout: there must be a limit"},
		"busy polling":          {func(c *Config) { c.RefreshInterval = 1 }, "refresh_interval: must be at least 10ms"},
		"negative count":        {func(c *Config) { c.ConnsPerInstance = -1 }, "conns_per_instance: want an integer from 1 to 1024"},
		"huge count":            {func(c *Config) { c.ConnsPerInstance = math.MaxInt }, "conns_per_instance: want an integer from 1 to 1024"},
		"negative size":         {func(c *Config) { c.MaxResponseSize = -1 }, "max_response_size: want an integer with a unit, B, KiB, MiB or GiB, or none"},
		"small size":            {func(c *Config) { c.MaxResponseSize = 1 }, "max_response_size: must be at least 1KiB"},
		"unknown auth":          {func(c *Config) { c.Auth = "none" }, "auth: want auto, chap-sha1 or pap-sha256"},
		"setting name":          {func(c *Config) { c.Session = map[string]any{"a b": true} }, `session.a b: a name has letters and "_"`},
		"setting name, no text": {func(c *Config) { c.Session = map[string]any{"a b": 1} }, `session.a b: a name has letters and "_"`},
		"setting type":          {func(c *Config) { c.Session = map[string]any{"a": 1} }, "session.a: want a bool or a string, not int"},
		"nil setting":           {func(c *Config) { c.Session = map[string]any{"a": nil} }, "session.a: want a bool or a string, not <nil>"},
		"empty setting":         {func(c *Config) { c.Session = map[string]any{"a": ""} }, "session.a: needs a value"},
		"setting with field":    {func(c *Config) { c.Session = map[string]any{"sql_seq_scan": true} }, "session.sql_seq_scan: use seq_scan"},
		"key without cert":      {func(c *Config) { c.TLSMode, c.TLSKey = TLSVerifyCA, "k" }, "tls_key: needs tls_cert"},
		"ca without tls":        {func(c *Config) { c.TLSCA = "ca" }, "tls_ca: needs tls=verify-full, verify-ca or skip-verify"},
		"TLS and TLSMode": {func(c *Config) { c.TLS, c.TLSMode = &tls.Config{}, TLSVerifyFull },
			"tls: TLS is given; leave TLSMode unset"},
	} {
		t.Run(name, func(t *testing.T) {
			c := &Config{Hosts: []string{"h"}}
			tt.change(c)
			_, err := c.normalize()
			assert.EqualError(t, err, "tntsql: Config: "+tt.want)
		})
	}
}

func TestNamesAreLookedUpUnlessTheyAreForDial(t *testing.T) {
	dial := func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("no network") }
	own := &net.Resolver{}
	for name, tt := range map[string]struct {
		config Config
		want   any
	}{
		"by default":             {Config{}, net.DefaultResolver},
		"with a Resolver":        {Config{Resolver: own}, own},
		"with Dial":              {Config{Dial: dial}, nil},
		"with Dial and Resolver": {Config{Dial: dial, Resolver: own}, own},
		"with Dial and SRV":      {Config{Dial: dial, SRV: "tnt"}, net.DefaultResolver},
	} {
		t.Run(name, func(t *testing.T) {
			if tt.want == nil {
				assert.Nil(t, tt.config.resolver())
			} else {
				assert.Same(t, tt.want, tt.config.resolver())
			}
		})
	}
}

func TestFormatDSNOfZeroFieldsStandsForTheDefaults(t *testing.T) {
	c := &Config{User: "app", Password: "p@ss", Hosts: []string{"h1", "[::1]:3302"}}
	assert.Equal(t, "tarantool://app:p%40ss@h1,[::1]:3302/", c.FormatDSN())
	parsed, err := ParseDSN(c.FormatDSN())
	require.NoError(t, err)
	normal, err := c.normalize()
	require.NoError(t, err)
	assert.Equal(t, normal, parsed)
}

func TestCloneSharesNoMemory(t *testing.T) {
	original := func() *Config {
		return &Config{
			Hosts: []string{"h"}, SeqScan: pointer(true), Session: map[string]any{"a": true}, TLS: &tls.Config{ServerName: "tnt"},
		}
	}
	c := original()
	clone := c.Clone()
	assert.Equal(t, c, clone)
	clone.Hosts[0], *clone.SeqScan, clone.Session["a"], clone.TLS.ServerName = "x", false, false, "x"
	assert.Equal(t, original(), c)
}

func TestConfigNeverShowsItsPassword(t *testing.T) {
	const password = "s3cr3t%Zd"
	c := userConfig("app", password)
	c.ReadMode = ModeRO
	const shown = "tarantool://app:***@h:3301/?read_mode=ro"

	for format, want := range map[string]string{
		"%v": shown, "%+v": shown, "%s": shown, "%q": `"` + shown + `"`, "%50v": fmt.Sprintf("%50s", shown),
		"%#v": `tntsql.Config("` + shown + `")`, "%x": fmt.Sprintf("%x", shown),
	} {
		assert.Equal(t, want, fmt.Sprintf(format, c), format)
		assert.Equal(t, want, fmt.Sprintf(format, *c), format+" by value")
	}
	holder := struct {
		Config  Config
		Pointer *Config
	}{*c, c}
	for verb := rune(' '); verb < 0x7f; verb++ {
		// By value, %p and %w are printed by fmt without asking the Config, and vet refuses them.
		if verb == '%' || verb == 'p' || verb == 'w' {
			continue
		}
		for _, flags := range []string{"", "+", "#", "-", " ", "0", "9.99"} {
			for _, value := range []any{c, *c, holder, &holder, []Config{*c}, map[string]*Config{"c": c}} {
				text := fmt.Sprintf("%"+flags+string(verb), value)
				assert.NotContains(t, text, "s3cr3t", "%s%c of %T", flags, verb, value)
			}
		}
	}
	assert.NotContains(t, c.GoString(), "s3cr3t")
	assert.NotContains(t, fmt.Sprint(c, *c)+fmt.Sprintln(c), "s3cr3t")

	var log bytes.Buffer
	for _, handler := range []slog.Handler{slog.NewTextHandler(&log, nil), slog.NewJSONHandler(&log, nil)} {
		slog.New(handler).Info("config", "pointer", c, "value", *c, "nested", holder)
	}
	assert.Contains(t, log.String(), shown)
	assert.NotContains(t, log.String(), "s3cr3t")

	text, err := json.Marshal(c) //nolint:staticcheck // that it cannot be marshalled is the point
	require.Error(t, err, "a Config has functions: JSON must refuse it")
	assert.NotContains(t, string(text)+err.Error(), "s3cr3t")
}

func TestConfigStringWithoutPasswordHasNoMask(t *testing.T) {
	assert.Equal(t, "tarantool://app@h:3301/", userConfig("app", "").String())
}
