package numpy

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/dataset"
)

// maxRow is the largest row, in bytes: blocks stay within what 32-bit offsets reach.
const maxRow = 256 << 20

// ndarray is one array of a file, read by rows.
type ndarray struct {
	name string
	head *header
	dt   dtype
	typ  arrow.DataType
	row  int64 // bytes of a row
	// One of them: at reads anywhere, from data on; in reads in order, and next is its row.
	at   io.ReaderAt
	data int64
	in   io.ReadCloser
	next int64
}

// newArray checks a header. size is how many bytes follow it, -1 when that is not known.
func newArray(name string, h *header, size int64) (*ndarray, error) {
	dt, err := parseDtype(h.descr)
	if err != nil {
		return nil, err
	}
	if len(h.shape) > 1 && slices.Contains(h.shape[1:], 0) {
		return nil, fmt.Errorf("shape %v: rows without elements cannot be read; drop the empty axis", h.shape)
	}
	a := &ndarray{name: name, head: h, dt: dt}
	inner := h.inner()
	if inner < 0 || inner*int64(max(dt.width, 1)) > maxRow {
		return nil, fmt.Errorf("shape %v: a row is larger than %s; split the array along another axis", h.shape, dataset.ByteSize(maxRow))
	}
	a.row, a.typ = inner*int64(dt.width), dt.column(h)
	if size >= 0 && (a.row > 0 && h.rows() > size/a.row || h.rows()*a.row > size) {
		return nil, fmt.Errorf("shape %v of %s needs more bytes than the %d that follow the header: the file is cut off", h.shape, h.descr, size)
	}
	return a, nil
}

// fortran tells arrays whose rows are scattered.
func (a *ndarray) fortran() bool { return a.head.fortran && len(a.head.shape) > 1 }

// read gives rows [from, from+n).
func (a *ndarray) read(mem memory.Allocator, from int64, n int) (arrow.Array, error) {
	buf := memory.NewResizableBuffer(mem)
	buf.Resize(n * int(a.row))
	var err error
	switch {
	case a.in != nil:
		err = a.forward(buf.Bytes(), from, int64(n))
	case a.fortran():
		err = a.gather(mem, buf.Bytes(), from, n)
	default:
		err = readAt(a.at, buf.Bytes(), a.data+from*a.row)
	}
	if err != nil {
		buf.Release()
		return nil, err
	}
	elems, err := a.dt.elements(mem, buf, n*int(a.head.inner()))
	if err != nil {
		return nil, err
	}
	d := wrap(elems, a.typ, n)
	defer d.Release()
	return array.MakeFromData(d), nil
}

func readAt(r io.ReaderAt, p []byte, off int64) error {
	n, err := r.ReadAt(p, off)
	if n == len(p) {
		return nil
	}
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// forward reads in order.
func (a *ndarray) forward(p []byte, from, n int64) error {
	if a.fortran() {
		return errors.New("an array in Fortran order cannot be read in order; save it uncompressed or with numpy.ascontiguousarray")
	}
	_, err := io.CopyN(io.Discard, a.in, (from-a.next)*a.row)
	if err == nil {
		_, err = io.ReadFull(a.in, p)
	}
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return fmt.Errorf("the file is cut off: shape %v is not all there", a.head.shape)
	}
	if a.next = from + n; err == nil && a.next == a.head.rows() { // a member's checksum is compared at its end
		var one [1]byte
		if _, err = io.ReadFull(a.in, one[:]); err == io.EOF {
			err = nil
		}
	}
	if errors.Is(err, zip.ErrChecksum) {
		return fmt.Errorf("array %q: the checksum of its member does not match: the file is damaged; save it again", a.name)
	}
	return err
}

// gather reads rows of an array in Fortran order: the elements at one place of all rows lie together.
func (a *ndarray) gather(mem memory.Allocator, out []byte, from int64, n int) error {
	w, inner, rows := a.dt.width, int(a.head.inner()), a.head.rows()
	part := mem.Allocate(n * w)
	defer func() { mem.Free(part) }()
	axes := a.head.shape[1:]
	for k := range inner {
		if err := readAt(a.at, part, a.data+(int64(k)*rows+from)*int64(w)); err != nil {
			return err
		}
		// k counts with the first axis fastest; at is the same element with the last one fastest.
		at, rest, stride := 0, k, inner
		for _, d := range axes {
			stride /= int(d)
			at += rest % int(d) * stride
			rest /= int(d)
		}
		for i := range n {
			copy(out[(i*inner+at)*w:], part[i*w:(i+1)*w])
		}
	}
	return nil
}

func (a *ndarray) close() error {
	if a.in == nil {
		return nil
	}
	return a.in.Close()
}
