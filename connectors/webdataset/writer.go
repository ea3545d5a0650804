package webdataset

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
)

// WriteOptions are how shards are written. The zero value stands for the defaults.
type WriteOptions struct {
	Key         string `json:"key,omitempty" doc:"the column that names samples, text or integers (__key__)"`
	Compression string `json:"compression,omitempty" doc:"gzip, zstd, bzip2, xz, lz4 or none; by default what the path ends in"`
}

// Format writes shards: a member for each column of a row that is not null, named key.column. Binary and text are written as they are,
// numbers and booleans as text.
type Format struct{ opt WriteOptions }

var _ dataset.Format = (*Format)(nil)

// NewFormat makes the format.
func NewFormat(opt WriteOptions) (*Format, error) {
	var err error
	if opt.Compression, err = file.ParseCompression(opt.Compression); err != nil {
		return nil, err
	}
	if opt.Key == "" {
		opt.Key = KeyColumn
	}
	return &Format{opt}, nil
}

// Name implements dataset.Format.
func (f *Format) Name() string { return "webdataset" }

// Version implements dataset.Format.
func (f *Format) Version() int { return 1 }

// Params implements dataset.Format.
func (f *Format) Params() any { return f.opt }

// Extension implements dataset.Format.
func (f *Format) Extension() string { return file.PackedExtension("tar", f.opt.Compression) }

// Check implements dataset.Format.
func (f *Format) Check(in *arrow.Schema) error {
	if err := file.CheckColumns("webdataset", in, f.writable); err != nil {
		return err
	}
	if !in.HasField(f.opt.Key) {
		return fmt.Errorf("write webdataset: there is no column %q to name the samples; add it, or pass key=COLUMN", f.opt.Key)
	}
	return nil
}

// writable reports whether a column can be members.
func (f *Format) writable(c arrow.Field) error {
	id := storage(c.Type).ID()
	switch {
	case c.Name == f.opt.Key:
		if id != arrow.STRING && id != arrow.LARGE_STRING && !arrow.IsInteger(id) {
			return fmt.Errorf("it names the samples and is %s; it must be text or integers", c.Type)
		}
	case c.Name == "" || strings.ContainsAny(c.Name, "/\\\x00") || strings.HasPrefix(c.Name, ".") || strings.HasSuffix(c.Name, "__"):
		return errors.New("the name makes no file extension; rename it")
	case arrow.IsInteger(id), arrow.IsFloating(id), id == arrow.BOOL, arrow.IsBaseBinary(id):
	default:
		return fmt.Errorf("members are bytes, and it is %s: encode it, make it text, or leave it out", c.Type)
	}
	return nil
}

func storage(dt arrow.DataType) arrow.DataType {
	if e, ok := dt.(arrow.ExtensionType); ok {
		return e.StorageType()
	}
	return dt
}

// endBytes is the mark at the end of an archive: two blocks of zeros.
const endBytes = 1024

// NewEncoder implements dataset.Format. Rows are written at once.
func (f *Format) NewEncoder(w io.Writer, in *arrow.Schema, _ memory.Allocator, _ int) (dataset.Encoder, error) {
	if err := f.Check(in); err != nil {
		return nil, err
	}
	e := &encoder{out: &file.CountWriter{W: w}}
	packed, err := file.Compress(e.out, f.opt.Compression)
	if err != nil {
		return nil, err
	}
	e.pack, e.tar = packed, tar.NewWriter(packed)
	for i, c := range in.Fields() {
		if c.Name == f.opt.Key {
			e.key = i
		}
		e.names = append(e.names, c.Name)
	}
	return e, nil
}

// encoder writes one shard.
type encoder struct {
	out   *file.CountWriter
	pack  io.WriteCloser
	tar   *tar.Writer
	key   int
	names []string
	last  string
	rows  int64
}

// Write implements dataset.Encoder.
func (e *encoder) Write(ctx context.Context, b *block.Block) error {
	cols := make([]arrow.Array, b.NumCols())
	for i := range cols {
		if cols[i] = b.Column(i); cols[i].DataType().ID() == arrow.EXTENSION {
			cols[i] = cols[i].(array.ExtensionArray).Storage()
		}
	}
	for row := range b.NumRows() {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := e.row(cols, row); err != nil {
			return fmt.Errorf("write webdataset: row %d of the shard: %w", e.rows, err)
		}
		e.rows++
	}
	return nil
}

func (e *encoder) row(cols []arrow.Array, row int) error {
	if cols[e.key].IsNull(row) {
		return fmt.Errorf("column %q is null, and samples need a key", e.names[e.key])
	}
	key := strings.Clone(cols[e.key].ValueStr(row))
	k, _ := split(key + ".x")
	switch {
	case key == "" || k != key || strings.HasPrefix(key, "./"):
		return fmt.Errorf("the key %q does not name a sample: it must not be empty, end in a slash or have a dot in its last part", key)
	case escapes(key):
		return fmt.Errorf("the key %q is absolute or leaves the archive; make it a plain relative path", key)
	case key == e.last:
		return fmt.Errorf("the key %q is that of the row before; readers would take both for one sample", key)
	}
	e.last = key
	members := 0
	for i, c := range cols {
		if i == e.key || c.IsNull(row) {
			continue
		}
		members++
		if err := e.member(key+"."+e.names[i], bytesOf(c, row)); err != nil {
			return err
		}
	}
	if members == 0 {
		return fmt.Errorf("the sample %q has no value in any column, which a shard cannot hold; filter such rows out", key)
	}
	return nil
}

func (e *encoder) member(name string, data []byte) error {
	if err := e.tar.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(data)), ModTime: time.Unix(0, 0)}); err != nil {
		return err
	}
	_, err := e.tar.Write(data)
	return err
}

// bytesOf is the content of a member.
func bytesOf(a arrow.Array, row int) []byte {
	switch a := a.(type) {
	case *array.Binary:
		return a.Value(row)
	case *array.LargeBinary:
		return a.Value(row)
	}
	return []byte(a.ValueStr(row))
}

// Buffered implements dataset.Encoder.
func (e *encoder) Buffered() int64 { return 0 }

// Written implements dataset.Encoder.
func (e *encoder) Written() int64 { return e.out.N }

// Close implements dataset.Encoder.
func (e *encoder) Close(context.Context) error {
	if err := errors.Join(e.tar.Close(), e.pack.Close()); err != nil {
		return fmt.Errorf("write webdataset: %w", err)
	}
	return nil
}

// Join implements dataset.Format: entries are copied, without the marks at the ends of the parts.
func (f *Format) Join(ctx context.Context, w io.Writer, parts []dataset.JoinPart) (err error) {
	out, err := file.Compress(w, f.opt.Compression)
	if err != nil {
		return err
	}
	defer func() {
		if err = errors.Join(err, out.Close()); err != nil {
			err = fmt.Errorf("join webdataset: %w", err)
		}
	}()
	for _, p := range parts {
		z, err := file.Decompress(io.NewSectionReader(p, 0, p.Size), f.opt.Compression)
		if err != nil {
			return err
		}
		if err := errors.Join(copyEntries(ctx, out, z), z.Close()); err != nil {
			return err
		}
	}
	_, err = out.Write(make([]byte, endBytes))
	return err
}

// copyEntries copies an archive without its last endBytes, which must be zeros.
func copyEntries(ctx context.Context, w io.Writer, r io.Reader) error {
	buf := make([]byte, 1<<20)
	held := 0
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		n, err := r.Read(buf[held:])
		held += n
		if k := held - endBytes; k > 0 {
			if _, err := w.Write(buf[:k]); err != nil {
				return err
			}
			held = copy(buf, buf[k:held])
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
	}
	for _, b := range buf[:held] {
		if b != 0 || held != endBytes {
			return errors.New("a part does not end as an archive does")
		}
	}
	return nil
}
