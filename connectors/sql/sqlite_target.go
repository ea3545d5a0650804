package sql

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/connectors/arrowipc"
	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/dataset"
)

// sqliteSink writes a table of a SQLite database. Parts are staged as Arrow files beside the database, so that any number can be written at
// once and the database is locked only while they are published.
type sqliteSink struct {
	tableSink
	path  string // absolute
	stage *file.Sink
}

var (
	_ dataset.Target    = (*sqliteSink)(nil)
	_ dataset.Rehearser = (*sqliteSink)(nil)
)

// stateFolder is where the state of the result in a table is kept: .name.db.sluice/table/ beside the database.
func stateFolder(path, table string) string {
	return filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".sluice", url.PathEscape(bare(table))) + "/"
}

func newSQLiteSink(a address, opt SinkOptions) (*sqliteSink, error) {
	db, err := newSQLite(a.conn)
	if err != nil {
		return nil, err
	}
	format, err := arrowipc.NewFormat(arrowipc.WriteOptions{BatchBytes: 4 << 20})
	if err != nil {
		return nil, err
	}
	s := &sqliteSink{tableSink: tableSink{opt: opt, shown: a.shown + "?table=" + opt.Table}, path: db.path}
	if s.stage, err = file.NewSink(stateFolder(db.path, opt.Table), format, file.Layout{}); err != nil {
		return nil, err
	}
	s.begin, s.holds, s.published = s.open, s.hasRows, s.noted
	return s, nil
}

// Name implements dataset.Sink.
func (s *sqliteSink) Name() string { return sqliteScheme }

// Check implements dataset.Sink.
func (s *sqliteSink) Check(in *arrow.Schema) error {
	if err := s.opt.check(in, sqliteType); err != nil {
		return err
	}
	return s.stage.Check(in)
}

// NewWriter implements dataset.Sink. That the table takes the columns is looked at early.
func (s *sqliteSink) NewWriter(ctx context.Context, rt dataset.Runtime, part dataset.Part, in *arrow.Schema) (dataset.Writer, error) {
	if err := s.fits(ctx, in); err != nil {
		return nil, err
	}
	return s.stage.NewWriter(ctx, rt, part, in)
}

// fits checks that a table which exists has the columns.
func (s *sqliteSink) fits(ctx context.Context, in *arrow.Schema) error {
	have, err := s.columns(ctx)
	if err != nil || have == nil {
		return err
	}
	for _, f := range in.Fields() {
		if !have[f.Name] {
			return fmt.Errorf("write %s: the table has no column %q; add it (ALTER TABLE), or leave it out with select or drop", s.shown, f.Name)
		}
	}
	return nil
}

// looking opens the database for a look; nil if there is none.
func (s *sqliteSink) looking(ctx context.Context) (*sqliteConn, error) {
	if st, err := os.Stat(s.path); errors.Is(err, os.ErrNotExist) || err == nil && st.Size() == 0 {
		return nil, nil
	}
	db := sqlite{s.path}
	c, err := db.connect(ctx)
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", s.shown, err)
	}
	return c, nil
}

// columns are those of the table; nil if there is none.
func (s *sqliteSink) columns(ctx context.Context) (have map[string]bool, err error) {
	c, err := s.looking(ctx)
	if c == nil || err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	out, err := c.texts(ctx, 1, `SELECT name FROM pragma_table_info(?1)`, bare(s.opt.Table))
	for _, row := range out {
		if have == nil {
			have = map[string]bool{}
		}
		have[row[0]] = true
	}
	return have, err
}

// hasRows is holds of tableSink.
func (s *sqliteSink) hasRows(ctx context.Context) (rows bool, err error) {
	c, err := s.looking(ctx)
	if c == nil || err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	table := bare(s.opt.Table)
	if err := c.row(ctx, `SELECT EXISTS (SELECT 1 FROM pragma_table_info(?1))`, []any{table}, &rows); err != nil || !rows {
		return false, err
	}
	err = c.row(ctx, "SELECT EXISTS (SELECT 1 FROM "+quote(table)+")", nil, &rows)
	return rows, err
}

// Locator implements dataset.Target.
func (s *sqliteSink) Locator() string {
	return sqliteScheme + "://" + filepath.ToSlash(s.path) + "?table=" + s.opt.Table
}

// State implements dataset.Target.
func (s *sqliteSink) State(ctx context.Context) (dataset.Storage, error) {
	store, err := s.stage.State(ctx)
	if err != nil {
		return nil, err
	}
	return guarded{store, &s.publisher}, nil
}

// noted is published of tableSink.
func (s *sqliteSink) noted(ctx context.Context) (done map[string]bool, err error) {
	c, err := s.looking(ctx)
	if c == nil || err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	return c.published(ctx, bare(s.opt.Table))
}

// Discard implements dataset.Target.
func (s *sqliteSink) Discard(ctx context.Context, run string) error {
	return errors.Join(s.publisher.release(), s.stage.Discard(ctx, run))
}

// Restage implements commit.Restager.
func (s *sqliteSink) Restage(ctx context.Context, run string, committed []dataset.Receipt) (missing []dataset.Receipt, err error) {
	return s.stage.Restage(ctx, run, committed)
}

// SpillDir implements dataset.SpillPlace.
func (s *sqliteSink) SpillDir() string { return stateFolder(s.path, s.opt.Table) + "_sluice" }
