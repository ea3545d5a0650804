package arrowipc

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/connectors/connectortest"
	"github.com/sluice-data/sluice/connectors/file"
)

// TestFooterSchema: the schema is that of the footer. Polars writes files that begin with a schema message without its prefix.
func TestFooterSchema(t *testing.T) {
	p := filepath.Join(t.TempDir(), "x.arrow")
	whole := encode(t, false, []arrow.RecordBatch{random(memory.NewGoAllocator(), 1, 150)})
	n := 8 + int(binary.LittleEndian.Uint32(whole[12:]))
	copy(whole[8:], whole[16:16+n-8]) // the message moves over its prefix
	if err := os.WriteFile(p, whole, 0o644); err != nil {
		t.Fatal(err)
	}
	if rows := connectortest.ReadAll(t, open(t, file.Local{}, p, Options{}, 0), connectortest.NewRuntime(t)); len(rows) != 150 {
		t.Errorf("%d rows", len(rows))
	}
	packed, err := file.Packed(whole, "gzip") // its footer comes last
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p+".gz", packed, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := open(t, file.Local{}, p+".gz", Options{}, 0).Schema(t.Context()); err == nil || !strings.Contains(err.Error(), "read it from disk, uncompressed") {
		t.Errorf("compressed: %v", err)
	}
}

// viewFile writes a file of one column of views.
func viewFile(tb testing.TB, values ...string) []byte {
	tb.Helper()
	b := array.NewStringViewBuilder(memory.NewGoAllocator())
	for _, v := range values {
		b.Append(v)
	}
	schema := arrow.NewSchema([]arrow.Field{{Name: "v", Type: arrow.BinaryTypes.StringView}}, nil)
	rec := array.NewRecordBatch(schema, []arrow.Array{b.NewArray()}, int64(len(values)))
	return encode(tb, false, []arrow.RecordBatch{rec})
}

// TestViewsDamaged: views that lead out of their buffers, and a few bytes that stand for many.
func TestViewsDamaged(t *testing.T) {
	p := filepath.Join(t.TempDir(), "x.arrow")
	long := strings.Repeat("long ", 20)
	good := viewFile(t, "short", long)
	at := bytes.Index(good, []byte("short")) + 12 // the second view
	for _, c := range []struct {
		name  string
		off   int
		value uint32
		want  string
	}{
		{"length", 0, 1 << 20, "a view of 1048576 bytes at 0"}, {"negative length", 0, 1 << 31, "a view of -2147483648 bytes"},
		{"buffer", 8, 3, "a view of buffer 3"}, {"negative buffer", 8, 1 << 31, "a view of buffer -"}, {"offset", 12, 50, "a view of 100 bytes at 50"},
	} {
		bad := bytes.Clone(good)
		binary.LittleEndian.PutUint32(bad[at+c.off:], c.value)
		if err := os.WriteFile(p, bad, 0o644); err != nil {
			t.Fatal(err)
		}
		err := connectortest.Drain(t, open(t, file.Local{}, p, Options{}, 0), 1000)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "x.arrow") {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	var many []string
	for range 100 {
		many = append(many, long)
	}
	bomb := viewFile(t, many...)
	for i := range bomb[:len(bomb)-16] {
		if string(bomb[i:i+8]) == "\x64\x00\x00\x00long" { // every view means the first value
			binary.LittleEndian.PutUint32(bomb[i+12:], 0)
		}
	}
	if err := os.WriteFile(p, bomb, 0o644); err != nil {
		t.Fatal(err)
	}
	if rows := connectortest.ReadAll(t, open(t, file.Local{}, p, Options{}, 0), connectortest.NewRuntime(t)); len(rows) != 100 || !strings.Contains(rows[99].Values, long) {
		t.Errorf("%d rows", len(rows))
	}
	err := connectortest.Drain(t, open(t, file.Local{}, p, Options{MaxBatch: 12_500}, 0), 1000)
	if err == nil || !strings.Contains(err.Error(), "raise max_batch") {
		t.Errorf("views of more than max_batch: %v", err)
	}
}
