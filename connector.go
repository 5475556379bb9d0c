package tntsql

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tntsql/tntsql/discovery"
	"github.com/tntsql/tntsql/internal/iproto"
	"github.com/tntsql/tntsql/internal/sqltext"
	"github.com/tntsql/tntsql/internal/wire"
	"github.com/tntsql/tntsql/pool"
)

const (
	textCacheSize   = 4 << 20 // bytes of statement texts whose kind is remembered
	columnCacheSize = 1 << 20 // bytes of result metadata that is remembered
	preparedSize    = 1 << 20 // bytes of statement texts that a server has been asked about
)

// Connector is a handle on one cluster and the pool of connections to it. Make
// it with NewConnector for sql.OpenDB, or let sql.Open make it from a DSN.
//
// Nothing is started before the first use, and nothing is left after Close.
type Connector struct {
	*cluster
	config *Config
	closed atomic.Bool
}

// cluster is what the handles on one cluster share.
type cluster struct {
	config   *Config // of the first handle: what is not of a handle's own
	login    func(ctx context.Context, address string) (user, password string, err error)
	tls      *tls.Config
	logger   *slog.Logger
	texts    *sqltext.Cache
	columns  *iproto.ColumnCache
	prepared *prepared
	session  *sessionSettings
	noEval   denial // of the batches' EVAL

	everybody session // with read_after_write=all
	schema    session // DDL, which marks all sessions

	mu      sync.Mutex
	pool    *pool.Pool // nil until the first use
	handles int        // not closed yet
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
	login := own.login()
	own.Password = "" // a function shows nothing to who prints a Connector, with %s say, or dumps it
	return &Connector{config: own, cluster: &cluster{
		config:   own,
		login:    login,
		tls:      tlsConfig,
		logger:   logger,
		texts:    sqltext.NewCache(textCacheSize),
		columns:  iproto.NewColumnCache(columnCacheSize, own.ColumnCase == ColumnCaseLower),
		prepared: newPrepared(preparedSize),
		session:  newSessionSettings(own, logger),
		handles:  1,
	}}, nil
}

// Defaults are the settings that a handle may have of its own. Zero fields stay
// as they are on the handle that With was called on.
type Defaults struct {
	ReadMode         Mode
	ReadOnly         bool // cannot be taken back
	SelectionTimeout time.Duration
	RequestTimeout   time.Duration
}

// With returns another handle over the same pool, for sql.OpenDB: one for
// reports that reads from replicas and refuses writes, say. The pool is closed
// with the last of its handles. An invalid ReadMode makes every read fail.
func (c *Connector) With(d Defaults) *Connector {
	cfg := c.config.Clone()
	if d.ReadMode != 0 {
		cfg.ReadMode = d.ReadMode
	}
	cfg.ReadOnly = cfg.ReadOnly || d.ReadOnly
	if d.SelectionTimeout != 0 {
		cfg.SelectionTimeout = d.SelectionTimeout
	}
	if d.RequestTimeout != 0 {
		cfg.RequestTimeout = d.RequestTimeout
	}
	other := &Connector{cluster: c.cluster, config: cfg}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.handles == 0 {
		other.closed.Store(true)
		return other
	}
	c.handles++
	return other
}

// start returns the pool, started by the first caller.
func (c *Connector) start() (*pool.Pool, error) {
	if c.closed.Load() {
		return nil, ErrClosed
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pool == nil {
		c.pool = pool.Open(c.poolOptions())
	}
	return c.pool, nil
}

func (c *cluster) poolOptions() pool.Options {
	cfg := c.config
	o := pool.Options{
		SRV:      cfg.SRV,
		Resolver: cfg.resolver(),
		Peers:    cfg.Discovery == DiscoveryReplication,
		Wire: wire.Options{
			Dial:        cfg.dialer(),
			TLS:         c.tls,
			Credentials: c.login,
			Auth:        string(cfg.Auth),
			MaxResponse: cfg.MaxResponseSize,
			Statements:  cfg.statements(),
			Logger:      c.logger,
		},
		Greet:            c.session.apply,
		ConnectTimeout:   cfg.ConnectTimeout,
		RefreshInterval:  cfg.RefreshInterval,
		ProbeTimeout:     cfg.ProbeTimeout,
		DeadTimeout:      cfg.DeadTimeout,
		CloseTimeout:     cfg.CloseTimeout,
		ConnsPerInstance: cfg.ConnsPerInstance,
		MaxInFlight:      cfg.MaxInFlight,
		Balancer:         balancers[cfg.Balancer],
		Logger:           c.logger,
	}
	if cfg.MaxLag != NoLimit {
		o.MaxLag = cfg.MaxLag
	}
	for _, host := range cfg.Hosts {
		o.Candidates = append(o.Candidates, pool.Candidate{Address: host})
	}
	c.traced(&o)
	return o
}

var balancers = map[Balancer]pool.Balancer{
	BalancerRoundRobin:    pool.RoundRobin,
	BalancerLeastInflight: pool.LeastInFlight,
	BalancerNearest:       pool.Nearest,
}

// resolver is what looks up the names of Hosts and SRV; nil leaves those of Hosts
// to Dial.
func (c *Config) resolver() pool.Resolver {
	switch {
	case c.Resolver != nil:
		return c.Resolver
	case c.Dial != nil && c.SRV == "":
		return nil
	}
	return net.DefaultResolver
}

func (c *Config) login() func(context.Context, string) (string, string, error) {
	if c.Credentials != nil {
		return c.Credentials
	}
	user, password := c.User, c.Password
	return func(context.Context, string) (string, string, error) { return user, password, nil }
}

func (c *Connector) connect() (*Conn, error) {
	p, err := c.start()
	if err != nil {
		return nil, err
	}
	return &Conn{connector: c, pool: p}, nil
}

// Close closes the handle. The last of a cluster's handles refuses new
// statements, waits up to close_timeout for those in flight, and ends every
// connection and goroutine. sql.DB.Close calls it.
func (c *Connector) Close() error {
	if c.closed.Swap(true) {
		return nil
	}
	c.mu.Lock()
	c.handles--
	p, last := c.pool, c.handles == 0
	c.mu.Unlock()
	if last && p != nil {
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
