package csv

import "github.com/sluice-data/sluice/connectors/internal/scalar"

// values is how single values are spelled.
type values struct {
	nulls     []string
	thousands byte // 0: none
	decimal   byte
	plain     bool // numbers are spelled as in most languages and no null looks like one
	num       []byte
}

func newValues(opt Options) values {
	v := values{decimal: opt.Decimal[0], plain: opt.Decimal == "." && opt.Thousands == ""}
	if opt.Thousands != "" {
		v.thousands = opt.Thousands[0]
	}
	for _, s := range opt.Null {
		if s == "" {
			continue // always null
		}
		v.nulls = append(v.nulls, s)
		if c := s[0]; c-'0' <= 9 || c == '-' || c == '+' || c == '.' {
			v.plain = false
		}
	}
	return v
}

// isNull reports whether text is a spelling of null.
func (v *values) isNull(text []byte) bool {
	for _, s := range v.nulls {
		if string(text) == s {
			return true
		}
	}
	return false
}

// maxNumber is the longest text that is tried as a number, in bytes.
const maxNumber = 1100

// number reads all of text as a number. The text that comes back is its plain spelling, with room behind it.
func (v *values) number(text []byte) (n scalar.Number, plain []byte, ok bool) {
	if len(text) == 0 || len(text) > maxNumber {
		return n, nil, false
	}
	if c := text[0]; c-'0' > 9 && c != '-' && c != '+' && c != v.decimal {
		return n, nil, false
	}
	num := v.num[:0]
	whole := true
	for i, c := range text {
		switch {
		case c == v.decimal:
			c, whole = '.', false
		case c == v.thousands && c != 0:
			if !whole || i == 0 || i+1 == len(text) || text[i-1]-'0' > 9 || text[i+1]-'0' > 9 {
				return n, nil, false
			}
			continue
		case c == '.':
			return n, nil, false
		}
		num = append(num, c)
	}
	size := len(num)
	v.num = append(num, make([]byte, scalar.Pad)...)
	n, end := scalar.Scan(v.num, 0)
	return n, v.num[:size], end == size && n.Valid()
}
