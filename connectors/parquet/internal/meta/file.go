package meta

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

const (
	magic          = "PAR1"
	magicEncrypted = "PARE"
	tailSize       = 8
	// MaxFooter bounds the footer. A footer of 10,000 columns and 1,000 row
	// groups takes about 1 GiB in other implementations' memory and is refused
	// here before it is read.
	MaxFooter = 256 << 20
	// guess is how much of the end of the file is read at once: most footers
	// fit, which saves a request on remote files.
	guess = 64 << 10
)

// ErrNotParquet says that the bytes are not a Parquet file at all.
var ErrNotParquet = errors.New("not a Parquet file")

// ErrEncrypted says that the file uses modular encryption.
var ErrEncrypted = errors.New("file is encrypted (Parquet modular encryption), which is not read: write it again without encryption, with a program that has its keys")

// Read reads and validates the footer of a file of size bytes. After it
// returns nil, every column chunk has metadata, lies inside the file, and has
// counts and sizes that are not negative.
func Read(r io.ReaderAt, size int64) (*FileMetaData, error) {
	footer, n, err := wholeFooter(r, size)
	if err != nil {
		return nil, err
	}
	m, err := decodeFooter(footer, n)
	if err != nil {
		return nil, err
	}
	if err := m.validate(size); err != nil {
		return nil, fmt.Errorf("read footer: %w", err)
	}
	return m, nil
}

// wholeFooter reads a footer whose structures are whole, and tells how many of its bytes they take.
func wholeFooter(r io.ReaderAt, size int64) (footer []byte, n int, err error) {
	if footer, err = readFooter(r, size); err != nil {
		return nil, 0, err
	}
	if n, err = check(footer); err != nil {
		return nil, 0, fmt.Errorf("read footer of %d bytes: %w", len(footer), err)
	}
	return footer, n, nil
}

// decodeFooter decodes a footer whose structures take n bytes.
func decodeFooter(footer []byte, n int) (m *FileMetaData, err error) {
	defer func() {
		if p := recover(); p != nil {
			m, err = nil, fmt.Errorf("read footer: malformed metadata: %v", p)
		}
	}()
	m = new(FileMetaData)
	if err := thrift.NewDecoder(new(thrift.CompactProtocol).NewReaderFromBytes(footer)).Decode(m); err != nil {
		return nil, fmt.Errorf("read footer of %d bytes: %w", len(footer), err)
	}
	if m.EncryptionAlgorithm.Value != nil || m.FooterSigningKey.Valid {
		return nil, fmt.Errorf("read footer: %w%s", ErrEncrypted, m.encryptedColumns())
	}
	if n != len(footer) {
		return nil, fmt.Errorf("read footer: metadata takes %d of the %d bytes that the file states", n, len(footer))
	}
	return m, nil
}

// Ends tells what Read reads of a file first: so many bytes of its start, and the n bytes from last on.
func Ends(size int64) (first, last, n int64) {
	n = min(guess, size-int64(len(magic)))
	return int64(len(magic)), size - n, n
}

func readFooter(r io.ReaderAt, size int64) ([]byte, error) {
	if size < int64(len(magic))+tailSize {
		return nil, fmt.Errorf("%w: it has %d bytes, the smallest has 12", ErrNotParquet, size)
	}
	var head [4]byte
	if err := readFull(r, head[:], 0); err != nil {
		return nil, fmt.Errorf("read magic bytes: %w", err)
	}
	tail := make([]byte, min(guess, size-int64(len(magic))))
	if err := readFull(r, tail, size-int64(len(tail))); err != nil {
		return nil, fmt.Errorf("read end of file: %w", err)
	}
	end := tail[len(tail)-tailSize:]
	switch {
	case string(head[:]) == magicEncrypted || string(end[4:]) == magicEncrypted:
		return nil, ErrEncrypted
	case string(head[:]) != magic:
		return nil, fmt.Errorf("%w: it starts with %q instead of %q", ErrNotParquet, head[:], magic)
	case string(end[4:]) != magic:
		return nil, fmt.Errorf("footer is torn: the file ends with %q instead of %q; it was cut off or is still being written", end[4:], magic)
	}
	n := int64(binary.LittleEndian.Uint32(end))
	if room := size - int64(len(magic)) - tailSize; n > room {
		return nil, fmt.Errorf("footer is torn: it claims %d bytes and the file has room for %d", n, room)
	}
	if n > MaxFooter {
		return nil, fmt.Errorf("footer of %d bytes is over the limit of %d bytes", n, MaxFooter)
	}
	if int(n) <= len(tail)-tailSize {
		return slices.Clone(tail[len(tail)-tailSize-int(n) : len(tail)-tailSize]), nil
	}
	footer := make([]byte, n)
	if err := readFull(r, footer, size-tailSize-n); err != nil {
		return nil, fmt.Errorf("read footer: %w", err)
	}
	return footer, nil
}

func readFull(r io.ReaderAt, b []byte, off int64) error {
	n, err := r.ReadAt(b, off)
	if n == len(b) {
		return nil
	}
	if err == nil || err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("read %d bytes at %d: got %d: %w", len(b), off, n, err)
}

func (m *FileMetaData) validate(size int64) error {
	leaves, err := countLeaves(m.Schema)
	if err != nil {
		return err
	}
	rows := int64(0)
	for g := range m.RowGroups {
		rg := &m.RowGroups[g]
		if err := rg.validate(leaves, size); err != nil {
			return fmt.Errorf("row group %d%w", g, err)
		}
		if rows+rg.NumRows < rows {
			return fmt.Errorf("row group %d claims %d rows", g, rg.NumRows)
		}
		rows += rg.NumRows
	}
	if rows != m.NumRows {
		return fmt.Errorf("file claims %d rows, its row groups have %d", m.NumRows, rows)
	}
	return nil
}

// validate checks a row group of a file of size bytes with so many leaf columns. Its errors go on after "row group 3".
func (rg *RowGroup) validate(leaves int, size int64) error {
	if len(rg.Columns) != leaves {
		return fmt.Errorf(" has %d column chunks, the schema has %d columns", len(rg.Columns), leaves)
	}
	if rg.NumRows < 0 {
		return fmt.Errorf(" claims %d rows", rg.NumRows)
	}
	for c := range rg.Columns {
		if err := rg.Columns[c].validate(size); err != nil {
			return fmt.Errorf(", column %d: %w", c, err)
		}
	}
	return nil
}

func countLeaves(schema []SchemaElement) (int, error) {
	if len(schema) == 0 {
		return 0, errors.New("schema is empty")
	}
	n := 0
	for i := range schema {
		if schema[i].NumChildren.V == 0 && i > 0 {
			n++
		}
	}
	return n, nil
}

func (c *ColumnChunk) validate(size int64) error {
	if c.CryptoMetadata.Value != nil || c.EncryptedMetadata.Valid {
		return ErrEncrypted
	}
	if !c.MetaData.Valid {
		return errors.New("column chunk has no metadata")
	}
	if c.FilePath.V != "" {
		return fmt.Errorf("column chunk lies in another file, %q, which is not supported", c.FilePath.V)
	}
	md := &c.MetaData.V
	if md.NumValues < 0 || md.TotalCompressedSize < 0 || md.TotalUncompressedSize < 0 {
		return fmt.Errorf("column chunk claims %d values in %d bytes (%d uncompressed)", md.NumValues, md.TotalCompressedSize, md.TotalUncompressedSize)
	}
	start := c.Start()
	if start < 0 || start > size || md.TotalCompressedSize > size-start || md.DataPageOffset > size {
		return fmt.Errorf("column chunk of %d bytes at %d reaches past the end of the file at %d", md.TotalCompressedSize, start, size)
	}
	return nil
}

// encryptedColumns names the columns of a file whose footer can be read.
func (m *FileMetaData) encryptedColumns() string {
	var names []string
	for g := range m.RowGroups {
		for c := range m.RowGroups[g].Columns {
			chunk := &m.RowGroups[g].Columns[c]
			var path []string
			switch k := chunk.CryptoMetadata.Value.(type) {
			case nil:
				continue
			case *format.EncryptionWithColumnKey:
				path = k.PathInSchema
			default:
				path = chunk.MetaData.V.PathInSchema
			}
			if name := strings.Join(path, "."); name != "" && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	const most = 12
	switch n := len(names); {
	case n == 0:
		return ""
	case n > most:
		return fmt.Sprintf(" (encrypted columns: %s, … %d in all)", strings.Join(names[:most], ", "), n)
	}
	return fmt.Sprintf(" (encrypted columns: %s)", strings.Join(names, ", "))
}

// Start returns the offset of the first page of the chunk.
func (c *ColumnChunk) Start() int64 {
	md := &c.MetaData.V
	if d := md.DictionaryPageOffset; d.Valid && d.V > 0 && d.V < md.DataPageOffset {
		return d.V
	}
	return md.DataPageOffset
}

// Magic is written at both ends of a file.
const Magic = magic

// ColumnOrders returns the order declaration of n leaf columns: type-defined,
// which makes min_value and max_value usable.
func ColumnOrders(n int) []format.ColumnOrder {
	out := make([]format.ColumnOrder, n)
	for i := range out {
		out[i].Value = new(format.TypeDefinedOrder)
	}
	return out
}
