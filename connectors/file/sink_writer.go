package file

import (
	"bufio"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/zeebo/xxh3"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
)

// writeBuffer gathers the small writes of text encoders; large ones pass it by.
const writeBuffer = 128 << 10

var errAborted = errors.New("the file is aborted")

// stagedFile is a file being written in the stage folder: buffered, counted and hashed.
type stagedFile struct {
	disk    Disk
	path    string
	f       DiskFile
	buf     *bufio.Writer
	hash    *xxh3.Hasher128
	bytes   int64
	aborted bool
}

func createStaged(disk Disk, path string) (*stagedFile, error) {
	if _, err := mkdirDurable(disk, filepath.Dir(path)); err != nil {
		return nil, spaceError(disk, err, path)
	}
	f, err := disk.Create(path)
	if err != nil {
		return nil, spaceError(disk, err, path)
	}
	s := &stagedFile{disk: disk, path: path, f: f, hash: xxh3.New128()}
	s.buf = bufio.NewWriterSize(stagedTail{s}, writeBuffer)
	return s, nil
}

// Write takes bytes from the encoder.
func (s *stagedFile) Write(p []byte) (int, error) {
	if s.aborted {
		return 0, errAborted
	}
	n, err := s.buf.Write(p)
	s.bytes += int64(n)
	return n, err
}

// stagedTail is the end of the buffer: bytes are hashed in large pieces, as they go to the file.
type stagedTail struct{ *stagedFile }

func (t stagedTail) Write(p []byte) (int, error) {
	if t.aborted {
		return 0, errAborted
	}
	n, err := t.f.Write(p)
	if err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	if err != nil {
		return n, spaceError(t.disk, err, t.path)
	}
	_, _ = t.hash.Write(p)
	return n, nil
}

// commit makes the file durable and returns its hash and modification time in nanoseconds.
func (s *stagedFile) commit() (hash string, mtime int64, err error) {
	err = s.buf.Flush()
	if err == nil {
		err = spaceError(s.disk, s.f.Sync(), s.path)
	}
	if cerr := s.f.Close(); err == nil {
		err = spaceError(s.disk, cerr, s.path)
	}
	if err == nil {
		err = spaceError(s.disk, s.disk.SyncDir(filepath.Dir(s.path)), s.path)
	}
	if err != nil {
		s.disk.Remove(s.path)
		return "", 0, err
	}
	st, err := s.disk.Lstat(s.path)
	if err != nil {
		return "", 0, err
	}
	if st.Size() != s.bytes {
		return "", 0, fmt.Errorf("write %s: it has %d bytes after %d were written", s.path, st.Size(), s.bytes)
	}
	sum := s.hash.Sum128().Bytes()
	return hex.EncodeToString(sum[:]), st.ModTime().UnixNano(), nil
}

func (s *stagedFile) abort() error {
	s.aborted = true
	err := s.f.Close()
	if rerr := s.disk.Remove(s.path); rerr != nil && !notExist(rerr) {
		err = errors.Join(err, rerr)
	}
	return err
}

// partWriter writes one part.
type partWriter struct {
	sink    *Sink
	receipt dataset.Receipt
	stage   string
	out     *stagedFile
	enc     dataset.Encoder
	keep    []int // columns that go to the file; nil means all
	schema  *arrow.Schema
}

var _ dataset.Writer = (*partWriter)(nil)

// NewWriter implements dataset.Sink.
func (s *Sink) NewWriter(_ context.Context, rt dataset.Runtime, part dataset.Part, in *arrow.Schema) (dataset.Writer, error) {
	name, err := s.partName(part)
	if err != nil {
		return nil, err
	}
	w := &partWriter{sink: s, receipt: dataset.Receipt{Part: part, Name: name}, schema: s.written(in)}
	if len(s.layout.By) > 0 {
		for i, f := range in.Fields() {
			if w.schema.HasField(f.Name) {
				w.keep = append(w.keep, i)
			}
		}
	}
	w.stage = path.Join(part.Run, "stage", fmt.Sprintf("%010d-%d%s", part.Seq, part.Attempt, stageExtension))
	if w.out, err = createStaged(s.disk, s.stagePath(w.stage)); err != nil {
		return nil, w.wrap(err)
	}
	mem := rt.Allocator()
	if a, ok := mem.(*block.Allocator); ok && len(s.layout.By) > 0 {
		mem = partitionMemory{a}
	}
	if w.enc, err = s.format.NewEncoder(w.out, w.schema, mem, rt.Parallel()); err != nil {
		return nil, errors.Join(w.wrap(err), w.out.abort())
	}
	return w, nil
}

// partitionMemory is the memory of one file of a partitioned result: many are open at once, so each divides its rows (into row groups)
// by a share of the budget.
type partitionMemory struct{ *block.Allocator }

// partitionShare is how many such files may be filling up at once, besides the writers that an encoder reckons with.
const partitionShare = 8

// Budget is what encoders take for the budget of the run.
func (m partitionMemory) Budget() int64 { return m.Allocator.Budget() / partitionShare }

func (w *partWriter) wrap(err error) error {
	return fmt.Errorf("write part %s: %w", w.receipt.Name, err)
}

// Write implements dataset.Writer.
func (w *partWriter) Write(ctx context.Context, b *block.Block) error {
	if w.keep != nil {
		cols := make([]arrow.Array, len(w.keep))
		for i, k := range w.keep {
			cols[i] = b.Column(k)
		}
		b = b.Replace(block.FromColumns(w.schema, cols, b.NumRows()))
		defer b.Release()
	}
	if err := w.enc.Write(ctx, b); err != nil {
		return w.wrap(err)
	}
	w.receipt.Rows += int64(b.NumRows())
	return nil
}

// Bytes implements dataset.Writer.
func (w *partWriter) Bytes() int64 { return w.out.bytes }

// Buffered implements dataset.Writer.
func (w *partWriter) Buffered() int64 { return w.enc.Buffered() }

// Commit implements dataset.Writer.
func (w *partWriter) Commit(ctx context.Context) (dataset.Receipt, error) {
	if err := w.enc.Close(ctx); err != nil {
		return dataset.Receipt{}, errors.Join(w.wrap(err), w.out.abort())
	}
	hash, mtime, err := w.out.commit()
	if err != nil {
		return dataset.Receipt{}, w.wrap(err)
	}
	w.receipt.Bytes, w.receipt.Hash = w.out.bytes, hash
	if w.receipt.Data, err = (sinkData{Staged: w.stage, ModTime: mtime}).encode(); err != nil {
		return dataset.Receipt{}, w.wrap(err)
	}
	return w.receipt, nil
}

// Abort implements dataset.Writer.
func (w *partWriter) Abort(ctx context.Context) error {
	w.out.aborted = true
	_ = w.enc.Close(ctx) // frees its memory; that it cannot write is expected
	return w.out.abort()
}
