package arrowipc

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/codec/arrowmeta"
)

const (
	magic      = "ARROW1"
	maxMeta    = 256 << 20 // of one message's metadata
	tailBytes  = 10        // length of the footer and magic
	firstAt    = 8         // where messages begin in a file
	blockBytes = 24        // of a Block in the footer
)

// Fields of Footer, Block, RecordBatch and DictionaryBatch in Arrow's File.fbs and Message.fbs.
const (
	footerSchema  = 1
	footerDicts   = 2
	footerBatches = 3

	batchLength      = 0
	batchNodes       = 1
	batchBuffers     = 2
	batchCompression = 3
	batchVariadic    = 4

	dictID    = 0
	dictData  = 1
	dictDelta = 2
)

type kind uint8

const (
	isBatch kind = iota
	isDictionary
)

// entry is one message with a body.
type entry struct {
	kind   kind
	at     int64 // of the message in the file
	meta   int64 // bytes of its prefix and metadata
	body   int64 // bytes of its body, which follows
	rows   uint64
	number int // among the messages of its kind, for errors
}

// index says where everything in a file or seekable stream is.
type index struct {
	ref     dataset.FileRef
	schema  *arrow.Schema
	fields  []arrowmeta.Field
	entries []entry
}

var (
	errCut     = errors.New("the file is cut off: it begins as an Arrow file and lacks the end; write it again")
	errDamaged = errors.New("the Arrow metadata is damaged")
)

// readIndex reads the index of a file or a stream.
func readIndex(ctx context.Context, h io.ReaderAt, ref dataset.FileRef) (*index, error) {
	ix := &index{ref: ref}
	head := make([]byte, min(firstAt, ref.Size))
	if err := readAt(h, head, 0); err != nil {
		return nil, err
	}
	if len(head) == 0 {
		return nil, errors.New("the file is empty, without even a schema")
	}
	if bytes.HasPrefix(head, []byte("FEA1")) {
		return nil, errors.New("this is Feather version 1, which is not supported; write it with version=2 (pyarrow.feather.write_feather)")
	}
	if bytes.HasPrefix(head, []byte(magic)) {
		return ix, ix.readFooter(ctx, h)
	}
	return ix, ix.walk(ctx, h)
}

// readAt reads exactly len(p) bytes.
func readAt(h io.ReaderAt, p []byte, off int64) error {
	n, err := h.ReadAt(p, off)
	if n == len(p) {
		return nil
	}
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// readFooter reads the blocks that the footer lists.
func (ix *index) readFooter(ctx context.Context, h io.ReaderAt) error {
	size := ix.ref.Size
	if size < firstAt+tailBytes {
		return errCut
	}
	var tail [tailBytes]byte
	if err := readAt(h, tail[:], size-tailBytes); err != nil {
		return err
	}
	n := int64(binary.LittleEndian.Uint32(tail[:]))
	if string(tail[4:]) != magic {
		return errCut
	}
	if n > size-firstAt-tailBytes || n > maxMeta {
		return fmt.Errorf("%w: a footer of %d bytes in a file of %d", errDamaged, n, size)
	}
	b := make([]byte, n)
	end := size - tailBytes - n
	if err := readAt(h, b, end); err != nil {
		return err
	}
	f := arrowmeta.NewFlat(b)
	root, err := f.Root()
	if err == nil {
		ix.schema, ix.fields, err = schemaOfFooter(f, root)
	}
	if err == nil {
		err = ix.blocks(f, root, footerDicts, isDictionary, end)
	}
	if err == nil {
		err = ix.blocks(f, root, footerBatches, isBatch, end)
	}
	if err != nil {
		return err
	}
	for i := range ix.entries {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := ix.count(h, &ix.entries[i]); err != nil {
			return err
		}
	}
	return nil
}

// blocks appends the blocks of one vector of the footer.
func (ix *index) blocks(f *arrowmeta.Flat, root, field int, k kind, end int64) error {
	n, first, err := f.Vector(root, field, blockBytes)
	if err != nil {
		return err
	}
	for i := range n {
		p := f.B[first+i*blockBytes:]
		e := entry{kind: k, number: i, at: int64(binary.LittleEndian.Uint64(p)), meta: int64(int32(binary.LittleEndian.Uint32(p[8:]))),
			body: int64(binary.LittleEndian.Uint64(p[16:]))}
		if e.at < firstAt || e.meta < 8 || e.body < 0 || e.meta > maxMeta || e.at > end || e.meta > end-e.at || e.body > end-e.at-e.meta {
			return fmt.Errorf("%w: block %d lies at %d and has %d and %d bytes, the data ends at %d", errDamaged, i, e.at, e.meta, e.body, end)
		}
		ix.entries = append(ix.entries, e)
	}
	return nil
}

// count reads the header of a message for its kind and rows.
func (ix *index) count(h io.ReaderAt, e *entry) error {
	b := make([]byte, e.meta)
	if err := readAt(h, b, e.at); err != nil {
		return err
	}
	m, err := parseMessage(b)
	if err == nil && (m.kind != e.kind || m.body > e.body) {
		err = fmt.Errorf("%w: it is not what the footer says", errDamaged)
	}
	if err != nil {
		return fmt.Errorf("%s %d: %w", e.kind, e.number, err)
	}
	e.rows = uint64(m.batch.length)
	return nil
}

func (k kind) String() string {
	if k == isBatch {
		return "record batch"
	}
	return "dictionary"
}

// readSchema reads the schema message at a position.
func (ix *index) readSchema(h io.ReaderAt, at int64) error {
	prefix, n, err := messageLength(h, at, ix.ref.Size)
	if err != nil {
		return err
	}
	b := make([]byte, prefix+n)
	if err := readAt(h, b, at); err != nil {
		return err
	}
	ix.schema, ix.fields, err = decodeSchema(b)
	return err
}

// messageLength reads the prefix of a message: its own length and that of the metadata, 0 at the end of a stream.
func messageLength(h io.ReaderAt, at, size int64) (prefix, n int64, err error) {
	if size-at < 4 {
		return 0, 0, nil // a stream may end without its mark
	}
	var b [8]byte
	k := min(8, size-at)
	if err := readAt(h, b[:k], at); err != nil {
		return 0, 0, err
	}
	prefix, n, err = parsePrefix(b[:k])
	if err == nil && n > size-at-prefix {
		err = fmt.Errorf("%w: a message of %d bytes at %d of a file of %d; is this an Arrow file?", errDamaged, n, at, size)
	}
	return prefix, n, err
}

// parsePrefix reads the prefix of a message: with the continuation mark since version 0.15 of the format, without it before.
func parsePrefix(b []byte) (prefix, n int64, err error) {
	prefix, n = 4, int64(binary.LittleEndian.Uint32(b))
	if n == 0xFFFFFFFF {
		if len(b) < 8 {
			return 0, 0, io.ErrUnexpectedEOF
		}
		prefix, n = 8, int64(binary.LittleEndian.Uint32(b[4:]))
	}
	if n > maxMeta {
		return 0, 0, fmt.Errorf("%w: a message of %d bytes; is this an Arrow file?", errDamaged, n)
	}
	return prefix, n, nil
}

// walk lists the messages of a stream.
func (ix *index) walk(ctx context.Context, h io.ReaderAt) error {
	size := ix.ref.Size
	prefix, n, err := messageLength(h, 0, size)
	if err != nil {
		return err
	}
	if n == 0 {
		return errors.New("the stream ends before its schema")
	}
	if err := ix.readSchema(h, 0); err != nil {
		return err
	}
	counts := [2]int{}
	for at := prefix + n; ; {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		prefix, n, err := messageLength(h, at, size)
		if err != nil || n == 0 {
			return err
		}
		b := make([]byte, prefix+n)
		if err := readAt(h, b, at); err != nil {
			return err
		}
		m, err := parseMessage(b)
		if err == nil && m.body > size-at-prefix-n {
			err = fmt.Errorf("the stream is cut off: %d bytes of its body, %d are there", m.body, size-at-prefix-n)
		}
		if err != nil {
			return fmt.Errorf("message %d at byte %d: %w", len(ix.entries)+1, at, err)
		}
		ix.entries = append(ix.entries, entry{m.kind, at, prefix + n, m.body, uint64(m.batch.length), counts[m.kind]})
		counts[m.kind]++
		at += prefix + n + m.body
	}
}
