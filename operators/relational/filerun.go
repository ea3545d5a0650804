package relational

import (
	"bytes"
	"errors"
	"fmt"
	"sort"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
	"github.com/sluice-data/sluice/dataset/codec"
	"github.com/sluice-data/sluice/operators/relational/internal/sortkey"
)

// frame is one piece of a spilled run.
type frame struct {
	off, size int64
	rows      int64
	first     []byte // the first row's key, cut short
	whole     bool   // it was not cut
}

// fileRun is a sorted run in a scratch file.
type fileRun struct {
	layout *layout
	file   *dataset.ScratchFile
	dec    *codec.Decoder
	frames []frame
	n      int64
	live   int64 // bytes of the rows, uncompressed
	widest int64 // bytes of the largest frame, uncompressed
}

var _ run = (*fileRun)(nil)

// fileWriter writes a run, frame by frame.
type fileWriter struct {
	run *fileRun
	enc *codec.Encoder
	buf []byte
	key sortkey.Keys
}

func newFileWriter(l *layout, rt dataset.Runtime, mem memory.Allocator) (*fileWriter, error) {
	dec, err := codec.NewDecoder(l.rows, 0)
	if err != nil {
		return nil, fmt.Errorf("spill rows: %w", err)
	}
	f, err := rt.Scratch()
	if err != nil {
		return nil, fmt.Errorf("spill rows: %w", err)
	}
	return &fileWriter{run: &fileRun{layout: l, file: f, dec: dec}, enc: codec.NewEncoder(l.rows, codec.LZ4, mem)}, nil
}

// put appends a sorted record, which it takes over.
func (w *fileWriter) put(rec arrow.RecordBatch) error {
	defer rec.Release()
	first := rec.NewSlice(0, 1)
	w.run.layout.keys.Encode(first, &w.key)
	first.Release()
	buf, err := w.enc.Append(w.buf[:0], rec)
	if err != nil {
		return fmt.Errorf("spill rows: %w", err)
	}
	w.buf = buf
	key := clip(w.key.At(0))
	f := frame{off: w.run.file.Size(), size: int64(len(buf)), rows: rec.NumRows(), first: key, whole: len(key) == len(w.key.At(0))}
	if _, err := w.run.file.Write(buf); err != nil {
		return fmt.Errorf("spill rows: %w", err)
	}
	live := int64(0)
	for _, c := range rec.Columns() {
		live += block.ArrayBytes(c)
	}
	w.run.frames = append(w.run.frames, f)
	w.run.n += rec.NumRows()
	w.run.live += live
	w.run.widest = max(w.run.widest, live)
	return nil
}

func (r *fileRun) rows() int64  { return r.n }
func (r *fileRun) bytes() int64 { return r.live }

// framesHeld is what a cursor takes, in frames: one as stored, one as read, and its keys.
const framesHeld = 3

func (r *fileRun) readBytes() int64 { return framesHeld * r.widest }

func (r *fileRun) samples(f func(key []byte, rows int64)) {
	for _, x := range r.frames {
		f(x.first, x.rows)
	}
}

func (r *fileRun) close() error {
	if err := r.file.Close(); err != nil {
		return fmt.Errorf("close spilled rows: %w", err)
	}
	return nil
}

// below reports that the first key of frame i is certainly below the bound.
func (r *fileRun) below(i int, bound []byte) bool {
	f := &r.frames[i]
	return bytes.Compare(f.first, bound) < 0 && (f.whole || !bytes.HasPrefix(bound, f.first))
}

func (r *fileRun) cursor(mem memory.Allocator, lo, hi []byte) cursor {
	c := &fileCursor{run: r, lo: lo, hi: hi, mem: mem}
	if lo != nil { // the last frame that begins below the bound may reach into the range; those before it cannot
		c.frame = max(0, sort.Search(len(r.frames), func(i int) bool { return !r.below(i, lo) })-1)
	}
	return c
}

// fileCursor reads a stretch of a fileRun, one frame at a time.
type fileCursor struct {
	run     *fileRun
	lo, hi  []byte
	mem     memory.Allocator
	frame   int // the next one to read
	buf     []byte
	rec     arrow.RecordBatch
	sizes   *rowSizes
	keys    sortkey.Keys
	at, end int
}

func (c *fileCursor) start() (bool, error) { return c.load() }

func (c *fileCursor) next() (bool, error) {
	if c.at++; c.at < c.end {
		return true, nil
	}
	return c.load()
}

// load reads frames until one has rows in the range.
func (c *fileCursor) load() (bool, error) {
	for c.frame < len(c.run.frames) {
		f := c.run.frames[c.frame]
		if c.hi != nil && bytes.Compare(f.first, c.hi) >= 0 { // the whole key is not below its beginning
			break
		}
		c.frame++
		if err := c.read(f); err != nil {
			return false, fmt.Errorf("read spilled rows: %w", err)
		}
		if c.at < c.end {
			return true, nil
		}
	}
	c.close()
	return false, nil
}

func (c *fileCursor) read(f frame) error {
	c.close()
	if int64(cap(c.buf)) < f.size {
		c.buf = make([]byte, f.size)
	}
	c.buf = c.buf[:f.size]
	if n, err := c.run.file.ReadAt(c.buf, f.off); n < len(c.buf) {
		return errors.Join(fmt.Errorf("%d of %d bytes at %d", n, len(c.buf), f.off), err)
	}
	rec, err := c.run.dec.Decode(c.mem, c.buf)
	if err != nil {
		return err
	}
	c.rec, c.sizes = rec, newRowSizes(rec)
	c.run.layout.keys.Encode(rec, &c.keys)
	c.at, c.end = 0, int(rec.NumRows())
	if c.lo != nil {
		c.at = c.search(c.lo)
	}
	if c.hi != nil {
		c.end = c.search(c.hi)
	}
	return nil
}

func (c *fileCursor) search(bound []byte) int {
	return sort.Search(c.keys.Len(), func(i int) bool { return bytes.Compare(c.keys.At(i), bound) >= 0 })
}

func (c *fileCursor) key() []byte { return c.keys.At(c.at) }

func (c *fileCursor) row() (arrow.RecordBatch, uint32, int64) {
	return c.rec, uint32(c.at), c.sizes.at(c.at)
}

// close releases the frame; it may be called again.
func (c *fileCursor) close() {
	if c.rec != nil {
		c.rec.Release()
		c.rec = nil
	}
}
