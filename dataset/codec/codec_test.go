package codec

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/dataset/block"
	"github.com/sluice-data/sluice/dataset/datasettest/arraytest"
)

var compressions = []Compression{None, LZ4, Zstd}

func allTypes() []arrow.DataType { return append(arraytest.Types(), block.Image, block.Pixels) }

func TestRoundTrip(t *testing.T) {
	for _, c := range compressions {
		for seed := range uint64(12) {
			t.Run(fmt.Sprint(c, "/", seed), func(t *testing.T) {
				mem := arraytest.NewMemory(t)
				r := rand.New(rand.NewPCG(seed, 1))
				rec := arraytest.RandomRecord(r, mem, allTypes(), []int{0, 1, 60, 700}[seed%4], seed%3 > 0)
				defer rec.Release()
				enc := NewEncoder(rec.Schema(), c, mem)
				dec, err := NewDecoder(rec.Schema(), 0)
				if err != nil {
					t.Fatal(err)
				}
				for range 2 { // the second frame must be as whole as the first
					frame, err := enc.Append(nil, rec)
					if err != nil {
						t.Fatal(err)
					}
					if n, err := FrameLen(frame[:HeaderBytes], DefaultLimit); err != nil || int(n) != len(frame) {
						t.Fatalf("length is %d (%v), want %d", n, err, len(frame))
					}
					got, err := dec.Decode(mem, frame)
					if err != nil {
						t.Fatal(err)
					}
					compare(t, got, rec)
					checkAligned(t, got)
					got.Release()
				}
			})
		}
	}
}

func compare(t *testing.T, got, want arrow.RecordBatch) {
	t.Helper()
	if !got.Schema().Equal(want.Schema()) {
		t.Errorf("schema is %s, want %s", got.Schema(), want.Schema())
	}
	if g, w := arraytest.Rows(got), arraytest.Rows(want); !slices.Equal(g, w) {
		t.Errorf("rows are %v, want %v", g, w)
	}
}

// checkAligned checks that every buffer starts at a multiple of 64.
func checkAligned(t *testing.T, rec arrow.RecordBatch) {
	t.Helper()
	var walk func(d arrow.ArrayData)
	walk = func(d arrow.ArrayData) {
		for i, b := range d.Buffers() {
			if b != nil && b.Len() > 0 {
				if at := uintptr(unsafe.Pointer(unsafe.SliceData(b.Bytes()))) & 63; at != 0 {
					t.Errorf("buffer %d of %s is at %d modulo 64", i, d.DataType(), at)
				}
			}
		}
		for _, c := range d.Children() {
			walk(c)
		}
	}
	for _, c := range rec.Columns() {
		walk(c.Data())
	}
}

func TestViewSharesMemory(t *testing.T) {
	mem := arraytest.NewMemory(t)
	rec := arraytest.RandomRecord(rand.New(rand.NewPCG(1, 1)), mem, allTypes(), 100, true)
	defer rec.Release()
	frame, err := NewEncoder(rec.Schema(), None, mem).Append(nil, rec)
	if err != nil {
		t.Fatal(err)
	}
	buf := memory.NewBufferWithAllocator(mem.Allocate(len(frame)), mem)
	copy(buf.Bytes(), frame)
	dec, err := NewDecoder(rec.Schema(), 0)
	if err != nil {
		t.Fatal(err)
	}
	before := mem.Bytes()
	got, err := dec.View(mem, buf)
	if err != nil {
		t.Fatal(err)
	}
	buf.Release()
	if mem.Bytes() != before {
		t.Errorf("viewing took %d bytes", mem.Bytes()-before)
	}
	compare(t, got, rec)
	checkAligned(t, got)
	got.Release()
}

func TestAppendKeepsPrefix(t *testing.T) {
	mem := arraytest.NewMemory(t)
	rec := arraytest.RandomRecord(rand.New(rand.NewPCG(2, 1)), mem, allTypes(), 10, true)
	defer rec.Release()
	enc := NewEncoder(rec.Schema(), LZ4, mem)
	one, err := enc.Append(nil, rec)
	if err != nil {
		t.Fatal(err)
	}
	two, err := enc.Append(slices.Clone(one), rec)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(two[:len(one)], one) || !bytes.Equal(two[len(one):], one) {
		t.Error("two frames in one slice are not the frame twice")
	}
}

func TestSchemaRoundTrip(t *testing.T) {
	fields := make([]arrow.Field, 0)
	for i, dt := range allTypes() {
		fields = append(fields, arrow.Field{Name: fmt.Sprint(i), Type: dt, Nullable: i%2 == 0})
	}
	md := arrow.NewMetadata([]string{"k"}, []string{"v"})
	want := arrow.NewSchema(fields, &md)
	p, err := EncodeSchema(want)
	if err != nil {
		t.Fatal(err)
	}
	got, err := DecodeSchema(p)
	if err != nil {
		t.Fatal(err)
	}
	if !got.Equal(want) || !got.Metadata().Equal(md) {
		t.Errorf("schema is %s", got)
	}
}

func TestDecodeRefuses(t *testing.T) {
	mem := arraytest.NewMemory(t)
	rec := arraytest.RandomRecord(rand.New(rand.NewPCG(3, 1)), mem, []arrow.DataType{arrow.BinaryTypes.String}, 50, true)
	defer rec.Release()
	frame, err := NewEncoder(rec.Schema(), LZ4, mem).Append(nil, rec)
	if err != nil {
		t.Fatal(err)
	}
	dec, err := NewDecoder(rec.Schema(), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func(p []byte) []byte
		want   string
	}{
		"empty":    {func([]byte) []byte { return nil }, "decode frame: corrupt frame: 0 bytes are less than a header"},
		"magic":    {func(p []byte) []byte { p[0]++; return p }, "decode frame: corrupt frame: it does not begin with the magic number"},
		"version":  {func(p []byte) []byte { p[4] = 9; return p }, "decode frame: corrupt frame: version 9, this program reads 1"},
		"cut":      {func(p []byte) []byte { return p[:len(p)-64] }, fmt.Sprintf("decode frame: corrupt frame: %d bytes, want %d", len(frame)-64, len(frame))},
		"too long": {func(p []byte) []byte { binary.LittleEndian.PutUint64(p[16:], 1<<40); return p }, ""},
		"bit flip": {func(p []byte) []byte { p[len(p)-70] ^= 4; return p }, ""},
		"sections": {func(p []byte) []byte { binary.LittleEndian.PutUint32(p[8:], 1000); seal(p); return p }, "decode frame: corrupt frame: a table of 1000 sections does not fit"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := dec.Decode(mem, c.change(slices.Clone(frame)))
			if !errors.Is(err, ErrCorrupt) || c.want != "" && err.Error() != c.want {
				t.Errorf("error is %v, want %s", err, c.want)
			}
		})
	}
	other, err := NewDecoder(arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64}}, nil), 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Decode(mem, frame); !errors.Is(err, ErrCorrupt) {
		t.Errorf("a frame of another schema: %v", err)
	}
}

// FuzzDecode changes bytes of good frames and repairs the checksum, so that damage reaches every layer. Whatever decodes is read
// to its last element.
func FuzzDecode(f *testing.F) {
	types := []arrow.DataType{arrow.BinaryTypes.String, arrow.ListOf(arrow.PrimitiveTypes.Int16),
		&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int16, ValueType: arrow.BinaryTypes.String}, block.Pixels, arrow.FixedWidthTypes.Boolean}
	rec := arraytest.RandomRecord(rand.New(rand.NewPCG(4, 1)), memory.NewGoAllocator(), types, 20, true)
	for _, c := range compressions {
		frame, err := NewEncoder(rec.Schema(), c, memory.NewGoAllocator()).Append(nil, rec)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(frame)
	}
	dec, err := NewDecoder(rec.Schema(), 1<<20)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, p []byte) {
		mem := arraytest.NewMemory(t)
		if len(p) >= HeaderBytes {
			p = slices.Clone(p)
			binary.LittleEndian.PutUint64(p[offTotal:], uint64(len(p)))
			seal(p)
		}
		got, err := dec.Decode(mem, p)
		if err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Errorf("%v is not about corruption", err)
			}
			return
		}
		arraytest.Rows(got)
		got.Release()
	})
}

func FuzzDecodeSchema(f *testing.F) {
	p, err := EncodeSchema(arrow.NewSchema([]arrow.Field{{Name: "a", Type: block.Image, Nullable: true}}, nil))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(p)
	f.Fuzz(func(_ *testing.T, p []byte) { _, _ = DecodeSchema(p) })
}

func BenchmarkCodec(b *testing.B) {
	types := []arrow.DataType{arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Float64, arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int32}
	rec := arraytest.RandomRecord(rand.New(rand.NewPCG(5, 1)), memory.NewGoAllocator(), types, 32<<10, false)
	mem := block.NewAllocator(block.NewPool(1<<30), nil)
	size := int64(0)
	for _, c := range rec.Columns() {
		size += block.ArrayBytes(c)
	}
	for _, c := range compressions {
		enc := NewEncoder(rec.Schema(), c, mem)
		dec, err := NewDecoder(rec.Schema(), 0)
		if err != nil {
			b.Fatal(err)
		}
		var frame []byte
		b.Run(fmt.Sprint("encode/", c), func(b *testing.B) {
			b.SetBytes(size)
			b.ReportAllocs()
			for b.Loop() {
				if frame, err = enc.Append(frame[:0], rec); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprint("decode/", c), func(b *testing.B) {
			b.SetBytes(size)
			b.ReportAllocs()
			for b.Loop() {
				got, err := dec.Decode(mem, frame)
				if err != nil {
					b.Fatal(err)
				}
				got.Release()
			}
		})
	}
}
