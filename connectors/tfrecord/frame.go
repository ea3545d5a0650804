package tfrecord

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/sluice-data/sluice/dataset"
)

const (
	headBytes = 12 // length and its sum
	tailBytes = 4  // the sum of the record
	mask      = 0xa282ead8
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// masked is the sum that frames carry: rotated and shifted, so that sums of data that hold sums stay good.
func masked(p []byte) uint32 {
	c := crc32.Checksum(p, castagnoli)
	return (c>>15 | c<<17) + mask
}

// errSum says that a record does not have the sum that its frame says.
var errSum = &recordError{"checksum does not match", errors.New("the CRC-32C of the record does not match; the file is damaged here")}

// recordError is a failed record with the class that it is counted under.
type recordError struct {
	class string
	err   error
}

func (e *recordError) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *recordError) Unwrap() error { return e.err }

// Class implements dataset.Classed.
func (e *recordError) Class() string { return e.class }

// frames reads records in order.
type frames struct {
	r   *bufio.Reader
	at  uint64 // of the next frame
	max uint64
	buf []byte
}

func newFrames(r io.Reader, at uint64, limit dataset.ByteSize) *frames {
	return &frames{r: bufio.NewReaderSize(r, 256<<10), at: at, max: uint64(limit)}
}

// head reads the length of the next record. io.EOF ends the file.
func (f *frames) head() (n uint64, err error) {
	var h [headBytes]byte
	if k, err := io.ReadFull(f.r, h[:]); err != nil {
		if err == io.ErrUnexpectedEOF {
			err = fmt.Errorf("at byte %d: the file is cut off after %d bytes of a frame", f.at, k)
		}
		return 0, err
	}
	return lengthOf(h[:], f.at)
}

// lengthOf checks and reads the length in a frame's head.
func lengthOf(h []byte, at uint64) (uint64, error) {
	if masked(h[:8]) != binary.LittleEndian.Uint32(h[8:]) {
		why := "the file is damaged here, and what follows cannot be found"
		if at == 0 {
			why = "this is not a TFRecord file, or its first bytes are damaged"
		}
		return 0, fmt.Errorf("at byte %d: the checksum of the record's length does not match: %s", at, why)
	}
	n := binary.LittleEndian.Uint64(h)
	if n > 1<<48 {
		return 0, fmt.Errorf("at byte %d: a record of %d bytes", at, n)
	}
	return n, nil
}

// skip passes over a record whose head was read.
func (f *frames) skip(n uint64) error {
	f.at += headBytes + n + tailBytes
	for left := n + tailBytes; left > 0; {
		k, err := f.r.Discard(int(min(left, 1<<30)))
		left -= uint64(k)
		if err != nil {
			return f.cut(left, err)
		}
	}
	return nil
}

func (f *frames) cut(missing uint64, err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return fmt.Errorf("the file is cut off: %d bytes of its last record are missing", missing)
	}
	return err
}

// firstStep is how much room a record gets before its bytes have come.
const firstStep = 1 << 20

// record reads a record whose head was read; it is valid until the next call. A *recordError fails this record alone.
func (f *frames) record(n uint64) ([]byte, error) {
	if n > f.max {
		if err := f.skip(n); err != nil {
			return nil, err
		}
		return nil, &recordError{"record too large", fmt.Errorf("the record has %d bytes, more than max_record=%s; raise max_record to read it", n, dataset.ByteSize(f.max))}
	}
	need := n + tailBytes
	for have := uint64(0); have < need; {
		to := min(need, max(2*have, firstStep))
		if uint64(cap(f.buf)) < to {
			f.buf = append(make([]byte, 0, to), f.buf[:have]...)
		}
		f.buf = f.buf[:to]
		k, err := io.ReadFull(f.r, f.buf[have:])
		if err != nil {
			return nil, f.cut(need-have-uint64(k), err)
		}
		have = to
	}
	f.at += headBytes + need
	if masked(f.buf[:n]) != binary.LittleEndian.Uint32(f.buf[n:]) {
		return nil, errSum
	}
	return f.buf[:n], nil
}

// appendFrame appends the frame of a record.
func appendFrame(dst, record []byte) []byte {
	at := len(dst)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(len(record)))
	dst = binary.LittleEndian.AppendUint32(dst, masked(dst[at:]))
	dst = append(dst, record...)
	return binary.LittleEndian.AppendUint32(dst, masked(record))
}
