package sql

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/sluice-data/sluice/dataset"
)

// stateTable keeps the state of results in the tables of a schema.
const stateTable = "_sluice_state"

const makeState = `CREATE TABLE IF NOT EXISTS %s (target text NOT NULL, name text NOT NULL, seq bigint NOT NULL, data bytea NOT NULL, PRIMARY KEY (target, name, seq))`

// lockName is the row with the holder of the lock and a token by which a publication knows that it is still held.
const lockName = "lock"

// pgStorage is dataset.Storage in a table. While the lock is held everything goes through the connection that holds it, so that a run whose
// lock was lost with its connection writes nothing more.
type pgStorage struct {
	db    *postgres
	at    pgPlace
	shown string
	mu    struct {
		sync.Mutex
		conn  *pgconn.PgConn // of the lock
		token string         // "" while it is not held
	}
}

var _ dataset.Storage = (*pgStorage)(nil)

func newPgStorage(db *postgres, at pgPlace, shown string) *pgStorage {
	return &pgStorage{db: db, at: at, shown: shown}
}

func (s *pgStorage) table() string { return s.at.beside(stateTable) }

// errLockLost says that the connection which held the lock is gone.
var errLockLost = errors.New("the connection that held the lock of the result was lost; run the same command again to go on")

// do runs a statement with the lock's connection, or with one for it alone.
func (s *pgStorage) do(ctx context.Context, sql string, args ...[]byte) (out *pgconn.Result, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.mu.conn
	if c == nil {
		if c, err = s.db.connect(ctx); err != nil {
			return nil, s.named(err)
		}
		defer func() { err = errors.Join(err, hangUp(c)) }()
	} else if c.IsClosed() {
		return nil, s.named(errLockLost)
	}
	formats := make([]int16, len(args))
	for i := range formats {
		formats[i] = 1
	}
	out = c.ExecParams(ctx, sql, args, nil, formats, []int16{1}).Read()
	if out.Err != nil {
		if noTable(out.Err) {
			return &pgconn.Result{}, nil
		}
		return nil, s.named(pgError(out.Err))
	}
	return out, nil
}

func (s *pgStorage) named(err error) error { return fmt.Errorf("state of %s: %w", s.shown, err) }

// Read implements dataset.Storage.
func (s *pgStorage) Read(ctx context.Context, name string) ([]byte, error) {
	out, err := s.do(ctx, "SELECT data FROM "+s.table()+" WHERE target = $1::text AND name = $2::text ORDER BY seq", []byte(s.at.name), []byte(name))
	if err != nil {
		return nil, err
	}
	if len(out.Rows) == 0 {
		return nil, &fs.PathError{Op: "read", Path: s.shown + " " + name, Err: fs.ErrNotExist}
	}
	var data []byte
	for _, row := range out.Rows {
		data = append(data, row[0]...)
	}
	return data, nil
}

// Create implements dataset.Storage.
func (s *pgStorage) Create(ctx context.Context, name string, data []byte) error {
	_, err := s.do(ctx, "INSERT INTO "+s.table()+" VALUES ($1::text, $2::text, 0, $3::bytea)", []byte(s.at.name), []byte(name), some(data))
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok && pg.Code == "23505" {
		return &fs.PathError{Op: "create", Path: s.shown + " " + name, Err: fs.ErrExist}
	}
	return err
}

// some is data that is not null.
func some(data []byte) []byte {
	if data == nil {
		return []byte{}
	}
	return data
}

// Replace implements dataset.Storage.
func (s *pgStorage) Replace(ctx context.Context, name string, data []byte) error {
	_, err := s.do(ctx, "INSERT INTO "+s.table()+" VALUES ($1::text, $2::text, 0, $3::bytea) ON CONFLICT (target, name, seq) DO UPDATE SET data = excluded.data",
		[]byte(s.at.name), []byte(name), some(data))
	return err
}

// stageFolder is under which staging tables show in the state, so that whoever cleans up behind a killed run finds them.
const stageFolder = "/stage/"

// List implements dataset.Storage.
func (s *pgStorage) List(ctx context.Context, prefix string) (names []string, err error) {
	if prefix != "" {
		prefix += "/"
	}
	out, err := s.do(ctx, "SELECT DISTINCT name COLLATE \"C\" AS n FROM "+s.table()+" WHERE target = $1::text AND starts_with(name, $2::text) AND name <> '"+lockName+"' ORDER BY n",
		[]byte(s.at.name), []byte(prefix))
	if err != nil {
		return nil, err
	}
	for _, row := range out.Rows {
		names = append(names, string(row[0]))
	}
	out, err = s.do(ctx, "SELECT tablename::text FROM pg_tables WHERE schemaname = $1::text AND starts_with(tablename::text, $2::text)",
		[]byte(s.at.schema), []byte(s.at.stages()))
	if err != nil {
		return nil, err
	}
	for _, row := range out.Rows {
		table := string(row[0])
		run, _, _ := strings.Cut(strings.TrimPrefix(table, s.at.stages()), "_")
		if name := run + stageFolder + table; strings.HasPrefix(name, prefix) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// Remove implements dataset.Storage.
func (s *pgStorage) Remove(ctx context.Context, name string) error {
	if _, table, ok := strings.Cut(name, stageFolder); ok && strings.HasPrefix(table, "_sluice_") {
		_, err := s.do(ctx, "DROP TABLE IF EXISTS "+s.at.beside(table))
		return err
	}
	_, err := s.do(ctx, "DELETE FROM "+s.table()+" WHERE target = $1::text AND name = $2::text", []byte(s.at.name), []byte(name))
	return err
}

// Append implements dataset.Storage: each Sync adds a row.
func (s *pgStorage) Append(_ context.Context, name string) (dataset.Log, error) {
	return &pgLog{store: s, name: name}, nil
}

// pgLog is a log of pgStorage.
type pgLog struct {
	store  *pgStorage
	name   string
	buf    []byte
	failed error
}

// Append implements dataset.Log.
func (l *pgLog) Append(p []byte) error {
	l.buf = append(l.buf, p...)
	return l.failed
}

// Sync implements dataset.Log.
func (l *pgLog) Sync() error {
	if l.failed != nil || len(l.buf) == 0 {
		return l.failed
	}
	s := l.store
	_, l.failed = s.do(context.Background(), "INSERT INTO "+s.table()+" SELECT $1::text, $2::text, coalesce(max(seq), 0) + 1, $3::bytea FROM "+s.table()+" WHERE target = $1::text AND name = $2::text",
		[]byte(s.at.name), []byte(l.name), l.buf)
	l.buf = l.buf[:0]
	return l.failed
}

// Close implements dataset.Log.
func (l *pgLog) Close() error { return l.failed }

// Lock implements dataset.Storage with an advisory lock, which ends with its connection.
func (s *pgStorage) Lock(ctx context.Context, name string, owner []byte) (release func() error, err error) {
	c, err := s.db.connect(ctx)
	if err != nil {
		return nil, s.named(err)
	}
	if err := s.take(ctx, c, name, owner); err != nil {
		err = errors.Join(err, hangUp(c))
		if held, ok := errors.AsType[*dataset.LockedError](err); ok {
			return nil, held
		}
		return nil, s.named(err)
	}
	return func() error {
		_, err := s.do(context.Background(), "DELETE FROM "+s.table()+" WHERE target = $1::text AND name = '"+lockName+"'", []byte(s.at.name))
		s.mu.Lock()
		defer s.mu.Unlock()
		s.mu.conn, s.mu.token = nil, ""
		return errors.Join(err, hangUp(c))
	}, nil
}

func (s *pgStorage) take(ctx context.Context, c *pgconn.PgConn, name string, owner []byte) error {
	if err := pgRun(ctx, c, "SELECT set_config(name, '0', false) FROM pg_settings WHERE name IN ('idle_session_timeout', 'lock_timeout')"); err != nil {
		return err
	}
	if err := pgRun(ctx, c, "SET client_min_messages = error; "+fmt.Sprintf(makeState, s.table())); err != nil {
		return err
	}
	out, err := pgText(ctx, c, "SELECT pg_try_advisory_lock(hashtextextended($1, 0))", "sluice "+s.at.table()+" "+name)
	if err != nil {
		return err
	}
	if out[0][0] != "t" {
		held, err := pgText(ctx, c, "SELECT convert_from(data, 'UTF8') FROM "+s.table()+" WHERE target = $1 AND name = '"+lockName+"' AND seq = 1", s.at.name)
		if err != nil {
			return err
		}
		who := "another process"
		if len(held) > 0 {
			who = held[0][0]
		}
		return &dataset.LockedError{Name: "of " + s.shown, Owner: who}
	}
	token := rand.Text()
	if _, err := pgText(ctx, c, "INSERT INTO "+s.table()+" VALUES ($1, '"+lockName+"', 0, convert_to($2, 'UTF8')), ($1, '"+lockName+"', 1, convert_to($3, 'UTF8')) ON CONFLICT (target, name, seq) DO UPDATE SET data = excluded.data",
		s.at.name, token, string(owner)); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.conn, s.mu.token = c, token
	return nil
}

// fence fails, in the transaction of another connection, if the lock is not held any more, and keeps anyone from taking it until that
// transaction ends.
func (s *pgStorage) fence(ctx context.Context, c *pgconn.PgConn) error {
	s.mu.Lock()
	token := s.mu.token
	s.mu.Unlock()
	if token == "" { // of those who publish without a lock: tests
		return nil
	}
	out, err := pgText(ctx, c, "SELECT convert_from(data, 'UTF8') FROM "+s.table()+" WHERE target = $1 AND name = '"+lockName+"' AND seq = 0 FOR UPDATE", s.at.name)
	if err == nil && (len(out) == 0 || out[0][0] != token) {
		err = errLockLost
	}
	return err
}
