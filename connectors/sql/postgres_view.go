package sql

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"
	"sync"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/zeebo/xxh3"

	"github.com/sluice-data/sluice/dataset"
)

// pgView is an exported snapshot: a transaction that does nothing but keep it for the transactions of the readers.
type pgView struct {
	db    *postgres
	id    string // of the snapshot; the server gives the same again after a restart
	state string // what it sees, and since when the server runs
	mu    struct {
		sync.Mutex
		conn   *pgconn.PgConn
		idle   []*pgconn.PgConn // of readers that came to their end; they see the snapshot
		closed bool
	}
}

var _ view = (*pgView)(nil)

const beginRead = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"

// selectState sums up what a snapshot sees.
const selectState = "txid_current_snapshot()::text || ' ' || pg_postmaster_start_time()::text"

func (p *postgres) open(ctx context.Context) (view, error) {
	c, err := p.connect(ctx)
	if err != nil {
		return nil, err
	}
	v := &pgView{db: p}
	v.mu.conn = c
	err = pgRun(ctx, c, beginRead)
	if err == nil {
		var out [][]string
		if out, err = pgText(ctx, c, "SELECT pg_export_snapshot(), "+selectState); err == nil {
			v.id, v.state = out[0][0], out[0][1]
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("export a snapshot: %w", err), hangUp(c))
	}
	return v, nil
}

// pin implements view: nothing tells cheaply whether a table is what it was.
func (v *pgView) pin() dataset.FileRef { return dataset.FileRef{} }

func (v *pgView) version() string { return fmt.Sprintf("%016x", xxh3.HashString(v.state)) }

func (v *pgView) lost(err error) bool { return errors.Is(err, errSnapshot) }

func (v *pgView) close() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.mu.closed = true
	for _, c := range v.mu.idle {
		_ = hangUp(c) // see there
	}
	v.mu.idle = nil
	return hangUp(v.mu.conn)
}

// mostIdle bounds the connections that are kept for the next reader.
const mostIdle = 8

// keep takes a connection whose query has ended well; it is hung up if nobody needs it.
func (v *pgView) keep(c *pgconn.PgConn) error {
	v.mu.Lock()
	if !v.mu.closed && len(v.mu.idle) < mostIdle {
		v.mu.idle = append(v.mu.idle, c)
		c = nil
	}
	v.mu.Unlock()
	if c == nil {
		return nil
	}
	return hangUp(c)
}

// conn gives a connection that sees the snapshot.
func (v *pgView) conn(ctx context.Context) (*pgconn.PgConn, error) {
	v.mu.Lock()
	if n := len(v.mu.idle); n > 0 {
		c := v.mu.idle[n-1]
		v.mu.idle = v.mu.idle[:n-1]
		v.mu.Unlock()
		return c, nil
	}
	v.mu.Unlock()
	c, err := v.db.connect(ctx)
	if err != nil {
		return nil, err
	}
	if err = v.join(ctx, c); err != nil {
		return nil, errors.Join(err, hangUp(c))
	}
	return c, nil
}

// pgPage is the usual size of a page.
const pgPage = 8192

// bounds implements view.
func (v *pgView) bounds(ctx context.Context, r *relation, target int64) (b bounds, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	c := v.mu.conn
	if c.IsClosed() {
		return b, &dataset.TransientError{Err: errSnapshot}
	}
	if r.table != "" {
		out, err := pgText(ctx, c, "SELECT pg_table_size($1::oid), pg_relation_size($1::oid)", r.table)
		if err != nil {
			return b, err
		}
		b.bytes, _ = strconv.ParseInt(out[0][0], 10, 64)
		if r.key.scheme == byPlace {
			heap, _ := strconv.ParseInt(out[0][1], 10, 64)
			pages := (heap + pgPage - 1) / pgPage // of other page sizes there are fewer: the last splits are empty
			b.any, b.hi = pages > 0, pages<<16-1
			return b, nil
		}
	}
	if r.key.scheme == byCount {
		return b, nil
	}
	if b.bytes == 0 { // of a query, a view, a table of partitions: what the planner takes them for
		if b.bytes, err = estimate(ctx, c, r); err != nil {
			return b, err
		}
	}
	if r.key.scheme == byText {
		return b, textBounds(ctx, c, r, &b, target)
	}
	nulls := "false"
	if r.key.scheme == byRange {
		nulls = "EXISTS (SELECT 1 FROM " + r.from + " WHERE " + r.key.expr + " IS NULL)"
	}
	res := c.ExecParams(ctx, "SELECT min("+r.key.expr+"), max("+r.key.expr+"), "+nulls+" FROM "+r.from, nil, nil, nil, []int16{1}).Read()
	if res.Err != nil {
		return b, pgError(res.Err)
	}
	row := res.Rows[0]
	b.nulls = row[2][0] != 0
	if row[0] == nil {
		return b, nil
	}
	b.any = true
	if b.lo, err = pgKey(row[0], r.key.kind); err == nil {
		b.hi, err = pgKey(row[1], r.key.kind)
	}
	return b, err
}

// pgKey reads a key in binary form.
func pgKey(raw []byte, k kind) (int64, error) {
	switch {
	case len(raw) == 6 && k == kindPlace:
		return int64(binary.BigEndian.Uint32(raw))<<16 | int64(binary.BigEndian.Uint16(raw[4:])), nil
	case len(raw) == 8:
		return int64(binary.BigEndian.Uint64(raw)), nil
	case len(raw) == 4 && k == kindDate:
		switch d := int32(binary.BigEndian.Uint32(raw)); d {
		case math.MaxInt32: // infinity
			return math.MaxInt64, nil
		default:
			return int64(d), nil
		}
	case len(raw) == 4:
		return int64(int32(binary.BigEndian.Uint32(raw))), nil
	case len(raw) == 2:
		return int64(int16(binary.BigEndian.Uint16(raw))), nil
	}
	return 0, fmt.Errorf("a key of %d bytes cannot be read", len(raw))
}

// rows implements view: a connection of its own that joins the snapshot.
func (v *pgView) rows(ctx context.Context, wait waiter, s scan) (out rows, err error) {
	sql, args, keyed := s.query(v.db)
	err = wait("the database", func() error {
		c, err := v.conn(ctx)
		if err == nil {
			out = newPgRows(ctx, v, c, wait, s, sql, args, keyed)
		}
		return err
	})
	return out, err
}

func (v *pgView) join(ctx context.Context, c *pgconn.PgConn) error {
	if err := pgRun(ctx, c, beginRead); err != nil {
		return err
	}
	if err := pgRun(ctx, c, "SET TRANSACTION SNAPSHOT '"+v.id+"'"); err != nil {
		if pg, ok := errors.AsType[*pgconn.PgError](err); ok && (pg.Code == "22023" || pg.Code == "42704" || pg.Code == "55000") {
			return fmt.Errorf("%w: %w", errSnapshot, err)
		}
		return err
	}
	out, err := pgText(ctx, c, "SELECT "+selectState)
	if err != nil {
		return err
	}
	if out[0][0] != v.state {
		return errSnapshot
	}
	// Rows without a key must come in the same order when they are asked for again.
	return pgRun(ctx, c, "SET LOCAL synchronize_seqscans = off; SET LOCAL max_parallel_workers_per_gather = 0")
}

// pgRun runs statements that return nothing.
func pgRun(ctx context.Context, c *pgconn.PgConn, sql string) error {
	_, err := c.Exec(ctx, sql).ReadAll()
	return pgError(err)
}

// pgText runs a query with parameters and results as text; null is "".
func pgText(ctx context.Context, c *pgconn.PgConn, sql string, args ...string) ([][]string, error) {
	params := make([][]byte, len(args))
	for i, a := range args {
		params[i] = []byte(a)
	}
	res := c.ExecParams(ctx, sql, params, nil, nil, nil).Read()
	if res.Err != nil {
		return nil, pgError(res.Err)
	}
	out := make([][]string, len(res.Rows))
	for i, row := range res.Rows {
		out[i] = make([]string, len(row))
		for j, v := range row {
			out[i][j] = string(v)
		}
	}
	return out, nil
}
