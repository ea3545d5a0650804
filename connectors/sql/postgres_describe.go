package sql

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/sluice-data/sluice/dataset"
)

// tidRanges is the first version that finds rows by ranges of their places without reading the whole table.
const tidRanges = 140000

// describe implements database.
func (p *postgres) describe(ctx context.Context, what selection) (rel *relation, err error) {
	c, err := p.connect(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, hangUp(c)) }()
	if err := pgRun(ctx, c, beginRead); err != nil {
		return nil, err
	}
	if what.query == "" {
		return p.describeTable(ctx, c, what)
	}
	rel = &relation{from: "(" + what.query + "\n) AS q", key: key{scheme: byCount}, tie: "q::text"}
	if err := describeColumns(ctx, c, rel, "SELECT * FROM "+rel.from); err != nil {
		return nil, fmt.Errorf("query=: %w", err)
	}
	if what.by != "" {
		rel.key, err = rel.keyBy(what.by, false)
	}
	return rel, err
}

func (p *postgres) describeTable(ctx context.Context, c *pgconn.PgConn, what selection) (*relation, error) {
	t, err := findTable(ctx, c, what.table)
	if err != nil {
		return nil, err
	}
	rel := &relation{from: quote(t.schema) + "." + quote(t.name) + " AS q", table: t.oid, key: key{scheme: byCount}, tie: "q::text"}
	if t.heap && t.kind != "p" {
		rel.tie = "ctid"
	}
	if err := describeColumns(ctx, c, rel, "SELECT * FROM "+rel.from); err != nil {
		return nil, err
	}
	unique, err := uniqueColumns(ctx, c, t.oid)
	if err != nil {
		return nil, err
	}
	if what.by != "" {
		rel.key, err = rel.keyBy(what.by, slices.Contains(unique, what.by))
		return rel, err
	}
	for _, u := range unique {
		if k, err := rel.keyBy(u, true); err == nil && k.scheme == byKey && k.kind != kindTime && k.kind != kindInstant {
			rel.key = k
			return rel, nil
		}
	}
	if version, _ := strconv.Atoi(serverVersion(ctx, c)); version >= tidRanges && (t.kind == "r" || t.kind == "m") && t.heap {
		rel.key = key{scheme: byPlace, name: "ctid", expr: "ctid", kind: kindPlace}
	}
	return rel, nil
}

func serverVersion(ctx context.Context, c *pgconn.PgConn) string {
	out, err := pgText(ctx, c, "SHOW server_version_num")
	if err != nil {
		return ""
	}
	return out[0][0]
}

// keyBy makes the key of a column.
func (r *relation) keyBy(name string, unique bool) (key, error) {
	i := slices.IndexFunc(r.cols, func(c column) bool { return c.name == name })
	if i < 0 {
		names := make([]string, len(r.cols))
		for i, c := range r.cols {
			names[i] = c.name
		}
		return key{}, dataset.Usagef("by=%s: there is no such column%s; columns are %s", name, dataset.DidYouMean(name, names), strings.Join(names, ", "))
	}
	c := r.cols[i]
	switch c.kind {
	case kindInt, kindDate, kindTime, kindInstant:
	case kindText, kindUUID:
		return key{scheme: byText, name: name, expr: c.expr, kind: c.kind}, nil
	default:
		return key{}, dataset.Usagef("by=%s: a column of type %s is not divided; give one of whole numbers, dates, timestamps, text or UUIDs", name, c.typ)
	}
	k := key{scheme: byRange, name: name, expr: c.expr, kind: c.kind}
	if unique {
		k.scheme = byKey
	}
	return k, nil
}

// pgTable is a table or view as the catalog knows it.
type pgTable struct {
	oid, schema, name string
	kind              string // relkind
	heap              bool   // rows have places
}

const selectTable = `SELECT c.oid, n.nspname, c.relname, c.relkind, coalesce(a.amname = 'heap', false)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace LEFT JOIN pg_am a ON a.oid = c.relam WHERE c.relkind IN ('r', 'm', 'v', 'p', 'f') AND `

// findTable finds a table by the name that a person gives: as SQL reads it, else as it is written. "" is the only table of the search path.
func findTable(ctx context.Context, c *pgconn.PgConn, name string) (pgTable, error) {
	if name == "" {
		return onlyTable(ctx, c)
	}
	for _, try := range []string{name, quoteParts(name)} {
		out, err := pgText(ctx, c, selectTable+"c.oid = to_regclass($1)", try)
		if err != nil {
			if pg, ok := errors.AsType[*pgconn.PgError](err); ok && strings.HasPrefix(pg.Code, "42") && try == name {
				if err := pgRun(ctx, c, "ROLLBACK; "+beginRead); err != nil {
					return pgTable{}, err
				}
				continue // not a name as SQL writes it
			}
			return pgTable{}, err
		}
		if len(out) == 1 {
			return tableOf(out[0]), nil
		}
	}
	names, err := tableNames(ctx, c)
	if err != nil {
		return pgTable{}, err
	}
	return pgTable{}, dataset.Usagef("there is no table %s%s%s", name, dataset.DidYouMean(name, names), listed(names))
}

func tableOf(row []string) pgTable {
	return pgTable{oid: row[0], schema: row[1], name: row[2], kind: row[3], heap: row[4] == "t"}
}

// quoteParts quotes the parts of schema.table.
func quoteParts(name string) string {
	parts := strings.SplitN(name, ".", 2)
	for i := range parts {
		parts[i] = quote(strings.Trim(parts[i], `"`))
	}
	return strings.Join(parts, ".")
}

const visibleTables = "n.nspname = ANY (current_schemas(false)) AND c.relname NOT LIKE '\\_sluice\\_%' ORDER BY c.relname"

func tableNames(ctx context.Context, c *pgconn.PgConn) (names []string, err error) {
	out, err := pgText(ctx, c, selectTable+visibleTables)
	for _, row := range out {
		names = append(names, row[2])
	}
	return names, err
}

func onlyTable(ctx context.Context, c *pgconn.PgConn) (pgTable, error) {
	out, err := pgText(ctx, c, selectTable+visibleTables)
	if err != nil {
		return pgTable{}, err
	}
	if len(out) == 1 {
		return tableOf(out[0]), nil
	}
	names := make([]string, len(out))
	for i, row := range out {
		names[i] = row[2]
	}
	return pgTable{}, dataset.Usagef("name what to read with table= or query=%s", listed(names))
}

// mostListed bounds how many tables an error names.
const mostListed = 20

func listed(names []string) string {
	switch {
	case len(names) == 0:
		return "; the database has no tables"
	case len(names) > mostListed:
		return fmt.Sprintf("; tables are %s and %d more", strings.Join(names[:mostListed], ", "), len(names)-mostListed)
	}
	return "; tables are " + strings.Join(names, ", ")
}

// uniqueColumns returns the columns that are unique and never null by themselves, that of the primary key first.
func uniqueColumns(ctx context.Context, c *pgconn.PgConn, oid string) (names []string, err error) {
	out, err := pgText(ctx, c, `SELECT a.attname FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
WHERE i.indrelid = $1::oid AND i.indisunique AND i.indisvalid AND i.indimmediate AND i.indpred IS NULL AND i.indnkeyatts = 1 AND a.attnotnull
ORDER BY i.indisprimary DESC, a.attnum`, oid)
	for _, row := range out {
		names = append(names, row[0])
	}
	return names, err
}

// describeColumns finds the columns that a query gives.
func describeColumns(ctx context.Context, c *pgconn.PgConn, rel *relation, sql string) error {
	st, err := c.Prepare(ctx, "", sql, nil)
	if err != nil {
		return pgError(err)
	}
	if len(st.ParamOIDs) > 0 {
		return dataset.Usagef("it has parameters ($1), which nothing fills; write the values")
	}
	types, err := lookUpTypes(ctx, c, st.Fields)
	if err != nil {
		return err
	}
	for _, f := range st.Fields {
		col, err := pgColumn(f.Name, f.DataTypeOID, f.TypeModifier, types)
		if err != nil {
			return err
		}
		rel.cols = append(rel.cols, col)
	}
	return nil
}

// pgTypeInfo is a type as the catalog knows it.
type pgTypeInfo struct {
	name string
	base uint32 // of a domain
	mod  int32  // of a domain's base
	elem uint32 // of an array
}

// lookUpTypes reads the catalog for types, those that domains stand on and the elements of arrays.
func lookUpTypes(ctx context.Context, c *pgconn.PgConn, fields []pgconn.FieldDescription) (map[uint32]pgTypeInfo, error) {
	var ids []string
	for _, f := range fields {
		ids = append(ids, strconv.FormatUint(uint64(f.DataTypeOID), 10))
	}
	out, err := pgText(ctx, c, `WITH RECURSIVE t AS (
  SELECT oid, typname, typbasetype, typtypmod, CASE WHEN typsubscript = 'array_subscript_handler'::regproc THEN typelem ELSE 0 END AS elem
  FROM pg_type WHERE oid = ANY ($1::oid[])
  UNION SELECT p.oid, p.typname, p.typbasetype, p.typtypmod, CASE WHEN p.typsubscript = 'array_subscript_handler'::regproc THEN p.typelem ELSE 0 END
  FROM t JOIN pg_type p ON p.oid IN (t.typbasetype, t.elem)
) SELECT oid, format_type(oid, NULL), typbasetype, typtypmod, elem FROM t`, "{"+strings.Join(ids, ",")+"}")
	if err != nil {
		return nil, err
	}
	types := map[uint32]pgTypeInfo{}
	for _, row := range out {
		n := func(i int) int64 { v, _ := strconv.ParseInt(row[i], 10, 64); return v }
		types[uint32(n(0))] = pgTypeInfo{row[1], uint32(n(2)), int32(n(3)), uint32(n(4))}
	}
	return types, nil
}
