package tntsql_test

import (
	"context"
	"errors"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tntsql/tntsql"
)

func TestAUnixSocketIsAHost(t *testing.T) {
	rs := ownSet(t, 1)
	socket := filepath.Join(t.TempDir(), "t.sock")
	lua(t, rs, 0, "box.cfg{listen = 'unix/:' .. ...}", socket)
	for _, dsn := range []string{
		dsnOf([]string{url.PathEscape(socket)}),
		dsnOf(nil, "socket="+socket),
	} {
		db, connector := openDSN(t, dsn)
		assert.Equal(t, rs.UUID(0), served(t, t.Context(), db))
		assert.Equal(t, socket, connector.Topology().Instances[0].Address)
	}
}

func TestAnIPv6AddressIsAHost(t *testing.T) {
	l, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		t.Skip("this host has no IPv6:", err)
	}
	forward(t, l, sharedSet(t).Addr(0))
	db, connector := openDSN(t, dsnOf([]string{l.Addr().String()}))
	assert.Equal(t, sharedSet(t).UUID(0), served(t, t.Context(), db))
	assert.Equal(t, l.Addr().String(), connector.Topology().Instances[0].Address)
}

func TestLogin(t *testing.T) {
	rs := sharedSet(t)
	lua(t, rs, 0, `
box.schema.user.create('strange', {password = '@/:?#,+ é', if_not_exists = true})
box.schema.user.grant('strange', 'super', nil, nil, {if_not_exists = true})
box.schema.user.grant('guest', 'super', nil, nil, {if_not_exists = true})`)
	defer lua(t, rs, 0, "box.schema.user.revoke('guest', 'super')")
	for login, user := range map[string]string{
		"app:secret@": "app",
		"strange:%40%2F%3A%3F%23%2C%2B%20%C3%A9@": "strange",
		"": "guest",
	} {
		t.Run(user, func(t *testing.T) {
			db, _ := openDSN(t, "tarantool://"+login+rs.Addr(0)+"/")
			reply, err := tntsql.Eval(t.Context(), db, tntsql.ModeRW, "return box.session.effective_user()")
			require.NoError(t, err)
			assert.Equal(t, []any{user}, reply.Values())
		})
	}
}

func TestAWrongPasswordIsInTheErrorButNotItsText(t *testing.T) {
	rs := sharedSet(t)
	for _, login := range []string{"app:s3cr3t@", "app@", "no_such_user:s3cr3t@"} {
		t.Run(login, func(t *testing.T) {
			db, _ := openDSN(t, "tarantool://"+login+rs.Addr(0)+"/?auth=chap-sha1&selection_timeout=1m")
			start := time.Now()
			err := db.PingContext(t.Context())
			assert.Less(t, time.Since(start), 30*time.Second, "waiting would not help")
			var none *tntsql.NoInstanceError
			require.ErrorAs(t, err, &none)
			assert.Regexp(t, `login refused \((Incorrect password|User .* is not found|User not found or supplied credentials)`, err)
			var refusal *tntsql.Error
			require.ErrorAs(t, none.Instances[0].Err, &refusal)
			assert.NotContains(t, err.Error(), "s3cr3t")
		})
	}
}

// failure is why a handle cannot connect to its first host.
func failure(t testing.TB, connector *tntsql.Connector) (err error) {
	t.Helper()
	eventually(t, "failure", func() bool {
		in := connector.Topology().Instances[0]
		err = in.Err
		return err != nil && in.Status != "connecting"
	})
	return err
}

func TestCredentialsAreAskedForEachConnection(t *testing.T) {
	rs := sharedSet(t)
	cfg := mustParse(t, strings.Replace(rs.DSN(quiet), "app:secret@", "", 1))
	var asked atomic.Int32
	cfg.Credentials = func(ctx context.Context, address string) (string, string, error) {
		assert.Contains(t, cfg.Hosts, address)
		_, bounded := ctx.Deadline()
		assert.True(t, bounded)
		asked.Add(1)
		return "app", "secret", nil
	}
	db, _ := openConfig(t, cfg)
	connectAll(t, rs, db)
	assert.EqualValues(t, 2*rs.Len(), asked.Load(), "a control and a data connection each")
}

func TestAnErrorOfCredentialsIsTheInstances(t *testing.T) {
	cfg := mustParse(t, sharedSet(t).DSN("selection_timeout=0"))
	cfg.Credentials = func(context.Context, string) (string, string, error) {
		return "", "s3cr3t", errors.New("the vault is closed")
	}
	db, connector := openConfig(t, cfg)
	_ = failure(t, connector)
	err := db.PingContext(t.Context())
	assert.ErrorIs(t, err, tntsql.ErrNoInstance)
	assert.ErrorContains(t, err, "the vault is closed")
	assert.NotContains(t, err.Error(), "s3cr3t")
}

func TestDialOpensTheConnections(t *testing.T) {
	rs := sharedSet(t)
	cfg := mustParse(t, "tarantool://app:secret@db.example:1234,%2Fdb.sock/")
	networks := make(chan [2]string, 100)
	cfg.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		networks <- [2]string{network, address}
		return new(net.Dialer).DialContext(ctx, "tcp", rs.Addr(0))
	}
	db, connector := openConfig(t, cfg)
	knowsAll(t, connector)
	assert.Equal(t, rs.UUID(0), served(t, t.Context(), db))
	assert.ElementsMatch(t, [][2]string{{"tcp", "db.example:1234"}, {"unix", "/db.sock"}}, [][2]string{<-networks, <-networks})
}

func TestAConnectionAttemptIsBoundedByConnectTimeout(t *testing.T) {
	cfg := mustParse(t, "tarantool://h/?connect_timeout=30ms&selection_timeout=1m")
	waited := make(chan time.Duration, 1)
	cfg.Dial = func(ctx context.Context, _, _ string) (net.Conn, error) {
		start := time.Now()
		<-ctx.Done()
		select {
		case waited <- time.Since(start):
		default:
		}
		return nil, ctx.Err()
	}
	_, connector := openConfig(t, cfg)
	assert.EqualError(t, failure(t, connector), "no connection within connect_timeout (30ms)")
	assert.Less(t, <-waited, 4*time.Second)
}
