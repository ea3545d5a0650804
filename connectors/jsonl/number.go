package jsonl

import (
	"encoding/binary"
	"math"
	"strconv"
	"unsafe"
)

// number is a JSON number as scanned: mant * 10^exp, exact when digits <= 19. What does not fit there is read again from
// its text.
type number struct {
	mant   uint64
	exp    int
	digits int
	neg    bool
	real   bool // written with a fraction or an exponent
}

// maxExactDigits is how many decimal digits a uint64 always holds.
const maxExactDigits = 19

// number scans the number at buf[i] by JSON's grammar.
func (s *scanner) number(i int) (n number, end int) {
	b, start := s.buf, i
	if b[i] == '-' {
		n.neg = true
		i++
	}
	first := i
	for c := b[i] - '0'; c <= 9; c = b[i] - '0' {
		n.mant = n.mant*10 + uint64(c)
		i++
	}
	n.digits = i - first
	switch {
	case n.digits == 0:
		return n, s.fail(start, "not a JSON value")
	case n.digits > 1 && b[first] == '0':
		return n, s.fail(start, "a number starts with a zero")
	}
	if b[i] == '.' {
		n.real = true
		i++
		frac := i
		for {
			x := binary.LittleEndian.Uint64(b[i:])
			if !eightDigits(x) {
				break
			}
			n.mant = n.mant*1e8 + eightValue(x)
			i += 8
		}
		for c := b[i] - '0'; c <= 9; c = b[i] - '0' {
			n.mant = n.mant*10 + uint64(c)
			i++
		}
		if i == frac {
			return n, s.fail(start, "a number ends in a point")
		}
		n.exp = frac - i
		n.digits += i - frac
		if n.mant != 0 && b[first] == '0' {
			n.digits -= leadingZeros(b[first:i])
		}
	}
	if b[i]|0x20 == 'e' {
		n.real = true
		i++
		neg := b[i] == '-'
		if neg || b[i] == '+' {
			i++
		}
		exp, from := 0, i
		for c := b[i] - '0'; c <= 9; c = b[i] - '0' {
			exp = min(exp*10+int(c), 1<<20)
			i++
		}
		if i == from {
			return n, s.fail(start, "a number ends in its exponent sign")
		}
		if neg {
			exp = -exp
		}
		n.exp += exp
	}
	return n, i
}

// eightDigits reports whether the eight bytes of x are all decimal digits (Lemire, "Quickly determining if a string is made of eight
// digits").
func eightDigits(x uint64) bool {
	return x&0xf0f0f0f0f0f0f0f0|(x+0x0606060606060606)&0xf0f0f0f0f0f0f0f0>>4 == 0x3333333333333333
}

// eightValue is the number that eight digits write, the first of them in the lowest byte.
func eightValue(x uint64) uint64 {
	const mask = 0x000000ff000000ff
	x -= 0x3030303030303030
	x = x*10 + x>>8
	return (x&mask*(100+1000000<<32) + x>>16&mask*(1+10000<<32)) >> 32
}

// leadingZeros counts the zeros before the first other digit of b, a number without sign and exponent.
func leadingZeros(b []byte) int {
	zeros := 0
	for _, c := range b {
		switch c {
		case '0':
			zeros++
		case '.':
		default:
			return zeros
		}
	}
	return zeros
}

// integer is the value as an integer when it is one and fits into 64 bits.
func (n number) integer() (mag uint64, ok bool) {
	if n.digits > maxExactDigits {
		return 0, false
	}
	if n.mant == 0 {
		return 0, true
	}
	mag = n.mant
	for e := n.exp; e < 0; e++ {
		if mag%10 != 0 {
			return 0, false
		}
		mag /= 10
	}
	for e := n.exp; e > 0; e-- {
		if mag > math.MaxUint64/10 {
			return 0, false
		}
		mag *= 10
	}
	return mag, true
}

// int64 is the value as int64; text is its source, needed for the few numbers of 19 digits and more.
func (n number) int64(text []byte) (int64, bool) {
	mag, ok := n.integer()
	if !ok {
		if n.real || n.digits <= maxExactDigits {
			return 0, false
		}
		v, err := strconv.ParseInt(view(text), 10, 64)
		return v, err == nil
	}
	if n.neg {
		return -int64(mag), mag <= 1<<63
	}
	return int64(mag), mag <= math.MaxInt64
}

// uint64 is the value as uint64.
func (n number) uint64(text []byte) (uint64, bool) {
	mag, ok := n.integer()
	if !ok {
		if n.real || n.neg || n.digits <= maxExactDigits {
			return 0, false
		}
		v, err := strconv.ParseUint(view(text), 10, 64)
		return v, err == nil
	}
	return mag, !n.neg || mag == 0
}

// pow10 holds the powers of ten that a float64 represents exactly.
var pow10 = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
	1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22}

// float64 is the nearest float64. One multiplication or division of exact operands rounds correctly (Clinger 1990);
// everything else goes through strconv.
func (n number) float64(text []byte) (float64, bool) {
	if n.digits <= maxExactDigits && n.mant < 1<<53 {
		f := float64(n.mant)
		if n.neg {
			f = -f
		}
		switch {
		case n.exp == 0 || n.mant == 0:
			return f, true
		case n.exp > 0 && n.exp < len(pow10):
			return f * pow10[n.exp], true
		case n.exp < 0 && -n.exp < len(pow10):
			return f / pow10[-n.exp], true
		}
	}
	f, err := strconv.ParseFloat(view(text), 64)
	return f, err == nil
}

// view is b as a string that must not outlive it.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
