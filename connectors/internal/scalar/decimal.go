package scalar

import "github.com/apache/arrow-go/v18/arrow/decimal128"

// Decimal reads a decimal number exactly at the given scale; why says what is wrong with it.
func Decimal(b []byte, precision, scale int32) (v decimal128.Num, why string) {
	neg := len(b) > 0 && b[0] == '-'
	if neg {
		b = b[1:]
	}
	digits, point, exp, ok := decimalDigits(b)
	if !ok {
		return v, "is not a decimal number"
	}
	shift := int(scale) - point + exp // zeros to append to, or digits to cut from, the digits read
	for ; shift < 0 && len(digits) > 0; shift++ {
		if digits[len(digits)-1] != '0' {
			return v, "has more digits after the point than the column"
		}
		digits = digits[:len(digits)-1]
	}
	if len(digits) == 0 {
		return v, ""
	}
	if len(digits)+shift > int(precision) {
		return v, "is out of range"
	}
	ten := decimal128.FromI64(10)
	for k := range len(digits) + shift {
		v = v.Mul(ten)
		if k < len(digits) {
			v = v.Add(decimal128.FromI64(int64(digits[k] - '0')))
		}
	}
	if neg {
		v = v.Negate()
	}
	return v, ""
}

// decimalDigits splits an unsigned number into its digits without leading zeros, how many of them follow the point, and
// its exponent.
func decimalDigits(b []byte) (digits []byte, point, exp int, ok bool) {
	digits = make([]byte, 0, 40)
	seen, after := 0, false
	k := 0
	for ; k < len(b); k++ {
		if b[k] == '.' && !after {
			after = true
			continue
		}
		if b[k]-'0' > 9 {
			break
		}
		seen++
		if after {
			point++
		}
		if b[k] != '0' || len(digits) > 0 {
			digits = append(digits, b[k])
		}
	}
	if seen == 0 {
		return nil, 0, 0, false
	}
	if k < len(b) {
		if b[k]|0x20 != 'e' {
			return nil, 0, 0, false
		}
		e, ok := smallInt(b[k+1:])
		if !ok {
			return nil, 0, 0, false
		}
		exp = e
	}
	return digits, point, exp, true
}

// smallInt reads an exponent; anything beyond any decimal's reach is cut to a value that is out of range too.
func smallInt(b []byte) (int, bool) {
	neg := len(b) > 0 && b[0] == '-'
	if len(b) > 0 && (b[0] == '-' || b[0] == '+') {
		b = b[1:]
	}
	if len(b) == 0 {
		return 0, false
	}
	n := 0
	for _, c := range b {
		if c-'0' > 9 {
			return 0, false
		}
		n = min(n*10+int(c-'0'), 10000)
	}
	if neg {
		n = -n
	}
	return n, true
}
