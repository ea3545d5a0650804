package read

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/parquet-go/parquet-go/format"

	"github.com/sluice-data/sluice/connectors/parquet/internal/level"
)

// mode is how the values of a page are stored once they are ready to be read.
type mode uint8

const (
	modeNone     mode = iota
	modePlain         // fixed-width values, or length-prefixed byte arrays
	modeBits          // booleans, bit-packed
	modeRuns          // booleans, run-length encoded
	modeIndex         // dictionary indexes
	modeLengths       // byte arrays: lengths apart from bytes
	modePrefixes      // byte arrays: shared prefixes, lengths, bytes
)

// pageValues is the position in the values of one page. It is copied to
// remember a position, so it holds no state behind pointers.
type pageValues struct {
	mode  mode
	data  []byte
	bit   int // modeBits: bits consumed
	runs  level.Decoder
	sizes []int32 // modeLengths and modePrefixes, remaining
	prefs []int32 // modePrefixes, remaining
}

// openValues prepares the n or fewer values of a page.
func (l *leaf) openValues(enc format.Encoding, b []byte, n int) error {
	l.vals = pageValues{mode: modePlain, data: b}
	var err error
	switch enc {
	case format.Plain:
		if l.col.Physical == format.Boolean {
			l.vals.mode = modeBits
		}
		return nil
	case format.PlainDictionary, format.RLEDictionary:
		return l.openIndex(b)
	case format.RLE:
		if l.col.Physical != format.Boolean {
			break
		}
		if len(b) < 4 || int64(binary.LittleEndian.Uint32(b)) > int64(len(b)-4) {
			return fmt.Errorf("run-length encoded booleans: %w", io.ErrUnexpectedEOF)
		}
		l.vals.mode = modeRuns
		return l.vals.runs.Reset(b[4:4+binary.LittleEndian.Uint32(b)], 1)
	case format.DeltaBinaryPacked:
		if l.col.Physical == format.Int32 || l.col.Physical == format.Int64 {
			l.vals.data, err = l.decodeDelta(b, n)
			return err
		}
	case format.ByteStreamSplit:
		if l.width > 0 {
			l.vals.data, err = l.joinStreams(b)
			return err
		}
	case format.DeltaLengthByteArray, format.DeltaByteArray:
		if l.col.Physical == format.ByteArray || (enc == format.DeltaByteArray && l.col.Physical == format.FixedLenByteArray) {
			return l.openDeltaBytes(enc, b, n)
		}
	default:
		return fmt.Errorf("encoding %d is unknown", int32(enc))
	}
	return fmt.Errorf("encoding %s does not fit values of type %s", enc, l.col.Physical)
}

func (l *leaf) openIndex(b []byte) error {
	if !l.dict.loaded {
		return errors.New("page has dictionary indexes and the column chunk no dictionary")
	}
	l.vals.mode = modeIndex
	if len(b) == 0 {
		return l.vals.runs.Reset(nil, 0)
	}
	return l.vals.runs.Reset(b[1:], uint(b[0]))
}

// joinStreams undoes BYTE_STREAM_SPLIT into the leaf's second buffer.
func (l *leaf) joinStreams(b []byte) ([]byte, error) {
	n := len(b) / l.width
	if n*l.width != len(b) {
		return nil, fmt.Errorf("split streams of %d bytes do not divide into values of %d", len(b), l.width)
	}
	dst := l.aux.grow(len(b), 0)
	for s := range l.width {
		stream := b[s*n : (s+1)*n]
		for i, v := range stream {
			dst[i*l.width+s] = v
		}
	}
	return dst, nil
}

// fixed reads n values of the physical width into dst.
func (l *leaf) fixed(dst []byte, n int) error {
	switch l.vals.mode {
	case modePlain:
		size := n * l.width
		if size > len(l.vals.data) {
			return fmt.Errorf("page has %d bytes left for %d values of %d: %w", len(l.vals.data), n, l.width, io.ErrUnexpectedEOF)
		}
		copy(dst[:size], l.vals.data)
		l.vals.data = l.vals.data[size:]
		return nil
	case modeIndex:
		return l.gather(dst, n)
	case modePrefixes:
		return l.fixedPrefixes(dst, n)
	}
	return errors.New("page has no values left")
}

// indexChunk is how many dictionary indexes are unpacked at a time: they stay
// in the first-level cache.
const indexChunk = 2048

func (l *leaf) gather(dst []byte, n int) error {
	for n > 0 {
		idx := l.index[:min(n, indexChunk)]
		if err := l.vals.runs.Uint32(idx); err != nil {
			return fmt.Errorf("dictionary indexes: %w", err)
		}
		var bad int
		src := l.dict.data.b[:l.dict.size]
		switch l.width {
		case 4:
			bad = gatherWords(view[uint32](dst), view[uint32](src), idx)
		case 8:
			bad = gatherWords(view[uint64](dst), view[uint64](src), idx)
		default:
			bad = l.gatherBytes(dst, src, idx)
		}
		if bad >= 0 {
			return l.dict.errIndex(idx[bad])
		}
		dst = dst[len(idx)*l.width:]
		n -= len(idx)
	}
	return nil
}

// gatherWords returns the position of the first index that is out of range, or
// -1.
func gatherWords[T uint32 | uint64](dst, dict []T, idx []uint32) int {
	dst = dst[:len(idx)]
	for i, x := range idx {
		if int(x) >= len(dict) {
			return i
		}
		dst[i] = dict[x]
	}
	return -1
}

func (l *leaf) gatherBytes(dst, src []byte, idx []uint32) int {
	for i, x := range idx {
		if int(x) >= l.dict.n {
			return i
		}
		copy(dst[i*l.width:(i+1)*l.width], src[int(x)*l.width:])
	}
	return -1
}

// bools reads n booleans as bits of dst from bit off.
func (l *leaf) bools(dst []byte, off, n int) error {
	switch l.vals.mode {
	case modeBits:
		if l.vals.bit+n > len(l.vals.data)*8 {
			return fmt.Errorf("page has %d booleans left, want %d: %w", len(l.vals.data)*8-l.vals.bit, n, io.ErrUnexpectedEOF)
		}
		bitutil.CopyBitmap(l.vals.data, l.vals.bit, n, dst, off)
		l.vals.bit += n
		return nil
	case modeRuns:
		_, err := l.vals.runs.Bitmap(dst, off, n)
		return err
	}
	return errors.New("page has no values left")
}
