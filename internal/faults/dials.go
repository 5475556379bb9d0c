package faults

import (
	"context"
	"database/sql"
	"net"
	"sync"

	"github.com/tntsql/tntsql"
)

// dials are the connections that a handle has made, by their address.
type dials struct {
	mu           sync.Mutex
	conns        map[string][]*net.TCPConn
	made, closed int
}

func newDials() *dials { return &dials{conns: make(map[string][]*net.TCPConn)} }

// dial is the Dial of a Config.
func (d *dials) dial(ctx context.Context, network, address string) (net.Conn, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	tcp, isTCP := conn.(*net.TCPConn)
	if !isTCP {
		return conn, nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.made++
	d.conns[address] = append(d.conns[address], tcp)
	return &dialed{TCPConn: tcp, closing: sync.OnceFunc(d.lost)}, nil
}

func (d *dials) lost() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed++
}

// open opens a handle whose connections they are.
func (d *dials) open(dsn string) (*sql.DB, error) {
	cfg, err := tntsql.ParseDSN(dsn)
	if err != nil {
		return nil, err
	}
	cfg.Dial = d.dial
	connector, err := tntsql.NewConnector(cfg)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector), nil
}

// allClosed tells of connections that are left once their handles are closed. The
// process's descriptors do not tell of all: the collector closes what is forgotten.
func (d *dials) allClosed(t *Trial, what string) {
	if made, closed := d.count(); made != closed {
		t.Violation(LeavesNone, "%s: of %d connections that were made, %d are not closed", what, made, made-closed)
	}
}

// count is how many connections were made, and how many of them closed.
func (d *dials) count() (made, closed int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.made, d.closed
}

// each calls f with each connection to the address, and forgets them.
func (d *dials) each(address string, f func(*net.TCPConn)) {
	d.mu.Lock()
	conns := d.conns[address]
	delete(d.conns, address)
	d.mu.Unlock()
	for _, conn := range conns {
		f(conn)
	}
}

// dialed is a connection that tells when it is closed.
type dialed struct {
	*net.TCPConn
	closing func()
}

func (d *dialed) Close() error {
	d.closing()
	return d.TCPConn.Close()
}
