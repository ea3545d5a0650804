package sql

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/coltype"
)

// sampledRows is how many rows decide the type of a column that declares none.
const sampledRows = 1000

// describe implements database.
func (s *sqlite) describe(ctx context.Context, what selection) (rel *relation, err error) {
	c, err := s.reading(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	if what.query != "" {
		rel = &relation{from: "(" + what.query + "\n) AS query", key: key{scheme: byCount}}
	} else if rel, err = findSQLiteTable(ctx, c, what.table); err != nil {
		return nil, err
	}
	if err := c.columns(ctx, rel); err != nil {
		return nil, err
	}
	if what.schema != "" {
		if err := rel.declare(what.schema); err != nil {
			return nil, err
		}
	}
	return rel, rel.chooseSQLiteKey(ctx, c, what)
}

// chooseSQLiteKey takes by=, else the rowid.
func (r *relation) chooseSQLiteKey(ctx context.Context, c *sqliteConn, what selection) error {
	rowid, alias := "", ""
	if r.table != "" {
		var err error
		if rowid, alias, err = c.rowid(ctx, r); err != nil {
			return err
		}
	}
	if what.by != "" && !strings.EqualFold(what.by, alias) {
		k, err := r.keyBy(what.by, false)
		if err == nil && k.kind != kindInt && k.kind != kindText {
			return dataset.Usagef("by=%s: SQLite keeps dates and times as text or numbers; give a column of whole numbers or text, or declare it as one with schema=", what.by)
		}
		r.key = k
		if r.tie = rowid; rowid == "" {
			names := make([]string, len(r.cols))
			for i, c := range r.cols {
				names[i] = c.expr
			}
			r.tie = strings.Join(names, ", ")
		}
		return err
	}
	if rowid != "" {
		r.key = key{scheme: byKey, name: rowid, expr: rowid, kind: kindInt}
	}
	return nil
}

func findSQLiteTable(ctx context.Context, c *sqliteConn, name string) (*relation, error) {
	out, err := c.texts(ctx, 2, `SELECT name, type FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\_%' ESCAPE '\' AND name NOT LIKE '\_sluice\_%' ESCAPE '\' ORDER BY name`)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(out))
	for i, row := range out {
		names[i] = row[0]
	}
	if name == "" && len(out) != 1 {
		return nil, dataset.Usagef("name what to read with table= or query=%s", listed(names))
	}
	for _, row := range out {
		if name == "" || strings.EqualFold(row[0], bare(name)) {
			rel := &relation{from: quote(row[0]), key: key{scheme: byCount}}
			if row[1] == "table" {
				rel.table = row[0]
			}
			return rel, nil
		}
	}
	return nil, dataset.Usagef("there is no table %s%s%s", name, dataset.DidYouMean(name, names), listed(names))
}

// rowid gives the name by which rows of a table are numbered, "" if it has none, and the column that is the same as it, if one is.
func (c *sqliteConn) rowid(ctx context.Context, r *relation) (name, alias string, err error) {
	out, err := c.texts(ctx, 3, `SELECT wr, type, ncol FROM pragma_table_list WHERE name = ?1 AND schema = 'main'`, r.table)
	if err != nil || len(out) == 0 || out[0][0] == "1" || out[0][1] != "table" { // WITHOUT ROWID, virtual or shadow
		return "", "", err
	}
	taken := map[string]bool{}
	for _, col := range r.cols {
		taken[strings.ToLower(col.name)] = true
	}
	pk, err := c.texts(ctx, 2, `SELECT name, type FROM pragma_table_info(?1) WHERE pk > 0`, r.table)
	if err != nil {
		return "", "", err
	}
	if len(pk) == 1 && strings.EqualFold(pk[0][1], "integer") {
		alias = pk[0][0]
	}
	for _, n := range []string{"rowid", "_rowid_", "oid"} {
		if !taken[n] || strings.EqualFold(n, alias) {
			return n, alias, nil
		}
	}
	return "", alias, nil
}

// columns finds the columns of a relation: by their declared types, else by a sample of the values.
func (c *sqliteConn) columns(ctx context.Context, r *relation) error {
	res, err := c.raw(ctx, "SELECT * FROM "+r.from+" LIMIT "+strconv.Itoa(sampledRows), nil)
	if err != nil {
		return err
	}
	defer res.Close()
	decl, ok := res.(driver.RowsColumnTypeDatabaseTypeName)
	if !ok {
		return fmt.Errorf("the driver's rows are a %T, which tells no types", res)
	}
	unknown := false
	for i, name := range res.Columns() {
		col := column{name: name, expr: quote(name)}
		col.typ, col.kind = declaredType(decl.ColumnTypeDatabaseTypeName(i))
		unknown = unknown || col.typ == nil
		r.cols = append(r.cols, col)
	}
	if unknown {
		return r.sample(res)
	}
	return nil
}

// sample looks at values for the types of columns that declare none.
func (r *relation) sample(res driver.Rows) error {
	seen := make([]valueTypes, len(r.cols))
	vals := make([]driver.Value, len(r.cols))
	for {
		err := res.Next(vals)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return sqliteError(err)
		}
		for i, v := range vals {
			seen[i].add(v)
		}
	}
	for i := range r.cols {
		if r.cols[i].typ == nil {
			r.cols[i].typ, r.cols[i].kind = seen[i].typ()
		}
	}
	return nil
}

// valueTypes are the types of values that were met.
type valueTypes struct{ ints, floats, texts, blobs bool }

func (t *valueTypes) add(v driver.Value) {
	switch v.(type) {
	case int64, bool:
		t.ints = true
	case float64:
		t.floats = true
	case []byte:
		t.blobs = true
	case nil:
	default:
		t.texts = true
	}
}

// typ is the type that holds all values; text where they are of several types, as every value has a text.
func (t *valueTypes) typ() (arrow.DataType, kind) {
	switch {
	case t.blobs && !t.ints && !t.floats && !t.texts:
		return arrow.BinaryTypes.Binary, kindOther
	case t.texts || t.blobs:
		return arrow.BinaryTypes.String, kindOther
	case t.floats:
		return arrow.PrimitiveTypes.Float64, kindFloat
	case t.ints:
		return arrow.PrimitiveTypes.Int64, kindInt
	}
	return arrow.BinaryTypes.String, kindOther
}

var decimalDecl = regexp.MustCompile(`^(?:DECIMAL|NUMERIC|DECIMAL_TEXT)\s*\(\s*(\d{1,2})\s*(?:,\s*(\d{1,2})\s*)?\)$`)

// declaredType reads a declared type as SQLite's rules of affinity do, and some names more exactly; nil where it says nothing.
func declaredType(decl string) (arrow.DataType, kind) {
	d := strings.ToUpper(strings.TrimSpace(decl))
	if m := decimalDecl.FindStringSubmatch(d); m != nil {
		p, _ := strconv.Atoi(m[1])
		s, _ := strconv.Atoi(m[2])
		if p > 0 && p <= 38 && s <= p {
			return &arrow.Decimal128Type{Precision: int32(p), Scale: int32(s)}, kindOther
		}
	}
	switch d {
	case "":
		return nil, kindOther
	case "BOOL", "BOOLEAN":
		return arrow.FixedWidthTypes.Boolean, kindOther
	case "DATE":
		return arrow.FixedWidthTypes.Date32, kindOther
	case "DATETIME", "TIMESTAMP":
		return &arrow.TimestampType{Unit: arrow.Microsecond}, kindOther
	case "TIMESTAMPTZ", "TIMESTAMP WITH TIME ZONE":
		return instant, kindOther
	case "NUMERIC", "DECIMAL", "NUMBER":
		return nil, kindOther
	}
	has := func(words ...string) bool {
		for _, w := range words {
			if strings.Contains(d, w) {
				return true
			}
		}
		return false
	}
	switch {
	case has("INT"):
		return arrow.PrimitiveTypes.Int64, kindInt
	case has("CHAR", "CLOB", "TEXT", "JSON", "UUID"):
		return arrow.BinaryTypes.String, kindText
	case has("BLOB", "BINARY", "BYTEA"):
		return arrow.BinaryTypes.Binary, kindOther
	case has("REAL", "FLOA", "DOUB"):
		return arrow.PrimitiveTypes.Float64, kindFloat
	}
	return nil, kindOther
}

// declare sets the types of schema=.
func (r *relation) declare(text string) error {
	cols, err := coltype.Parse(text)
	if err != nil {
		return err
	}
	for _, d := range cols {
		name := strings.Join(d.Path, ".")
		found := false
		for i := range r.cols {
			if r.cols[i].name == name {
				if sqliteDecoderOf(d.Type) == nil {
					return dataset.Usagef("schema=: column %q: nothing in SQLite is read as %s", name, d.Type)
				}
				r.cols[i].typ, r.cols[i].kind, found = d.Type, sqliteKind(d.Type), true
			}
		}
		if !found {
			names := make([]string, len(r.cols))
			for i, c := range r.cols {
				names[i] = c.name
			}
			return dataset.Usagef("schema=: there is no column %s%s; columns are %s", name, dataset.DidYouMean(name, names), strings.Join(names, ", "))
		}
	}
	return nil
}

// sqliteKind is how values that are read as t compare in the database.
func sqliteKind(t arrow.DataType) kind {
	switch {
	case arrow.IsInteger(t.ID()) && t.ID() != arrow.UINT64:
		return kindInt
	case t.ID() == arrow.STRING:
		return kindText
	}
	return kindOther
}
