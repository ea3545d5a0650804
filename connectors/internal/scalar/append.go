package scalar

import (
	"bytes"
	"math"
	"strconv"
)

// AppendFloat appends a finite float of so many bits in the shortest spelling that reads back equal, always with a point or an exponent,
// so that it reads back as a float.
func AppendFloat(dst []byte, f float64, bits int) []byte {
	abs := math.Abs(f)
	if abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		return strconv.AppendFloat(dst, f, 'e', -1, bits)
	}
	from := len(dst)
	dst = strconv.AppendFloat(dst, f, 'f', -1, bits)
	if bytes.IndexByte(dst[from:], '.') < 0 {
		dst = append(dst, ".0"...)
	}
	return dst
}
