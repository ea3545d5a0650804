package csv

import "encoding/binary"

// count is what the quotes of a stretch of bytes say.
type count struct {
	odd bool    // their number
	bad [2]bool // whether counting misleads, if the stretch starts outside (0) or inside (1) quotes
}

// beside says what a quote may have beside it.
type beside uint8

const (
	mayOpen  beside = 1 << iota // before a quote that opens
	mayClose                    // behind a quote that closes
)

// besides says it of every byte.
func (d dialect) besides() (t [256]beside) {
	for _, c := range []byte{d.delim, '\n', d.quote} {
		t[c] = mayOpen | mayClose
	}
	t['\r'] = mayClose
	return t
}

// quotes counts the quotes in b[from:to]. What lies before and behind is there to look at; where nothing does, the text starts or ends. It
// looks at eight bytes at once: all masks below have a one in the byte that they are about.
func (c *cuts) quotes(b []byte, from, to int) (n count) {
	q, d := uint64(c.d.quote)*ones, uint64(c.d.delim)*ones
	var seen uint64                                   // quotes so far
	var notOpen, notClose, notOpen2, notClose2 uint64 // those at even places that cannot open, cannot close; at odd places
	for i := from; i < to; i += 8 {
		var x uint64
		if i+8 <= len(b) {
			x = binary.LittleEndian.Uint64(b[i:])
		} else {
			var last [8]byte
			copy(last[:], b[i:])
			x = binary.LittleEndian.Uint64(last[:])
		}
		quotes := zeroBytes(x ^ q)
		if i+8 > to {
			quotes &= 1<<(8*(to-i)) - 1
		}
		if quotes == 0 {
			continue
		}
		before := zeroBytes(x^q) | zeroBytes(x^d) | zeroBytes(x^newlines)
		behind := before | zeroBytes(x^'\r'*ones)
		before, behind = before<<8, behind>>8
		if i == 0 || c.fits[b[i-1]]&mayOpen != 0 {
			before |= 1
		}
		if i+8 >= len(b) {
			behind |= 1 << (8*(len(b)-i) - 8) // the text ends behind its last byte
		} else if c.fits[b[i+8]]&mayClose != 0 {
			behind |= 1 << 56
		}
		places := quotes * ones // each byte: how many quotes up to and including it
		even := quotes & (places ^ seen&1*ones)
		odd := quotes &^ even
		notOpen |= even &^ before
		notClose |= even &^ behind
		notOpen2 |= odd &^ before
		notClose2 |= odd &^ behind
		seen += places >> 56
	}
	n.odd = seen&1 == 1
	n.bad[0] = notOpen|notClose2 != 0
	n.bad[1] = notClose|notOpen2 != 0
	return n
}

// zeroBytes has a one in each byte of x that is zero.
func zeroBytes(x uint64) uint64 {
	const lows = ^uint64(highs)
	return ^((x&lows + lows) | x | lows) >> 7
}
