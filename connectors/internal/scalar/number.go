package scalar

import (
	"encoding/binary"
	"math"
	"strconv"
	"unsafe"
)

// Pad is how many bytes must follow a number in its buffer, whatever they are: digits are read eight at a time.
const Pad = 8

// Number is a decimal number as scanned: Mant * 10^Exp, exact when Digits <= MaxExactDigits. What does not fit there is read again
// from its text.
type Number struct {
	Mant   uint64
	Exp    int
	Digits int
	Neg    bool
	Real   bool // written with a point or an exponent
	Form   Form
}

// Form tells spellings apart that some formats refuse.
type Form uint8

// The forms of a number that JSON has not.
const (
	Plus        Form = 1 << iota // +1
	LeadingZero                  // 01
	NoWhole                      // .5, or no digit at all
	NoFraction                   // 5.
	NoExponent                   // 1e
)

// MaxExactDigits is how many decimal digits a uint64 always holds.
const MaxExactDigits = 19

// Scan scans the number at b[i] and returns the position after it. A sign, digits before or after the point and an exponent may each be
// missing; Form says which of that is odd. No digits at all is NoWhole with Digits 0. b must go on for Pad bytes behind the number.
func Scan(b []byte, i int) (n Number, end int) {
	if c := b[i]; c == '-' || c == '+' {
		n.Neg = c == '-'
		if c == '+' {
			n.Form = Plus
		}
		i++
	}
	first := i
	for c := b[i] - '0'; c <= 9; c = b[i] - '0' {
		n.Mant = n.Mant*10 + uint64(c)
		i++
	}
	n.Digits = i - first
	if n.Digits == 0 {
		n.Form |= NoWhole
	} else if n.Digits > 1 && b[first] == '0' {
		n.Form |= LeadingZero
		n.Digits -= leadingZeros(b[first:i])
	}
	if b[i] == '.' {
		i = n.fraction(b, first, i+1)
	}
	if b[i]|0x20 == 'e' && (n.Digits > 0 || n.Form&NoWhole == 0) {
		i = n.exponent(b, i+1)
	}
	return n, i
}

// fraction scans the digits after the point.
func (n *Number) fraction(b []byte, first, i int) int {
	n.Real = true
	frac := i
	for {
		x := binary.LittleEndian.Uint64(b[i:])
		if !eightDigits(x) {
			break
		}
		n.Mant = n.Mant*1e8 + eightValue(x)
		i += 8
	}
	for c := b[i] - '0'; c <= 9; c = b[i] - '0' {
		n.Mant = n.Mant*10 + uint64(c)
		i++
	}
	if i == frac {
		n.Form |= NoFraction
	}
	n.Exp = frac - i
	n.Digits += i - frac
	if n.Mant != 0 && n.Form&LeadingZero == 0 && (b[first] == '0' || n.Form&NoWhole != 0) {
		n.Digits -= leadingZeros(b[first:i])
	}
	return i
}

func (n *Number) exponent(b []byte, i int) int {
	n.Real = true
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
		n.Form |= NoExponent
	}
	if neg {
		exp = -exp
	}
	n.Exp += exp
	return i
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

// ShortInt reads a whole number of at most 18 digits without plus and leading zeros, the usual case. end is i when the number at b[i] is
// not plainly one.
func ShortInt(b []byte, i int) (v int64, end int) {
	j := i
	neg := b[j] == '-'
	if neg {
		j++
	}
	first := j
	for c := b[j] - '0'; c <= 9; c = b[j] - '0' {
		v = v*10 + int64(c)
		j++
	}
	n := j - first
	if n == 0 || n > 18 || n > 1 && b[first] == '0' || b[j] == '.' || b[j]|0x20 == 'e' {
		return 0, i
	}
	if neg {
		v = -v
	}
	return v, j
}

// Integer is the magnitude as an integer when the number is one and fits into 64 bits.
func (n Number) Integer() (mag uint64, ok bool) {
	if n.Digits > MaxExactDigits {
		return 0, false
	}
	if n.Mant == 0 {
		return 0, true
	}
	mag = n.Mant
	for e := n.Exp; e < 0; e++ {
		if mag%10 != 0 {
			return 0, false
		}
		mag /= 10
	}
	for e := n.Exp; e > 0; e-- {
		if mag > math.MaxUint64/10 {
			return 0, false
		}
		mag *= 10
	}
	return mag, true
}

// Int64 is the value as int64; text is its source, needed for the few numbers of 19 digits and more.
func (n Number) Int64(text []byte) (int64, bool) {
	mag, ok := n.Integer()
	if !ok {
		if n.Real || n.Digits <= MaxExactDigits {
			return 0, false
		}
		v, err := strconv.ParseInt(View(text), 10, 64)
		return v, err == nil
	}
	if n.Neg {
		return -int64(mag), mag <= 1<<63
	}
	return int64(mag), mag <= math.MaxInt64
}

// Uint64 is the value as uint64.
func (n Number) Uint64(text []byte) (uint64, bool) {
	mag, ok := n.Integer()
	if !ok {
		if n.Real || n.Neg || n.Digits <= MaxExactDigits {
			return 0, false
		}
		if text[0] == '+' {
			text = text[1:]
		}
		v, err := strconv.ParseUint(View(text), 10, 64)
		return v, err == nil
	}
	return mag, !n.Neg || mag == 0
}

// WhyNotInteger says why a number has no place in an integer column.
func (n Number) WhyNotInteger() string {
	if n.Real {
		if _, whole := n.Integer(); !whole {
			return "is not a whole number"
		}
	}
	return "is out of range"
}

// View is b as a string that must not outlive it.
func View(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// Valid reports whether digits stand where a number needs them: before or behind the point, and behind the sign of an exponent.
func (n Number) Valid() bool {
	return (n.Form&NoWhole == 0 || n.Real && n.Form&NoFraction == 0) && n.Form&NoExponent == 0
}
