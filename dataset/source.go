package dataset

import (
	"context"
	"iter"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/dataset/block"
	"github.com/sluice-data/sluice/dataset/expr"
)

// Source describes where rows come from. It is immutable and shared.
type Source interface {
	// Name is the connector's stable name ("jsonl"); Version changes when the same bytes would give other rows.
	Name() string
	Version() int
	// Params are the patterns and read options, JSON-marshalable, without credentials; part of the plan fingerprint.
	Params() any
	// Schema is the schema of the blocks, pinned on the first call from a bounded sample of the data. Later calls return the same.
	Schema(ctx context.Context) (*arrow.Schema, error)
	// Splits lists the work in a deterministic depth-first order, beginning after the cursor (the zero Cursor: at the start). It
	// holds only one folder's names at a time. Each split names files with everything needed to open them again.
	Splits(ctx context.Context, after Cursor) iter.Seq2[Split, error]
	// Open reads a split from the given offset on: positions below it, in the first range of the split, are skipped. rt gives
	// memory and waits as for an operator; Async is not available to readers.
	Open(ctx context.Context, rt Runtime, s Split, offset uint64) (Reader, error)
}

// Cursor is where a listing stopped. Plain data.
type Cursor struct {
	Path string `json:"path,omitempty"` // the last path listed
	End  uint64 `json:"end,omitempty"`  // the end of the last range listed in it
}

// Split is one unit of reading: a range of one big file, or several small files. Plain data; journaled.
type Split struct {
	Ranges []SplitRange `json:"ranges"`
	Bytes  int64        `json:"bytes"` // bytes to be read, for progress and memory prediction
}

// SplitRange is the part of a split that lies in one file.
type SplitRange struct {
	File FileRef `json:"file"`
	// Start and End bound the range: for splittable text bytes, for row-grouped files rows, for whole files 0 and 1.
	Start uint64 `json:"start"`
	End   uint64 `json:"end"`
	// ID is set by the engine before Open: the identity that the reader puts into the runs of its blocks.
	ID *block.File `json:"-"`
}

// FileRef pins one version of one file. A file that differs while it is read is an error.
type FileRef struct {
	Path    string    `json:"path"`
	Size    int64     `json:"size"`
	ModTime time.Time `json:"mtime,omitzero"`
	ETag    string    `json:"etag,omitempty"`
	// Mark sums up the content for a later run that wants to know whether the file only grew; see Growing. It tells no versions
	// apart. 0: there is none.
	Mark uint64 `json:"mark,omitempty"`
}

// Reader gives the blocks of one split in order. Calls never overlap. Blocks carry identity runs with File set from SplitRange.ID;
// their positions ascend within a file. After the last block Next returns io.EOF. A row that cannot be read is reported by
// Runtime.Fail on a block of no columns that carries its identity (see FailedRow), and left out.
type Reader interface {
	Next(ctx context.Context) (*block.Block, error)
	Close() error
}

// Projectable is a Source that can leave columns out. It returns a source whose schema holds just the named columns, in the order of the
// full schema.
type Projectable interface {
	Project(columns []string) (Source, error)
}

// Prunable is a Source that can skip data that cannot satisfy a predicate. The predicate is still evaluated on what is read.
type Prunable interface {
	Prune(predicate *expr.Expr) Source
}

// Skipper is a Source that can tell what it did not have to read for the sake of a filter.
type Skipper interface {
	// Skipped is one line for people, "" if everything was read. It is right once the source was read to its end.
	Skipped() string
}

// LimitHint is a Source that can read less when only the first n rows a split are wanted.
type LimitHint interface {
	LimitHint(n int64) Source
}

// Holder is a Source whose readers share something for the length of a run: one snapshot of a database. The engine calls Hold before it
// lists the first split, and release after the last reader was closed. Runs may overlap. A source that nobody holds makes do by itself.
type Holder interface {
	Hold(ctx context.Context) (release func() error, err error)
}

// SizeHint is a Source that knows its total size before it is listed; ok is false where it does not.
type SizeHint interface {
	SizeHint(ctx context.Context) (bytes, rows int64, ok bool)
}

// Growing is a Source whose files may grow at their end between runs (lines of text), so that only what was added need be read.
type Growing interface {
	Source
	// Mark sums up the first n bytes of a file: their number, head and tail. It is never 0. ended tells that they end where a
	// position ends too (behind a line), or that the file ends there; else what was the last row has grown as well. ok is false for files
	// that do not grow this way (compressed ones).
	Mark(ctx context.Context, f FileRef, n int64) (mark uint64, ended, ok bool, err error)
}

// FailedRow makes the empty-columned block of one row that a reader passes to Runtime.Fail; the caller releases it.
func FailedRow(file *block.File, position uint64) *block.Block {
	rec := block.FromColumns(arrow.NewSchema(nil, nil), nil, 1)
	return block.New(rec, block.FromRuns(block.Run{File: file, First: position, N: 1, Stride: 1}))
}
