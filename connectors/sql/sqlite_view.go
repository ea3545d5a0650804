package sql

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"

	"github.com/sluice-data/sluice/dataset"
)

// sqliteView is a set of connections whose read transactions see one state. SQLite cannot hand a snapshot from one connection to another,
// so they are begun together; more are added as long as nobody has committed since.
type sqliteView struct {
	db    *sqlite
	ref   dataset.FileRef
	state string // of the file, when the transactions began
	mu    struct {
		sync.Mutex
		free   []*sqliteConn
		all    []*sqliteConn
		back   chan struct{} // closed and renewed when a connection comes back
		closed bool
	}
}

var _ view = (*sqliteView)(nil)

// openTries is how often the connections of a view are begun anew because somebody committed in between.
const openTries = 200

func (s *sqlite) open(ctx context.Context) (view, error) {
	for try := 1; ; try++ {
		v := &sqliteView{db: s}
		v.mu.back = make(chan struct{})
		ok, err := v.begin(ctx)
		if ok && err == nil {
			return v, nil
		}
		err = errors.Join(err, v.close())
		if err != nil {
			return nil, err
		}
		if try == openTries {
			return nil, &dataset.TransientError{Err: fmt.Errorf("another program wrote to the database each of %d times that a consistent state of it was to be read; read a copy (VACUUM INTO 'copy.db')", openTries)}
		}
	}
}

// begin opens the connections; ok is false if they may see different states.
func (v *sqliteView) begin(ctx context.Context) (ok bool, err error) {
	before, err := v.db.state()
	if err != nil {
		return false, err
	}
	for range max(2, runtime.GOMAXPROCS(0)) {
		c, err := v.db.reading(ctx)
		if err != nil {
			return false, err
		}
		v.mu.all = append(v.mu.all, c)
	}
	st, err := os.Stat(v.db.path)
	if err != nil {
		return false, err
	}
	after, err := v.db.state()
	v.mu.free = append(v.mu.free, v.mu.all...)
	v.state, v.ref = after, dataset.FileRef{Size: st.Size(), ModTime: st.ModTime(), ETag: after}
	return before == after, err
}

// reading opens a connection in a read transaction.
func (s *sqlite) reading(ctx context.Context) (*sqliteConn, error) {
	c, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}
	if err = c.exec(ctx, "BEGIN"); err == nil {
		err = c.exec(ctx, "SELECT 1 FROM sqlite_schema LIMIT 1") // a transaction begins with its first read
	}
	if err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

// state sums up what tells one committed state of a database from another: the change counter of the header, and in write-ahead mode the
// salts of the log and the end of what is committed in it, as the index beside it says.
func (s *sqlite) state() (string, error) {
	head, err := readHead(s.path, 100)
	if err != nil {
		return "", err
	}
	if len(head) < 100 {
		return "empty", nil
	}
	out := fmt.Sprintf("%d", binary.BigEndian.Uint32(head[24:]))
	if head[19] != 2 { // no write-ahead mode
		return out, nil
	}
	index, err := readHead(s.path+"-shm", 48)
	if errors.Is(err, os.ErrNotExist) || err == nil && len(index) < 48 {
		return out, nil
	}
	return out + "-" + hex.EncodeToString(index[8:12]) + hex.EncodeToString(index[16:40]), err
}

// readHead reads the first bytes of a file.
func readHead(path string, n int) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	out := make([]byte, n)
	n, err = f.ReadAt(out, 0)
	if n > 0 || err != nil && err.Error() == "EOF" {
		err = nil
	}
	return out[:n], err
}

func (v *sqliteView) pin() dataset.FileRef { return v.ref }

// version implements view: pin says it all.
func (v *sqliteView) version() string { return "" }

func (v *sqliteView) lost(error) bool { return false }

func (v *sqliteView) close() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.mu.closed = true
	var err error
	for _, c := range v.mu.all {
		err = errors.Join(err, c.close())
	}
	v.mu.all, v.mu.free = nil, nil
	return err
}

// take lends a connection.
func (v *sqliteView) take(ctx context.Context, wait waiter) (*sqliteConn, error) {
	for {
		v.mu.Lock()
		if n := len(v.mu.free); n > 0 {
			c := v.mu.free[n-1]
			v.mu.free = v.mu.free[:n-1]
			v.mu.Unlock()
			return c, nil
		}
		back := v.mu.back
		v.mu.Unlock()
		c, err := v.another(ctx)
		if c != nil || err != nil {
			return c, err
		}
		err = wait("a connection that sees the state of the run", func() error {
			select {
			case <-back:
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		})
		if err != nil {
			return nil, err
		}
	}
}

// another opens one more connection; nil if the state has gone on.
func (v *sqliteView) another(ctx context.Context) (*sqliteConn, error) {
	c, err := v.db.reading(ctx)
	if err != nil {
		return nil, err
	}
	now, err := v.db.state()
	if err != nil || now != v.state {
		return nil, errors.Join(err, c.close())
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.mu.all = append(v.mu.all, c)
	return c, nil
}

func (v *sqliteView) give(c *sqliteConn) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.mu.closed {
		return
	}
	v.mu.free = append(v.mu.free, c)
	close(v.mu.back)
	v.mu.back = make(chan struct{})
}

// bounds implements view.
func (v *sqliteView) bounds(ctx context.Context, r *relation, target int64) (b bounds, err error) {
	b.bytes = v.ref.Size
	if r.key.scheme == byCount {
		return b, nil
	}
	c, err := v.take(ctx, func(_ string, fn func() error) error { return fn() })
	if err != nil {
		return b, err
	}
	defer v.give(c)
	if r.key.scheme == byText {
		return b, c.textBounds(ctx, r, &b, target)
	}
	for _, end := range []struct {
		name string
		into *int64
	}{{"min", &b.lo}, {"max", &b.hi}} { // one at a time, which an index answers at once
		var val any
		if err := c.row(ctx, "SELECT "+end.name+"("+r.key.expr+") FROM "+r.from, nil, &val); err != nil {
			return b, err
		}
		if val == nil {
			return b, c.nulls(ctx, r, &b)
		}
		n, ok := val.(int64)
		if !ok {
			return b, dataset.Usagef("by=%s: its %s is %v, no whole number; give another column", r.key.name, end.name, shortValue(val))
		}
		*end.into, b.any = n, true
	}
	return b, c.nulls(ctx, r, &b)
}

// nulls tells whether rows of a column that divides the work have no value in it, or one that is no whole number: they must not be lost.
func (c *sqliteConn) nulls(ctx context.Context, r *relation, b *bounds) error {
	if r.key.scheme != byRange {
		return nil
	}
	odd := ""
	err := c.row(ctx, "SELECT coalesce((SELECT typeof("+r.key.expr+") FROM "+r.from+" WHERE typeof("+r.key.expr+") NOT IN ('integer', 'null') LIMIT 1), '')", nil, &odd)
	if err == nil && odd != "" {
		return dataset.Usagef("by=%s: some of its values are of type %s, no whole numbers; give another column", r.key.name, strings.ToUpper(odd))
	}
	if err != nil {
		return err
	}
	return c.row(ctx, "SELECT EXISTS (SELECT 1 FROM "+r.from+" WHERE "+r.key.expr+" IS NULL)", nil, &b.nulls)
}

// textBounds finds values that divide a column of texts evenly.
func (c *sqliteConn) textBounds(ctx context.Context, r *relation, b *bounds, target int64) error {
	if err := c.row(ctx, "SELECT EXISTS (SELECT 1 FROM "+r.from+" WHERE "+r.key.expr+" IS NULL)", nil, &b.nulls); err != nil {
		return err
	}
	n := int64(b.quantiles(target))
	if n == 0 {
		return nil
	}
	texts := " FROM " + r.from + " WHERE typeof(" + r.key.expr + ") = 'text' AND " + r.key.expr + " <> ''"
	var count int64
	if err := c.row(ctx, "SELECT count(*)"+texts, nil, &count); err != nil {
		return err
	}
	out, err := c.texts(ctx, 1, "SELECT k FROM (SELECT "+r.key.expr+" AS k, row_number() OVER (ORDER BY "+r.key.expr+") AS n"+texts+") WHERE n % ?1 = 0 ORDER BY n",
		max(count/(n+1), 1))
	for _, row := range out {
		b.texts = append(b.texts, row[0])
	}
	return err
}

// rows implements view.
func (v *sqliteView) rows(ctx context.Context, wait waiter, s scan) (rows, error) {
	c, err := v.take(ctx, wait)
	if err != nil {
		return nil, err
	}
	sql, args, keyed := s.query(v.db)
	out, err := newSQLiteRows(ctx, c, s, sql, args, keyed)
	if err != nil {
		v.give(c)
		return nil, err
	}
	out.done = func() { v.give(c) }
	return out, nil
}
