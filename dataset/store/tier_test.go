package store

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/connectors/connectortest"
	"github.com/sluice-data/sluice/dataset/codec"
	"github.com/sluice-data/sluice/dataset/datasettest/arraytest"
)

// diskFile is a File in a temporary folder.
type diskFile struct {
	*os.File
	size int64
	fail error
}

func (f *diskFile) Write(p []byte) (int, error) {
	if f.fail != nil {
		return 0, f.fail
	}
	n, err := f.File.Write(p)
	f.size += int64(n)
	return n, err
}

func (f *diskFile) Size() int64 { return f.size }

func newFile(t *testing.T) *diskFile {
	t.Helper()
	f, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return &diskFile{File: f}
}

// tiers makes every kind of place for records of a schema.
func tiers(t *testing.T, mem *arraytest.Memory, schema *arrow.Schema) map[string]Tier {
	t.Helper()
	disk, err := NewDisk(newFile(t), schema, mem)
	if err != nil {
		t.Fatal(err)
	}
	segments, err := NewSegments(open(t, SharedConfig{}), schema, mem)
	if err != nil {
		t.Fatal(err)
	}
	none, err := NewSegments(open(t, SharedConfig{Limit: 1}), schema, mem)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]Tier{"heap": &Heap{Limit: 1 << 30}, "disk": disk, "shared": segments, "chain": Chain{&Heap{}, none, disk}}
}

func TestTiersGiveBack(t *testing.T) {
	for seed := range uint64(6) {
		mem := arraytest.NewMemory(t)
		rec := arraytest.RandomRecord(rand.New(rand.NewPCG(seed, 1)), mem, arraytest.Types(), []int{0, 1, 500}[seed%3], seed%2 == 0)
		for name, tier := range tiers(t, mem, rec.Schema()) {
			var all []Stored
			for range 3 {
				s, err := tier.Put(rec)
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, s)
			}
			for _, s := range all {
				for range 2 {
					got, err := s.Load(mem)
					if err != nil {
						t.Fatal(err)
					}
					if !slices.Equal(arraytest.Rows(got), arraytest.Rows(rec)) {
						t.Errorf("%s: the rows differ", name)
					}
					got.Release()
				}
				s.Release()
			}
		}
		rec.Release()
	}
}

func TestTiersRefuse(t *testing.T) {
	mem := arraytest.NewMemory(t)
	rec := arraytest.RandomRecord(rand.New(rand.NewPCG(1, 1)), mem, []arrow.DataType{arrow.PrimitiveTypes.Int64}, 1000, false)
	defer rec.Release()
	h := &Heap{Limit: 10000}
	s, err := h.Put(rec)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Put(rec); !errors.Is(err, ErrFull) {
		t.Errorf("a full heap: %v", err)
	}
	if _, err := (Chain{h}).Put(rec); !errors.Is(err, ErrFull) {
		t.Errorf("a chain of full places: %v", err)
	}
	if _, err := (Chain{}).Put(rec); !errors.Is(err, ErrFull) {
		t.Errorf("no place at all: %v", err)
	}
	s.Release()
	if s, err = h.Put(rec); err != nil {
		t.Errorf("room that was given back: %v", err)
	} else {
		s.Release()
	}
	f := newFile(t)
	d, err := NewDisk(f, rec.Schema(), memory.NewGoAllocator())
	if err != nil {
		t.Fatal(err)
	}
	f.fail = errors.New("no space left")
	if _, err := (Chain{d, h}).Put(rec); err == nil || errors.Is(err, ErrFull) {
		t.Errorf("a disk that fails is passed over: %v", err)
	}
	f.fail = nil
	if s, err = d.Put(rec); err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(100); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Load(mem); err == nil {
		t.Error("a cut file is read")
	}
}

// TestPyArrowOpensInPlace has pyarrow open records in the segment where they lie, without a copy, and change them there: what it changed is what we read.
func TestPyArrowOpensInPlace(t *testing.T) {
	py := connectortest.Python(t, "pyarrow")
	if py == "" {
		return
	}
	mem := arraytest.NewMemory(t)
	dict := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int16, ValueType: arrow.BinaryTypes.String}
	for name, types := range map[string][]arrow.DataType{
		"flat":       {arrow.PrimitiveTypes.Int64, arrow.BinaryTypes.String, arrow.PrimitiveTypes.Float64},
		"dictionary": {arrow.PrimitiveTypes.Int64, dict},
	} {
		t.Run(name, func(t *testing.T) {
			rec := arraytest.RandomRecord(rand.New(rand.NewPCG(7, 1)), mem, types, 1000, false)
			defer rec.Release()
			s := open(t, SharedConfig{})
			tier, err := NewSegments(s, rec.Schema(), mem)
			if err != nil {
				t.Fatal(err)
			}
			stored, err := tier.Put(rec)
			if err != nil {
				t.Fatal(err)
			}
			defer stored.Release()
			in := stored.(*SharedRecord)
			schema := filepath.Join(t.TempDir(), "schema")
			if err := os.WriteFile(schema, ipcSchema(t, rec.Schema()), 0o600); err != nil {
				t.Fatal(err)
			}
			at := in.Span()
			connectortest.RunPython(t, py, filepath.Join("testdata", "inplace.py"), filepath.Join(s.Dir(), at.Segment), fmt.Sprint(at.Offset+codec.StreamAt),
				fmt.Sprint(at.Len-codec.StreamAt), schema, fmt.Sprint(in.HasSchema()))
			got, err := stored.Load(mem)
			if err != nil {
				t.Fatal(err)
			}
			defer got.Release()
			want := rec.Column(0).(*array.Int64).Value(0) + 1
			if v := got.Column(0).(*array.Int64).Value(0); v != want {
				t.Errorf("the first number is %d after Python added 1 to it in place, want %d", v, want)
			}
		})
	}
}

// ipcSchema is the stream of a schema and no records.
func ipcSchema(t *testing.T, schema *arrow.Schema) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := ipc.NewWriter(&b, ipc.WithSchema(schema)).Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
