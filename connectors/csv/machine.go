package csv

// The machine that finds where records end, byte by byte. It is the definition; the parser and the count of quotes are faster ways to the
// same places.

// state is where the machine is after a byte.
type state uint8

const (
	atRecord  state = iota // a record starts here
	atField                // a field starts here
	inField                // in a field without quotes, or behind the closing quote
	inQuotes               // between quotes
	atQuote                // behind a quote between quotes: it closed them, unless another follows
	escField               // behind an escape outside quotes
	escQuotes              // behind an escape between quotes
	inComment
)

// advance runs the machine over b, from state s, up to the end of the first record that ends in b. done says that one did; n is how
// many bytes belong to it. Blank and comment lines end like records.
func (d dialect) advance(s state, b []byte) (n int, end state, done bool) {
	for i, c := range b {
		switch s {
		case escField:
			s = inField
			continue
		case escQuotes:
			s = inQuotes
			continue
		case inComment:
			if c == '\n' {
				return i + 1, atRecord, true
			}
			continue
		case inQuotes:
			switch {
			case c == d.quote:
				s = atQuote
			case c == d.escape && c != 0:
				s = escQuotes
			}
			continue
		case atQuote:
			if c == d.quote {
				s = inQuotes
				continue
			}
		case atRecord:
			if c == d.comment && c != 0 {
				s = inComment
				continue
			}
			fallthrough
		case atField:
			if c == d.quote && c != 0 {
				s = inQuotes
				continue
			}
		}
		switch {
		case c == '\n':
			return i + 1, atRecord, true
		case c == d.delim:
			s = atField
		case c == d.escape && c != 0:
			s = escField
		default:
			s = inField
		}
	}
	return len(b), s, false
}

// run runs the machine over all of b.
func (d dialect) run(s state, b []byte) state {
	for len(b) > 0 {
		n, next, _ := d.advance(s, b)
		s, b = next, b[n:]
	}
	return s
}
