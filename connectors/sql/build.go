package sql

import (
	"strconv"
	"strings"
)

// query writes the SELECT of a scan. The key comes first where rows are named by one, then the columns.
func (s scan) query(d dialect) (sql string, args []any, keyed bool) {
	k := s.rel.key
	keyed = k.scheme == byKey || k.scheme == byPlace
	var list []string
	if keyed {
		list = append(list, k.expr)
	}
	for _, c := range s.cols {
		list = append(list, d.selected(c.expr))
	}
	if len(list) == 0 {
		list = append(list, "1")
	}
	args = append(args, s.args...)
	var conds []string
	add := func(op string, v int64) {
		args = append(args, d.bound(v, k.kind))
		conds = append(conds, k.expr+op+d.param(len(args), k.kind))
	}
	if s.where != "" {
		conds = append(conds, s.where)
	}
	if s.from != nil {
		add(" >= ", *s.from)
	}
	if s.to != nil {
		add(" < ", *s.to)
	}
	for i, v := range []string{s.text.lo, s.text.hi} {
		if arg, ok := d.value(v, kindText); v != "" && ok {
			args = append(args, arg)
			conds = append(conds, k.expr+[]string{" >= ", " < "}[i]+d.param(len(args), k.kind))
		}
	}
	switch {
	case s.nulls:
		conds = append(conds, k.expr+" IS NULL")
	case k.scheme == byText && s.text == span{}:
		conds = append(conds, k.expr+" IS NOT NULL")
	}
	var q strings.Builder
	q.WriteString("SELECT " + strings.Join(list, ", ") + " FROM " + s.rel.from)
	if len(conds) > 0 {
		q.WriteString(" WHERE " + strings.Join(conds, " AND "))
	}
	switch {
	case k.scheme == byRange || k.scheme == byText: // rows of equal keys must come in one order, however many are asked for
		q.WriteString(" ORDER BY " + k.expr + ", " + s.rel.tie)
	case k.scheme == byKey:
		q.WriteString(" ORDER BY " + k.expr)
	}
	if s.limit > 0 {
		q.WriteString(" LIMIT " + strconv.FormatInt(s.limit, 10))
	} else if s.skip > 0 {
		q.WriteString(d.noLimit())
	}
	if s.skip > 0 {
		q.WriteString(" OFFSET " + strconv.FormatUint(s.skip, 10))
	}
	return q.String(), args, keyed
}

// quote writes a name as SQL does, between double quotes.
func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
