package faults

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"time"
)

// authority signs certificates, and writes them to files as DSNs name them.
type authority struct {
	directory string
	key       *ecdsa.PrivateKey
	cert      *x509.Certificate
}

func newAuthority(directory, name string) (*authority, error) {
	a := &authority{directory: directory}
	template := &x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign, NotAfter: time.Now().Add(time.Hour)}
	_, err := a.sign(name, template)
	return a, err
}

// sign makes a key and a certificate, by itself if there is none yet, and writes both.
func (a *authority) sign(name string, template *x509.Certificate) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template.SerialNumber = big.NewInt(time.Now().UnixNano())
	template.Subject = pkix.Name{CommonName: name}
	template.NotBefore = time.Now().Add(-2 * time.Hour)
	parent, by := a.cert, a.key
	if parent == nil {
		parent, by = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, by)
	if err != nil {
		return tls.Certificate{}, err
	}
	if a.cert == nil {
		a.key = key
		if a.cert, err = x509.ParseCertificate(der); err != nil {
			return tls.Certificate{}, err
		}
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return tls.Certificate{}, err
	}
	for file, block := range map[string]*pem.Block{
		a.file(name + ".pem"): {Type: "CERTIFICATE", Bytes: der},
		a.file(name + ".key"): {Type: "PRIVATE KEY", Bytes: private},
	} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			return tls.Certificate{}, err
		}
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}

// issue makes a certificate of a host, or of a client, until a time.
func (a *authority) issue(name, host string, until time.Time) (tls.Certificate, error) {
	return a.sign(name, &x509.Certificate{
		DNSNames:    []string{host},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		NotAfter:    until,
	})
}

func (a *authority) file(name string) string { return filepath.Join(a.directory, name) }

func (a *authority) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}
