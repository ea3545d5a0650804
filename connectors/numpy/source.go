package numpy

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/connectors/internal/tables"
	"github.com/sluice-data/sluice/dataset"
)

// ValueColumn is the column of a .npy file.
const ValueColumn = "value"

// Options of reading. The zero value stands for the defaults.
type Options struct {
	Arrays   []string `json:"arrays,omitempty" doc:"arrays of a .npz that are read; all must have as many rows (all)"`
	WithPath bool     `json:"with_path,omitempty" doc:"add the column path, the file of each row"`
	file.Hive
}

// NewSource makes a source of the files in set.
func NewSource(set *file.Set, opt Options) (*tables.Source, error) {
	return tables.NewSource(set, &reading{opt}, opt.WithPath), nil
}

// reading is the tables.Format of NumPy's files.
type reading struct{ opt Options }

var _ tables.Format = (*reading)(nil)

// Name implements tables.Format.
func (f *reading) Name() string { return "numpy" }

// Version implements tables.Format.
func (f *reading) Version() int { return 1 }

// Options implements tables.Format.
func (f *reading) Options() any { return f.opt }

// opened is a file with its arrays.
type opened struct {
	arrays []*ndarray
	rows   int64
	cut    bool // rows can be read from anywhere
	in     interface {
		Check() error
		Close() error
	}
}

func (o *opened) close() error {
	var errs []error
	for _, a := range o.arrays {
		errs = append(errs, a.close())
	}
	return errors.Join(append(errs, o.in.Close())...)
}

// open opens a file and reads the headers of its arrays.
func (f *reading) open(ctx context.Context, set *file.Set, ref dataset.FileRef) (o *opened, err error) {
	if ref.Path == file.StdinPath || file.Compression(ref.Path) != "" {
		return openStream(ctx, set, ref)
	}
	h, err := set.FS().Open(ctx, ref)
	if err != nil {
		return nil, err
	}
	o = &opened{in: h, cut: true}
	var head [4]byte
	if n, rerr := h.ReadAt(head[:], 0); n == 4 && string(head[:2]) == "PK" {
		err = f.members(o, h, ref.Size)
	} else if rerr != nil && rerr != io.EOF {
		err = rerr
	} else {
		err = single(o, h, ref.Size)
	}
	if err == nil {
		err = o.count()
	}
	if err != nil {
		return nil, errors.Join(err, o.close())
	}
	return o, nil
}

// single opens the array of a .npy file.
func single(o *opened, r io.ReaderAt, size int64) error {
	h, err := readHeader(io.NewSectionReader(r, 0, size))
	if err != nil {
		return err
	}
	a, err := newArray(ValueColumn, h, size-h.size)
	if err != nil {
		return err
	}
	a.at, a.data = r, h.size
	o.arrays = []*ndarray{a}
	return nil
}

// openStream opens a .npy file that is read in order.
func openStream(ctx context.Context, set *file.Set, ref dataset.FileRef) (*opened, error) {
	t, err := set.OpenText(ctx, ref, 0)
	if err != nil {
		return nil, err
	}
	o := &opened{in: t}
	h, err := readHeader(t)
	var a *ndarray
	if err == nil {
		a, err = newArray(ValueColumn, h, -1)
	}
	if err == nil && a.fortran() {
		err = errors.New("an array in Fortran order cannot be read in order; decompress the file first")
	}
	if err != nil {
		return nil, errors.Join(err, t.Close())
	}
	a.in = io.NopCloser(t)
	o.arrays = []*ndarray{a}
	return o, o.count()
}

// maxArrays bounds the columns of a .npz.
const maxArrays = 4096

// members opens the arrays of a .npz file.
func (f *reading) members(o *opened, r io.ReaderAt, size int64) error {
	z, err := zip.NewReader(r, size)
	if err != nil {
		return fmt.Errorf("open the .npz as a zip: it is cut off or damaged (%w); save it again", err)
	}
	names := []string{}
	for _, m := range z.File {
		name, ok := strings.CutSuffix(m.Name, ".npy")
		if !ok {
			continue
		}
		names = append(names, name)
		if len(f.opt.Arrays) > 0 && !slices.Contains(f.opt.Arrays, name) {
			continue
		}
		a, err := openMember(m, name, r)
		if err != nil {
			return fmt.Errorf("array %q: %w", name, err)
		}
		if o.arrays = append(o.arrays, a); len(o.arrays) > maxArrays {
			return fmt.Errorf("it has more than %d arrays; pick some with arrays=", maxArrays)
		}
		o.cut = o.cut && a.in == nil
	}
	for _, want := range f.opt.Arrays {
		if !slices.Contains(names, want) {
			return dataset.Usagef("arrays=%s: there is no such array; there are %s", want, strings.Join(names[:min(len(names), 12)], ", "))
		}
	}
	return nil
}

func openMember(m *zip.File, name string, r io.ReaderAt) (*ndarray, error) {
	in, err := m.Open()
	if err != nil {
		return nil, err
	}
	h, err := readHeader(in)
	if err != nil {
		return nil, errors.Join(err, in.Close())
	}
	a, err := newArray(name, h, int64(m.UncompressedSize64)-h.size)
	if err != nil {
		return nil, errors.Join(err, in.Close())
	}
	if m.Method != zip.Store {
		if a.fortran() {
			return nil, errors.Join(errors.New("an array in Fortran order that is compressed is not read; save it with numpy.savez or numpy.ascontiguousarray"), in.Close())
		}
		a.in = in
		return a, nil
	}
	off, err := m.DataOffset()
	a.at, a.data = r, off+h.size
	return a, errors.Join(err, in.Close())
}

// count makes sure that all arrays have as many rows.
func (o *opened) count() error {
	for i, a := range o.arrays {
		n := a.head.rows()
		if i > 0 && n != o.rows {
			return fmt.Errorf("array %q has %d rows and %q has %d; pick arrays of one length with arrays=%s", o.arrays[0].name, o.rows, a.name, n, a.name)
		}
		o.rows = n
	}
	return nil
}

// headBytes is how much of standard input is looked at.
const headBytes = maxHeader + 16

// Schema implements tables.Format.
func (f *reading) Schema(ctx context.Context, set *file.Set, ref dataset.FileRef) (*arrow.Schema, error) {
	if ref.Path == file.StdinPath {
		head, _, err := set.Sample(ctx, ref, headBytes)
		if err != nil {
			return nil, err
		}
		h, err := readHeader(bytes.NewReader(head))
		if err != nil {
			return nil, err
		}
		a, err := newArray(ValueColumn, h, -1)
		if err != nil {
			return nil, err
		}
		return schemaOf(a), nil
	}
	o, err := f.open(ctx, set, ref)
	if err != nil {
		return nil, err
	}
	return schemaOf(o.arrays...), errors.Join(o.in.Check(), o.close())
}

func schemaOf(arrays ...*ndarray) *arrow.Schema {
	fields := make([]arrow.Field, len(arrays))
	for i, a := range arrays {
		fields[i] = arrow.Field{Name: a.name, Type: a.typ, Nullable: true}
	}
	return arrow.NewSchema(fields, nil)
}

// Pieces implements tables.Format: equal stretches of rows.
func (f *reading) Pieces(ctx context.Context, set *file.Set, ref dataset.FileRef, target int64) ([]tables.Piece, error) {
	if ref.Path == file.StdinPath {
		return []tables.Piece{{End: file.Unbounded}}, nil
	}
	o, err := f.open(ctx, set, ref)
	if err != nil {
		return nil, err
	}
	rows, n := o.rows, int64(1)
	if o.cut && ref.Size > target {
		n = min((ref.Size+target-1)/target, rows)
	}
	if err := errors.Join(o.in.Check(), o.close()); err != nil || rows == 0 {
		return nil, err
	}
	out := make([]tables.Piece, n)
	for i := range out {
		from, to := rows/n*int64(i), rows/n*int64(i+1)
		if i == len(out)-1 {
			to = rows
		}
		out[i] = tables.Piece{Start: uint64(from), End: uint64(to), Bytes: ref.Size / n}
	}
	return out, nil
}

// Open implements tables.Format.
func (f *reading) Open(ctx context.Context, rt dataset.Runtime, set *file.Set, r dataset.SplitRange, from uint64, want *arrow.Schema) (tables.Rows, error) {
	o, err := f.open(ctx, set, r.File)
	if err != nil {
		return nil, err
	}
	return newRows(rt, o, r, from, want), nil
}
