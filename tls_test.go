package tntsql_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tntsql/tntsql"
)

// authority signs certificates for the time of a test.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	dir  string
}

func newAuthority(t testing.TB) *authority {
	t.Helper()
	a := &authority{dir: t.TempDir()}
	a.key, a.cert = sign(t, nil, nil, &x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
	a.write(t, "ca.pem", "CERTIFICATE", a.cert.Raw)
	return a
}

// sign makes a key and its certificate, signed by itself if there is no parent.
func sign(t testing.TB, parent *x509.Certificate, by *ecdsa.PrivateKey, template *x509.Certificate) (*ecdsa.PrivateKey, *x509.Certificate) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	if parent == nil {
		parent, by = template, key
	}
	template.SerialNumber = big.NewInt(time.Now().UnixNano())
	template.Subject = pkix.Name{CommonName: t.Name()}
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, by)
	require.NoError(t, err)
	cert, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	return key, cert
}

// issue gives a certificate for a host name, and writes it and its key to files.
func (a *authority) issue(t testing.TB, name string) tls.Certificate {
	t.Helper()
	key, cert := sign(t, a.cert, a.key, &x509.Certificate{
		DNSNames:    []string{name},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	})
	der, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	a.write(t, name+".pem", "CERTIFICATE", cert.Raw)
	a.write(t, name+".key", "PRIVATE KEY", der)
	return tls.Certificate{Certificate: [][]byte{cert.Raw}, PrivateKey: key}
}

func (a *authority) write(t testing.TB, file, kind string, der []byte) {
	t.Helper()
	require.NoError(t, os.WriteFile(a.file(file), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
}

func (a *authority) file(name string) string { return filepath.Join(a.dir, name) }

func (a *authority) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

// forward hands what connects to the listener on to a backend.
func forward(t testing.TB, l net.Listener, backend string) {
	t.Helper()
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", backend)
			if err != nil {
				_ = conn.Close()
				continue
			}
			for from, to := range map[net.Conn]net.Conn{conn: server, server: conn} {
				wg.Go(func() {
					_, _ = io.Copy(to, from)
					_ = to.Close()
				})
			}
		}
	})
	t.Cleanup(func() { assert.NoError(t, l.Close()); wg.Wait() })
}

// secured puts a TLS endpoint in front of instance 0, and gives its port.
func secured(t testing.TB, config *tls.Config) string {
	t.Helper()
	l, err := tls.Listen("tcp", "127.0.0.1:0", config)
	require.NoError(t, err)
	forward(t, l, sharedSet(t).Addr(0))
	_, port, err := net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)
	return port
}

func TestTLS(t *testing.T) {
	rs := sharedSet(t)
	ca, other := newAuthority(t), newAuthority(t)
	port := secured(t, &tls.Config{Certificates: []tls.Certificate{ca.issue(t, "localhost")}})
	byClient := secured(t, &tls.Config{
		Certificates: []tls.Certificate{ca.issue(t, "localhost")},
		ClientAuth:   tls.RequireAndVerifyClientCert,
		ClientCAs:    ca.pool(),
	})
	ca.issue(t, "client")

	trusted, strange := "tls_ca="+ca.file("ca.pem"), "tls_ca="+other.file("ca.pem")
	client := "tls_cert=" + ca.file("client.pem") + "&tls_key=" + ca.file("client.key")
	for _, c := range []struct {
		name, host string
		params     []string
		err        string
	}{
		{"verify-full", "localhost:" + port, []string{"tls=verify-full", trusted}, ""},
		{"true is verify-full", "localhost:" + port, []string{"tls=true", trusted}, ""},
		{"verify-full of another name", "127.0.0.1:" + port, []string{"tls=verify-full", trusted}, "certificate"},
		{"verify-full of a name that is given", "127.0.0.1:" + port, []string{"tls=verify-full", trusted, "tls_server_name=localhost"}, ""},
		{"verify-full of another name that is given", "localhost:" + port, []string{"tls=verify-full", trusted, "tls_server_name=other"}, "not other"},
		{"verify-full by another authority", "localhost:" + port, []string{"tls=verify-full", strange}, "unknown authority"},
		{"verify-full by the system's authorities", "localhost:" + port, []string{"tls=verify-full"}, "unknown authority"},
		{"verify-ca of another name", "127.0.0.1:" + port, []string{"tls=verify-ca", trusted}, ""},
		{"verify-ca by another authority", "localhost:" + port, []string{"tls=verify-ca", strange}, "unknown authority"},
		{"skip-verify", "127.0.0.1:" + port, []string{"tls=skip-verify"}, ""},
		{"a client's certificate", "localhost:" + byClient, []string{"tls=verify-full", trusted, client}, ""},
		{"no client's certificate", "localhost:" + byClient, []string{"tls=verify-full", trusted}, "certificate required"},
		{"TLS to a plain port", rs.Addr(0), []string{"tls=skip-verify"}, "is there TLS on this port?"},
		{"plain to a TLS port", "localhost:" + port, []string{"connect_timeout=1s"}, "connect_timeout"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			db, connector := openDSN(t, dsnOf([]string{c.host}, c.params...))
			if c.err == "" {
				assert.Equal(t, rs.UUID(0), served(t, t.Context(), db))
			} else {
				assert.ErrorContains(t, failure(t, connector), c.err)
			}
		})
	}
}

func TestATLSConfigOfCode(t *testing.T) {
	rs := sharedSet(t)
	ca := newAuthority(t)
	port := secured(t, &tls.Config{Certificates: []tls.Certificate{ca.issue(t, "localhost")}})
	config := &tls.Config{RootCAs: ca.pool()}
	for host, fails := range map[string]bool{"localhost": false, "127.0.0.1": true} {
		cfg := mustParse(t, dsnOf([]string{host + ":" + port}))
		cfg.TLS = config
		db, connector := openConfig(t, cfg)
		if fails {
			assert.ErrorContains(t, failure(t, connector), "certificate", "the host is the name to verify")
		} else {
			assert.Equal(t, rs.UUID(0), served(t, t.Context(), db))
		}
	}
	assert.Empty(t, config.ServerName, "the caller's Config is left as it was")
}

func TestTLSFilesThatCannotBeReadAreErrorsOfOpen(t *testing.T) {
	ca := newAuthority(t)
	ca.issue(t, "client")
	missing := filepath.Join(t.TempDir(), "missing.pem")
	empty := filepath.Join(t.TempDir(), "empty.pem")
	require.NoError(t, os.WriteFile(empty, nil, 0o600))
	for params, want := range map[string]string{
		"tls_ca=" + missing: "tls_ca: open " + missing,
		"tls_ca=" + empty:   "tls_ca: no certificate in PEM form",
		"tls_cert=" + ca.file("client.pem") + "&tls_key=" + missing:           "tls_cert: open " + missing,
		"tls_cert=" + ca.file("client.pem") + "&tls_key=" + ca.file("ca.pem"): "tls_cert: ",
	} {
		_, err := tntsql.NewConnector(mustParse(t, "tarantool://h/?tls=verify-full&"+params))
		require.Error(t, err)
		assert.True(t, strings.HasPrefix(err.Error(), "tntsql: Config: "+want), err)
	}
}
