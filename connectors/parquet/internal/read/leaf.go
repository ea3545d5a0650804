package read

import (
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go/format"

	"github.com/sluice-data/sluice/connectors/parquet/internal/level"
	"github.com/sluice-data/sluice/connectors/parquet/internal/schema"
)

// leaf reads one column chunk. Everything of the page being read is in here;
// builder is what has been read for the batch in progress.
type leaf struct {
	col    *schema.Column
	codec  format.CompressionCodec
	width  int  // physical bytes per value, 0 for byte arrays and booleans
	nested bool // levels are kept for the assembly of lists and structs

	src    source
	page   scratch // decompressed page
	aux    scratch // values that had to be rewritten before reading
	raw    scratch // physical values on their way to another type
	defBuf scratch
	repBuf scratch
	aside  scratch // validity of rows that are passed over
	dict   dictionary
	index  []uint32
	sizes  []int32
	prefs  []int32
	last   []byte

	pages  int
	skip   int // rows to drop before the first wanted one
	levels int // levels of the page not read yet
	def    level.Decoder
	vals   pageValues

	pageDefs, pageReps []byte // nested: levels of the page
	at                 int    // nested: position in them

	defs, reps []byte // nested: levels of the batch, in the two below
	batchDefs  scratch
	batchReps  scratch
	out        builder
	convert    func(dst, src []byte, n int) error
	intern     *interner // dictionary-typed columns
}

func (l *leaf) release() {
	l.out.release()
	for _, s := range []*scratch{&l.src.buf, &l.page, &l.aux, &l.raw, &l.defBuf, &l.repBuf, &l.aside, &l.dict.data, &l.batchDefs, &l.batchReps} {
		s.release()
	}
	if l.intern != nil {
		l.intern.release()
	}
}

// more makes sure that the page has levels left.
func (l *leaf) more() error {
	for l.levels == 0 {
		if err := l.advance(); err != nil {
			if err == io.EOF {
				return fmt.Errorf("column chunk ends before its rows do: %w", io.ErrUnexpectedEOF)
			}
			return err
		}
	}
	return nil
}

// readFlat reads up to n rows and returns how many; fewer only when the
// builder is full, and then at least one.
func (l *leaf) readFlat(n int) (int, error) {
	if err := l.dropRows(); err != nil {
		return 0, err
	}
	l.out.expect(n)
	got := 0
	for got < n {
		if err := l.more(); err != nil {
			return got, err
		}
		k, err := l.segment(min(n-got, l.levels))
		got += k
		l.levels -= k
		if errors.Is(err, errFull) {
			if l.out.n > 0 {
				return got, nil
			}
			k, err = l.oversized()
			got, l.levels = got+k, l.levels-k
		}
		if err != nil {
			return got, err
		}
	}
	return got, nil
}

// oversized reads one row whose value alone is more than a batch should hold.
func (l *leaf) oversized() (int, error) {
	limit := l.out.limit
	l.out.limit = maxData
	k, err := l.segment(1)
	l.out.limit = limit
	if errors.Is(err, errFull) {
		err = fmt.Errorf("a value is over the limit of %d bytes that an Arrow array can hold", maxData)
	}
	return k, err
}

// segment reads k rows of the page, or halves k until they fit.
func (l *leaf) segment(k int) (int, error) {
	def, vals, size := l.def, l.vals, l.out.size
	for {
		err := l.rows(k)
		if err == nil {
			return k, nil
		}
		if !errors.Is(err, errFull) {
			return 0, err
		}
		l.def, l.vals = def, vals
		l.out.rollback(size)
		if k == 1 {
			return 0, errFull
		}
		k /= 2
	}
}

// rows reads k rows of the page into the builder.
func (l *leaf) rows(k int) error {
	values := k
	if l.col.MaxDef > 0 {
		if l.def.AllOnes(k) {
			l.out.markValid(k)
		} else {
			ones, err := l.def.Bitmap(l.out.bitmap(k), l.out.n, k)
			if err != nil {
				return fmt.Errorf("definition levels: %w", err)
			}
			values = ones
		}
	}
	return l.put(k, values)
}

// put reads the values of k slots whose validity is known.
func (l *leaf) put(k, values int) error {
	if err := l.read(k, values); err != nil {
		return err
	}
	if err := l.out.spread(k, values); err != nil {
		return err
	}
	l.out.finish(k, values)
	return nil
}

func (l *leaf) read(k, values int) error {
	switch {
	case l.intern != nil:
		return l.readIndexes(view[int32](l.out.slots(k)), values)
	case l.out.shape == shapeBytes:
		l.out.offsets(k)
		if values == 0 {
			return nil
		}
		return l.byteArrays(values)
	case l.out.shape == shapeBits:
		l.out.growBits(&l.out.fixed, l.out.n+k)
		if values == 0 {
			return nil
		}
		return l.bools(l.out.fixed.Bytes(), l.out.n, values)
	}
	dst := l.out.slots(k)
	if values == 0 {
		return nil
	}
	if l.convert == nil {
		return l.fixed(dst, values)
	}
	if l.width == 0 {
		return l.convertBytes(dst, values)
	}
	raw := l.raw.grow(values*l.width, 0)
	if err := l.fixed(raw, values); err != nil {
		return err
	}
	return l.convert(dst, raw, values)
}

// dropRows passes over the rows before the next wanted one. What was read for the batch stays.
func (l *leaf) dropRows() error {
	for l.skip > 0 {
		if l.levels == 0 {
			if err := l.advance(); err != nil {
				if err == io.EOF {
					err = io.ErrUnexpectedEOF
				}
				return err
			}
			continue
		}
		k := min(l.skip, l.levels)
		if err := l.pass(k); err != nil {
			return err
		}
		l.levels -= k
		l.skip -= k
	}
	return nil
}
