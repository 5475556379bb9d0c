package tntsql

import (
	"context"
	"crypto/tls"
	"log/slog"
	"sync"

	"github.com/tntsql/tntsql/discovery"
	"github.com/tntsql/tntsql/internal/iproto"
	"github.com/tntsql/tntsql/internal/sqltext"
	"github.com/tntsql/tntsql/internal/wire"
	"github.com/tntsql/tntsql/pool"
)

const (
	textCacheSize   = 4 << 20 // bytes of statement texts whose kind is remembered
	columnCacheSize = 1 << 20 // bytes of result metadata that is remembered
)

// Connector is one cluster and the pool of connections to it. Make it with
// NewConnector for sql.OpenDB, or let sql.Open make it from a DSN.
//
// Nothing is started before the first use, and nothing is left after Close.
type Connector struct {
	config  *Config
	tls     *tls.Config
	logger  *slog.Logger
	texts   *sqltext.Cache
	columns *iproto.ColumnCache
	session *sessionSettings

	mu     sync.Mutex
	pool   *pool.Pool // nil until the first use
	closed bool
}

// NewConnector makes a Connector from a Config, which it copies. Fields that
// are zero get their defaults. It does no I/O, but for reading the files that
// the TLS fields name.
func NewConnector(cfg *Config) (*Connector, error) {
	own, err := cfg.normalize()
	if err != nil {
		return nil, err
	}
	tlsConfig, err := own.tlsConfig()
	if err != nil {
		return nil, err
	}
	logger := own.Logger
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	return &Connector{
		config:  own,
		tls:     tlsConfig,
		logger:  logger,
		texts:   sqltext.NewCache(textCacheSize),
		columns: iproto.NewColumnCache(columnCacheSize, own.ColumnCase == ColumnCaseLower),
		session: newSessionSettings(own, logger),
	}, nil
}

// start returns the pool, started by the first caller.
func (c *Connector) start() (*pool.Pool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, ErrClosed
	}
	if c.pool == nil {
		c.pool = pool.Open(c.poolOptions())
	}
	return c.pool, nil
}

func (c *Connector) poolOptions() pool.Options {
	cfg := c.config
	return pool.Options{
		Addresses: cfg.Hosts,
		Wire: wire.Options{
			Dial:        cfg.dialer(),
			TLS:         c.tls,
			Credentials: c.credentials(),
			Auth:        string(cfg.Auth),
			MaxResponse: cfg.MaxResponseSize,
			Logger:      c.logger,
		},
		Greet:            c.session.apply,
		ConnectTimeout:   cfg.ConnectTimeout,
		RefreshInterval:  cfg.RefreshInterval,
		ProbeTimeout:     cfg.ProbeTimeout,
		DeadTimeout:      cfg.DeadTimeout,
		CloseTimeout:     cfg.CloseTimeout,
		ConnsPerInstance: cfg.ConnsPerInstance,
		Logger:           c.logger,
	}
}

func (c *Connector) credentials() func(context.Context, string) (string, string, error) {
	if c.config.Credentials != nil {
		return c.config.Credentials
	}
	user, password := c.config.User, c.config.Password
	return func(context.Context, string) (string, string, error) { return user, password, nil }
}

func (c *Connector) connect() (*Conn, error) {
	p, err := c.start()
	if err != nil {
		return nil, err
	}
	return &Conn{connector: c, pool: p}, nil
}

// Close refuses new statements, waits up to close_timeout for those in flight
// and ends every connection and goroutine of the Connector. sql.DB.Close calls
// it.
func (c *Connector) Close() error {
	c.mu.Lock()
	p := c.pool
	c.closed = true
	c.mu.Unlock()
	if p != nil {
		p.Close()
	}
	return nil
}

// WaitReady returns when an instance of the mode is known, or with a
// *NoInstanceError when the context ends before.
func (c *Connector) WaitReady(ctx context.Context, m Mode) error {
	if !m.valid() {
		return invalidMode(m)
	}
	p, err := c.start()
	if err != nil {
		return err
	}
	return outward(ctx, p.Wait(ctx, discovery.Mode(m), NoLimit), nil)
}
