package sql

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
)

// pgColumnsOf are the columns of a table; none if it does not exist.
func pgColumnsOf(ctx context.Context, c *pgconn.PgConn, at pgPlace) (map[string]pgHave, error) {
	out, err := pgText(ctx, c, `SELECT attname, format_type(atttypid, atttypmod), atttypid::oid::bigint, attnotnull AND NOT atthasdef AND attidentity = ''
FROM pg_attribute WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped AND attgenerated = ''`, at.table())
	if err != nil || len(out) == 0 {
		return nil, err
	}
	have := map[string]pgHave{}
	for _, row := range out {
		oid, _ := strconv.ParseUint(row[2], 10, 32)
		have[row[0]] = pgHave{row[1], uint32(oid), row[3] == "t"}
	}
	return have, nil
}

// known are the types that the driver writes in binary form, which COPY wants.
var known = pgtype.NewMap()

// staged is the type of the column in staging tables: its own, or text where the driver does not know it.
func (h pgHave) staged() string {
	if _, ok := known.TypeForOID(h.oid); ok {
		return h.typ
	}
	return "text"
}

// pgTypeName is the type of a column that is made.
func pgTypeName(t arrow.DataType) (string, error) {
	t = base(t)
	switch id := t.ID(); id {
	case arrow.BOOL:
		return "boolean", nil
	case arrow.INT8, arrow.INT16, arrow.UINT8:
		return "smallint", nil
	case arrow.INT32, arrow.UINT16:
		return "integer", nil
	case arrow.INT64, arrow.UINT32:
		return "bigint", nil
	case arrow.UINT64:
		return "numeric(20,0)", nil
	case arrow.FLOAT16, arrow.FLOAT32:
		return "real", nil
	case arrow.FLOAT64:
		return "double precision", nil
	case arrow.STRING, arrow.LARGE_STRING, arrow.NULL:
		return "text", nil
	case arrow.BINARY, arrow.LARGE_BINARY, arrow.FIXED_SIZE_BINARY:
		return "bytea", nil
	case arrow.DATE32, arrow.DATE64:
		return "date", nil
	case arrow.TIME32, arrow.TIME64:
		return "time", nil
	case arrow.TIMESTAMP:
		if t.(*arrow.TimestampType).TimeZone == "" { //nolint // by its id
			return "timestamp", nil
		}
		return "timestamptz", nil
	case arrow.DECIMAL128, arrow.DECIMAL256:
		d := t.(arrow.DecimalType) //nolint // by its id
		return fmt.Sprintf("numeric(%d,%d)", d.GetPrecision(), d.GetScale()), nil
	case arrow.LIST, arrow.LARGE_LIST, arrow.FIXED_SIZE_LIST:
		elem := base(t.(arrow.ListLikeType).Elem()) //nolint // by its id
		if name, err := pgTypeName(elem); !arrow.IsNested(elem.ID()) {
			return name + "[]", err
		}
		return "jsonb", nil
	case arrow.STRUCT, arrow.MAP:
		return "jsonb", nil
	}
	return "", withoutForm(t)
}

// pgWriter copies one part into a staging table, in a transaction of its own.
type pgWriter struct {
	sink    *pgSink
	conn    *pgx.Conn
	tx      pgx.Tx
	stage   pgx.Identifier
	cols    []string
	receipt dataset.Receipt
	bytes   int64
}

var _ dataset.Writer = (*pgWriter)(nil)

// NewWriter implements dataset.Sink.
func (s *pgSink) NewWriter(ctx context.Context, _ dataset.Runtime, part dataset.Part, in *arrow.Schema) (dataset.Writer, error) {
	w, err := s.newWriter(ctx, part, in)
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", s.shown, err)
	}
	return w, nil
}

func (s *pgSink) newWriter(ctx context.Context, part dataset.Part, in *arrow.Schema) (_ *pgWriter, err error) {
	at, err := s.place(ctx)
	if err != nil {
		return nil, err
	}
	cols, err := madeOf(in, pgTypeName)
	if err != nil {
		return nil, err
	}
	stage := at.stagePrefix(part.Run) + fmt.Sprintf("%d_%d", part.Seq, part.Attempt)
	data, err := json.Marshal(pgReceipt{Stage: stage, Cols: cols})
	if err != nil {
		return nil, err
	}
	cfg, err := pgx.ParseConfig("")
	if err != nil {
		return nil, flat(err)
	}
	cfg.Config = *s.db.config.Copy()
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return nil, pgError(err)
	}
	w := &pgWriter{sink: s, conn: conn, stage: pgx.Identifier{at.schema, stage}, cols: names(cols),
		receipt: dataset.Receipt{Part: part, Name: fmt.Sprintf("part-%010d-%s-%d", part.Seq, part.Run, part.Attempt), Data: data}}
	defer func() {
		if err != nil {
			err = errors.Join(err, hangUp(conn.PgConn()))
		}
	}()
	have, err := pgColumnsOf(ctx, conn.PgConn(), at)
	if err != nil {
		return nil, err
	}
	defs, err := stageColumns(cols, have)
	if err != nil {
		return nil, err
	}
	if w.tx, err = conn.Begin(ctx); err != nil {
		return nil, pgError(err)
	}
	return w, pgRun(ctx, conn.PgConn(), "CREATE TABLE "+w.stage.Sanitize()+" ("+defs+")")
}

// stageColumns defines a staging table after the table that exists, so that values which do not fit fail early.
func stageColumns(cols []made, have map[string]pgHave) (string, error) {
	var defs []string
	missing := map[string]bool{}
	for name, h := range have {
		missing[name] = h.notNull
	}
	for _, c := range cols {
		typ, null := c.Type, ""
		if have != nil {
			h, ok := have[c.Name]
			if !ok {
				return "", fmt.Errorf("the table has no column %q; add it (ALTER TABLE), or leave it out with select or drop", c.Name)
			}
			if typ = h.staged(); h.notNull {
				null = " NOT NULL"
			}
		}
		missing[c.Name] = false
		defs = append(defs, quote(c.Name)+" "+typ+null)
	}
	for name, m := range missing {
		if m {
			return "", fmt.Errorf("the table wants a value in column %q, which the rows do not have; add it with the step with", name)
		}
	}
	return strings.Join(defs, ", "), nil
}

// Write implements dataset.Writer: one COPY for each block.
func (w *pgWriter) Write(ctx context.Context, b *block.Block) error {
	src := &pgCopy{b: b, row: -1, vals: make([]any, len(w.cols)), names: w.cols}
	for i := range w.cols {
		g, err := getterOf(b.Column(i), true)
		if err != nil {
			return fmt.Errorf("write %s: column %q: %w", w.sink.shown, w.cols[i], err)
		}
		src.get = append(src.get, g)
	}
	n, err := w.conn.CopyFrom(ctx, w.stage, w.cols, src)
	if err == nil && n != int64(b.NumRows()) {
		err = fmt.Errorf("%d of %d rows were taken", n, b.NumRows())
	}
	if err != nil {
		err = pgError(err)
		if _, ok := errors.AsType[*pgconn.PgError](err); !ok && src.err == nil {
			err = fmt.Errorf("near row %d of the part: %w", w.receipt.Rows+int64(max(src.row, 0)), err)
		}
		if lostConnection(err) {
			err = fmt.Errorf("%w; run the same command again to go on", err)
		}
		return fmt.Errorf("write %s: %w", w.sink.shown, err)
	}
	w.receipt.Rows += n
	w.bytes += src.bytes
	return nil
}

// Bytes implements dataset.Writer.
func (w *pgWriter) Bytes() int64 { return w.bytes }

// Buffered implements dataset.Writer.
func (w *pgWriter) Buffered() int64 { return 0 }

// Commit implements dataset.Writer.
func (w *pgWriter) Commit(ctx context.Context) (dataset.Receipt, error) {
	err := pgError(w.tx.Commit(ctx))
	if err = errors.Join(err, hangUp(w.conn.PgConn())); err != nil {
		return dataset.Receipt{}, fmt.Errorf("write %s: %w", w.sink.shown, err)
	}
	w.receipt.Bytes = w.bytes
	return w.receipt, nil
}

// Abort implements dataset.Writer: the server rolls back what a closed connection has not committed.
func (w *pgWriter) Abort(context.Context) error { return hangUp(w.conn.PgConn()) }

// pgCopy gives the rows of a block to COPY.
type pgCopy struct {
	b     *block.Block
	row   int
	get   []getter
	names []string
	vals  []any
	bytes int64
	err   error
}

// Next implements pgx.CopyFromSource.
func (c *pgCopy) Next() bool {
	c.row++
	return c.row < c.b.NumRows()
}

// Values implements pgx.CopyFromSource.
func (c *pgCopy) Values() ([]any, error) {
	for i, g := range c.get {
		c.vals[i] = nil
		if c.b.Column(i).IsNull(c.row) {
			continue
		}
		v, err := g(c.row)
		if err == nil {
			c.vals[i], err = pgWritten(v)
		}
		if err != nil {
			c.err = fmt.Errorf("row %d of a block, column %q: %w", c.row, c.names[i], err)
			return nil, c.err
		}
		switch v := v.(type) {
		case string:
			c.bytes += int64(len(v))
		case []byte:
			c.bytes += int64(len(v))
		case []any:
			c.bytes += int64(8 * len(v))
		default:
			c.bytes += 8
		}
	}
	return c.vals, nil
}

// Err implements pgx.CopyFromSource.
func (c *pgCopy) Err() error { return c.err }

var errNul = errors.New(`the text holds the character U+0000, which PostgreSQL has no place for; take it out with replace, or write the column as binary`)

// pgWritten is a value as the driver takes it.
func pgWritten(v any) (any, error) {
	switch v := v.(type) {
	case string:
		if strings.IndexByte(v, 0) >= 0 {
			return nil, errNul
		}
		if strings.ToValidUTF8(v, "") != v {
			return nil, errors.New("the text is not UTF-8")
		}
	case uint64:
		return pgtype.Numeric{Int: new(big.Int).SetUint64(v), Valid: true}, nil
	case number:
		return pgtype.Numeric{Int: v.digits, Exp: -v.scale, Valid: true}, nil
	case time.Duration:
		return pgtype.Time{Microseconds: v.Microseconds(), Valid: true}, nil
	case []byte:
		if v == nil {
			return []byte{}, nil
		}
	case []any:
		for i := range v {
			var err error
			if v[i], err = pgWritten(v[i]); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}
