package sql

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/sluice-data/sluice/dataset"
)

// errSnapshot is the failure to join the snapshot of a run: the connection that held it is gone.
var errSnapshot = errors.New("the snapshot of the run is gone")

// remedies say what to do about SQLSTATEs that people meet.
var remedies = map[string]string{
	"28P01": "set PGPASSWORD, or put the password into ~/.pgpass",
	"28000": "set PGUSER and PGPASSWORD, or look at the server's pg_hba.conf",
	"3D000": "psql -l lists the databases",
	"42501": "ask the owner for GRANT",
	"57014": "the server's statement_timeout ended it; raise it with ?options=-c%20statement_timeout=0, or make smaller pieces with split=",
	"53300": "the server's connections are all taken; use fewer workers with --workers, or raise its max_connections",
	"42P10": "upsert needs a unique index on the key: CREATE UNIQUE INDEX ON table (key)",
}

// pgError says what an error of the driver means: whether it may go away by itself, and what to do about it.
func pgError(err error) error {
	if err == nil {
		return nil
	}
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		text := pg.Message
		for _, more := range []string{pg.Detail, pg.Hint, remedies[pg.Code]} {
			if more != "" {
				text += "; " + more
			}
		}
		out := fmt.Errorf("%s (SQLSTATE %s)%w", text, pg.Code, silent{err})
		switch pg.Code {
		case "53300", "57P03":
			return &dataset.TransientError{Err: out, After: time.Second}
		case "57P01", "57P02", "57014", "40001", "40P01", "55P03":
			return &dataset.TransientError{Err: out}
		}
		if strings.HasPrefix(pg.Code, "08") {
			return &dataset.TransientError{Err: out}
		}
		return out
	}
	if errors.Is(err, context.Canceled) {
		return err
	}
	out := flat(err)
	if remedy := certificateRemedy(err); remedy != "" {
		return fmt.Errorf("%w; %s", out, remedy)
	}
	if strings.Contains(err.Error(), "message body length") {
		return fmt.Errorf("a row has more than %d MiB, the most that is read at once; leave out its large columns: %w", maxRowBytes>>20, out)
	}
	if lostConnection(err) {
		return &dataset.TransientError{Err: fmt.Errorf("the connection was lost: %w", out), After: 200 * time.Millisecond}
	}
	return out
}

// certificateRemedy says what to do about a certificate that was refused; "" if none was.
func certificateRemedy(err error) string {
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return "name the server as its certificate does, or pass ?sslmode=verify-ca, which does not look at the name"
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return "pass ?sslrootcert= with the file of the authority that signed the server's certificate"
	}
	return ""
}

// lostConnection tells failures of the network from those of the query.
func lostConnection(err error) bool {
	if _, ok := errors.AsType[net.Error](err); ok {
		return true
	}
	for _, e := range []error{io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.EPIPE, syscall.ENOENT} {
		if errors.Is(err, e) {
			return true
		}
	}
	return strings.Contains(err.Error(), "conn closed")
}

// flat makes one line of an error, which for connections has one for each address that was tried.
func flat(err error) error {
	s := strings.Join(strings.Fields(err.Error()), " ")
	return fmt.Errorf("%s%w", s, silent{err})
}

// silent keeps an error in the chain without saying it again.
type silent struct{ err error }

// Error implements error.
func (silent) Error() string { return "" }

// Unwrap returns the error.
func (s silent) Unwrap() error { return s.err }
