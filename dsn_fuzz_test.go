package tntsql

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func FuzzParseDSN(f *testing.F) {
	for _, tt := range dsnCases {
		f.Add(tt.dsn)
	}
	for _, tt := range brokenDSNs {
		f.Add(tt.dsn)
	}
	f.Fuzz(func(t *testing.T, dsn string) {
		c, err := parseDSN(dsn)
		if err != nil {
			assert.Nil(t, c)
			return
		}
		formatted := c.FormatDSN()
		again, err := parseDSN(formatted)
		require.NoError(t, err, formatted)
		require.Equal(t, c, again)
		require.Equal(t, formatted, again.FormatDSN())
	})
}

// FuzzDSNErrorHidesPassword puts a password, with text around it that may need percent-encoding and
// does not have it, into a DSN.
func FuzzDSNErrorHidesPassword(f *testing.F) {
	const secret = "s3cr3t"
	for _, raw := range []string{"", "@", "/", "?", "#", ",", ":", "%", "&", "=", "[", "]", "?a=1&", "@h/?", ":1/?tls="} {
		f.Add("app", "", raw, "h/")
		f.Add("app", raw, raw, "h1,h2:3302/?tls=true&read_mode=ro")
		f.Add(raw, raw, "", "[::1]:0")
	}
	f.Fuzz(func(t *testing.T, user, head, tail, rest string) {
		if strings.Contains(user+head+tail+rest, secret) {
			t.Skip("the secret is not the password's alone")
		}
		dsn := "tarantool://" + user + ":" + head + secret + tail + "@" + rest
		c, err := ParseDSN(dsn)
		if err != nil {
			for i := range len(secret) - 4 {
				require.NotContains(t, err.Error(), secret[i:i+5])
			}
			return
		}
		require.Contains(t, c.Password, secret)
		require.NotContains(t, c.String(), secret)
	})
}

func FuzzFormatDSN(f *testing.F) {
	f.Add("app", "p@ss:w/o?r#d%&,[]", "h", "/a b.sock", uint8(5), int64(300e6), int64(1<<20), uint16(4), "sql_default_engine", "vinyl", "ca+1.pem", true)
	f.Add("Анна", "пароль", "[fe80::1%eth0]:3302", "", uint8(1), int64(-1), int64(NoLimit), uint16(0), "a", "true", "", false)
	f.Add("", "", "10.0.0.1:65535", "/x,y@z", uint8(2), int64(NoLimit), int64(1025), uint16(1024), "A_b", "x&y=z#\x00\xff", "+ %", true)
	f.Fuzz(func(t *testing.T, user, password, host, socket string, mode uint8, duration, size int64, count uint16,
		setting, value, file string, flag bool) {
		c := &Config{
			User: user, Password: password, Hosts: []string{host},
			ReadMode: Mode(mode), SelectionTimeout: time.Duration(duration), RequestTimeout: time.Duration(duration),
			ReadOnly: flag, FullMetadata: flag, MaxResponseSize: size, ConnsPerInstance: int(count), StmtCache: int(count) - 1,
			TLSMode: TLSVerifyCA, TLSCA: file, TLSServerName: file,
		}
		if socket != "" {
			c.Hosts = append(c.Hosts, socket)
		}
		if flag {
			c.SeqScan = &flag
		}
		if setting != "" {
			c.Session = map[string]any{setting: value}
		}
		dsn := c.FormatDSN()
		normal, err := c.normalized()
		if err != nil {
			return
		}
		parsed, err := parseDSN(dsn)
		require.NoError(t, err, dsn)
		require.Equal(t, normal, parsed)
	})
}
