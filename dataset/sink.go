package dataset

import (
	"context"
	"encoding/json"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/dataset/block"
)

// Sink describes where rows go. It is immutable and shared.
type Sink interface {
	Name() string
	Version() int
	// Params is the layout, JSON-marshalable, without credentials; part of the plan fingerprint.
	Params() any
	// Check accepts or refuses the schema of the rows.
	Check(in *arrow.Schema) error
	// NewWriter opens one attempt at one part. Parts that are written at the same time use different writers; calls on one writer
	// never overlap. Of rt the writer may keep the Allocator; everything else of it is valid only during this call.
	NewWriter(ctx context.Context, rt Runtime, part Part, in *arrow.Schema) (Writer, error)
	// Finish publishes what the receipts name, all of them or none as seen by a reader of ours. It is idempotent: after a crash it
	// is called again with the same receipts.
	Finish(ctx context.Context, receipts []Receipt) error
}

// Part names one part of the output.
type Part struct {
	Seq       uint64            `json:"seq"`                 // in output order
	Run       string            `json:"run"`                 // id of the run that wrote it
	Attempt   int               `json:"attempt"`             // fresh for each try at the same rows
	Partition map[string]string `json:"partition,omitempty"` // hive keys, if the layout has any
}

// Writer writes one part. It ends in exactly one of Commit or Abort; a Commit that failed has aborted. Either may come from another
// goroutine than the writes did, after the last of them.
type Writer interface {
	// Write appends the rows of a block, which it borrows. After an error the part can only be aborted.
	Write(ctx context.Context, b *block.Block) error
	// Bytes is what was written of the part so far, as it will be in the target, and depends on the rows alone, not on how they were
	// cut into blocks; Buffered is the memory that the writer holds for rows not yet in Bytes.
	Bytes() int64
	Buffered() int64
	// Commit makes the part whole and durable, though not yet visible, and returns what Finish needs to publish it.
	Commit(ctx context.Context) (Receipt, error)
	// Abort leaves no trace of the part.
	Abort(ctx context.Context) error
}

// Receipt is a written part. Plain data; journaled.
type Receipt struct {
	Part  Part            `json:"part"`
	Name  string          `json:"name"` // at the target once published, relative to it, with slashes
	Rows  int64           `json:"rows"`
	Bytes int64           `json:"bytes"`
	Hash  string          `json:"hash,omitempty"` // xxh3-128 of the bytes, hex
	Data  json.RawMessage `json:"data,omitempty"` // the sink's own: staged and final names
}

// Target is a Sink whose result lives at a place that outlasts the run, so that runs on it are logged, locked and resumed. Sinks
// without it deliver at least once. Every method may be repeated after a crash with the same arguments.
type Target interface {
	Sink
	// State is where logs, locks and manifests of this result are kept. Asking for it creates nothing.
	State(ctx context.Context) (Storage, error)
	// Locator is the result's place, as a person would write it.
	Locator() string
	// Existing lists data at the place that the live receipts do not account for, at most a hundred, to be shown. Without live
	// receipts everything that a reader would find there is data, else only what looks like a part.
	Existing(ctx context.Context, live []Receipt) ([]Receipt, error)
	// Stale lists all files that look like parts of this layout and that the live receipts do not account for: what an overwrite
	// removes along with the live ones.
	Stale(ctx context.Context, live []Receipt) ([]Receipt, error)
	// Verify checks that the parts which receipts name are published and unchanged, and returns those that are not, in two lists.
	Verify(ctx context.Context, receipts []Receipt) (missing, differ []Receipt, err error)
	// Remove deletes published parts, except those whose names are also in keep: Finish will replace them.
	Remove(ctx context.Context, receipts, keep []Receipt) error
	// Seal marks the published result as complete, for others than readers of ours (_SUCCESS). Finish takes the mark away.
	Seal(ctx context.Context, receipts []Receipt) error
	// Discard deletes staged, unpublished files of a run.
	Discard(ctx context.Context, run string) error
}

// Joiner is a Target whose result may be one object, decided at the end.
type Joiner interface {
	Target
	// Join gives a run's parts, which come in output order, their final form and names, durable and not yet visible: one object, or
	// the parts as they are where the layout is a folder or they exceed limit bytes. kept are published parts that the result is to
	// keep; replaces tells that the final parts hold their rows too. It may be called again with a higher attempt.
	Join(ctx context.Context, at Part, kept, parts []Receipt, limit int64) (final []Receipt, replaces bool, err error)
}

// Rehearser is a Target that can find out, before it is decided that a run is published, whether it can be: a database with constraints.
// Rehearse is called after the last part was committed, with what Remove and Finish are then called with; an error ends the run, and leaves
// the target and the committed parts as they are. What it holds open (a transaction) Finish completes; Discard and giving back the
// lock of the state let go of it.
type Rehearser interface {
	Target
	Rehearse(ctx context.Context, remove, parts []Receipt) error
}

// Partitioned is a Sink that keeps the rows of one value of these columns in parts of their own (Part.Partition).
type Partitioned interface {
	Sink
	// PartitionBy names the columns; empty means that there are none.
	PartitionBy() []string
}

// Storage is the seam to a place that keeps small named objects durably: a folder or a bucket prefix. Names are relative, with
// slashes. Every write that returned nil is durable. Fault injection implements it too.
type Storage interface {
	// Read returns a whole object; the error satisfies errors.Is(err, fs.ErrNotExist) if there is none.
	Read(ctx context.Context, name string) ([]byte, error)
	// Create writes an object only if none of that name exists; else errors.Is(err, fs.ErrExist).
	Create(ctx context.Context, name string, data []byte) error
	// Replace writes an object, atomically replacing any of that name.
	Replace(ctx context.Context, name string, data []byte) error
	// List returns the names below a prefix, ascending.
	List(ctx context.Context, prefix string) ([]string, error)
	// Remove deletes an object; that there is none is no error.
	Remove(ctx context.Context, name string) error
	// Append opens a log for appending. Stores that cannot append number their segments.
	Append(ctx context.Context, name string) (Log, error)
	// Lock takes the exclusive lock of that name, held until release is called or the process dies. If another holds it, the
	// error is a *LockedError.
	Lock(ctx context.Context, name string, owner []byte) (release func() error, err error)
}

// Log is an append-only file. Append buffers; Sync makes everything appended durable. A failed Sync leaves the log unusable.
type Log interface {
	Append(p []byte) error
	Sync() error
	io.Closer
}

// LockedError says who holds a lock.
type LockedError struct {
	Name  string
	Owner string
}

func (e *LockedError) Error() string {
	return "lock " + e.Name + ": held by " + e.Owner
}

// Encoder turns blocks into the bytes of one file format; the file sink does the rest (staging, names, publishing). One encoder
// writes one file; calls never overlap. The bytes depend on the rows alone, not on how they were cut into blocks.
type Encoder interface {
	// Write appends the rows of a block, which it borrows, to the file.
	Write(ctx context.Context, b *block.Block) error
	// Buffered is the memory held for rows not yet written out; Written the bytes written so far.
	Buffered() int64
	Written() int64
	// Close writes what is held and the footer and frees the memory that the encoder holds, also when it fails. It is called exactly
	// once; of an aborted file the underlying writer then fails. It does not close the underlying writer.
	Close(ctx context.Context) error
}

// Format is a file format that can be written. Register a SinkDef that wraps it in the file sink.
type Format interface {
	Name() string
	// Extension of its files, without dot: "parquet".
	Extension() string
	Version() int
	// Params are the encoding options, JSON-marshalable.
	Params() any
	Check(in *arrow.Schema) error
	NewEncoder(w io.Writer, in *arrow.Schema, mem memory.Allocator, parallel int) (Encoder, error)
	// Join writes the concatenation of whole files of this format and one schema to w, without decoding them if it can: how a
	// one-file result is made of its parts.
	Join(ctx context.Context, w io.Writer, parts []JoinPart) error
}

// JoinPart is one file to be joined.
type JoinPart struct {
	io.ReaderAt
	Size int64
}

// OrderKeeper is a Sink that wants rows in source order also when the run does not ask for it: one file, standard output.
type OrderKeeper interface{ KeepsOrder() bool }

// SpillPrefix begins the names of spill files. They lose their names as soon as they are open, so a file that has one belongs to nobody
// who would miss it: its owner was killed in between. Storages sweep names that begin with ".tmp-" when their lock is taken.
const SpillPrefix = ".tmp-spill-"

// SpillPlace is a Target on a local disk: SpillDir is a folder on the same disk, where runs spill unless they are told another place;
// "" if the result is not on a disk of this machine.
type SpillPlace interface{ SpillDir() string }
