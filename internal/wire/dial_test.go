package wire_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	protocol "github.com/tarantool/go-iproto"

	"github.com/tntsql/tntsql/internal/fakepeer"
	"github.com/tntsql/tntsql/internal/wire"
)

const (
	patienceFor = 5 * time.Second
	tick        = time.Millisecond
)

func TestHostileGreetings(t *testing.T) {
	for name, greeting := range map[string]string{
		"garbage":         strings.Repeat("\xff\x00", 64),
		"another service": "220 mail.example.com ESMTP ready",
		"no version":      "Tarantool",
		"no uuid":         "Tarantool 2.6.0 (Binary) \n" + strings.Repeat("A", 44),
		"no salt":         strings.Repeat(" ", 128),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := fakepeer.Start(t, nil, fakepeer.Greeting(greeting))
			_, err := wire.Dial(patience(t), p.Addr, options())
			require.Error(t, err)
		})
	}
}

func TestHostileHandshake(t *testing.T) {
	for name, answer := range map[string][]byte{
		"nested":      nested(60_000),
		"lying":       {0x81, byte(protocol.IPROTO_FEATURES), 0xdd, 0xff, 0xff, 0xff, 0xff},
		"endless":     make([]byte, 1<<20),
		"unhashable":  append([]byte{0x81, byte(protocol.IPROTO_DATA), 0x91}, unhashable...),
		"no features": {0x80},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := fakepeer.Start(t, func(s *fakepeer.Session, r fakepeer.Request) bool {
				if r.Type != protocol.IPROTO_ID {
					return false
				}
				s.Reply(r.Sync, 0, answer)
				return true
			})
			_, err := wire.Dial(patience(t), p.Addr, options())
			require.Error(t, err)
		})
	}
}

func TestReasonsOfTheServerAreCut(t *testing.T) {
	long := append([]byte{0xda, 0xea, 0x60}, strings.Repeat("ж", 30_000)...)
	for name, tt := range map[string]struct {
		typ  protocol.Type
		code protocol.Error
		body []byte
	}{
		"a way to log in": {protocol.IPROTO_ID, 0, append([]byte{0x83, 0x54, 6, 0x55, 0x90, 0x5b}, long...)},
		"ID refused":      {protocol.IPROTO_ID, protocol.ER_NO_SUCH_PROC, append([]byte{0x81, 0x31}, long...)},
		"login refused":   {protocol.IPROTO_AUTH, protocol.ER_CREDS_MISMATCH, append([]byte{0x81, 0x31}, long...)},
		"loading":         {protocol.IPROTO_AUTH, protocol.ER_LOADING, append([]byte{0x81, 0x31}, long...)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := fakepeer.Start(t, nil, fakepeer.Version("3.8"))
			p.On(tt.typ, func(s *fakepeer.Session, r fakepeer.Request) bool {
				typ := uint32(tt.code)
				if typ != 0 {
					typ |= uint32(protocol.IPROTO_TYPE_ERROR)
				}
				s.Reply(r.Sync, typ, tt.body)
				return true
			})
			o := options()
			o.Credentials = user("app", "secret", nil)
			_, err := wire.Dial(patience(t), p.Addr, o)
			require.ErrorContains(t, err, "ж")
			assert.Less(t, len(err.Error()), 2<<10)
			assert.Equal(t, tt.code == protocol.ER_CREDS_MISMATCH, errors.As(err, new(*wire.LoginError)))
		})
	}
}

func TestDialEndsWithItsContext(t *testing.T) {
	for name, script := range map[string]fakepeer.Script{
		"ID unanswered": func(_ *fakepeer.Session, r fakepeer.Request) bool { return r.Type == protocol.IPROTO_ID },
		"AUTH unanswered": func(_ *fakepeer.Session, r fakepeer.Request) bool {
			return r.Type == protocol.IPROTO_AUTH
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := fakepeer.Start(t, script)
			o := options()
			o.Credentials = user("app", "secret", nil)
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			_, err := wire.Dial(ctx, p.Addr, o)
			assert.ErrorIs(t, err, context.DeadlineExceeded)
		})
	}
	t.Run("no greeting", func(t *testing.T) {
		t.Parallel()
		silent, err := net.Listen("tcp", "127.0.0.1:0") // accepts, and says nothing
		require.NoError(t, err)
		defer silent.Close()
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		_, err = wire.Dial(ctx, silent.Addr().String(), options())
		assert.ErrorIs(t, err, context.DeadlineExceeded)
	})
}

func user(name, password string, err error) func(context.Context, string) (string, string, error) {
	return func(context.Context, string) (string, string, error) { return name, password, err }
}

func TestLogin(t *testing.T) {
	refused := errors.New("vault is sealed")
	for name, tt := range map[string]struct {
		auth        string
		credentials func(context.Context, string) (string, string, error)
		script      fakepeer.Script
		logins      int
		want        string
	}{
		"as a guest":              {credentials: user("", "", nil)},
		"with a password":         {credentials: user("app", "s3cr3t", nil), logins: 1},
		"chap by name":            {auth: "chap-sha1", credentials: user("app", "s3cr3t", nil), logins: 1},
		"pap in the clear, asked": {auth: "pap-sha256", credentials: user("app", "s3cr3t", nil), logins: 1},
		"credentials not to be had": {
			credentials: user("", "", refused), want: "vault is sealed",
		},
		"wrong password": {
			credentials: user("app", "s3cr3t", nil), logins: 1, want: "Incorrect password",
			script: func(s *fakepeer.Session, r fakepeer.Request) bool {
				if r.Type != protocol.IPROTO_AUTH {
					return false
				}
				s.Error(r.Sync, protocol.ER_CREDS_MISMATCH, "Incorrect password supplied for user 'app'")
				return true
			},
		},
		"pap in the clear, because the server says so": {
			credentials: user("app", "s3cr3t", nil), want: "in the clear",
			script: func(s *fakepeer.Session, r fakepeer.Request) bool {
				if r.Type != protocol.IPROTO_ID {
					return false
				}
				body := []byte{0x83, byte(protocol.IPROTO_VERSION), 4, byte(protocol.IPROTO_FEATURES), 0x91, 0,
					byte(protocol.IPROTO_AUTH_TYPE), 0xaa}
				s.Reply(r.Sync, 0, append(body, "pap-sha256"...))
				return true
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := fakepeer.Start(t, tt.script)
			o := options()
			o.Auth, o.Credentials = tt.auth, tt.credentials
			c, err := wire.Dial(patience(t), p.Addr, o)
			if tt.want == "" {
				require.NoError(t, err)
				c.Close()
			} else {
				require.ErrorContains(t, err, tt.want)
				assert.NotContains(t, err.Error(), "s3cr3t")
			}
			assert.Len(t, p.Requests(protocol.IPROTO_AUTH), tt.logins)
		})
	}
}

func TestClosedIsCalledOnce(t *testing.T) {
	p := fakepeer.Start(t, nil)
	o := options()
	calls := make(chan struct{}, 8)
	o.Closed = func() { calls <- struct{}{} }
	c, err := wire.Dial(patience(t), p.Addr, o)
	require.NoError(t, err)
	p.Cut()
	<-calls
	c.Close()
	c.Close()
	assert.Empty(t, calls)
	assert.True(t, c.Ended())
}
