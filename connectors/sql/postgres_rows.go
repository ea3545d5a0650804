package sql

import (
	"context"
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/jackc/pgx/v5/pgconn"
)

// pgRows is a running query with its own connection; values come in binary form.
type pgRows struct {
	view   *pgView
	conn   *pgconn.PgConn
	ended  bool // well
	res    *pgconn.ResultReader
	wait   waiter
	stop   context.CancelCauseFunc
	ctx    context.Context // of the last next
	unhook func() bool
	kind   kind
	keyed  bool
	cols   []pgDecoder
	vals   [][]byte
	bytes  int
}

// lowWater is how much of the next row must have come already for reading not to count as waiting.
const lowWater = 64

func newPgRows(ctx context.Context, v *pgView, c *pgconn.PgConn, wait waiter, s scan, sql string, args []any, keyed bool) *pgRows {
	values, oids, formats := make([][]byte, len(args)), make([]uint32, len(args)), make([]int16, len(args))
	for i, a := range args {
		p := a.(pgParam) //nolint // all that this dialect makes
		values[i], oids[i], formats[i] = p.data, p.oid, 1
	}
	r := &pgRows{view: v, conn: c, wait: wait, kind: s.rel.key.kind, keyed: keyed, ctx: ctx}
	for _, col := range s.cols {
		r.cols = append(r.cols, decoderOf(col))
	}
	var own context.Context
	own, r.stop = context.WithCancelCause(ctx)
	r.unhook = func() bool { return true }
	r.res = c.ExecParams(own, sql, values, oids, formats, []int16{1})
	return r
}

// next implements rows.
func (r *pgRows) next(ctx context.Context) (bool, error) {
	if ctx != r.ctx { // the query must end with whoever waits for it
		r.unhook()
		r.ctx = ctx
		r.unhook = context.AfterFunc(ctx, func() { r.stop(context.Cause(ctx)) })
	}
	more := false
	if r.conn.Frontend().ReadBufferLen() >= lowWater {
		more = r.res.NextRow()
	} else if err := r.wait("the database", func() error { more = r.res.NextRow(); return nil }); err != nil {
		return false, err
	}
	if !more {
		_, err := r.res.Close()
		r.ended = err == nil
		if err != nil && ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		return false, pgError(err)
	}
	r.vals = r.res.Values()
	r.bytes = 0
	for _, v := range r.vals {
		r.bytes += len(v)
	}
	if r.keyed {
		r.vals = r.vals[1:]
	}
	if len(r.vals) < len(r.cols) {
		return false, fmt.Errorf("the server gave %d columns, want %d", len(r.vals), len(r.cols))
	}
	return true, nil
}

func (r *pgRows) key() (int64, error) {
	return pgKey(r.res.Values()[0], r.kind)
}

func (r *pgRows) size() int { return r.bytes }

func (r *pgRows) append(i int, b array.Builder) error {
	if r.vals[i] == nil {
		b.AppendNull()
		return nil
	}
	return r.cols[i](r.vals[i], b)
}

// close ends the query, wherever it is: closing the connection is cheaper than reading what is left.
func (r *pgRows) close() error {
	r.unhook()
	defer r.stop(errors.New("the reader was closed"))
	if r.ended {
		return r.view.keep(r.conn)
	}
	return hangUp(r.conn)
}
