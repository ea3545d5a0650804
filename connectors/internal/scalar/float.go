package scalar

import (
	"encoding/binary"
	"math"
	"math/big"
	"math/bits"
	"strconv"
)

// pow10 holds the powers of ten that a float64 represents exactly.
var pow10 = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
	1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22}

// Float64 is the nearest float64; text is the number's source. One multiplication or division of exact operands rounds correctly (Clinger
// 1990), most others take one or two multiplications by a power of 128 bits (eiselLemire), and the rest goes through strconv.
func (n Number) Float64(text []byte) (float64, bool) {
	if n.Digits <= MaxExactDigits && n.Mant < 1<<53 {
		f := float64(n.Mant)
		if n.Neg {
			f = -f
		}
		switch {
		case n.Exp == 0 || n.Mant == 0:
			return f, true
		case n.Exp > 0 && n.Exp < len(pow10):
			return f * pow10[n.Exp], true
		case n.Exp < 0 && -n.Exp < len(pow10):
			return f / pow10[-n.Exp], true
		}
	}
	if n.Digits <= MaxExactDigits && n.Mant != 0 && n.Exp >= -maxPower && n.Exp <= maxPower {
		if f, ok := eiselLemire(n.Mant, n.Exp); ok {
			if n.Neg {
				f = -f
			}
			return f, true
		}
	}
	f, err := strconv.ParseFloat(View(text), 64)
	return f, err == nil
}

// Float32 is the nearest float32, rounded once; ok is false past its range.
func (n Number) Float32(text []byte) (float32, bool) {
	if n.Digits <= MaxExactDigits && n.Mant < 1<<24 && n.Exp <= 0 && n.Exp >= -10 {
		f := float32(n.Mant) / float32(pow10[-n.Exp]) // both exact: powers up to 10^10 fit 24 bits times a power of two
		if n.Neg {
			f = -f
		}
		return f, true
	}
	f, err := strconv.ParseFloat(View(text), 32)
	return float32(f), err == nil
}

// maxPower is the largest exponent of ten that eiselLemire takes: text rarely holds others, and the table stays small.
const maxPower = 45

// powers holds the first 128 bits of 10^e, rounded down, from e = -maxPower on, with the highest bit set.
var powers = func() (t [2*maxPower + 1]struct{ hi, lo uint64 }) {
	ten, mask := big.NewInt(10), new(big.Int).SetUint64(math.MaxUint64)
	for i := range t {
		e := int64(i - maxPower)
		x := new(big.Int).Exp(ten, big.NewInt(max(e, -e)), nil)
		if e < 0 {
			one := new(big.Int).Lsh(big.NewInt(1), 127+uint(x.BitLen()))
			x = one.Div(one, x) // of 128 bits: x is no power of two
		}
		if n := x.BitLen(); n > 128 {
			x.Rsh(x, uint(n-128))
		} else {
			x.Lsh(x, uint(128-n))
		}
		t[i].lo = new(big.Int).And(x, mask).Uint64()
		t[i].hi = x.Rsh(x, 64).Uint64()
	}
	return t
}()

// eiselLemire is the nearest float64 to mant * 10^exp10 for mant > 0 and exponents up to maxPower either way. ok is false in the rare case
// that 128 bits of the power do not decide (Lemire, "Number Parsing at a Gigabyte per Second", 2021).
func eiselLemire(mant uint64, exp10 int) (f float64, ok bool) {
	const bias, low9 = 1023, 1<<9 - 1
	shift := bits.LeadingZeros64(mant)
	mant <<= shift
	exp2 := uint64(217706*exp10>>16+64+bias) - uint64(shift) // 217706/65536 is log2(10), near enough for these exponents
	p := &powers[exp10+maxPower]
	hi, lo := bits.Mul64(mant, p.hi)
	if hi&low9 == low9 && lo+mant < mant { // the lower half of the power may carry into the bits that are kept
		hi2, lo2 := bits.Mul64(mant, p.lo)
		sum, carry := bits.Add64(lo, hi2, 0)
		hi += carry
		if hi&low9 == low9 && sum+1 == 0 && lo2+mant < mant {
			return 0, false
		}
		lo = sum
	}
	top := hi >> 63
	m := hi >> (top + 9)
	exp2 -= 1 ^ top
	if lo == 0 && hi&low9 == 0 && m&3 == 1 {
		return 0, false // half way between two floats, perhaps
	}
	m = (m + m&1) >> 1
	if m>>53 > 0 {
		m >>= 1
		exp2++
	}
	if exp2-1 >= 0x7fe {
		return 0, false // subnormal, or too large
	}
	return math.Float64frombits(exp2<<52 | m&(1<<52-1)), true
}

// ShortFloat reads a number of the form 12.345 whose digits fit 64 bits, the usual case. end is i when the number at b[i] is not plainly
// one. b must go on for Pad bytes behind it.
func ShortFloat(b []byte, i int) (f float64, end int) {
	j := i
	neg := b[j] == '-'
	if neg {
		j++
	}
	first, m := j, uint64(0)
	for c := b[j] - '0'; c <= 9; c = b[j] - '0' {
		m = m*10 + uint64(c)
		j++
	}
	whole := j - first
	if whole == 0 || whole > 1 && b[first] == '0' || b[j] != '.' {
		return 0, i
	}
	j++
	frac := j
	for {
		x := binary.LittleEndian.Uint64(b[j:])
		if !eightDigits(x) {
			break
		}
		m = m*1e8 + eightValue(x)
		j += 8
	}
	for c := b[j] - '0'; c <= 9; c = b[j] - '0' {
		m = m*10 + uint64(c)
		j++
	}
	n := j - frac
	if n == 0 || b[j]|0x20 == 'e' || whole+n > MaxExactDigits {
		return 0, i
	}
	ok := true
	if m < 1<<53 {
		f = float64(m) / pow10[n]
	} else {
		f, ok = eiselLemire(m, -n)
	}
	if !ok {
		return 0, i
	}
	if neg {
		f = -f
	}
	return f, j
}
