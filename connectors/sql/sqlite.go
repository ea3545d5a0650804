package sql

import (
	"context"
	stdsql "database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	sqlitedriver "modernc.org/sqlite"
	sqlitelib "modernc.org/sqlite/lib"

	"github.com/sluice-data/sluice/dataset"
)

// sqlite is one SQLite database, to be read.
type sqlite struct {
	path string // absolute, without links
}

var _ database = (*sqlite)(nil)

// busyTimeout is how long a lock of another program is waited for.
const busyTimeout = 15 * time.Second

// magic begins every database that is not empty.
const magic = "SQLite format 3\x00"

func newSQLite(path string) (*sqlite, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		abs = real
	}
	return &sqlite{abs}, nil
}

// sniff refuses what is no database before the driver says something less clear.
func (s *sqlite) sniff() error {
	f, err := os.Open(s.path)
	if err != nil {
		return err
	}
	defer f.Close()
	head := make([]byte, len(magic))
	n, err := f.Read(head)
	if n == 0 { // a database into which nothing was written yet
		return nil
	}
	if err != nil || string(head[:n]) != magic {
		return errors.New("it is no SQLite database (its first bytes are others), or it is encrypted")
	}
	return nil
}

// openSQLite opens a pool on a file, whose name may hold any character.
func openSQLite(path, mode string, pragmas ...string) (*stdsql.DB, error) {
	q := url.Values{"mode": {mode}, "_pragma": append([]string{fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds())}, pragmas...)}
	if mode == "immutable" {
		q.Set("mode", "ro")
		q.Set("immutable", "1")
	}
	dsn := "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + q.Encode()
	return stdsql.Open("sqlite", dsn)
}

// connect opens one connection for reading. A database in write-ahead mode on a medium that cannot be written is read as it lies, if
// nothing is waiting in its log.
func (s *sqlite) connect(ctx context.Context) (*sqliteConn, error) {
	if err := s.sniff(); err != nil {
		return nil, err
	}
	c, err := s.connectAs(ctx, "ro")
	if code(err) == sqlitelib.SQLITE_CANTOPEN || code(err) == sqlitelib.SQLITE_READONLY {
		if st, serr := os.Stat(s.path + "-wal"); serr != nil || st.Size() == 0 {
			return s.connectAs(ctx, "immutable")
		}
	}
	return c, err
}

func (s *sqlite) connectAs(ctx context.Context, mode string) (*sqliteConn, error) {
	db, err := openSQLite(s.path, mode, "query_only(1)")
	if err != nil {
		return nil, err
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, errors.Join(sqliteError(err), db.Close())
	}
	c := &sqliteConn{db: db, conn: conn}
	if err := c.exec(ctx, "SELECT 1 FROM sqlite_schema LIMIT 1"); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

// sqliteConn is one connection.
type sqliteConn struct {
	db   *stdsql.DB
	conn *stdsql.Conn
}

func (c *sqliteConn) close() error { return errors.Join(c.conn.Close(), c.db.Close()) }

func (c *sqliteConn) exec(ctx context.Context, sql string, args ...any) error {
	_, err := c.conn.ExecContext(ctx, sql, args...)
	return sqliteError(err)
}

// row runs a query of one row.
func (c *sqliteConn) row(ctx context.Context, sql string, args []any, into ...any) error {
	return sqliteError(c.conn.QueryRowContext(ctx, sql, args...).Scan(into...))
}

// texts runs a query whose rows are texts.
func (c *sqliteConn) texts(ctx context.Context, columns int, sql string, args ...any) (out [][]string, err error) {
	rows, err := c.conn.QueryContext(ctx, sql, args...)
	if err != nil {
		return nil, sqliteError(err)
	}
	defer func() { err = errors.Join(err, sqliteError(rows.Close())) }()
	for rows.Next() {
		vals, into := make([]stdsql.NullString, columns), make([]any, columns)
		for i := range vals {
			into[i] = &vals[i]
		}
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		row := make([]string, columns)
		for i, v := range vals {
			row[i] = v.String
		}
		out = append(out, row)
	}
	return out, sqliteError(rows.Err())
}

// raw gives the driver's own connection, whose rows cost a fraction of those of database/sql.
func (c *sqliteConn) raw(ctx context.Context, sql string, args []any) (rows driver.Rows, err error) {
	named := make([]driver.NamedValue, len(args))
	for i, a := range args {
		named[i] = driver.NamedValue{Ordinal: i + 1, Value: a}
	}
	err = c.conn.Raw(func(dc any) error {
		q, ok := dc.(driver.QueryerContext)
		if !ok {
			return fmt.Errorf("the driver's connection is a %T, which runs no queries", dc)
		}
		rows, err = q.QueryContext(ctx, sql, named)
		return err
	})
	return rows, sqliteError(err)
}

// code is the primary result code of an error of SQLite; 0 if it is none.
func code(err error) int {
	if e, ok := errors.AsType[*sqlitedriver.Error](err); ok {
		return e.Code() & 0xff
	}
	return 0
}

// sqliteError says what an error of the driver means.
func sqliteError(err error) error {
	switch code(err) {
	case 0:
		return err
	case sqlitelib.SQLITE_BUSY, sqlitelib.SQLITE_LOCKED:
		return &dataset.TransientError{Err: fmt.Errorf("another program holds a lock on the database for over %s: %w", busyTimeout, err), After: time.Second}
	case sqlitelib.SQLITE_CORRUPT, sqlitelib.SQLITE_NOTADB:
		return fmt.Errorf("the database is damaged (%w); PRAGMA integrity_check says where, .recover of the sqlite3 shell saves what can be read", err)
	case sqlitelib.SQLITE_FULL:
		return fmt.Errorf("the disk is full: %w", err)
	}
	return err
}

func (s *sqlite) param(n int, _ kind) string { return "?" + strconv.Itoa(n) }

func (s *sqlite) bound(v int64, _ kind) any { return v }

func (s *sqlite) binary() string { return " COLLATE BINARY" }

// selected implements dialect: an expression has no declared type, by which the driver would turn texts into times.
func (s *sqlite) selected(expr string) string { return "+" + expr }

func (s *sqlite) noLimit() string { return " LIMIT -1" }

// value implements dialect: booleans and times are kept in several forms, so conditions on them stay with the plan.
func (s *sqlite) value(v any, k kind) (any, bool) {
	switch v.(type) {
	case int64, float64:
		return v, k == kindInt || k == kindFloat
	case string:
		return v, k == kindText
	}
	return nil, false
}

// bare takes the quotes and the name of the main schema off the name of a table.
func bare(name string) string {
	name = strings.TrimPrefix(name, "main.")
	if len(name) > 1 && name[0] == '"' && name[len(name)-1] == '"' {
		return strings.ReplaceAll(name[1:len(name)-1], `""`, `"`)
	}
	return name
}
