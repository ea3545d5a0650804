package sql

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/dataset"
)

// partsTable notes the parts that are in tables of the database.
const partsTable = "_sluice_parts"

const makeParts = `CREATE TABLE IF NOT EXISTS _sluice_parts (target TEXT NOT NULL, part TEXT NOT NULL, "rows" BIGINT NOT NULL, PRIMARY KEY (target, part))`

// published are the parts of a table that are in it.
func (c *sqliteConn) published(ctx context.Context, table string) (map[string]bool, error) {
	done := map[string]bool{}
	there := 0
	if err := c.row(ctx, "SELECT count(*) FROM sqlite_schema WHERE name = ?1", []any{partsTable}, &there); err != nil || there == 0 {
		return done, err
	}
	out, err := c.texts(ctx, 1, "SELECT part FROM _sluice_parts WHERE target = ?1", table)
	for _, row := range out {
		done[row[0]] = true
	}
	return done, err
}

// sqlitePublication is a transaction on a connection of its own.
type sqlitePublication struct {
	conn *sqliteConn
}

// commit implements publication.
func (p *sqlitePublication) commit(ctx context.Context) error {
	err := p.conn.exec(ctx, "COMMIT")
	if err != nil {
		err = errors.Join(err, p.conn.exec(context.WithoutCancel(ctx), "ROLLBACK"))
	}
	return errors.Join(err, p.conn.close())
}

// rollback implements publication.
func (p *sqlitePublication) rollback() error {
	return errors.Join(p.conn.exec(context.Background(), "ROLLBACK"), p.conn.close())
}

// open implements publisher.begin.
func (s *sqliteSink) open(ctx context.Context, clear bool, parts []dataset.Receipt) (publication, error) {
	db, err := openSQLite(s.path, "rwc")
	if err != nil {
		return nil, err
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, errors.Join(sqliteError(err), db.Close())
	}
	c := &sqliteConn{db: db, conn: conn}
	if err := c.exec(ctx, "BEGIN IMMEDIATE"); err != nil {
		return nil, errors.Join(err, c.close())
	}
	p := &sqlitePublication{c}
	any, err := s.fill(ctx, c, clear, parts)
	if err != nil {
		return nil, errors.Join(err, p.rollback())
	}
	if !any {
		return nil, p.rollback()
	}
	return p, nil
}

// fill puts the parts into the table; any is false if they were all there.
func (s *sqliteSink) fill(ctx context.Context, c *sqliteConn, clear bool, parts []dataset.Receipt) (any bool, err error) {
	table := bare(s.opt.Table)
	if err := c.exec(ctx, makeParts); err != nil {
		return false, err
	}
	done, err := c.published(ctx, table)
	if err != nil {
		return false, err
	}
	for _, r := range parts {
		any = any || !done[r.Name]
	}
	if !any {
		return false, nil
	}
	if clear {
		there := 0
		if err := c.row(ctx, "SELECT count(*) FROM sqlite_schema WHERE name = ?1 COLLATE NOCASE", []interface{}{table}, &there); err != nil {
			return false, err
		}
		if there > 0 {
			err = c.exec(ctx, "DELETE FROM "+quote(table))
		}
		if err = errors.Join(err, c.exec(ctx, "DELETE FROM _sluice_parts WHERE target = ?1", table)); err != nil {
			return false, err
		}
		done = map[string]bool{}
	}
	for _, r := range parts {
		if done[r.Name] {
			continue
		}
		if err := s.addPart(ctx, c, table, r); err != nil {
			return false, err
		}
		if err := c.exec(ctx, "INSERT INTO _sluice_parts VALUES (?1, ?2, ?3)", table, r.Name, r.Rows); err != nil {
			return false, err
		}
	}
	return true, nil
}

// addPart inserts the rows of a staged part.
func (s *sqliteSink) addPart(ctx context.Context, c *sqliteConn, table string, r dataset.Receipt) (err error) {
	var d struct {
		Staged string `json:"staged"`
	}
	if err := json.Unmarshal(r.Data, &d); err != nil || !filepath.IsLocal(d.Staged) {
		return fmt.Errorf("read receipt of %s: it names no staged file", r.Name)
	}
	f, err := os.Open(filepath.Join(stateFolder(s.path, s.opt.Table), "_sluice", filepath.FromSlash(d.Staged)))
	if err != nil {
		return fmt.Errorf("part %s: %w", r.Name, err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	rd, err := ipc.NewFileReader(f, ipc.WithAllocator(memory.NewGoAllocator()))
	if err != nil {
		return fmt.Errorf("part %s: %w", r.Name, err)
	}
	defer func() { err = errors.Join(err, rd.Close()) }()
	cols, err := madeOf(rd.Schema(), sqliteType)
	if err != nil {
		return err
	}
	if err := c.exec(ctx, s.opt.createTable(quote(table), cols)); err != nil {
		return err
	}
	marks := strings.TrimSuffix(strings.Repeat("?, ", len(cols)), ", ")
	in, err := c.prepare(ctx, "INSERT INTO "+quote(table)+" ("+quoteAll(names(cols))+") VALUES ("+marks+")"+s.opt.onConflict(cols))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.stmt.Close()) }()
	row := int64(0)
	for i := range rd.NumRecords() {
		rec, err := rd.RecordBatchAt(i)
		if err != nil {
			return fmt.Errorf("part %s: %w", r.Name, err)
		}
		err = in.insert(ctx, rec, row)
		row += rec.NumRows()
		rec.Release()
		if err != nil {
			return err
		}
	}
	if row != r.Rows {
		return fmt.Errorf("part %s: it has %d rows, its receipt says %d", r.Name, row, r.Rows)
	}
	return nil
}

// insertion is a prepared INSERT.
type insertion struct {
	stmt interface {
		driver.Stmt
		driver.StmtExecContext
	}
	args []driver.NamedValue
}

// prepare prepares a statement on the driver's own connection.
func (c *sqliteConn) prepare(ctx context.Context, sql string) (in *insertion, err error) {
	err = c.conn.Raw(func(dc any) error {
		p, ok := dc.(driver.ConnPrepareContext)
		if !ok {
			return fmt.Errorf("the driver's connection is a %T, which prepares nothing", dc)
		}
		st, err := p.PrepareContext(ctx, sql)
		if err != nil {
			return err
		}
		in = &insertion{}
		if in.stmt, ok = st.(interface {
			driver.Stmt
			driver.StmtExecContext
		}); !ok {
			return fmt.Errorf("the driver's statement is a %T, which takes no context", st)
		}
		return nil
	})
	return in, sqliteError(err)
}

// insert inserts the rows of a record; first is the number of its first row in the part.
func (in *insertion) insert(ctx context.Context, rec arrow.RecordBatch, first int64) error {
	n := int(rec.NumCols())
	get := make([]getter, n)
	in.args = make([]driver.NamedValue, n)
	for j := range n {
		var err error
		if get[j], err = getterOf(rec.Column(j), false); err != nil {
			return fmt.Errorf("column %q: %w", rec.ColumnName(j), err)
		}
		in.args[j].Ordinal = j + 1
	}
	for i := range int(rec.NumRows()) {
		for j := range n {
			in.args[j].Value = nil
			if rec.Column(j).IsNull(i) {
				continue
			}
			v, err := get[j](i)
			if err == nil {
				in.args[j].Value, err = sqliteValue(v, rec.Column(j).DataType())
			}
			if err != nil {
				return fmt.Errorf("row %d of the part, column %q: %w", first+int64(i), rec.ColumnName(j), err)
			}
		}
		if _, err := in.stmt.ExecContext(ctx, in.args); err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return fmt.Errorf("row %d of the part: %w", first+int64(i), sqliteError(err))
		}
	}
	return nil
}

// sqliteType is the declared type of a column. Declared types are read back as the types that they were made for.
func sqliteType(t arrow.DataType) (string, error) {
	t = base(t)
	switch id := t.ID(); {
	case id == arrow.UINT64:
		return "DECIMAL_TEXT(20, 0)", nil
	case arrow.IsInteger(id):
		return "INTEGER", nil
	case arrow.IsFloating(id):
		return "REAL", nil
	case id == arrow.BOOL:
		return "BOOLEAN", nil
	case id == arrow.STRING, id == arrow.LARGE_STRING, id == arrow.NULL:
		return "TEXT", nil
	case id == arrow.BINARY, id == arrow.LARGE_BINARY, id == arrow.FIXED_SIZE_BINARY:
		return "BLOB", nil
	case id == arrow.DATE32, id == arrow.DATE64:
		return "DATE", nil
	case id == arrow.TIME32, id == arrow.TIME64:
		return "TEXT", nil
	case id == arrow.TIMESTAMP && t.(*arrow.TimestampType).TimeZone == "": //nolint // by its id
		return "DATETIME", nil
	case id == arrow.TIMESTAMP:
		return "TIMESTAMPTZ", nil
	case id == arrow.DECIMAL128, id == arrow.DECIMAL256:
		d := t.(arrow.DecimalType) //nolint // by its id
		return fmt.Sprintf("DECIMAL_TEXT(%d, %d)", d.GetPrecision(), d.GetScale()), nil
	case arrow.IsNested(id) && id != arrow.SPARSE_UNION && id != arrow.DENSE_UNION && id != arrow.RUN_END_ENCODED:
		return "JSON_TEXT", nil
	}
	return "", withoutForm(t)
}

// sqliteValue is a value as SQLite keeps it.
func sqliteValue(v any, t arrow.DataType) (driver.Value, error) {
	switch v := v.(type) {
	case uint64:
		return fmt.Sprint(v), nil
	case bool:
		if v {
			return int64(1), nil
		}
		return int64(0), nil
	case float32:
		return float64(v), nil
	case []byte:
		if v == nil {
			return []byte{}, nil
		}
		return v, nil
	case number:
		return v.String(), nil
	case time.Duration:
		return time.Time{}.Add(v).Format("15:04:05.999999999"), nil
	case time.Time:
		return sqliteTime(v, base(t)), nil
	}
	return v, nil
}

func sqliteTime(v time.Time, t arrow.DataType) string {
	v = v.UTC()
	if ts, ok := t.(*arrow.TimestampType); ok {
		if ts.TimeZone == "" {
			return v.Format("2006-01-02 15:04:05.999999999")
		}
		return v.Format("2006-01-02 15:04:05.999999999Z07:00")
	}
	return v.Format(time.DateOnly)
}
