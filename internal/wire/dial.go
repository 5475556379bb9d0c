package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"

	"github.com/tarantool/go-tarantool/v2"

	"github.com/tntsql/tntsql/internal/iproto"
)

// Options are what it takes to open a connection.
type Options struct {
	// Dial opens the socket; nil is a net.Dialer.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// TLS, when it is set, is the configuration for the server at hand.
	TLS *tls.Config
	// Credentials gives the user and password for an address; an empty user
	// is the server's guest.
	Credentials func(ctx context.Context, address string) (user, password string, err error)
	// Auth is "auto", "chap-sha1" or "pap-sha256".
	Auth string
	// MaxResponse is the longest reply, in bytes.
	MaxResponse int64
	// Closed, if it is set, is called once when a connection that Dial returned
	// has ended. It must not block.
	Closed func()
	// Logger must be set.
	Logger *slog.Logger
}

var errPlainPAP = errors.New("the server asks for pap-sha256, which would send the password in the clear: use tls, or auth=pap-sha256 to insist")

// Dial connects to the instance at address ("host:port", or the absolute path
// of a Unix socket) and logs in, all within ctx.
func Dial(ctx context.Context, address string, o Options) (*Conn, error) {
	d := &dialer{address: address, options: o}
	tnt, err := connect(ctx, d, tarantool.Opts{
		SkipSchema: true,
		Logger:     logger{o.Logger},
	})
	if err != nil {
		if d.frames != nil {
			_ = d.frames.Close()
		}
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, err
	}
	greeting, err := iproto.ParseGreeting(tnt.Greeting.Version)
	if err != nil {
		_ = tnt.Close()
		return nil, err
	}
	c := &Conn{tnt: tnt, frames: d.frames, greeting: greeting}
	if o.Closed != nil {
		c.frames.onClose.Store(&o.Closed)
	}
	if c.Ended() {
		return nil, c.why(nil)
	}
	return c, nil
}

// connect turns a panic of go-tarantool on what the server said into an error.
func connect(ctx context.Context, d tarantool.Dialer, o tarantool.Opts) (conn *tarantool.Connection, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: %v", errFraming, r)
		}
	}()
	return tarantool.Connect(ctx, d, o)
}

// dialer is go-tarantool's Dialer with the framing connection at the bottom.
type dialer struct {
	address string
	options Options
	frames  *frameConn
}

func (d *dialer) Dial(ctx context.Context, o tarantool.DialOpts) (tarantool.Conn, error) {
	identify := tarantool.ProtocolDialer{Dialer: tarantool.GreetingDialer{Dialer: socketDialer{d}}}
	conn, err := identify.Dial(ctx, o)
	if err != nil {
		return nil, err
	}
	login, err := d.login(ctx, conn)
	if err != nil {
		return nil, err
	}
	conn, err = login.Dial(ctx, o)
	if err != nil {
		return nil, err
	}
	d.frames.handshake = false
	return conn, nil
}

func (d *dialer) login(ctx context.Context, conn tarantool.Conn) (*tarantool.AuthDialer, error) {
	login := &tarantool.AuthDialer{Dialer: opened{conn}}
	if d.options.Credentials != nil {
		user, password, err := d.options.Credentials(ctx, d.address)
		if err != nil {
			return nil, fmt.Errorf("credentials: %w", err)
		}
		login.Username, login.Password = user, password
	}
	switch d.options.Auth {
	case "chap-sha1":
		login.Auth = tarantool.ChapSha1Auth
	case "pap-sha256":
		login.Auth = tarantool.PapSha256Auth
	default:
		login.Auth = conn.ProtocolInfo().Auth
		if login.Auth == tarantool.PapSha256Auth && d.options.TLS == nil {
			return nil, errPlainPAP
		}
	}
	return login, nil
}

// socketDialer opens the socket and puts the framing connection on it.
type socketDialer struct{ *dialer }

func (d socketDialer) Dial(ctx context.Context, _ tarantool.DialOpts) (tarantool.Conn, error) {
	network := "tcp"
	if d.address[0] == '/' {
		network = "unix"
	}
	dial := d.options.Dial
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	conn, err := dial(ctx, network, d.address)
	if err != nil {
		return nil, err
	}
	if d.options.TLS != nil {
		secured := tls.Client(conn, d.tlsConfig())
		if err := secured.HandshakeContext(ctx); err != nil {
			_ = conn.Close()
			return nil, fmt.Errorf("tls: %w", err)
		}
		conn = secured
	}
	d.frames = newFrameConn(conn, d.options)
	return d.frames, nil
}

// tlsConfig is the configuration with the host as the name to verify, unless
// another name is set.
func (d socketDialer) tlsConfig() *tls.Config {
	config := d.options.TLS.Clone()
	if config.ServerName == "" {
		if host, _, err := net.SplitHostPort(d.address); err == nil {
			config.ServerName = host
		}
	}
	return config
}

// opened is a Dialer of a connection that is already there.
type opened struct{ tarantool.Conn }

func (o opened) Dial(context.Context, tarantool.DialOpts) (tarantool.Conn, error) {
	return o.Conn, nil
}
