package sql

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow/array"
)

// sqliteRows is a running query on a connection that is lent to it.
type sqliteRows struct {
	res    driver.Rows
	stop   context.CancelCauseFunc
	ctx    context.Context // of the last next
	unhook func() bool
	done   func()
	keyed  bool
	cols   []sqliteDecoder
	vals   []driver.Value
	bytes  int
}

func newSQLiteRows(ctx context.Context, c *sqliteConn, s scan, sql string, args []any, keyed bool) (*sqliteRows, error) {
	r := &sqliteRows{keyed: keyed, ctx: ctx, unhook: func() bool { return true }}
	for _, col := range s.cols {
		r.cols = append(r.cols, sqliteDecoderOf(col.typ))
	}
	var own context.Context
	own, r.stop = context.WithCancelCause(ctx)
	res, err := c.raw(own, sql, args)
	if err != nil {
		r.stop(nil)
		return nil, err
	}
	r.res, r.vals = res, make([]driver.Value, len(res.Columns()))
	return r, nil
}

// next implements rows.
func (r *sqliteRows) next(ctx context.Context) (bool, error) {
	if ctx != r.ctx { // the query must end with whoever waits for it
		r.unhook()
		r.ctx = ctx
		r.unhook = context.AfterFunc(ctx, func() { r.stop(context.Cause(ctx)) })
	}
	err := r.res.Next(r.vals)
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	if err != nil {
		if ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		return false, sqliteError(err)
	}
	r.bytes = 0
	for _, v := range r.vals {
		switch v := v.(type) {
		case string:
			r.bytes += len(v)
		case []byte:
			r.bytes += len(v)
		default:
			r.bytes += 8
		}
	}
	return true, nil
}

func (r *sqliteRows) key() (int64, error) {
	n, ok := r.vals[0].(int64)
	if !ok {
		return 0, fmt.Errorf("a key is %v, no whole number", shortValue(r.vals[0]))
	}
	return n, nil
}

func (r *sqliteRows) size() int { return r.bytes }

func (r *sqliteRows) append(i int, b array.Builder) error {
	if r.keyed {
		i++
	}
	v := r.vals[i]
	if v == nil {
		b.AppendNull()
		return nil
	}
	if r.keyed {
		i--
	}
	return r.cols[i](v, b)
}

func (r *sqliteRows) close() error {
	r.unhook()
	err := r.res.Close()
	r.stop(nil)
	r.done()
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return sqliteError(err)
}
