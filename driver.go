package tntsql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"sync"
)

// DriverName is the name under which the driver is registered.
const DriverName = "tarantool"

func init() {
	sql.Register(DriverName, &Driver{})
}

// Driver is the database/sql driver for Tarantool. It is registered as
// "tarantool"; programs rarely name it.
type Driver struct{}

var (
	_ driver.Driver        = (*Driver)(nil)
	_ driver.DriverContext = (*Driver)(nil)
)

// OpenConnector parses the DSN. It does no I/O and starts nothing: sql.Open
// fails at once for a DSN that cannot be right, and for nothing else. With an
// empty DSN, it is the first use that fails: instrumentation opens such a handle
// only to ask for its Driver.
func (*Driver) OpenConnector(dsn string) (driver.Connector, error) {
	cfg, err := ParseDSN(dsn)
	switch {
	case err == nil:
		return NewConnector(cfg)
	case dsn == "":
		return nowhere{err}, nil
	}
	return nil, err
}

// nowhere is the Connector of an empty DSN.
type nowhere struct{ err error }

func (n nowhere) Connect(context.Context) (driver.Conn, error) { return nil, n.err }
func (nowhere) Driver() driver.Driver                          { return &Driver{} }

// Open returns a connection by itself. Connections that are opened with the
// same DSN text share one pool, which is closed with the last of them.
// database/sql does not call it: it uses OpenConnector.
func (*Driver) Open(dsn string) (driver.Conn, error) {
	return opened.open(dsn)
}

// opened are the connectors behind Driver.Open.
var opened = sharedConnectors{byDSN: make(map[string]*sharedConnector)}

type sharedConnectors struct {
	mu    sync.Mutex
	byDSN map[string]*sharedConnector
}

type sharedConnector struct {
	*Connector
	users int
}

func (s *sharedConnectors) open(dsn string) (driver.Conn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	shared := s.byDSN[dsn]
	if shared == nil {
		cfg, err := ParseDSN(dsn)
		if err != nil {
			return nil, err
		}
		connector, err := NewConnector(cfg)
		if err != nil {
			return nil, err
		}
		shared = &sharedConnector{Connector: connector}
	}
	conn, err := shared.connect()
	if err != nil {
		return nil, err
	}
	s.byDSN[dsn] = shared
	shared.users++
	conn.onClose = func() error { return s.release(dsn, shared) }
	return conn, nil
}

func (s *sharedConnectors) release(dsn string, shared *sharedConnector) error {
	s.mu.Lock()
	shared.users--
	last := shared.users == 0
	if last {
		delete(s.byDSN, dsn)
	}
	s.mu.Unlock()
	if last {
		return shared.Close()
	}
	return nil
}

// Connect and Driver make a Connector a driver.Connector.
var _ interface {
	driver.Connector
	Close() error
} = (*Connector)(nil)

// Connect returns a session. It does no I/O: sessions share the connections of
// the Connector, which are opened in the background.
func (c *Connector) Connect(context.Context) (driver.Conn, error) {
	conn, err := c.connect()
	if err != nil {
		return nil, err
	}
	return conn, nil
}

// Driver returns the Driver.
func (*Connector) Driver() driver.Driver { return &Driver{} }
