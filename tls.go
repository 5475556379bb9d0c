package tntsql

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
)

// tlsConfig returns what the TLS fields say, nil for no TLS. The server's name
// is left to be set for each connection, unless it is fixed.
func (c *Config) tlsConfig() (*tls.Config, error) {
	if c.TLS != nil {
		return c.TLS.Clone(), nil
	}
	if c.TLSMode == TLSDisable {
		return nil, nil
	}
	t := &tls.Config{ServerName: c.TLSServerName, MinVersion: tls.VersionTLS12}
	if c.TLSCA != "" {
		pool, err := readCA(c.TLSCA)
		if err != nil {
			return nil, fmt.Errorf("tntsql: Config: tls_ca: %w", err)
		}
		t.RootCAs = pool
	}
	if c.TLSCert != "" {
		pair, err := tls.LoadX509KeyPair(c.TLSCert, c.TLSKey)
		if err != nil {
			return nil, fmt.Errorf("tntsql: Config: tls_cert: %w", err)
		}
		t.Certificates = []tls.Certificate{pair}
	}
	switch c.TLSMode {
	case TLSSkipVerify:
		t.InsecureSkipVerify = true
	case TLSVerifyCA:
		// crypto/tls verifies the chain and the name together, so both
		// are turned off and the chain is verified here.
		t.InsecureSkipVerify = true
		t.VerifyConnection = func(state tls.ConnectionState) error { return verifyChain(state, t.RootCAs) }
	}
	return t, nil
}

func readCA(file string) (*x509.CertPool, error) {
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, errors.New("no certificate in PEM form in the file")
	}
	return pool, nil
}

func verifyChain(state tls.ConnectionState, roots *x509.CertPool) error {
	options := x509.VerifyOptions{Roots: roots, Intermediates: x509.NewCertPool()}
	for _, c := range state.PeerCertificates[1:] {
		options.Intermediates.AddCert(c)
	}
	_, err := state.PeerCertificates[0].Verify(options)
	return err
}
