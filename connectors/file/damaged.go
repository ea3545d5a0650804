package file

import (
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
	"github.com/xi2/xz"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
)

// DamagedError reports a compressed file that cannot be decompressed to its end. What came before is good: readers of rows report the rest of
// the file as one failed row (see Text.Damaged).
type DamagedError struct {
	Path        string
	Compression string
	Bytes       int64 // decompressed before the fault
	Short       bool  // the file ends early
	Err         error
}

// Error implements error.
func (e *DamagedError) Error() string {
	if e.Short {
		return fmt.Sprintf("decompress %s: the %s data ends early, after %d bytes of text: the file was cut short or is still being written; copy it again", e.Path, e.Compression, e.Bytes)
	}
	if errors.Is(e.Err, xz.ErrMemlimit) || errors.Is(e.Err, zstd.ErrWindowSizeExceeded) {
		return fmt.Sprintf("decompress %s: the %s data, after %d bytes of text, asks for more memory than the limit of %s; compress it again with a smaller window",
			e.Path, e.Compression, e.Bytes, dataset.ByteSize(maxWindow))
	}
	return fmt.Sprintf("decompress %s: the %s data is damaged after %d bytes of text: %v; the rest of the file cannot be read", e.Path, e.Compression, e.Bytes, e.Err)
}

// Unwrap gives the decompressor's error.
func (e *DamagedError) Unwrap() error { return e.Err }

// Class is the class that the failure is counted under.
func (e *DamagedError) Class() string {
	if e.Short {
		return "compressed file ends early"
	}
	return "compressed file damaged"
}

// Damaged ends the reading of rows from a file at an error of Read. If the compressed data is to blame, the rest of the file is reported as one
// failed row at pos, the position of the row that could not be read whole; nil then says that the policy wants to go on, behind the file. All
// other errors come back.
func (t *Text) Damaged(err error, rt dataset.Runtime, id *block.File, pos uint64) error {
	d, ok := errors.AsType[*DamagedError](err)
	if !ok {
		return err
	}
	row := dataset.FailedRow(id, pos)
	defer row.Release()
	return rt.Fail(row, 0, d)
}

// unpacker decompresses a file and says what is wrong with it. The decompressor is made at the first read, so that a file whose first bytes are
// damaged is met like any other.
type unpacker struct {
	path string
	name string
	odd  bool // the first bytes are not those of the compression
	in   io.Reader
	z    io.ReadCloser
	n    int64 // decompressed bytes
	raws int64 // compressed bytes
	lost error // of reading in
	bad  error // what was said last
}

// Read implements io.Reader.
func (u *unpacker) Read(p []byte) (n int, err error) {
	if u.z == nil {
		if u.z, err = Decompress(readerFunc(u.raw), u.name); err != nil {
			u.z = nil
			return 0, u.fault(err)
		}
	}
	n, err = u.z.Read(p)
	u.n += int64(n)
	if err == nil || err == io.EOF && u.raws > 0 { // a file without bytes is none of any compression
		return n, err
	}
	return n, u.fault(err)
}

// raw reads compressed bytes and remembers what went wrong, which is no fault of theirs.
func (u *unpacker) raw(p []byte) (int, error) {
	n, err := u.in.Read(p)
	u.raws += int64(n)
	if err != nil && err != io.EOF {
		u.lost = err
	}
	return n, err
}

// fault tells damaged bytes from bytes that could not be read.
func (u *unpacker) fault(err error) error {
	u.bad = err
	if u.lost != nil {
		return u.lost
	}
	if u.odd && u.n == 0 && u.raws > 0 {
		return &DamagedError{Path: u.path, Compression: u.name, Err: errors.New("the file does not begin like one; rename it if it is not compressed")}
	}
	return &DamagedError{Path: u.path, Compression: u.name, Bytes: u.n, Short: errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, xz.ErrBuf) || err == io.EOF, Err: err}
}

// Close implements io.Closer.
func (u *unpacker) Close() error {
	if u.z == nil {
		return nil
	}
	if err := u.z.Close(); u.bad == nil { // some say again what Read said
		return err
	}
	return nil
}

type readerFunc func(p []byte) (int, error)

// Read implements io.Reader.
func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
