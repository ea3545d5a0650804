package gpu

import (
	"encoding/binary"
	"fmt"
)

// PackStrings appends byte strings as the open inference protocol writes them: each after its length, 32 bits, little-endian.
func PackStrings(dst []byte, list [][]byte) []byte {
	for _, s := range list {
		dst = binary.LittleEndian.AppendUint32(dst, uint32(len(s)))
		dst = append(dst, s...)
	}
	return dst
}

// PackedLen is how many bytes PackStrings makes of a list.
func PackedLen(list [][]byte) int {
	n := 0
	for _, s := range list {
		n += 4 + len(s)
	}
	return n
}

// UnpackStrings reads n byte strings, which are parts of raw.
func UnpackStrings(raw []byte, n int64) ([][]byte, error) {
	if n > int64(len(raw)/4) {
		return nil, fmt.Errorf("%d bytes are too few for %d strings", len(raw), n)
	}
	list := make([][]byte, 0, n)
	for i := range n {
		if len(raw) < 4 {
			return nil, fmt.Errorf("string %d of %d is cut off", i, n)
		}
		size := uint64(binary.LittleEndian.Uint32(raw))
		raw = raw[4:]
		if size > uint64(len(raw)) {
			return nil, fmt.Errorf("string %d of %d claims %d bytes, %d are left", i, n, size, len(raw))
		}
		list = append(list, raw[:size:size])
		raw = raw[size:]
	}
	if len(raw) != 0 {
		return nil, fmt.Errorf("%d bytes are left after %d strings", len(raw), n)
	}
	return list, nil
}
