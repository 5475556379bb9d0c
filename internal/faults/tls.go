package faults

import (
	"bytes"
	"context"
	"crypto/tls"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	protocol "github.com/tarantool/go-iproto"

	"github.com/tntsql/tntsql"
	"github.com/tntsql/tntsql/internal/fakepeer"
	"github.com/tntsql/tntsql/tarantooltest"
)

var encrypted = Scenario{
	Name:     "tls",
	What:     "a TLS endpoint before a real server: right and wrong names, authorities, times and clients; chap-sha1 and pap-sha256",
	Promises: []Promise{Secure, Secret, LeavesNone},
	Run: func(t *Trial) error {
		set, err := t.Start(tarantooltest.Instances(1))
		if err != nil {
			return err
		}
		directory, err := os.MkdirTemp("", "faults-tls-")
		if err != nil {
			return err
		}
		t.Closing(func() error { return os.RemoveAll(directory) })
		e := &endpoints{trial: t, set: set}
		if err := e.start(directory); err != nil {
			return err
		}
		// The collector would close what is forgotten.
		defer debug.SetGCPercent(debug.SetGCPercent(-1))
		files := openFiles()
		for _, c := range e.cases() {
			if err := e.connect(c); err != nil {
				return err
			}
		}
		if err := e.twoNames(); err != nil {
			return err
		}
		leaves(t, "file descriptors", openFiles, files)
		return e.pap()
	},
}

// endpoints are TLS servers before one instance, by what is particular of them.
type endpoints struct {
	trial                      *Trial
	set                        *tarantooltest.ReplicaSet
	ca, other                  *authority
	right, expired, forClients string // ports
	old                        string // speaks TLS 1.1 at most
}

func (e *endpoints) start(directory string) (err error) {
	if e.ca, err = newAuthority(directory, "ca"); err != nil {
		return err
	}
	if e.other, err = newAuthority(directory, "other"); err != nil {
		return err
	}
	soon := time.Now().Add(time.Hour)
	valid, err := e.ca.issue("valid", "localhost", soon)
	if err != nil {
		return err
	}
	late, err := e.ca.issue("expired", "localhost", time.Now().Add(-time.Hour))
	if err != nil {
		return err
	}
	_, mine := e.ca.issue("client", "client", soon)
	_, strange := e.other.issue("stranger", "client", soon)
	if err := errors.Join(mine, strange); err != nil {
		return err
	}
	clients := &tls.Config{Certificates: []tls.Certificate{valid}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: e.ca.pool(), MinVersion: tls.VersionTLS12}
	for port, config := range map[*string]*tls.Config{
		&e.right:      {Certificates: []tls.Certificate{valid}, MinVersion: tls.VersionTLS12},
		&e.expired:    {Certificates: []tls.Certificate{late}, MinVersion: tls.VersionTLS12},
		&e.forClients: clients,
		&e.old:        {Certificates: []tls.Certificate{valid}, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11},
	} {
		if *port, err = e.trial.terminate(config, e.set.Addr(0)); err != nil {
			return err
		}
	}
	return nil
}

// terminate takes TLS connections on a port and hands them on to a server without TLS.
func (t *Trial) terminate(config *tls.Config, backend string) (port string, err error) {
	listener, err := tls.Listen("tcp", "127.0.0.1:0", config)
	if err != nil {
		return "", err
	}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", backend)
			if err != nil {
				_ = client.Close()
				continue
			}
			for from, to := range map[net.Conn]net.Conn{client: server, server: client} {
				running.Go(func() {
					_, _ = io.Copy(to, from) // whichever end goes first
					_ = to.Close()
				})
			}
		}
	})
	t.Closing(func() error {
		err := listener.Close()
		running.Wait()
		return err
	})
	_, port, err = net.SplitHostPort(listener.Addr().String())
	return port, err
}

// attempt is a way to connect, and what its error must have in it; "" if it must succeed.
type attempt struct {
	name, host string
	params     []string
	err        string
	tls        *tls.Config // of the Config, in place of parameters
}

func (e *endpoints) cases() []attempt {
	trusted, strange := "tls_ca="+e.ca.file("ca.pem"), "tls_ca="+e.other.file("other.pem")
	client := func(a *authority, name string) string {
		return "tls_cert=" + a.file(name+".pem") + "&tls_key=" + a.file(name+".key")
	}
	right, wrong := "localhost:"+e.right, "127.0.0.1:"+e.right
	return []attempt{
		{"right", right, []string{"tls=verify-full", trusted}, "", nil},
		{"right, chap-sha1", right, []string{"tls=verify-full", trusted, "auth=chap-sha1"}, "", nil},
		{"wrong host name", wrong, []string{"tls=verify-full", trusted}, "certificate", nil},
		{"the name that is asked for", wrong, []string{"tls=verify-full", trusted, "tls_server_name=localhost"}, "", nil},
		{"another name is asked for", right, []string{"tls=verify-full", trusted, "tls_server_name=bank"}, "not bank", nil},
		{"unknown authority", right, []string{"tls=verify-full", strange}, "unknown authority", nil},
		{"authorities of the system", right, []string{"tls=verify-full"}, "unknown authority", nil},
		{"expired", "localhost:" + e.expired, []string{"tls=verify-full", trusted}, "expired", nil},
		{"verify-ca of a wrong host name", wrong, []string{"tls=verify-ca", trusted}, "", nil},
		{"verify-ca of an unknown authority", right, []string{"tls=verify-ca", strange}, "unknown authority", nil},
		{"verify-ca of an expired one", "localhost:" + e.expired, []string{"tls=verify-ca", trusted}, "expired", nil},
		{"skip-verify of an expired one", "127.0.0.1:" + e.expired, []string{"tls=skip-verify"}, "", nil},
		{"the client's certificate", "localhost:" + e.forClients, []string{"tls=verify-full", trusted, client(e.ca, "client")}, "", nil},
		{"no client's certificate", "localhost:" + e.forClients, []string{"tls=verify-full", trusted}, "certificate required", nil},
		{"a stranger's certificate", "localhost:" + e.forClients, []string{"tls=verify-full", trusted, client(e.other, "stranger")}, "tls: ", nil},
		{"a version before 1.2", "localhost:" + e.old, []string{"tls=verify-full", trusted}, "protocol version", nil},
		{"a Config's own", right, nil, "", &tls.Config{RootCAs: e.ca.pool()}},
		{"a Config's own, wrong host name", wrong, nil, "certificate", &tls.Config{RootCAs: e.ca.pool()}},
		{"a Config's own, unknown authority", right, nil, "unknown authority", &tls.Config{RootCAs: e.other.pool()}},
		{"TLS to a server without it", e.set.Addr(0), []string{"tls=skip-verify"}, "tls: ", nil},
		{"no TLS to a server with it", right, []string{"connect_timeout=500ms"}, "connect_timeout", nil},
		{"no TLS, chap-sha1", e.set.Addr(0), []string{"auth=chap-sha1"}, "", nil},
		{"a wrong password", e.set.Addr(0), []string{"auth=chap-sha1", "connect_timeout=2s"}, "ER_", nil},
	}
}

func (e *endpoints) connect(c attempt) error {
	secret := password
	if c.name == "a wrong password" {
		secret = "x" + password
	}
	return e.trial.attempt(c, secret, e.set.UUID(0))
}

// twoNames connects to one endpoint by its right name and by a wrong one at a time.
func (e *endpoints) twoNames() error {
	cfg, err := tntsql.ParseDSN(fmt.Sprintf("tarantool://%s:%s@localhost:%s,127.0.0.1:%s/?tls=verify-full&tls_ca=%s",
		user, password, e.right, e.right, e.ca.file("ca.pem")))
	if err != nil {
		return err
	}
	db, connector, err := e.trial.Open(cfg)
	if err != nil {
		return err
	}
	const grace = 10 * time.Second
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	if err := connector.WaitReady(ctx, tntsql.ModeRW); err != nil {
		e.trial.Violation(Secure, "two names, of which one is right: %v", err)
	}
	e.trial.Count(1, 1)
	known := func() map[string]tntsql.TopologyInstance {
		instances := make(map[string]tntsql.TopologyInstance)
		for _, in := range connector.Topology().Instances {
			instances[in.Address] = in
		}
		return instances
	}
	wrong := "127.0.0.1:" + e.right
	for known()[wrong].Err == nil && ctx.Err() == nil {
		time.Sleep(time.Millisecond)
	}
	for address, in := range known() {
		if (in.Err == nil) != (address != wrong) {
			e.trial.Violation(Secure, "two names, of which %s is wrong: %s is %s, %v", wrong, address, in.Status, in.Err)
		}
	}
	return db.Close()
}

// attempt connects, and looks at what comes of it.
func (t *Trial) attempt(c attempt, secret, uuid string) error {
	dsn := fmt.Sprintf("tarantool://%s:%s@%s/?selection_timeout=0s&%s", user, secret, c.host, strings.Join(c.params, "&"))
	cfg, err := tntsql.ParseDSN(dsn)
	if err != nil {
		return err
	}
	cfg.TLS = c.tls
	db, connector, err := t.Open(cfg)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	ctx, info := tntsql.Capture(ctx)
	connect := func() error {
		err := db.QueryRowContext(ctx, "SELECT 1").Scan(new(int))
		if errors.Is(err, sql.ErrNoRows) {
			return nil // a scripted server
		}
		return err
	}
	err = connect()
	if t.Count(1, 0); c.err != "" {
		t.Count(0, 1)
	}
	for range 100 { // the reason of an instance may be known a little later
		if c.err == "" || err == nil || strings.Contains(err.Error(), c.err) {
			break
		}
		time.Sleep(20 * time.Millisecond)
		err = connect()
	}
	t.Options.Heard.Say("%v", connector.Topology())
	switch {
	case c.err == "" && err != nil:
		t.Violation(Secure, "%s: %v", c.name, err)
	case c.err == "" && info.Instance.UUID != uuid:
		t.Violation(Secure, "%s: it is connected to %v", c.name, info.Instance)
	case c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)):
		t.Violation(Secure, "%s: want an error with %q, have %v", c.name, c.err, err)
	}
	if err != nil {
		t.Options.Heard.Error(err)
	}
	return db.Close()
}

// idWithPAP is an answer to IPROTO_ID of a server that asks for pap-sha256: version 6, no
// features.
var idWithPAP = []byte("\x83\x54\x06\x55\x90\x5b\xaapap-sha256")

// pap connects to a scripted server, since pap-sha256 is Tarantool Enterprise's: with TLS
// the password goes to it, without TLS it does not leave this process.
func (e *endpoints) pap() error {
	peer, err := fakepeer.New(nil, fakepeer.Version("3.8"))
	if err != nil {
		return err
	}
	defer peer.Close()
	peer.On(protocol.IPROTO_ID, func(s *fakepeer.Session, r fakepeer.Request) bool {
		s.Reply(r.Sync, 0, idWithPAP)
		return true
	})
	valid, err := e.ca.issue("valid", "localhost", time.Now().Add(time.Hour))
	if err != nil {
		return err
	}
	port, err := e.trial.terminate(&tls.Config{Certificates: []tls.Certificate{valid}, MinVersion: tls.VersionTLS12}, peer.Addr)
	if err != nil {
		return err
	}
	shown := func() bool {
		for _, r := range peer.Requests() {
			if bytes.Contains(r.Body, []byte(password)) {
				return true
			}
		}
		return false
	}
	if err := e.trial.attempt(attempt{"pap-sha256 without TLS", peer.Addr, nil, "pap-sha256", nil}, password, ""); err != nil {
		return err
	}
	if shown() {
		e.trial.Violation(Secret, "pap-sha256 without TLS: the password was sent")
	}
	params := []string{"tls=verify-full", "tls_ca=" + e.ca.file("ca.pem")}
	if err := e.trial.attempt(attempt{"pap-sha256 with TLS", "localhost:" + port, params, "", nil}, password, fakepeer.UUID); err != nil {
		return err
	}
	if !shown() {
		e.trial.Violation(Secure, "pap-sha256 with TLS: the server has not seen the password")
	}
	return nil
}
