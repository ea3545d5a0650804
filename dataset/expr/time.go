package expr

import (
	"fmt"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
)

func timeFunctions() []*function {
	out := []*function{
		{name: "timestamp", sig: "timestamp(x)", doc: "a timestamp from text such as 2024-01-31T12:00:00Z, or from a date", example: `created >= timestamp("2024-01-31")`, min: 1, max: 1, fallible: true, check: checkTimestamp},
		{name: "date", sig: "date(x)", doc: "a date from text such as 2024-01-31, or the day of a timestamp", example: `date(created) == date("2024-01-31")`, min: 1, max: 1, fallible: true, check: checkDate},
		{name: "duration", sig: `duration("1h30m")`, doc: "a length of time to add or compare; units ns, us, ms, s, m, h, d, w", example: `ended - started > duration("90s")`, min: 1, max: 1, check: checkDuration},
		{name: "date_trunc", sig: `date_trunc("unit", x)`, doc: "the start of the second, minute, hour, day, week (Monday), month, quarter or year", example: `date_trunc("month", created)`, min: 2, max: 2, fallible: true, check: checkTrunc},
		{name: "epoch_ms", sig: "epoch_ms(x)", doc: "milliseconds since 1970-01-01 UTC, rounded down", example: `epoch_ms(created)`, min: 1, max: 1, fallible: true, check: checkEpoch},
		{name: "total_seconds", sig: "total_seconds(d)", doc: "a duration in seconds, as float", example: `total_seconds(ended - started)`, min: 1, max: 1, check: checkTotalSeconds},
	}
	for _, p := range []struct {
		name, doc string
		part      func(days, secs int64) int64
	}{
		{"year", "the year of a date or timestamp", func(d, _ int64) int64 { y, _, _ := civil(d); return y }},
		{"month", "the month, 1 to 12", func(d, _ int64) int64 { _, m, _ := civil(d); return int64(m) }},
		{"day", "the day of the month", func(d, _ int64) int64 { _, _, d2 := civil(d); return int64(d2) }},
		{"weekday", "the day of the week, Monday is 1, Sunday 7", func(d, _ int64) int64 { return d + 3 - floorDiv(d+3, 7)*7 + 1 }},
		{"hour", "the hour, 0 to 23", func(_, s int64) int64 { return s / 3600 }},
		{"minute", "the minute, 0 to 59", func(_, s int64) int64 { return s / 60 % 60 }},
		{"second", "the whole second, 0 to 59", func(_, s int64) int64 { return s % 60 }},
	} {
		im := partImpl(p.name, p.part)
		out = append(out, &function{name: p.name, sig: p.name + "(x)", doc: p.doc + ", in the zone of the column", example: p.name + "(created)", min: 1, max: 1,
			check: func(_ *checker, n *node, args []*tnode) (*tnode, error) {
				if err := want(n, args, 0, kindTimestamp, kindDate); err != nil {
					return nil, err
				}
				t := strict(n, typeInt, im, args...)
				return t, setZone(t, n, args[0])
			}})
	}
	return out
}

// setZone prepares the time zone of the argument for kernels.
func setZone(t *tnode, n *node, arg *tnode) error {
	loc, err := location(arg.typ)
	if err != nil {
		return typeErr(n, "%v", err)
	}
	t.aux = loc
	return nil
}

func partImpl(name string, part func(days, secs int64) int64) *impl {
	return &impl{
		eval: func(c *evalCtx, t *tnode, args []value, _ []uint64) (arrow.Array, error) {
			valid, _ := c.validity(args...)
			buf := c.buffer(c.n * 8)
			tick, z := ticks(t.args[0].typ), newZone(t.aux.(*time.Location))
			mapNumbers(c, newReader[int64](args[0]), view[int64](buf), func(v int64) int64 {
				sec, _ := toSeconds(v, tick)
				local := z.local(sec)
				days := floorDiv(local, 86400)
				return part(days, local-days*86400)
			})
			return build(typeInt, c.n, valid, buf), nil
		},
		ref: func(t *tnode, args []any) (any, error) {
			return refPart(name, part, args[0].(instant), t.aux.(*time.Location)), nil
		},
	}
}

func checkTimestamp(_ *checker, n *node, args []*tnode) (*tnode, error) {
	if err := want(n, args, 0, kindString, kindTimestamp, kindDate); err != nil {
		if args[0].kind == kindInt {
			return nil, typeErr(n.args[0], "timestamp wants text, but %s is a number; write cast(x, \"timestamp[s]\"), or [ms], [us], [ns] for its unit", (&Expr{n.args[0]}).String())
		}
		return nil, err
	}
	switch args[0].kind {
	case kindTimestamp:
		return args[0], nil
	case kindDate:
		return castNode(args[0], &arrow.TimestampType{Unit: arrow.Second}, false), nil
	}
	s, isText := n.args[0].lit.(string)
	if !isText {
		return castNode(args[0], arrow.FixedWidthTypes.Timestamp_us, false), nil
	}
	at, zoned, err := parseTime(s)
	if err != nil {
		return nil, typeErr(n.args[0], "%v", err)
	}
	typ := &arrow.TimestampType{Unit: arrow.Microsecond}
	if at.Nanosecond()%1000 != 0 {
		typ.Unit = arrow.Nanosecond
	}
	if zoned {
		typ.TimeZone = "UTC"
	}
	v, ok := unitsOf(at, ticks(typ))
	if !ok {
		return nil, typeErr(n.args[0], "timestamp %q is out of range for nanoseconds (1677 to 2262)", s)
	}
	return typedLiteral(v, typ, n.off), nil
}

func checkDate(_ *checker, n *node, args []*tnode) (*tnode, error) {
	if err := want(n, args, 0, kindString, kindTimestamp, kindDate); err != nil {
		return nil, err
	}
	if args[0].kind == kindDate {
		return args[0], nil
	}
	if s, ok := n.args[0].lit.(string); ok {
		v, err := parseDate(s)
		if err != nil {
			return nil, typeErr(n.args[0], "%v", err)
		}
		return typedLiteral(v, typeDate, n.off), nil
	}
	return castNode(args[0], typeDate, false), nil
}

func checkDuration(_ *checker, n *node, args []*tnode) (*tnode, error) {
	if args[0].kind == kindDuration {
		return args[0], nil
	}
	s, err := constString(n, 0)
	if err != nil {
		return nil, err
	}
	d, err := parseDuration(s)
	if err != nil {
		return nil, typeErr(n.args[0], "%v", err)
	}
	unit := arrow.Nanosecond
	for _, u := range []arrow.TimeUnit{arrow.Second, arrow.Millisecond, arrow.Microsecond} {
		if int64(d)%unitTicks(u) == 0 {
			unit = u
			break
		}
	}
	return typedLiteral(int64(d)/unitTicks(unit), &arrow.DurationType{Unit: unit}, n.off), nil
}

// finerUnit is the finer unit of two temporal types; dates count in seconds.
func finerUnit(a, b arrow.DataType) arrow.TimeUnit {
	tick := min(ticks(a), ticks(b))
	for _, u := range []arrow.TimeUnit{arrow.Second, arrow.Millisecond, arrow.Microsecond} {
		if tick >= unitTicks(u) {
			return u
		}
	}
	return arrow.Nanosecond
}

// commonZone is the zone of either type that has one, the first wins.
func commonZone(a, b arrow.DataType) string {
	for _, t := range []arrow.DataType{a, b} {
		if ts, ok := t.(*arrow.TimestampType); ok && ts.TimeZone != "" {
			return ts.TimeZone
		}
	}
	return ""
}

// checkTimeAdd types + and - where times or durations are involved.
func checkTimeAdd(n *node, args []*tnode) (*tnode, error) {
	a, b := args[0], args[1]
	unit := func() arrow.TimeUnit {
		if a.kind == kindNull {
			return finerUnit(b.typ, b.typ)
		}
		if b.kind == kindNull {
			return finerUnit(a.typ, a.typ)
		}
		return finerUnit(a.typ, b.typ)
	}()
	var typ arrow.DataType
	isTime := func(t *tnode) bool { return t.kind.temporal() }
	isDur := func(t *tnode) bool { return t.kind == kindDuration || t.kind == kindNull }
	switch {
	case isTime(a) && isDur(b), n.name == "+" && isDur(a) && isTime(b):
		typ = &arrow.TimestampType{Unit: unit, TimeZone: commonZone(a.typ, b.typ)}
	case n.name == "-" && isTime(a) && isTime(b), isDur(a) && isDur(b), n.name == "-" && a.kind == kindNull && isTime(b):
		typ = &arrow.DurationType{Unit: unit}
	default:
		return nil, typeErr(n, "cannot compute %s %s %s; times move by duration(\"1h30m\")", typeName(a.typ), n.name, typeName(b.typ))
	}
	t := strict(n, typ, timeAddImpl, a, b)
	t.aux = n.name
	return t, nil
}

var timeAddImpl = &impl{
	eval: func(c *evalCtx, t *tnode, args []value, mask []uint64) (arrow.Array, error) {
		valid, words := c.validity(args...)
		buf := c.buffer(c.n * 8)
		out := view[int64](buf)
		a, b := newReader[int64](args[0]), newReader[int64](args[1])
		op, tick := t.aux.(string), ticks(t.typ)
		fa, fb := ticks(t.args[0].typ)/tick, ticks(t.args[1].typ)/tick
		for from := 0; from < c.n; from += chunk {
			n := min(chunk, c.n-from)
			x, y := a.at(from, n), b.at(from, n)
			for i := range x {
				xh, xl := mulSigned(x[i], fa)
				yh, yl := mulSigned(y[i], fb)
				p, q := int64(xl), int64(yl)
				over := xh != p>>63 || yh != q>>63 || overflows(op, p, q)
				if out[from+i] = p + q; op == "-" {
					out[from+i] = p - q
				}
				if over && (words == nil || bit(words, from+i)) {
					c.fail(mask, from+i, fmt.Errorf("%d %s %d overflows %s", x[i], op, y[i], t.typ))
				}
			}
		}
		return build(t.typ, c.n, valid, buf), nil
	},
	ref: refTimeAdd,
}

var truncUnits = map[string]bool{"second": true, "minute": true, "hour": true, "day": true, "week": true, "month": true, "quarter": true, "year": true}

type truncation struct {
	unit string
	loc  *time.Location
}

func checkTrunc(_ *checker, n *node, args []*tnode) (*tnode, error) {
	unit, err := constString(n, 0)
	if err != nil {
		return nil, err
	}
	if !truncUnits[unit] {
		return nil, typeErr(n.args[0], "unknown unit %q; the units are second, minute, hour, day, week, month, quarter, year", unit)
	}
	if err := want(n, args, 1, kindTimestamp, kindDate); err != nil {
		return nil, err
	}
	loc, err := location(args[1].typ)
	if err != nil {
		return nil, typeErr(n, "%v", err)
	}
	typ := args[1].typ
	if args[1].kind == kindNull {
		typ = arrow.FixedWidthTypes.Timestamp_us
	}
	t := strict(n, typ, truncImpl, args[1])
	t.aux = truncation{unit, loc}
	return t, nil
}

// truncLocal rounds seconds on the wall clock down to the start of a unit of a day or more.
func truncLocal(unit string, local int64) int64 {
	days := floorDiv(local, 86400)
	y, m, _ := civil(days)
	switch unit {
	case "week":
		days -= days + 3 - floorDiv(days+3, 7)*7
	case "month":
		days = daysOf(y, m, 1)
	case "quarter":
		days = daysOf(y, (m-1)/3*3+1, 1)
	case "year":
		days = daysOf(y, 1, 1)
	}
	return days * 86400
}

// truncate returns the start of the unit that sec (UTC) is in.
func truncate(unit string, z *zone, sec int64) int64 {
	var size int64
	switch unit {
	case "second":
		return sec
	case "minute":
		size = 60
	case "hour":
		size = 3600
	default:
		return z.utc(truncLocal(unit, z.local(sec)))
	}
	local := z.local(sec)
	return sec - (local - floorDiv(local, size)*size)
}

var truncImpl = &impl{
	eval: func(c *evalCtx, t *tnode, args []value, mask []uint64) (arrow.Array, error) {
		tr, tick := t.aux.(truncation), ticks(t.typ)
		z := newZone(tr.loc)
		valid, words := c.validity(args...)
		buf := c.buffer(c.n * t.typ.(arrow.FixedWidthDataType).Bytes())
		set, narrow := intSetter(t.typ, buf), t.typ.ID() == arrow.DATE32
		r := newReader[int64](args[0])
		for i := range c.n {
			if words != nil && !bit(words, i) {
				set(i, 0)
				continue
			}
			v := row(r, i)
			sec, _ := toSeconds(v, tick)
			start := truncate(tr.unit, z, sec)
			out, ok := joinUnits(start, 0, tick)
			if set(i, out); !ok || start > sec || narrow && out != int64(int32(out)) {
				c.fail(mask, i, fmt.Errorf("the start of the %s of %d is out of range for %s", tr.unit, v, t.typ))
			}
		}
		return build(t.typ, c.n, valid, buf), nil
	},
	ref: refTrunc,
}

// intSetter writes integers into a buffer of a fixed-width type.
func intSetter(t arrow.DataType, buf interface{ Bytes() []byte }) func(i int, v int64) {
	b := buf.Bytes()
	switch t.(arrow.FixedWidthDataType).Bytes() {
	case 1:
		return setter[int8](b)
	case 2:
		return setter[int16](b)
	case 4:
		return setter[int32](b)
	}
	return setter[int64](b)
}

func checkEpoch(_ *checker, n *node, args []*tnode) (*tnode, error) {
	if err := want(n, args, 0, kindTimestamp, kindDate); err != nil {
		return nil, err
	}
	return strict(n, typeInt, epochImpl, args...), nil
}

var epochImpl = &impl{
	eval: func(c *evalCtx, t *tnode, args []value, mask []uint64) (arrow.Array, error) {
		valid, words := c.validity(args...)
		buf := c.buffer(c.n * 8)
		out := view[int64](buf)
		r, tick := newReader[int64](args[0]), ticks(t.args[0].typ)
		for i := range out {
			v := row(r, i)
			sec, nano := toSeconds(v, tick)
			ms, ok := joinUnits(sec, nano, 1e6)
			if out[i] = ms; !ok && (words == nil || bit(words, i)) {
				c.fail(mask, i, fmt.Errorf("epoch_ms of %d seconds overflows int64", sec))
			}
		}
		return build(typeInt, c.n, valid, buf), nil
	},
	ref: func(_ *tnode, args []any) (any, error) {
		ms := floorUnits(args[0].(instant), 1e6)
		if !ms.IsInt64() {
			return nil, fmt.Errorf("epoch_ms overflows int64")
		}
		return ms.Int64(), nil
	},
}

func checkTotalSeconds(_ *checker, n *node, args []*tnode) (*tnode, error) {
	if err := want(n, args, 0, kindDuration); err != nil {
		return nil, err
	}
	return strict(n, typeFloat, totalSecondsImpl, args...), nil
}

var totalSecondsImpl = &impl{
	eval: func(c *evalCtx, t *tnode, args []value, _ []uint64) (arrow.Array, error) {
		valid, _ := c.validity(args...)
		buf := c.buffer(c.n * 8)
		per := 1e9 / float64(ticks(t.args[0].typ))
		mapNumbers(c, newReader[int64](args[0]), view[float64](buf), func(v int64) float64 { return float64(v) / per })
		return build(typeFloat, c.n, valid, buf), nil
	},
	ref: func(t *tnode, args []any) (any, error) {
		return float64(args[0].(instant).v) / (1e9 / float64(ticks(t.args[0].typ))), nil
	},
}
