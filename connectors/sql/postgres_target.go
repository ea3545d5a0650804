package sql

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/sluice-data/sluice/dataset"
)

// pgSink writes a table of PostgreSQL. Each part is copied into a staging table of its own, in a transaction that ends with the part's Commit.
type pgSink struct {
	tableSink
	db    *postgres
	found struct {
		sync.Mutex
		at    *pgPlace
		store *pgStorage
	}
}

var (
	_ dataset.Target    = (*pgSink)(nil)
	_ dataset.Rehearser = (*pgSink)(nil)
)

// pgPlace is where a table is, or is going to be.
type pgPlace struct{ schema, name string }

func (p pgPlace) table() string { return quote(p.schema) + "." + quote(p.name) }

func (p pgPlace) beside(name string) string { return quote(p.schema) + "." + quote(name) }

// stages begins the names of all staging tables of the table.
func (p pgPlace) stages() string {
	return fmt.Sprintf("_sluice_%08x_", crc32.ChecksumIEEE([]byte(p.name)))
}

// stagePrefix begins the names of the staging tables of a run.
func (p pgPlace) stagePrefix(run string) string { return p.stages() + run + "_" }

func newPgSink(a address, opt SinkOptions) (*pgSink, error) {
	db, err := newPostgres(a.conn)
	if err != nil {
		return nil, err
	}
	s := &pgSink{tableSink: tableSink{opt: opt, shown: selection{table: opt.Table}.shownAs(a.shown)}, db: db}
	s.begin, s.holds, s.published = s.open, s.hasRows, s.noted
	return s, nil
}

// Name implements dataset.Sink.
func (s *pgSink) Name() string { return postgresScheme }

// Check implements dataset.Sink.
func (s *pgSink) Check(in *arrow.Schema) error {
	for _, f := range in.Fields() {
		if len(f.Name) > 63 {
			return dataset.Usagef("column %q has a name of %d bytes, over the 63 that PostgreSQL keeps; rename it", f.Name, len(f.Name))
		}
	}
	return s.opt.check(in, pgTypeName)
}

// place finds out where the table is: as SQL reads its name, else as it is written.
func (s *pgSink) place(ctx context.Context) (pgPlace, error) {
	s.found.Lock()
	defer s.found.Unlock()
	if s.found.at != nil {
		return *s.found.at, nil
	}
	c, err := s.db.connect(ctx)
	if err != nil {
		return pgPlace{}, fmt.Errorf("write %s: %w", s.shown, err)
	}
	at, err := findPlace(ctx, c, s.opt.Table)
	if err = errors.Join(err, hangUp(c)); err != nil {
		return pgPlace{}, fmt.Errorf("write %s: %w", s.shown, err)
	}
	s.found.at = &at
	return at, nil
}

func findPlace(ctx context.Context, c *pgconn.PgConn, name string) (pgPlace, error) {
	out, err := pgText(ctx, c, "SELECT unnest(parse_ident($1))", name)
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok && strings.HasPrefix(pg.Code, "22") {
		out, err = pgText(ctx, c, "SELECT unnest(parse_ident($1))", quoteParts(name)) // no name as SQL writes it
	}
	if err != nil {
		return pgPlace{}, err
	}
	switch len(out) {
	case 2:
		return pgPlace{out[0][0], out[1][0]}, nil
	case 1:
	default:
		return pgPlace{}, dataset.Usagef("table=%s: write name or schema.name", name)
	}
	name = out[0][0]
	out, err = pgText(ctx, c, "SELECT coalesce((SELECT n.nspname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = to_regclass($1)), current_schema())", quote(name))
	if err != nil {
		return pgPlace{}, err
	}
	if out[0][0] == "" {
		return pgPlace{}, dataset.Usagef("table=%s: no schema of the search path exists; name one: schema.%s", name, name)
	}
	return pgPlace{out[0][0], name}, nil
}

// Locator implements dataset.Target.
func (s *pgSink) Locator() string { return s.shown }

// State implements dataset.Target: a table beside the one that is written.
func (s *pgSink) State(ctx context.Context) (dataset.Storage, error) {
	store, err := s.state(ctx)
	if err != nil {
		return nil, err
	}
	return guarded{store, &s.publisher}, nil
}

func (s *pgSink) state(ctx context.Context) (*pgStorage, error) {
	at, err := s.place(ctx)
	if err != nil {
		return nil, err
	}
	s.found.Lock()
	defer s.found.Unlock()
	if s.found.store == nil {
		s.found.store = newPgStorage(s.db, at, s.shown)
	}
	return s.found.store, nil
}

// look runs a query on a connection of its own. A table that is not there gives no rows.
func (s *pgSink) look(ctx context.Context, sql string, args ...string) (out [][]string, err error) {
	c, err := s.db.connect(ctx)
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", s.shown, err)
	}
	defer func() { err = errors.Join(err, hangUp(c)) }()
	out, err = pgText(ctx, c, sql, args...)
	if noTable(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", s.shown, err)
	}
	return out, nil
}

func noTable(err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (pg.Code == "42P01" || pg.Code == "3F000")
}

// hasRows is holds of tableSink.
func (s *pgSink) hasRows(ctx context.Context) (bool, error) {
	at, err := s.place(ctx)
	if err != nil {
		return false, err
	}
	out, err := s.look(ctx, "SELECT 1 FROM "+at.table()+" LIMIT 1")
	return len(out) > 0, err
}

// noted is published of tableSink.
func (s *pgSink) noted(ctx context.Context) (map[string]bool, error) {
	at, err := s.place(ctx)
	if err != nil {
		return nil, err
	}
	out, err := s.look(ctx, "SELECT part FROM "+at.beside(partsTable)+" WHERE target = $1", at.name)
	if err != nil {
		return nil, err
	}
	done := map[string]bool{}
	for _, row := range out {
		done[row[0]] = true
	}
	return done, nil
}

// Discard implements dataset.Target.
func (s *pgSink) Discard(ctx context.Context, run string) error {
	if err := s.publisher.release(); err != nil {
		return err
	}
	return s.sweep(ctx, run, nil)
}

// sweep drops the staging tables of a run but those to keep.
func (s *pgSink) sweep(ctx context.Context, run string, keep []string) error {
	staged, at, err := s.staged(ctx, run)
	if err != nil {
		return err
	}
	for _, name := range staged {
		if !slices.Contains(keep, name) {
			if _, err := s.look(ctx, "DROP TABLE IF EXISTS "+at.beside(name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// staged lists the staging tables of a run.
func (s *pgSink) staged(ctx context.Context, run string) (names []string, at pgPlace, err error) {
	if at, err = s.place(ctx); err != nil {
		return nil, at, err
	}
	out, err := s.look(ctx, "SELECT tablename FROM pg_tables WHERE schemaname = $1 AND starts_with(tablename::text, $2)", at.schema, at.stagePrefix(run))
	for _, row := range out {
		names = append(names, row[0])
	}
	return names, at, err
}

// Restage implements commit.Restager.
func (s *pgSink) Restage(ctx context.Context, run string, committed []dataset.Receipt) (missing []dataset.Receipt, err error) {
	staged, _, err := s.staged(ctx, run)
	if err != nil {
		return nil, err
	}
	var keep []string
	for _, r := range committed {
		d, err := pgReceiptOf(r)
		switch {
		case err != nil:
			return nil, err
		case slices.Contains(staged, d.Stage):
			keep = append(keep, d.Stage)
		default:
			missing = append(missing, r)
		}
	}
	if len(missing) > 0 {
		return missing, nil
	}
	return nil, s.sweep(ctx, run, keep)
}
