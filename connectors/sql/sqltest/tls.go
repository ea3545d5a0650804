//go:build linux

package sqltest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// TLS makes the server offer TLS, with a certificate for 127.0.0.1, and writes the certificate that vouches for it to a file.
func (s *Server) TLS(ctx context.Context, root string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	cert := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "sluice test"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	raw, err := x509.CreateCertificate(rand.Reader, cert, cert, &key.PublicKey, key)
	if err != nil {
		return err
	}
	keyRaw, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw})
	keyPEM := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyRaw})
	certFile, keyFile := filepath.Join(s.data(), "test.crt"), filepath.Join(s.data(), "test.key")
	err = errors.Join(os.WriteFile(root, certPEM, 0o600), os.WriteFile(certFile, certPEM, 0o644), os.WriteFile(keyFile, keyPEM, 0o600)) //nolint:gosec // the server reads it as another user
	if s.cred != nil && err == nil {
		err = os.Chown(keyFile, int(s.cred.Uid), int(s.cred.Gid))
	}
	for _, set := range []string{"ssl_cert_file = 'test.crt'", "ssl_key_file = 'test.key'", "ssl = on"} {
		if err == nil {
			err = s.Exec(ctx, "postgres", "ALTER SYSTEM SET "+set)
		}
	}
	if err != nil {
		return err
	}
	return s.Exec(ctx, "postgres", "SELECT pg_reload_conf()")
}
