package level

import (
	"encoding/binary"
	"fmt"
	"io"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/parquet-go/bitpack"
)

// Decoder reads values of a fixed bit width. The zero value is empty; Reset
// makes it ready. It keeps the slice that it was given and never writes to it.
type Decoder struct {
	in     []byte // runs not started yet
	width  uint
	repeat int // values left in a run-length run
	value  uint32
	packed []byte // the bit-packed run being read
	pos    int    // values already taken from packed
	left   int    // values left in packed
}

// Reset starts reading b, whose values are width bits wide (0 to 32).
func (d *Decoder) Reset(b []byte, width uint) error {
	if width > 32 {
		return fmt.Errorf("decode levels: bit width %d is over 32", width)
	}
	*d = Decoder{in: b, width: width}
	return nil
}

// next starts the next run.
func (d *Decoder) next() error {
	if d.width == 0 {
		d.repeat, d.value = int(^uint(0)>>1), 0
		return nil
	}
	for {
		u, n := binary.Uvarint(d.in)
		if n <= 0 {
			return fmt.Errorf("decode run: %w", io.ErrUnexpectedEOF)
		}
		d.in = d.in[n:]
		count := u >> 1
		if count == 0 {
			continue
		}
		if u&1 == 0 {
			return d.startRepeat(count)
		}
		return d.startPacked(count)
	}
}

func (d *Decoder) startRepeat(count uint64) error {
	size := int(d.width+7) / 8
	if size > len(d.in) || count > 1<<31 {
		return fmt.Errorf("decode run of %d repeated values: %w", count, io.ErrUnexpectedEOF)
	}
	v := uint32(0)
	for i := range size {
		v |= uint32(d.in[i]) << (8 * i)
	}
	if d.width < 32 && v>>d.width != 0 {
		return fmt.Errorf("decode run: value %d is wider than %d bits", v, d.width)
	}
	d.in, d.value, d.repeat = d.in[size:], v, int(count)
	return nil
}

func (d *Decoder) startPacked(groups uint64) error {
	if groups > 1<<28 || groups*uint64(d.width) > uint64(len(d.in)) {
		return fmt.Errorf("decode run of %d packed groups of %d bits with %d bytes left: %w", groups, d.width, len(d.in), io.ErrUnexpectedEOF)
	}
	size := int(groups) * int(d.width)
	d.packed, d.pos, d.left = d.in[:size], 0, int(groups)*8
	d.in = d.in[size:]
	return nil
}

// at returns value i of the packed run.
func (d *Decoder) at(i int) uint32 {
	bit := uint(i) * d.width
	var w [8]byte
	copy(w[:], d.packed[bit/8:])
	return uint32(binary.LittleEndian.Uint64(w[:])>>(bit%8)) & uint32(1<<d.width-1)
}

// Uint32 fills dst.
func (d *Decoder) Uint32(dst []uint32) error {
	for len(dst) > 0 {
		switch {
		case d.repeat > 0:
			n := min(len(dst), d.repeat)
			for i := range dst[:n] {
				dst[i] = d.value
			}
			d.repeat -= n
			dst = dst[n:]
		case d.left > 0:
			n := min(len(dst), d.left)
			d.unpack(dst[:n])
			dst = dst[n:]
		default:
			if err := d.next(); err != nil {
				return err
			}
		}
	}
	return nil
}

// unpack takes len(dst) values, which the packed run has.
func (d *Decoder) unpack(dst []uint32) {
	n := len(dst)
	i := 0
	for ; i < n && (d.pos+i)&7 != 0; i++ {
		dst[i] = d.at(d.pos + i)
	}
	if bulk := (n - i) &^ 7; bulk > 0 {
		src := d.packed[(d.pos+i)/8*int(d.width):]
		if cap(src) >= bulk/8*int(d.width)+bitpack.PaddingInt32 {
			bitpack.Unpack(dst[i:i+bulk], src, d.width)
			i += bulk
		}
	}
	for ; i < n; i++ {
		dst[i] = d.at(d.pos + i)
	}
	d.pos += n
	d.left -= n
}

// Bytes fills dst; the width must be at most 8.
func (d *Decoder) Bytes(dst []byte) error {
	var chunk [256]uint32
	for len(dst) > 0 {
		switch {
		case d.repeat > 0:
			n := min(len(dst), d.repeat)
			for i := range dst[:n] {
				dst[i] = byte(d.value)
			}
			d.repeat -= n
			dst = dst[n:]
		case d.left > 0:
			n := min(len(dst), d.left, len(chunk))
			d.unpack(chunk[:n])
			for i, v := range chunk[:n] {
				dst[i] = byte(v)
			}
			dst = dst[n:]
		default:
			if err := d.next(); err != nil {
				return err
			}
		}
	}
	return nil
}

// Bitmap writes n levels of one bit to dst at bit offset off and returns how
// many are set. Bits of dst behind off+n are left as they are.
func (d *Decoder) Bitmap(dst []byte, off, n int) (ones int, err error) {
	if d.width != 1 {
		return 0, fmt.Errorf("decode bitmap: bit width is %d", d.width)
	}
	for n > 0 {
		switch {
		case d.repeat > 0:
			k := min(n, d.repeat)
			bitutil.SetBitsTo(dst, int64(off), int64(k), d.value != 0)
			if d.value != 0 {
				ones += k
			}
			d.repeat -= k
			off, n = off+k, n-k
		case d.left > 0:
			k := min(n, d.left)
			bitutil.CopyBitmap(d.packed, d.pos, k, dst, off)
			ones += bitutil.CountSetBits(d.packed, d.pos, k)
			d.pos += k
			d.left -= k
			off, n = off+k, n-k
		default:
			if err := d.next(); err != nil {
				return ones, err
			}
		}
	}
	return ones, nil
}

// AllOnes reports whether the next n one-bit levels are a single run of ones,
// and consumes them if so. It is the fast path of a column without nulls.
func (d *Decoder) AllOnes(n int) bool {
	if d.repeat == 0 && d.left == 0 && d.next() != nil {
		return false
	}
	if d.repeat < n || d.value != 1 {
		return false
	}
	d.repeat -= n
	return true
}

// Width returns the number of bits that hold levels up to limit.
func Width(limit int) uint { return uint(bits.Len(uint(limit))) }
