package dburl

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/xo/dburl"

	"github.com/tntsql/tntsql"
	"github.com/tntsql/tntsql/tarantooltest"
)

func TestDSNOfURL(t *testing.T) {
	for url, want := range map[string]string{
		"tarantool://app:secret@10.0.0.1:3302/":           "tarantool://app:secret@10.0.0.1:3302/",
		"tnt://10.0.0.1":                                  "tarantool://10.0.0.1/",
		"tt://10.0.0.1?read_mode=rw":                      "tarantool://10.0.0.1/?read_mode=rw",
		"tt:10.0.0.1:3302":                                "tarantool://10.0.0.1:3302/",
		"tt:app:secret@10.0.0.1":                          "tarantool://app:secret@10.0.0.1/",
		"tt:":                                             "tarantool://localhost/",
		"tt://app@":                                       "tarantool://app@localhost/",
		"tt://10.0.0.1,10.0.0.2/":                         "tarantool://10.0.0.1,10.0.0.2/",
		"tt://10.0.0.1:3302/?hosts=10.0.0.2:3303,h3":      "tarantool://10.0.0.1:3302/?hosts=10.0.0.2:3303,h3",
		"tt://?hosts=10.0.0.2:3303,h3":                    "tarantool:///?hosts=10.0.0.2:3303,h3",
		"tt://?socket=/run/tnt.sock":                      "tarantool:///?socket=/run/tnt.sock",
		"tt://app@?srv=db.example.org":                    "tarantool://app@/?srv=db.example.org",
		"tarantool+srv://app@db.example.org/":             "tarantool+srv://app@db.example.org/",
		"tt://[::1]:3302/":                                "tarantool://[::1]:3302/",
		"tarantool:/run/a b/tnt.sock":                     "tarantool://%2Frun%2Fa%20b%2Ftnt.sock/",
		"tt+unix:/run/tnt.sock?read_mode=rw":              "tarantool://%2Frun%2Ftnt.sock/?read_mode=rw",
		"tt+unix://app:secret@/run/tnt.sock":              "tarantool://app:secret@%2Frun%2Ftnt.sock/",
		"tarantool://a%40p:s%2C%3A%2F%3F%23%5B%25+@h/":    "tarantool://a%40p:s%2C%3A%2F%3F%23%5B%25%2B@h/",
		"tt://h/?session.sql_default_engine=vinyl&tls=on": "",
	} {
		t.Run(url, func(t *testing.T) {
			u, err := dburl.Parse(url)
			if want == "" {
				require.ErrorContains(t, err, "tls: want")
				return
			}
			require.NoError(t, err)
			assert.Equal(t, want, u.DSN)
			assert.Equal(t, tntsql.DriverName, u.Driver)
		})
	}
}

func TestURLsThatAreNoDSN(t *testing.T) {
	for url, want := range map[string]string{
		"tt://app:secret@h/database":     `path: only "/" is allowed`,
		"tt://h/?read_mod=rw":            `did you mean "read_mode"?`,
		"tt://app:secret@h/#fragment":    "fragment: not allowed",
		"tarantool+tls://app:secret@h/":  "tarantool+tls: want +srv or +unix",
		"tt://:secret@h/":                "user: missing",
		"tarantool+srv://app:secret@h:1": "srv:",
	} {
		t.Run(url, func(t *testing.T) {
			_, err := dburl.Parse(url)
			require.ErrorContains(t, err, want)
			assert.NotContains(t, err.Error(), "secret")
		})
	}
}

func TestOpenReachesEachInstance(t *testing.T) {
	rs := tarantooltest.Start(t, tarantooltest.Instances(2))
	// The replica first: the write goes to the host that a parameter names.
	db, err := dburl.Open("tt://app:secret@" + rs.Addr(1) + "/?hosts=" + rs.Addr(0))
	require.NoError(t, err)
	defer db.Close()
	_, err = db.ExecContext(t.Context(), "CREATE TABLE t (id INTEGER PRIMARY KEY)")
	require.NoError(t, err)
	ctx, info := tntsql.Capture(tntsql.WithMode(t.Context(), tntsql.ModeRO))
	require.NoError(t, db.PingContext(ctx))
	assert.Equal(t, rs.Addr(1), info.Instance.Address)
}
