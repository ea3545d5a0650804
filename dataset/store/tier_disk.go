package store

import (
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/dataset/codec"
)

// File is a temporary file, such as dataset.ScratchFile: Write appends, Size is where the next byte goes.
type File interface {
	io.Writer
	io.ReaderAt
	Size() int64
}

// Disk is the Tier that appends records to a file as compressed frames with a checksum. The file belongs to the caller, who closes it after the last
// Release; space of released records is not used again.
type Disk struct {
	file File
	enc  *codec.Encoder
	dec  *codec.Decoder
	buf  []byte
}

var _ Tier = (*Disk)(nil)

// NewDisk makes a tier for records of one schema. Scratch memory for encoding comes from mem.
func NewDisk(file File, schema *arrow.Schema, mem memory.Allocator) (*Disk, error) {
	dec, err := codec.NewDecoder(schema, 0)
	if err != nil {
		return nil, fmt.Errorf("make disk store: %w", err)
	}
	return &Disk{file: file, enc: codec.NewEncoder(schema, codec.LZ4, mem), dec: dec}, nil
}

// Put implements Tier. Errors of the file are returned as they are: a limit of spilled bytes ends the run.
func (d *Disk) Put(rec arrow.RecordBatch) (Stored, error) {
	frame, err := d.enc.Append(d.buf[:0], rec)
	if err != nil {
		return nil, fmt.Errorf("put record on disk: %w", err)
	}
	d.buf = frame
	at := d.file.Size()
	if _, err := d.file.Write(frame); err != nil {
		return nil, fmt.Errorf("put record on disk: %w", err)
	}
	return &diskRecord{file: d.file, dec: d.dec, at: at, bytes: int64(len(frame))}, nil
}

type diskRecord struct {
	file      File
	dec       *codec.Decoder
	at, bytes int64
}

func (r *diskRecord) Bytes() int64 { return r.bytes }

func (r *diskRecord) Load(mem memory.Allocator) (arrow.RecordBatch, error) {
	frame := mem.Allocate(int(r.bytes))
	defer mem.Free(frame)
	if _, err := io.ReadFull(io.NewSectionReader(r.file, r.at, r.bytes), frame); err != nil {
		return nil, fmt.Errorf("read record from disk: %d bytes at %d: %w", r.bytes, r.at, err)
	}
	rec, err := r.dec.Decode(mem, frame)
	if err != nil {
		return nil, fmt.Errorf("read record from disk: at %d: %w", r.at, err)
	}
	return rec, nil
}

func (*diskRecord) Release() {}
