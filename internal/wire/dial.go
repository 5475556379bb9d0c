package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync/atomic"

	protocol "github.com/tarantool/go-iproto"
	"github.com/tarantool/go-tarantool/v2"

	"github.com/tntsql/tntsql/internal/iproto"
)

// Options are what it takes to open a connection.
type Options struct {
	// Dial opens the socket; nil is a net.Dialer.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// TLS, when it is set, is the configuration for the server at hand.
	TLS *tls.Config
	// ServerName is the name that the certificate must have, if the TLS
	// configuration has none; empty is the host of the address.
	ServerName string
	// Credentials gives the user and password for an address; an empty user
	// is the server's guest.
	Credentials func(ctx context.Context, address string) (user, password string, err error)
	// Auth is "auto", "chap-sha1" or "pap-sha256".
	Auth string
	// Ordered, if it is set, tells of which servers' connections the requests
	// must arrive in the order in which they are sent.
	Ordered func(iproto.Version) bool
	// Budget is what counted requests take room from.
	Budget *Budget
	// Watch are the keys to watch on servers with watchers, and Event gets what
	// they push, the key and its value, before any later reply. It must not
	// block or keep the value. Its error is logged.
	Watch []string
	Event func(key string, value []byte) error
	// Statements is how many prepared statements the connection keeps; 0 is none.
	// Schema, which must be set with it, is the version of the server's schema as
	// far as it is known: what was prepared under another one is prepared anew.
	Statements int
	Schema     *atomic.Uint64
	// MaxResponse is the longest reply, in bytes.
	MaxResponse int64
	// Closed, if it is set, is called once when the connection has ended. It
	// must not block.
	Closed func()
	// Logger must be set.
	Logger *slog.Logger
}

var errPlainPAP = errors.New("the server asks for pap-sha256, which would send the password in the clear: use tls, or auth=pap-sha256 to insist")

var errNoConn = errors.New("Dial returned neither a connection nor an error")

// Dial connects to the instance at address ("host:port", or the absolute path
// of a Unix socket) and logs in, all within ctx.
func Dial(ctx context.Context, address string, o Options) (*Conn, error) {
	c := newConn(o.Budget)
	d := &dialer{address: address, options: o, conn: c}
	if err := d.connect(ctx); err != nil {
		err = shortened(err)
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		if c.frames != nil {
			_ = c.frames.Close()
			if ctx.Err() != nil {
				err = fmt.Errorf("%w: the port is open, but nothing there greets and logs in as Tarantool does", err)
			}
		}
		return nil, err
	}
	c.statements = newStatements(c, o.Statements, o.Schema)
	c.frames.start()
	if o.Closed != nil {
		c.frames.onClose.Store(&o.Closed)
	}
	if c.Ended() {
		return nil, c.why(nil)
	}
	if c.watches {
		for _, key := range o.Watch {
			c.watch(key)
		}
	}
	return c, nil
}

// connect turns a panic of go-tarantool on what the server said into an error.
func (d *dialer) connect(ctx context.Context) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic while connecting: %v", r)
		}
	}()
	conn, err := d.dial(ctx)
	if err != nil {
		return err
	}
	if d.conn.greeting, err = iproto.ParseGreeting(conn.Greeting().Version); err != nil {
		return err
	}
	o := tarantool.Opts{SkipSchema: true, Logger: logger{d.options.Logger}}
	if d.options.Ordered != nil && d.options.Ordered(d.conn.greeting.Version) {
		o.Concurrency = 1
	}
	d.conn.tnt, err = tarantool.Connect(ctx, opened{conn}, o)
	return err
}

// maxReason is how long a reason for no connection may be: it is shown with each error for
// want of an instance, and may have what the server said in it.
const maxReason = 1 << 10

// shortened is an error whose text is not longer.
func shortened(err error) error {
	var refusal *LoginError
	text := err.Error()
	switch {
	case len(text) <= maxReason:
		return err
	case errors.As(err, &refusal):
		refusal.Message = iproto.Shortened(refusal.Message, maxReason)
		return err
	}
	return &longError{iproto.Shortened(text, maxReason), err}
}

type longError struct {
	text string
	err  error
}

func (e *longError) Error() string { return e.text }
func (e *longError) Unwrap() error { return e.err }

// dialer builds a connection with the framing one at the bottom.
type dialer struct {
	address string
	options Options
	conn    *Conn
}

func (d *dialer) dial(ctx context.Context) (tarantool.Conn, error) {
	identify := tarantool.ProtocolDialer{Dialer: tarantool.GreetingDialer{Dialer: socketDialer{d}}}
	conn, err := identify.Dial(ctx, tarantool.DialOpts{})
	if err != nil {
		return nil, err
	}
	login, err := d.login(ctx, conn)
	if err != nil {
		return nil, err
	}
	if conn, err = login.Dial(ctx, tarantool.DialOpts{}); err != nil {
		return nil, loginError(err)
	}
	d.conn.watches = slices.Contains(conn.ProtocolInfo().Features, protocol.IPROTO_FEATURE_WATCHERS)
	return unwatched{conn}, nil
}

// LoginError tells that the server refuses the user or the password.
type LoginError struct{ *iproto.ServerError }

func (e *LoginError) Unwrap() error { return e.ServerError }

func loginError(err error) error {
	var refusal tarantool.Error
	if !errors.As(err, &refusal) {
		return err
	}
	e := &iproto.ServerError{Code: uint32(refusal.Code), Message: refusal.Msg}
	if refusal.Code == protocol.ER_LOADING {
		return e // it knows no users yet
	}
	return &LoginError{e}
}

// unwatched hides that the server has watchers: go-tarantool would watch
// box.shutdown and, once that comes, refuse the statements and the COMMIT of
// open transactions that the server still waits for.
type unwatched struct{ tarantool.Conn }

func (u unwatched) ProtocolInfo() tarantool.ProtocolInfo {
	info := u.Conn.ProtocolInfo()
	info.Features = slices.DeleteFunc(slices.Clone(info.Features), func(f protocol.Feature) bool {
		return f == protocol.IPROTO_FEATURE_WATCHERS
	})
	return info
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
	switch {
	case err != nil:
		return nil, err
	case conn == nil:
		return nil, errNoConn
	}
	if d.options.TLS != nil {
		secured := tls.Client(conn, d.tlsConfig())
		if err := secured.HandshakeContext(ctx); err != nil {
			_ = conn.Close()
			if errors.As(err, new(tls.RecordHeaderError)) {
				err = fmt.Errorf("%w: is there TLS on this port?", err)
			}
			return nil, fmt.Errorf("TLS handshake: %w", err)
		}
		conn = secured
	}
	d.conn.frames = newFrameConn(conn, d.conn, d.options)
	return d.conn.frames, nil
}

// tlsConfig is the configuration with the host as the name to verify, unless
// another name is set.
func (d socketDialer) tlsConfig() *tls.Config {
	config := d.options.TLS.Clone()
	if config.ServerName == "" {
		config.ServerName = d.options.ServerName
	}
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
