package parquet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/sluice-data/sluice/connectors/parquet/internal/meta"
)

// smallFile is a valid file of three columns and two row groups.
func smallFile(t fataler) []byte {
	s := arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64},
		{Name: "name", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "tags", Type: arrow.ListOf(arrow.BinaryTypes.String), Nullable: true},
	}, nil)
	b := array.NewRecordBuilder(memory.NewGoAllocator(), s)
	for i := range 20 {
		b.Field(0).(*array.Int64Builder).Append(int64(i))
		if i%5 == 0 {
			b.Field(1).AppendNull()
		} else {
			b.Field(1).(*array.StringBuilder).Append(strings.Repeat("x", i%4))
		}
		l := b.Field(2).(*array.ListBuilder)
		l.Append(i%3 != 0)
		for range i % 3 {
			l.ValueBuilder().(*array.StringBuilder).Append("tag")
		}
	}
	return ourWrite(t, b.NewRecordBatch(), WriteOptions{RowGroupRows: 12})
}

// edited rewrites the footer of a file.
func edited(t *testing.T, file []byte, edit func(m *meta.FileMetaData)) []byte {
	t.Helper()
	m, err := meta.Read(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	n := int(binary.LittleEndian.Uint32(file[len(file)-8:]))
	edit(m)
	enc, err := thrift.Marshal(new(thrift.CompactProtocol), m)
	if err != nil {
		t.Fatal(err)
	}
	out := append(bytes.Clone(file[:len(file)-8-n]), enc...)
	return append(binary.LittleEndian.AppendUint32(out, uint32(len(enc))), meta.Magic...)
}

func TestBrokenFiles(t *testing.T) {
	good := smallFile(t)
	column := func(m *meta.FileMetaData, c int) *meta.ColumnMetaData { return &m.RowGroups[0].Columns[c].MetaData.V }
	page := bytes.Clone(good)
	page[4+30] ^= 0xFF
	cases := []struct {
		name string
		file []byte
		want string
	}{
		{"empty", nil, "not a Parquet file: it has 0 bytes"},
		{"text", []byte("id,name\n1,a\n2,b\n"), `not a Parquet file: it starts with "id,n"`},
		{"torn footer", good[:len(good)-20], "footer is torn: the file ends with"},
		{"half a file", good[:len(good)/2], "footer is torn"},
		{"footer too long", append(bytes.Clone(good[:len(good)-8]), 0xFF, 0xFF, 0xFF, 0x7F, 'P', 'A', 'R', '1'), "claims 2147483647 bytes"},
		{"garbage footer", append(append([]byte("PAR1"), bytes.Repeat([]byte{0x55}, 64)...), 64, 0, 0, 0, 'P', 'A', 'R', '1'), "read footer of 64 bytes"},
		{"list bomb", append([]byte("PAR1\x29\xfc\xff\xff\xff\xff\x07"), 7, 0, 0, 0, 'P', 'A', 'R', '1'), "claims 2147483647 elements"},
		{"encrypted footer", append([]byte("PARE"), append(make([]byte, 20), "\x04\x00\x00\x00PARE"...)...), "encrypted"},
		{"encrypted columns", edited(t, good, func(m *meta.FileMetaData) {
			m.EncryptionAlgorithm.Value = new(format.AesGcmV1)
		}), "encrypted"},
		{"encrypted column", edited(t, good, func(m *meta.FileMetaData) {
			m.RowGroups[0].Columns[0].CryptoMetadata.Value = new(format.EncryptionWithFooterKey)
		}), "encrypted"},
		{"codec", edited(t, good, func(m *meta.FileMetaData) { column(m, 0).Codec = 99 }), `column "id": compression codec 99 is unknown`},
		{"lzo", edited(t, good, func(m *meta.FileMetaData) { column(m, 0).Codec = format.LZO }), "LZO is not supported"},
		{"past the end", edited(t, good, func(m *meta.FileMetaData) { column(m, 1).DataPageOffset = 1 << 40 }), "reaches past the end"},
		{"absurd size", edited(t, good, func(m *meta.FileMetaData) { column(m, 1).TotalCompressedSize = math.MaxInt64 }), "reaches past the end"},
		{"negative size", edited(t, good, func(m *meta.FileMetaData) { column(m, 1).TotalCompressedSize = -5 }), "claims"},
		{"absurd rows", edited(t, good, func(m *meta.FileMetaData) {
			m.RowGroups[0].NumRows, m.NumRows = 1<<40, 1<<40+8
		}), "ends before its rows do"},
		{"row sum", edited(t, good, func(m *meta.FileMetaData) { m.NumRows = 7 }), "file claims 7 rows, its row groups have 20"},
		{"missing chunk", edited(t, good, func(m *meta.FileMetaData) { m.RowGroups[0].Columns = m.RowGroups[0].Columns[:2] }), "has 2 column chunks"},
		{"no metadata", edited(t, good, func(m *meta.FileMetaData) { m.RowGroups[0].Columns[0].MetaData.Valid = false }), "has no metadata"},
		{"other file", edited(t, good, func(m *meta.FileMetaData) { m.RowGroups[0].Columns[0].FilePath = thrift.New("x.bin") }), `another file, "x.bin"`},
		{"wrong type", edited(t, good, func(m *meta.FileMetaData) { column(m, 0).Type = format.ByteArray }), `column "id" as BYTE_ARRAY, the schema says INT64`},
		{"schema children", edited(t, good, func(m *meta.FileMetaData) { m.Schema[0].NumChildren.V = 9000 }), "claims 9000 children"},
		{"schema type", edited(t, good, func(m *meta.FileMetaData) {
			m.Schema[1].LogicalType.Value = &format.DecimalType{Precision: 99, Scale: 2}
		}), `column "id": decimal has precision 99`},
		{"damaged page", page, "row group 0: column"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
			_, err := readAll(c.file, ReadOptions{Allocator: mem})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("error %v\nwant  %q", err, c.want)
			}
			mem.AssertSize(t, 0)
		})
	}
}

func TestErrorKinds(t *testing.T) {
	if _, err := Open(strings.NewReader("hello, world"), 12); !errors.Is(err, ErrNotParquet) {
		t.Errorf("a text file gives %v", err)
	}
	b := append([]byte("PARE"), append(make([]byte, 20), "\x04\x00\x00\x00PARE"...)...)
	if _, err := Open(bytes.NewReader(b), int64(len(b))); !errors.Is(err, ErrEncrypted) {
		t.Errorf("an encrypted file gives %v", err)
	}
}

// TestNoRows reads files without row groups and without rows.
func TestNoRows(t *testing.T) {
	s := arrow.NewSchema([]arrow.Field{{Name: "a", Type: arrow.PrimitiveTypes.Int64}}, nil)
	b := array.NewRecordBuilder(memory.NewGoAllocator(), s).NewRecordBatch()
	file := ourWrite(t, b, WriteOptions{})
	got, err := readAll(file, ReadOptions{Allocator: memory.NewGoAllocator()})
	if err != nil || got.NumRows() != 0 {
		t.Fatalf("%v, %v", got, err)
	}
	f, err := Open(bytes.NewReader(file), int64(len(file)))
	if err != nil || f.NumRowGroups() != 0 || !f.Schema().Equal(s) {
		t.Fatalf("%v: schema %v", err, f.Schema())
	}
	if _, err := f.Read(0, ReadOptions{Allocator: memory.NewGoAllocator()}); err == nil {
		t.Fatal("row group 0 of none could be opened")
	}
}

// FuzzRead feeds mutated files to the reader: it may refuse them, it may not
// crash, leak or take memory out of proportion.
func FuzzRead(f *testing.F) {
	f.Add(smallFile(f))
	f.Add(smallFile(f)[:100])
	for _, file := range fuzzSeeds(f) {
		f.Add(file)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 1<<20 {
			return
		}
		mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
		opts := ReadOptions{Allocator: &capped{Allocator: mem, t: t, limit: 1 << 30}, BatchRows: 1000, BatchBytes: 1 << 16}
		readSome(b, opts, 20)
		mem.AssertSize(t, 0)
	})
}

// readSome reads the first batches of every row group: a page of two billion
// nulls takes ten bytes and is no fault.
func readSome(b []byte, opts ReadOptions, batches int) {
	f, err := Open(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return
	}
	for g := range min(f.NumRowGroups(), 8) {
		r, err := f.Read(g, opts)
		if err != nil {
			return
		}
		for range batches {
			rec, err := r.Next()
			if err != nil {
				break
			}
			rec.Release()
		}
		r.Close()
	}
}

// capped fails the test when one request is out of proportion.
type capped struct {
	memory.Allocator
	t     *testing.T
	limit int
}

func (c *capped) Allocate(n int) []byte {
	if n > c.limit {
		c.t.Fatalf("%d bytes asked for at once", n)
	}
	return c.Allocator.Allocate(n)
}
