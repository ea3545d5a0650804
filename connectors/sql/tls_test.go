package sql

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluice-data/sluice/connectors/connectortest"
	"github.com/sluice-data/sluice/dataset"
)

const selectTLS = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()"

// tlsRows reads whether the connection of a URL is encrypted.
func tlsRows(t *testing.T, url string) (string, error) {
	t.Helper()
	src, err := openPostgres(t.Context(), []dataset.Pattern{{Text: url}}, &Options{Query: selectTLS})
	if err != nil {
		return "", err
	}
	if _, err := src.Schema(t.Context()); err != nil {
		return "", err
	}
	rows := connectortest.ReadAll(t, src, connectortest.NewRuntime(t))
	if len(rows) != 1 {
		return "", fmt.Errorf("%d rows", len(rows))
	}
	return strings.TrimSpace(rows[0].Values), nil
}

// TestPostgresTLS reads over TLS, with and without looking at the server's certificate, and says what is wrong with one that nobody vouches for.
func TestPostgresTLS(t *testing.T) {
	_, url := pgDatabase(t)
	dir := t.TempDir()
	root := filepath.Join(dir, "root.crt")
	noError(t, server.TLS(t.Context(), root))
	for deadline := time.Now().Add(20 * time.Second); ; { // the server reads its configuration when it gets to it
		if got, err := tlsRows(t, url+"?sslmode=require"); err == nil && got == `ssl="true"` {
			break
		} else if time.Now().After(deadline) {
			t.Fatalf("sslmode=require: %q, %v", got, err)
		}
	}
	other := filepath.Join(dir, "other.crt")
	noError(t, os.WriteFile(other, []byte(strangerCert), 0o600))
	named := strings.Replace(url, "127.0.0.1", "localhost", 1)
	for _, c := range []struct {
		url, want string
		words     []string
	}{
		{url + "?sslmode=disable", `ssl="false"`, nil},
		{url + "?sslmode=prefer", `ssl="true"`, nil},
		{url + "?sslmode=verify-ca&sslrootcert=" + root, `ssl="true"`, nil},
		{url + "?sslmode=verify-full&sslrootcert=" + root, `ssl="true"`, nil},
		{named + "?sslmode=verify-full&sslrootcert=" + root, "", []string{"certificate", "localhost", "sslmode=verify-ca"}},
		{url + "?sslmode=verify-full&sslrootcert=" + other, "", []string{"certificate", "sslrootcert="}},
		{url + "?sslmode=verify-full&sslrootcert=" + filepath.Join(dir, "gone.crt"), "", []string{"gone.crt"}},
		{url + "?sslmode=sometimes", "", []string{"sslmode"}},
	} {
		got, err := tlsRows(t, c.url)
		if got != c.want || (err != nil) != (c.words != nil) {
			t.Errorf("%s: %q, error %v, want %q", c.url, got, err, c.want)
		}
		for _, w := range c.words {
			if err != nil && !strings.Contains(err.Error(), w) {
				t.Errorf("%s: error %q does not say %q", c.url, err, w)
			}
		}
	}
}

// TestPostgresServiceFile takes host, port, user and database from a service file, and the password from a password file.
func TestPostgresServiceFile(t *testing.T) {
	name, _ := pgDatabase(t)
	pgExec(t, name, `DO $$ BEGIN CREATE ROLE secret LOGIN PASSWORD 'geheim'; EXCEPTION WHEN duplicate_object THEN ALTER ROLE secret PASSWORD 'geheim'; END $$;
		CREATE TABLE t (id int PRIMARY KEY); INSERT INTO t VALUES (1), (2); GRANT SELECT ON t TO secret`)
	t.Cleanup(func() { // another test may have made it, whose database then still names it
		_ = server.Exec(context.Background(), name, "DROP OWNED BY secret; DROP ROLE secret")
	})
	dir := t.TempDir()
	service, pass := filepath.Join(dir, "services.conf"), filepath.Join(dir, "pass")
	noError(t, os.WriteFile(service, fmt.Appendf(nil, "# a comment\n[other]\nhost=nowhere\n\n[shop]\nhost=127.0.0.1\nport=%d\nuser=secret\ndbname=%s\n", server.Port, name), 0o600),
		os.WriteFile(pass, fmt.Appendf(nil, "127.0.0.1:%d:*:secret:geheim\n", server.Port), 0o600))
	t.Setenv("PGSERVICEFILE", service)
	t.Setenv("PGPASSFILE", pass)
	src := pgSource(t, "postgres:///?service=shop&table=t", Options{})
	rows := connectortest.ReadAll(t, src, connectortest.NewRuntime(t))
	if len(rows) != 2 || strings.Contains(rows[0].Path, "geheim") || !strings.Contains(rows[0].Path, "service=shop") {
		t.Errorf("rows %v", rows)
	}
	if _, err := openPostgres(t.Context(), []dataset.Pattern{{Text: "postgres:///?service=shopp&table=t"}}, &Options{}); err == nil || !strings.Contains(err.Error(), "shopp") {
		t.Errorf("an unknown service: %v", err)
	}
	t.Setenv("PGSERVICEFILE", filepath.Join(dir, "gone.conf"))
	if _, err := openPostgres(t.Context(), []dataset.Pattern{{Text: "postgres:///?service=shop&table=t"}}, &Options{}); err == nil || !strings.Contains(err.Error(), "gone.conf") {
		t.Errorf("no service file: %v", err)
	}
}

// strangerCert vouches for nobody here.
const strangerCert = `-----BEGIN CERTIFICATE-----
MIIBfDCCASOgAwIBAgIUa/oVzqga43JzeNtL6FurRKvwyNMwCgYIKoZIzj0EAwIw
EzERMA8GA1UEAwwIc3RyYW5nZXIwIBcNMjYxMTMwMDY0MDU3WhgPMjEyNjExMDYw
NjQwNTdaMBMxETAPBgNVBAMMCHN0cmFuZ2VyMFkwEwYHKoZIzj0CAQYIKoZIzj0D
AQcDQgAExzTe1N1Nud8F0Ly5wNl0EU1EKwXF67MpDMktmmrOAJJ/DsStEea3wDDm
bU7mtn80YhNHkZ12HYl8DU+7ZNcpdqNTMFEwHQYDVR0OBBYEFGqDqQKzldXSVw77
Awcwqu6Fkh3YMB8GA1UdIwQYMBaAFGqDqQKzldXSVw77Awcwqu6Fkh3YMA8GA1Ud
EwEB/wQFMAMBAf8wCgYIKoZIzj0EAwIDRwAwRAIgX552LstCIVwwly9Bvl5w1SfX
BmT5V95N2NEQlZgrM2ACIC0xG6fTMppiiFw85gZysNgHmc5+QL6EqGvl//nzPGKd
-----END CERTIFICATE-----
`
