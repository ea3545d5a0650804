package sql

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"

	"go.uber.org/goleak"

	"github.com/sluice-data/sluice/connectors/sql/sqltest"
)

// server is the PostgreSQL server of the tests; nil if none is installed.
var server *sqltest.Server

func TestMain(m *testing.M) {
	if slices.Contains(os.Args, "-test.fuzzworker") { // fuzzing needs no server, and its workers are killed
		os.Exit(m.Run())
	}
	var err error
	if server, err = sqltest.Start(); err != nil && (!errors.Is(err, sqltest.ErrNone) || sqltest.Required()) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	if server != nil {
		if err := server.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// pgDatabase makes an empty database on the server, or skips the test where there is none.
func pgDatabase(t testing.TB) (name, url string) {
	t.Helper()
	if server == nil {
		t.Skip(sqltest.ErrNone)
	}
	name, err := server.Database(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return name, server.URL(name)
}

func pgExec(t testing.TB, name, statements string) {
	t.Helper()
	if err := server.Exec(t.Context(), name, statements); err != nil {
		t.Fatal(err)
	}
}
