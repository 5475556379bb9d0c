package tntsql

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// brokenDSNs hold a password, s3cr3t, where it belongs or where a forgotten percent-encoding puts it.
// They are the seeds of FuzzParseDSN, too.
var brokenDSNs = []struct{ dsn, want string }{
	{"", "it is empty: want tarantool://host:port/"},
	{"app:s3cr3t@h:3301", "scheme: want tarantool:// or tarantool+srv://"},
	{"mysql://app:s3cr3t@h/", "scheme: want tarantool:// or tarantool+srv://"},
	{"tarantool:app:s3cr3t@h/", "scheme: want tarantool:// or tarantool+srv://"},
	{"app:s3cr3t@tarantool://h/", "scheme: want tarantool:// or tarantool+srv://"},

	{"tarantool://app:p@s3cr3t@h/", `password: percent-encode "@" as %40`},
	{"tarantool://app:s3cr3t@@h/", `password: percent-encode "@" as %40`},
	{"tarantool://app:s3cr3t/s3cr3t@h/", `password: percent-encode "/" as %2F`},
	{"tarantool://app:/s3cr3t@h/", `password: percent-encode "/" as %2F`},
	{"tarantool://app:s3cr3t#s3cr3t@h/", `password: percent-encode "#" as %23`},
	{"tarantool://app:s3cr3t,s3cr3t@h/", `password: percent-encode "," as %2C`},
	{"tarantool://app:1?s3cr3t=1@h/", `password: percent-encode "?" as %3F, and "@" in a parameter as %40`},
	{"tarantool://app:s3cr3t?s3cr3t@h/", `password: percent-encode "?" as %3F, and "@" in a parameter as %40`},
	{"tarantool://app:33/s3cr3t?s3cr3t@h/", `password: percent-encode "/" as %2F, and "@" in a parameter as %40`},
	{"tarantool://app:s3cr3t@h/?tls=true&tls_ca=/a@s3cr3t", `password: percent-encode "@" as %40, and "@" in a parameter as %40`},
	{"tarantool://us@er:s3cr3t@h/", `user: percent-encode "@" as %40`},
	{"tarantool://us/er:s3cr3t@h/", `user: percent-encode "/" as %2F`},
	{"tarantool://us,er:s3cr3t@h/", `user: percent-encode "," as %2C`},
	{"tarantool://us#er:s3cr3t@h/", `user: percent-encode "#" as %23`},
	{"tarantool://us?er:s3cr3t@h/", `user: percent-encode "?" as %3F, and "@" in a parameter as %40`},
	{"tarantool://app:s3cr3t%@h/", `password: two hexadecimal digits must follow "%"; percent-encode "%" itself as %25`},
	{"tarantool://app:s3cr3t%4@h/", `password: two hexadecimal digits must follow "%"; percent-encode "%" itself as %25`},
	{"tarantool://app:%s3cr3t@h/", `password: two hexadecimal digits must follow "%"; percent-encode "%" itself as %25`},
	{"tarantool://ap%p:s3cr3t@h/", `user: two hexadecimal digits must follow "%"; percent-encode "%" itself as %25`},
	{"tarantool://:s3cr3t@h/", "user: missing; a password needs one"},

	{"tarantool://app:s3cr3t@/", "hosts: there is none"},
	{"tarantool://app:s3cr3t@?read_mode=ro", "hosts: there is none"},
	{"tarantool://app:s3cr3t@,/", "host 1: is empty"},
	{"tarantool://app:s3cr3t@h1,,h2/", "host 2: is empty"},
	{"tarantool://app:s3cr3t@h1,/", "host 2: is empty"},
	{"tarantool://app:s3cr3t@h1/?hosts=h2,", "host 3: is empty"},
	{"tarantool://app:s3cr3t@:3301/", "host 1: name is empty"},
	{"tarantool://app:s3cr3t/", "host 1: port must be 1 to 65535"},
	{"tarantool://app:s3cr3t", "host 1: port must be 1 to 65535"},
	{"tarantool://app:s3cr3t@h:/", "host 1: port must be 1 to 65535"},
	{"tarantool://app:s3cr3t@h:0/", "host 1: port must be 1 to 65535"},
	{"tarantool://app:s3cr3t@h1,h2:65536/", "host 2: port must be 1 to 65535"},
	{"tarantool://app:s3cr3t@h:+1/", "host 1: port must be 1 to 65535"},
	{"tarantool://app:s3cr3t@h:-1/", "host 1: port must be 1 to 65535"},
	{"tarantool://app:s3cr3t@h:s3cr3t/", "host 1: port must be 1 to 65535"},
	{"tarantool://app:s3cr3t@h:99999999999999999999/", "host 1: port must be 1 to 65535"},
	{"tarantool://app:s3cr3t@::1/", "host 1: an IPv6 address needs brackets"},
	{"tarantool://app:s3cr3t:3301/", "host 1: an IPv6 address needs brackets"},
	{"tarantool://app:s3cr3t@[::1/", `host 1: "[" without "]"`},
	{"tarantool://app:s3cr3t@[s3cr3t]/", "host 1: not an IPv6 address in the brackets"},
	{"tarantool://app:s3cr3t@[10.0.0.1]/", "host 1: not an IPv6 address in the brackets"},
	{"tarantool://app:s3cr3t@[fe80::1%25%5D]/", "host 1: not an IPv6 address in the brackets"},
	{"tarantool://app:s3cr3t@[fe80::1%eth0]/", `host 1: two hexadecimal digits must follow "%"; percent-encode "%" itself as %25`},
	{"tarantool://app:s3cr3t@[::1]s3cr3t/", `host 1: only ":port" may follow "]"`},
	{"tarantool://app:s3cr3t@[::1]:s3cr3t/", "host 1: port must be 1 to 65535"},
	{"tarantool://app:s3cr3t@h%/", `host 1: two hexadecimal digits must follow "%"; percent-encode "%" itself as %25`},
	{"tarantool://s3cr3t!/", "host 1: name may have ASCII letters, digits, '-', '_' and '.'"},
	{"tarantool://app:s3cr3t@ h/", "host 1: name may have ASCII letters, digits, '-', '_' and '.'"},
	{"tarantool://app:s3cr3t@узел/", "host 1: name may have ASCII letters, digits, '-', '_' and '.'"},
	{"tarantool://app:s3cr3t@a..b/", "host 1: each label of a name must have 1 to 63 bytes"},
	{"tarantool://app:s3cr3t@" + strings.Repeat("a", 64) + "/", "host 1: each label of a name must have 1 to 63 bytes"},
	{"tarantool://app:s3cr3t@" + strings.Repeat("a.", 127) + "/", "host 1: name is longer than 253 bytes"},
	{"tarantool://app:s3cr3t@h1,h2,H1:3301/", "host 3: the same as host 1"},
	{"tarantool://app:s3cr3t@[::1],[0:0::1]/", "host 2: the same as host 1"},
	{"tarantool://app:s3cr3t@h/?hosts=h", "host 2: the same as host 1"},
	{"tarantool://app:s3cr3t@%2Fvar%2Frun%2F/", "host 1: not the path of a Unix socket"},
	{"tarantool://app:s3cr3t@%2Fs3cr3t%00/", "host 1: not the path of a Unix socket"},
	{"tarantool:///?socket=s3cr3t", "socket: the path of a Unix socket must be absolute"},
	{"tarantool+srv://app:s3cr3t@/", "srv: needs a value"},
	{"tarantool+srv://app:s3cr3t@h1,s3cr3t/", "srv: name may have ASCII letters, digits, '-', '_' and '.'"},

	{"tarantool://app:s3cr3t@h/db", `path: only "/" is allowed; a Unix socket is percent-encoded, "/" as %2F`},
	{"tarantool://app:s3cr3t@h/&read_mode=rw", `path: only "/" is allowed; parameters begin with "?"`},
	{"tarantool://app:s3cr3t@h//", `path: only "/" is allowed; a Unix socket is percent-encoded, "/" as %2F`},
	{"tarantool://app:33/s3cr3t", `path: only "/" is allowed; a Unix socket is percent-encoded, "/" as %2F`},
	{"tarantool://app:s3cr3t@/var/run/tnt.sock/", `path: only "/" is allowed; a Unix socket is percent-encoded, "/" as %2F`},
	{"tarantool://app:s3cr3t@h/\n", `path: only "/" is allowed; a Unix socket is percent-encoded, "/" as %2F`},
	{"tarantool://app:s3cr3t@h#s3cr3t", `fragment: not allowed; percent-encode "#" as %23 in a parameter`},
	{"tarantool://app:33#s3cr3t", `fragment: not allowed; percent-encode "#" as %23 in a parameter`},
	{"tarantool://app:s3cr3t@h/?read_mode=ro#s3cr3t", `fragment: not allowed; percent-encode "#" as %23 in a parameter`},

	{"tarantool://app:s3cr3t@h/?s3cr3t", `parameter 1: want name=value; percent-encode "&" as %26`},
	{"tarantool://app:s3cr3t@h/?read_mode=ro&&s3cr3t", `parameter 2: want name=value; percent-encode "&" as %26`},
	{"tarantool://app:s3cr3t@h/?%s3cr3t=1", `name of parameter 1: two hexadecimal digits must follow "%"; percent-encode "%" itself as %25`},
	{"tarantool://app:s3cr3t@h/?password=s3cr3t", `unknown parameter "password"`},
	{"tarantool://h/?password=s3cr3t", `unknown parameter "password"`},
	{"tarantool://ap?s3cr3t=h:3301,g/?read_mode=ro", `parameter 1 is unknown`},
	{"tarantool://app:33?s3cr3t=1", "parameter 1 is unknown"},
	{"tarantool://app:33/?read_mode=ro&s3cr3t=1", "parameter 2 is unknown"},
	{"tarantool://app:33/?read_mod=s3cr3t", `unknown parameter "read_mod"; did you mean "read_mode"?`},
	{"tarantool://app:s3cr3t@h/?Read_Mode=ro", `unknown parameter "Read_Mode"; did you mean "read_mode"?`},
	{"tarantool://app:s3cr3t@h/?raed_mode=ro", `unknown parameter "raed_mode"; did you mean "read_mode"?`},
	{"tarantool://app:s3cr3t@h/?tsl=true", `unknown parameter "tsl"`},
	{"tarantool://app:s3cr3t@h/?max_response_sizes=1KiB", `unknown parameter "max_response_sizes"; did you mean "max_response_size"?`},
	{"tarantool://app:s3cr3t@h/?s3cr3t!=1", "parameter 1 is unknown"},
	{"tarantool://app:s3cr3t@h/?" + strings.Repeat("a", 41) + "=1", "parameter 1 is unknown"},
	{"tarantool://app:s3cr3t@h/?read_mode=ro&read_mode=ro", "read_mode: given twice"},
	{"tarantool://app:s3cr3t@h/?session.a=s3cr3t&session.a=s3cr3t", "session.a: given twice"},
	{"tarantool://app:s3cr3t@h/?read_mode=", "read_mode: needs a value"},
	{"tarantool://app:s3cr3t@h/?session.a=", "session.a: needs a value"},
	{"tarantool://app:s3cr3t@h/?tls=%s3cr3t", `tls: two hexadecimal digits must follow "%"; percent-encode "%" itself as %25`},
	{"tarantool://app:s3cr3t@h/?session.=true", `session.NAME: a name has letters and "_"`},
	{"tarantool://app:s3cr3t@h/?session.s3cr3t=true", `session.NAME: a name has letters and "_"`},
	{"tarantool://app:s3cr3t@h/?session.sql_seq_scan=s3cr3t", "session.sql_seq_scan: use seq_scan"},
	{"tarantool://app:s3cr3t@h/?session.SQL_FULL_METADATA=true", "session.SQL_FULL_METADATA: use full_metadata"},

	{"tarantool://app:s3cr3t@h/?read_mode=s3cr3t", "read_mode: want any, rw, ro, prefer_rw or prefer_ro"},
	{"tarantool://app:s3cr3t@h/?read_after_write=s3cr3t", "read_after_write: want session, all or off"},
	{"tarantool://app:s3cr3t@h/?read_only=s3cr3t", "read_only: want true or false"},
	{"tarantool://app:s3cr3t@h/?seq_scan=1", "seq_scan: want true or false"},
	{"tarantool://app:s3cr3t@h/?discovery=s3cr3t", "discovery: want static or replication"},
	{"tarantool://app:s3cr3t@h/?tls=s3cr3t", "tls: want disable, verify-full, verify-ca or skip-verify"},
	{"tarantool://localhost:3301/?timeout=5s", `unknown parameter "timeout"; did you mean "request_timeout"?`},
	{"tarantool://app:s3cr3t@h/?request_timeout=5", "request_timeout: a duration needs a unit, such as 5s or 300ms"},
	{"tarantool://app:s3cr3t@h/?request_timeout=s3cr3t", "request_timeout: want a duration, such as 5s or 300ms"},
	{"tarantool://app:s3cr3t@h/?request_timeout=9999999h", "request_timeout: want a duration, such as 5s or 300ms"},
	{"tarantool://app:s3cr3t@h/?request_timeout=0", "request_timeout: must be more than 0"},
	{"tarantool://app:s3cr3t@h/?selection_timeout=-1ns", "selection_timeout: must not be negative"},
	{"tarantool://app:s3cr3t@h/?connect_timeout=none", "connect_timeout: there must be a limit"},
	{"tarantool://app:s3cr3t@h/?refresh_interval=1ms", "refresh_interval: must be at least 10ms"},
	{"tarantool://app:s3cr3t@h/?max_response_size=1024", "max_response_size: want an integer with a unit, B, KiB, MiB or GiB, or none"},
	{"tarantool://app:s3cr3t@h/?max_response_size=s3cr3tMiB", "max_response_size: want an integer with a unit, B, KiB, MiB or GiB, or none"},
	{"tarantool://app:s3cr3t@h/?max_response_size=1.5GiB", "max_response_size: want an integer with a unit, B, KiB, MiB or GiB, or none"},
	{"tarantool://app:s3cr3t@h/?max_response_size=9000000000GiB", "max_response_size: too large"},
	{"tarantool://app:s3cr3t@h/?max_response_size=1023B", "max_response_size: must be at least 1KiB"},
	{"tarantool://app:s3cr3t@h/?conns_per_instance=s3cr3t", "conns_per_instance: want an integer from 1 to 1024"},
	{"tarantool://app:s3cr3t@h/?conns_per_instance=0", "conns_per_instance: want an integer from 1 to 1024"},
	{"tarantool://app:s3cr3t@h/?stmt_cache=-1", "stmt_cache: want an integer from 0 to 65536"},
	{"tarantool://app:s3cr3t@h/?tls_ca=/s3cr3t", "tls_ca: needs tls=verify-full, verify-ca or skip-verify"},
	{"tarantool://app:s3cr3t@h/?tls=disable&tls_server_name=s3cr3t", "tls_server_name: needs tls=verify-full, verify-ca or skip-verify"},
	{"tarantool://app:s3cr3t@h/?tls=true&tls_cert=/s3cr3t", "tls_cert: needs tls_key"},
	{"tarantool://app:s3cr3t@h/?tls=true&tls_key=/s3cr3t", "tls_key: needs tls_cert"},
}

func TestBrokenDSNErrorNamesThePartAndNoSecret(t *testing.T) {
	const secret = "s3cr3t"
	for _, tt := range brokenDSNs {
		t.Run(tt.dsn, func(t *testing.T) {
			c, err := ParseDSN(tt.dsn)
			require.EqualError(t, err, "tntsql: DSN: "+tt.want)
			assert.Nil(t, c)
			for i := range len(secret) - 4 {
				assert.NotContains(t, err.Error(), secret[i:i+5])
			}
		})
	}
}

func TestSRVStandsAlone(t *testing.T) {
	_, err := parseDSN("tarantool+srv://app@a/?srv=b")
	require.EqualError(t, err, "srv: given twice")
	_, err = parseDSN("tarantool://app@h/?srv=b")
	require.EqualError(t, err, "srv: the hosts come from DNS; give no others")
}

func TestNearestParamSuggestsOnlyWhatIsNear(t *testing.T) {
	for name, want := range map[string]string{
		"read_mod":           "read_mode",
		"reed_mode":          "read_mode",
		"READ_MODE":          "read_mode",
		"host":               "hosts",
		"selectiontimeout":   "selection_timeout",
		"conns_per_instanse": "conns_per_instance",
		"max_conns":          "",
		"user":               "",
		"a":                  "",
		"":                   "",
	} {
		assert.Equal(t, want, nearestParam(name), name)
	}
}
