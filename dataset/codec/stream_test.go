package codec

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/dataset/datasettest/arraytest"
)

// aligned gives a buffer at a multiple of 64, as a mapping is, with what it must be read as.
func aligned(p []byte) *memory.Buffer {
	raw := make([]byte, len(p)+align)
	shift := int(-uintptr(unsafe.Pointer(&raw[0])) & (align - 1))
	b := raw[shift : shift+len(p)]
	copy(b, p)
	return memory.NewBufferBytes(b)
}

// TestStreamIsReadByOthers has Arrow's own reader read our streams, and reads its streams and ours in place.
func TestStreamIsReadByOthers(t *testing.T) {
	types := map[string][]arrow.DataType{"all": allTypes(), "flat": {arrow.PrimitiveTypes.Int64, arrow.BinaryTypes.String}, "null": {arrow.Null}, "none": nil}
	for name, types := range types {
		for seed := range uint64(8) {
			t.Run(fmt.Sprint(name, "/", seed), func(t *testing.T) {
				mem := arraytest.NewMemory(t)
				r := rand.New(rand.NewPCG(seed, 1))
				rec := arraytest.RandomRecord(r, mem, types, []int{0, 1, 60, 700}[seed%4], seed%3 > 0)
				defer rec.Release()
				enc := NewStreamEncoder(rec.Schema(), mem)
				for range 2 { // the second stream must be as whole as the first
					p, err := enc.Append(nil, rec)
					if err != nil {
						t.Fatal(err)
					}
					checkForeign(t, enc, p, rec)
					buf := aligned(p)
					got := viewStream(t, mem, buf, StreamAt, rec)
					checkAligned(t, got)
					got.Release()
				}
				var foreign bytes.Buffer
				w := ipc.NewWriter(&foreign, ipc.WithSchema(rec.Schema()))
				if err := errors.Join(w.Write(rec), w.Close()); err != nil {
					t.Fatal(err)
				}
				viewStream(t, mem, aligned(foreign.Bytes()), 0, rec).Release()
			})
		}
	}
}

func viewStream(t *testing.T, mem memory.Allocator, buf *memory.Buffer, at int, want arrow.RecordBatch) arrow.RecordBatch {
	t.Helper()
	d, err := NewDecoder(want.Schema(), 0)
	if err != nil {
		t.Fatal(err)
	}
	got, err := d.ViewStream(mem, buf, at)
	if err != nil {
		t.Fatal(err)
	}
	compare(t, got, want)
	return got
}

// checkForeign reads a stream of ours with Arrow's reader; where it has no schema, after one of Arrow's writer.
func checkForeign(t *testing.T, enc *StreamEncoder, p []byte, want arrow.RecordBatch) {
	t.Helper()
	whole := p[StreamAt:]
	if !enc.HasSchema() {
		var head bytes.Buffer
		w := ipc.NewWriter(&head, ipc.WithSchema(want.Schema()))
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		whole = append(head.Bytes()[:head.Len()-prefixBytes], whole...)
	}
	rd, err := ipc.NewReader(bytes.NewReader(whole))
	if err != nil {
		t.Fatal(err)
	}
	defer rd.Release()
	got, err := rd.Read()
	if err != nil {
		t.Fatal(err)
	}
	compare(t, got, want)
}

func TestStreamRefusals(t *testing.T) {
	mem := arraytest.NewMemory(t)
	rec := arraytest.RandomRecord(rand.New(rand.NewPCG(1, 1)), mem, []arrow.DataType{arrow.PrimitiveTypes.Int64, arrow.BinaryTypes.String}, 50, true)
	defer rec.Release()
	enc := NewStreamEncoder(rec.Schema(), mem)
	if _, err := enc.Append([]byte{1}, rec); err == nil {
		t.Error("a stream was appended to something")
	}
	p, err := enc.Append(nil, rec)
	if err != nil {
		t.Fatal(err)
	}
	d, err := NewDecoder(rec.Schema(), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	cut := func(n int) []byte { return p[:n] }
	for name, c := range map[string]struct {
		p  []byte
		at int
	}{
		"empty":         {nil, 0},
		"at the end":    {p, len(p)},
		"beyond":        {p, len(p) + 1},
		"before":        {p, -1},
		"no prefix":     {p, 0},
		"end of stream": {append([]byte{255, 255, 255, 255, 0, 0, 0, 0}, p...), 0},
		"cut metadata":  {cut(StreamAt + 30), StreamAt},
		"cut body":      {cut(len(p) - 300), StreamAt},
		"too large":     {make([]byte, 2<<20), 0},
	} {
		if got, err := d.ViewStream(mem, aligned(c.p), c.at); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: read %v, %v; want a corrupt stream", name, got, err)
		}
	}
}

func FuzzViewStream(f *testing.F) {
	mem := memory.NewGoAllocator()
	rec := arraytest.RandomRecord(rand.New(rand.NewPCG(3, 1)), mem, allTypes(), 20, true)
	defer rec.Release()
	p, err := NewStreamEncoder(rec.Schema(), mem).Append(nil, rec)
	if err != nil {
		f.Fatal(err)
	}
	d, err := NewDecoder(rec.Schema(), 1<<20)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(p)
	f.Add(p[:len(p)/2])
	f.Fuzz(func(t *testing.T, p []byte) {
		mem := arraytest.NewMemory(t)
		got, err := d.ViewStream(mem, aligned(p), min(StreamAt, len(p)))
		if err != nil {
			return
		}
		arraytest.Rows(got) // every element can be read
		got.Release()
	})
}
