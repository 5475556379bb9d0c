package tntsql_test

import (
	"os"
	osexec "os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tntsql/tntsql"
)

func TestDatetimesKeepTheirInstantAndTheirZone(t *testing.T) {
	newTypes(t)
	rs := sharedSet(t)
	db := open(t, "read_mode=rw")
	name := table(t, rs, "ID INTEGER PRIMARY KEY, D DATETIME, X SCALAR")
	berlin, kolkata := location(t, "Europe/Berlin"), location(t, "Asia/Kolkata")
	for id, c := range []struct {
		at   time.Time
		zone string
	}{
		{time.Date(2024, 7, 1, 10, 0, 0, 123456789, time.UTC), "UTC"},
		{time.Date(2024, 7, 1, 10, 0, 0, 0, berlin), "Europe/Berlin"},
		{time.Date(2024, 12, 1, 10, 0, 0, 1, berlin), "Europe/Berlin"},
		{time.Date(2024, 10, 27, 0, 30, 0, 0, time.UTC).In(berlin), "Europe/Berlin"}, // 02:30 the first time
		{time.Date(2024, 10, 27, 1, 30, 0, 0, time.UTC).In(berlin), "Europe/Berlin"}, // and again
		{time.Date(2024, 7, 1, 10, 0, 0, 0, kolkata), "Asia/Kolkata"},
		{time.Date(2024, 7, 1, 10, 0, 0, 0, location(t, "US/Pacific")), "America/Los_Angeles"}, // the same zone by its other name
		{time.Date(2024, 7, 1, 10, 0, 0, 0, time.FixedZone("", 3*3600+1800)), ""},
		{time.Date(2024, 7, 1, 10, 0, 0, 0, time.FixedZone("of my own", -90*60)), ""},
		{time.Date(2024, 7, 1, 10, 0, 0, 0, time.FixedZone("MSK", 3*3600)), "MSK"},
		{time.Date(1969, 12, 31, 23, 59, 59, 999999999, time.UTC), "UTC"},
		{time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC), "UTC"},
		{time.Date(9999, 12, 31, 23, 59, 59, 999999999, time.UTC), "UTC"},
		{time.Time{}, "UTC"},
		{time.Date(-44, 3, 15, 12, 0, 0, 0, time.UTC), "UTC"},
	} {
		t.Run(c.at.String(), func(t *testing.T) {
			mustExec(t, db, "INSERT INTO "+name+" VALUES (?, ?, ?)", id, c.at, c.at)
			for _, column := range []string{"D", "X"} {
				got := value[time.Time](t, db, "SELECT "+column+" FROM "+name+" WHERE ID = ?", id)
				requireSameTime(t, c.at, got)
				assert.Equal(t, c.zone, got.Location().String())
				assert.Equal(t, 1, value[int](t, db, "SELECT COUNT(*) FROM "+name+" WHERE ID = ? AND D = ?", id, got), "it goes back as it came")
			}
		})
	}
	_, err := db.ExecContext(t.Context(), "SELECT ?", time.Date(1800, 1, 1, 0, 0, 0, 0, berlin))
	assert.ErrorContains(t, err, "parameter 1: the offset 53m28s of Europe/Berlin has seconds")
}

// requireSameTime sees that two times are the same instant and read the same on a clock.
func requireSameTime(t testing.TB, want, got time.Time) {
	t.Helper()
	require.True(t, want.Equal(got), "%v came out as %v", want, got)
	require.Equal(t, want.Format(time.RFC3339Nano), got.Format(time.RFC3339Nano))
}

// The environment by which a test runs itself on a host with other zones.
const (
	childDSN   = "TNTSQL_TEST_DSN"
	childLocal = "TNTSQL_TEST_LOCAL" // the offset of time.Local in July 2024, in seconds, where it is known
	childZones = "TNTSQL_TEST_ZONES" // whether there are zone files
)

// TestTimesOfThisHost runs as another process, for TestTimesOfOtherHosts.
func TestTimesOfThisHost(t *testing.T) {
	dsn := os.Getenv(childDSN)
	if dsn == "" {
		t.Skip("TestTimesOfOtherHosts runs it")
	}
	db, _ := openDSN(t, dsn)
	_, err := time.LoadLocation("Europe/Berlin")
	require.Equal(t, os.Getenv(childZones) == "true", err == nil, err)
	july := time.Date(2024, 7, 1, 12, 0, 0, 5, time.Local)
	_, offset := july.Zone()
	if want, known := os.LookupEnv(childLocal); known {
		require.Equal(t, want, strconv.Itoa(offset))
	}

	for _, at := range []time.Time{time.Now(), july, july.AddDate(0, 6, 0), july.UTC(), july.In(time.FixedZone("", 3*3600+1800)), {}, time.Unix(0, 0)} {
		requireSameTime(t, at, value[time.Time](t, db, "SELECT ?", at))
		if at.Location() == time.Local {
			assert.NotEqual(t, "Local", value[time.Time](t, db, "SELECT ?", at).Location().String())
		}
	}
	// What another client has stored has the zone's name and offset, known here or not.
	reply, err := tntsql.Eval(t.Context(), db, tntsql.ModeRW, "return require('datetime').new{year = 2024, month = 7, day = 1, hour = 14, tz = 'Europe/Berlin'}")
	require.NoError(t, err)
	berlin := reply.Values()[0].(time.Time)
	assert.Equal(t, "2024-07-01T14:00:00+02:00", berlin.Format(time.RFC3339Nano))
	assert.Equal(t, "Europe/Berlin", berlin.Location().String())
	again := value[time.Time](t, db, "SELECT ?", berlin)
	requireSameTime(t, berlin, again)
	assert.Equal(t, "Europe/Berlin", again.Location().String(), "the name goes back as it came")
}

func TestTimesOfOtherHosts(t *testing.T) {
	newTypes(t)
	dsn := sharedSet(t).DSN("read_mode=rw")
	for name, env := range map[string][]string{
		"TZ is empty":         {"TZ=", childLocal + "=0"},
		"TZ is UTC":           {"TZ=UTC", childLocal + "=0"},
		"TZ is Europe/Berlin": {"TZ=Europe/Berlin", childLocal + "=7200"},
		"TZ is Asia/Kolkata":  {"TZ=Asia/Kolkata", childLocal + "=19800"},
		"ZONEINFO is nowhere": {"TZ=Europe/Berlin", "ZONEINFO=/nowhere", childLocal + "=7200"},
		"TZ is unset":         {}, // the zone of the host, whatever it is
	} {
		t.Run(name, func(t *testing.T) {
			runTimes(t, osexec.CommandContext(t.Context(), os.Args[0]), append(env, childDSN+"="+dsn, childZones+"=true"))
		})
	}
}

// runTimes has a command that runs this binary run TestTimesOfThisHost.
func runTimes(t testing.TB, cmd *osexec.Cmd, env []string) {
	t.Helper()
	cmd.Args = append(cmd.Args, "-test.run=^TestTimesOfThisHost$", "-test.v")
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "TZ=") || strings.HasPrefix(v, "ZONEINFO=")
	}), env...)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "--- PASS: TestTimesOfThisHost")
}

// Zones make no difference to what is earlier.
func TestTimesCompareAsInstants(t *testing.T) {
	newTypes(t)
	db := open(t)
	utc := time.Date(2024, 7, 1, 10, 0, 0, 0, time.UTC)
	assert.True(t, value[bool](t, db, "SELECT ? = ?", utc, utc.In(location(t, "Asia/Kolkata"))))
	assert.True(t, value[bool](t, db, "SELECT ? < ?", utc, utc.Add(time.Nanosecond).In(location(t, "Europe/Berlin"))))
}

// DATETIME came with 2.10: before it, times go in as numbers or text of the user's choice.
func TestTimesOnOldServersAreRefusedAndHaveOtherWays(t *testing.T) {
	rs := sharedSet(t)
	if rs.AtLeast(2, 10, 0) {
		t.Skipf("Tarantool %s has DATETIME", rs.Version())
	}
	db := open(t, "read_mode=rw")
	at := time.Date(2024, 7, 1, 10, 0, 0, 5, time.UTC)
	_, err := db.ExecContext(t.Context(), "SELECT ?", at)
	require.ErrorContains(t, err, "parameter 1: time.Time as DATETIME needs Tarantool 2.10.0 or later, the server's version is 2.")
	assert.True(t, at.Equal(time.Unix(0, value[int64](t, db, "SELECT ?", at.UnixNano()))))
}
