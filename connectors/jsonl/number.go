package jsonl

import "github.com/sluice-data/sluice/connectors/internal/scalar"

// number scans the number at buf[i] by JSON's grammar.
func (s *scanner) number(i int) (n scalar.Number, end int) {
	n, end = scalar.Scan(s.buf, i)
	switch {
	case n.Form == 0:
		return n, end
	case n.Form&(scalar.Plus|scalar.NoWhole) != 0:
		return n, s.fail(i, "not a JSON value")
	case n.Form&scalar.LeadingZero != 0:
		return n, s.fail(i, "a number starts with a zero")
	case n.Form&scalar.NoFraction != 0:
		return n, s.fail(i, "a number ends in a point")
	}
	return n, s.fail(i, "a number ends in its exponent sign")
}
