package file_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/connectors/connectortest"
	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
)

var sinkSchema = arrow.NewSchema([]arrow.Field{
	{Name: "n", Type: arrow.PrimitiveTypes.Int64},
	{Name: "lang", Type: arrow.BinaryTypes.String, Nullable: true},
}, nil)

func sinkRows(mem memory.Allocator, first, n int) arrow.RecordBatch {
	b := array.NewRecordBuilder(mem, sinkSchema)
	defer b.Release()
	for i := range n {
		b.Field(0).(*array.Int64Builder).Append(int64(first + i))
		if (first+i)%3 == 0 {
			b.Field(1).AppendNull()
		} else {
			b.Field(1).(*array.StringBuilder).Append(fmt.Sprint("v", first+i))
		}
	}
	return b.NewRecordBatch()
}

func sinkText(row int) string {
	if row%3 == 0 {
		return fmt.Sprintf("%d\t(null)", row)
	}
	return fmt.Sprintf("%d\tv%d", row, row)
}

func TestSinkConformance(t *testing.T) {
	connectortest.RunSink(t, connectortest.SinkConfig{
		Format: connectortest.TextFormat{}, Schema: sinkSchema, Rows: sinkRows, Text: sinkText,
		Read: func(path string) ([]string, error) {
			raw, err := os.ReadFile(path)
			if err != nil {
				return nil, err
			}
			return connectortest.TextRows(raw)
		},
	})
}

func textSink(t *testing.T, path string, by ...string) *file.Sink {
	t.Helper()
	s, err := file.NewSink(path, connectortest.TextFormat{}, file.Layout{By: by})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestPartitionFolders: the columns of by= become folders and are not in the files; odd values are escaped.
func TestPartitionFolders(t *testing.T) {
	dir := t.TempDir() + "/"
	s := textSink(t, dir, "lang")
	rt := connectortest.NewRuntime(t)
	for value, folder := range map[string]string{"de": "lang=de", "a/b": "lang=a%2Fb", "..": "lang=..", "50%=x\n": "lang=50%25%3Dx%0A", "ü": "lang=ü"} {
		w, err := s.NewWriter(t.Context(), rt, dataset.Part{Seq: 7, Run: "r", Attempt: 1, Partition: map[string]string{"lang": value}}, sinkSchema)
		if err != nil {
			t.Fatal(err)
		}
		b := block.New(sinkRows(rt.Allocator(), 1, 2), block.Identity{})
		if err := w.Write(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		b.Release()
		r, err := w.Commit(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if want := folder + "/part-0000000007-r-1.txt"; r.Name != want {
			t.Errorf("value %q: name %q, want %q", value, r.Name, want)
		}
		if err := s.Finish(t.Context(), []dataset.Receipt{r}); err != nil {
			t.Fatal(err)
		}
		raw, err := os.ReadFile(filepath.Join(dir, folder, "part-0000000007-r-1.txt"))
		if err != nil || string(raw) != "1\n2\n#end 2" {
			t.Errorf("value %q: file %q, %v", value, raw, err)
		}
	}
	_, err := s.NewWriter(t.Context(), rt, dataset.Part{Run: "r", Partition: map[string]string{"lang": strings.Repeat("x", 300)}}, sinkSchema)
	if err == nil || !strings.Contains(err.Error(), "255") {
		t.Errorf("a value of 300 bytes: %v", err)
	}
}

func TestSinkCheck(t *testing.T) {
	in := arrow.NewSchema([]arrow.Field{{Name: "lang", Type: arrow.BinaryTypes.String}, {Name: "f", Type: arrow.PrimitiveTypes.Float64}}, nil)
	for _, c := range []struct{ by, want string }{
		{"lang", ""}, {"lagn", `did you mean "lang"`}, {"f", "float64"}, {"lang,lang", "twice"},
	} {
		err := textSink(t, "out/", strings.Split(c.by, ",")...).Check(in)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("by=%s: %v, want %q", c.by, err, c.want)
		}
	}
	only := arrow.NewSchema(in.Fields()[:1], nil)
	if err := textSink(t, "out/", "lang").Check(only); err == nil || !strings.Contains(err.Error(), "no column is left") {
		t.Errorf("only partition columns: %v", err)
	}
	if _, err := file.NewSink("out.txt", connectortest.TextFormat{}, file.Layout{By: []string{"lang"}}); err == nil || !strings.Contains(err.Error(), "out/") {
		t.Errorf("by= of one file: %v", err)
	}
}

// TestDamagedNames: receipts come from a manifest; a damaged one must not reach out of the target.
func TestDamagedNames(t *testing.T) {
	dir := t.TempDir()
	outside := filepath.Join(dir, "outside.txt")
	if err := os.WriteFile(outside, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	s := textSink(t, filepath.Join(dir, "out")+"/")
	bad := []dataset.Receipt{{Name: "../outside.txt"}}
	if err := s.Remove(t.Context(), bad, nil); err == nil {
		t.Error("Remove leaves the target")
	}
	if err := s.Finish(t.Context(), bad); err == nil {
		t.Error("Finish leaves the target")
	}
	if err := s.Discard(t.Context(), "../.."); err == nil {
		t.Error("Discard leaves the target")
	}
	if _, err := os.Stat(outside); err != nil {
		t.Error(err)
	}
}

func TestFolderIsFile(t *testing.T) {
	p := filepath.Join(t.TempDir(), "out")
	if err := os.WriteFile(p, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	_, err := textSink(t, p+"/").Existing(t.Context(), nil)
	if _, ok := errors.AsType[*dataset.UsageError](err); !ok {
		t.Errorf("error %v, want a usage error", err)
	}
}

type goneReader struct{}

func (goneReader) Write([]byte) (int, error) { return 0, syscall.EPIPE }

func TestStreamSink(t *testing.T) {
	rt := connectortest.NewRuntime(t)
	var out bytes.Buffer
	s := file.NewStreamSink(&out, connectortest.TextFormat{})
	w, err := s.NewWriter(t.Context(), rt, dataset.Part{}, sinkSchema)
	if err != nil {
		t.Fatal(err)
	}
	b := block.New(sinkRows(rt.Allocator(), 0, 2), block.Identity{})
	defer b.Release()
	if err := w.Write(t.Context(), b); err != nil || out.String() != "0\t(null)\n1\tv1\n" {
		t.Errorf("a block is not passed on at once: %q, %v", out.String(), err)
	}
	if r, err := w.Commit(t.Context()); err != nil || r.Rows != 2 || int(r.Bytes) != out.Len() {
		t.Errorf("receipt %+v, %v", r, err)
	}
	if w, err = file.NewStreamSink(goneReader{}, connectortest.TextFormat{}).NewWriter(t.Context(), rt, dataset.Part{}, sinkSchema); err != nil {
		t.Fatal(err)
	}
	if err := w.Write(context.Background(), b); !errors.Is(err, dataset.ErrStop) {
		t.Errorf("a reader that went away: %v, want ErrStop", err)
	}
	if err := w.Abort(t.Context()); err != nil {
		t.Error(err)
	}
}

func BenchmarkSinkWrite(b *testing.B) {
	rt := &connectortest.Runtime{}
	s, err := file.NewSink(b.TempDir()+"/", connectortest.TextFormat{}, file.Layout{})
	if err != nil {
		b.Fatal(err)
	}
	blk := block.New(sinkRows(memory.DefaultAllocator, 0, 4096), block.Identity{})
	defer blk.Release()
	w, err := s.NewWriter(b.Context(), rt, dataset.Part{Run: "r"}, sinkSchema)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.SetBytes(blk.Bytes())
	for b.Loop() {
		if err := w.Write(b.Context(), blk); err != nil {
			b.Fatal(err)
		}
	}
	if err := w.Abort(b.Context()); err != nil {
		b.Fatal(err)
	}
}
