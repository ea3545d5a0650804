package jsonl_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/connectors/connectortest"
	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/connectors/jsonl"
	"github.com/sluice-data/sluice/dataset"
)

var sinkSchema = arrow.NewSchema([]arrow.Field{
	{Name: "n", Type: arrow.PrimitiveTypes.Int64},
	{Name: "text", Type: arrow.BinaryTypes.String, Nullable: true},
}, nil)

func sinkRows(mem memory.Allocator, first, n int) arrow.RecordBatch {
	b := array.NewRecordBuilder(mem, sinkSchema)
	defer b.Release()
	for i := first; i < first+n; i++ {
		b.Field(0).(*array.Int64Builder).Append(int64(i))
		if i%7 == 0 {
			b.Field(1).AppendNull()
		} else {
			b.Field(1).(*array.StringBuilder).Append(fmt.Sprintf("],[%d\n\"", i))
		}
	}
	return b.NewRecordBatch()
}

func sinkText(row int) string {
	if row%7 == 0 {
		return fmt.Sprintf("%d|<nil>", row)
	}
	return fmt.Sprintf("%d|],[%d\n\"", row, row)
}

// TestSinkConformance runs the suite over lines and arrays, in every compression; both are read by encoding/json.
func TestSinkConformance(t *testing.T) {
	for _, x := range []struct {
		name string
		make func(jsonl.WriteOptions) (*jsonl.Format, error)
		read func(io.Reader) ([]map[string]any, error)
	}{{"lines", jsonl.NewFormat, readLines}, {"array", jsonl.NewArrayFormat, readArray}} {
		for _, compression := range []string{"", "gzip", "zstd", "bzip2", "xz", "lz4"} {
			t.Run(x.name+compression, func(t *testing.T) {
				f, err := x.make(jsonl.WriteOptions{Compression: compression})
				if err != nil {
					t.Fatal(err)
				}
				connectortest.RunSink(t, connectortest.SinkConfig{
					Format: f, Schema: sinkSchema, Rows: sinkRows, Text: sinkText,
					Read: func(path string) ([]string, error) { return readJSON(path, compression, x.read) },
					Bad:  arrow.NewSchema([]arrow.Field{{Name: "u", Type: arrow.SparseUnionOf([]arrow.Field{{Name: "i", Type: arrow.PrimitiveTypes.Int8}}, []arrow.UnionTypeCode{0})}}, nil),
				})
			})
		}
	}
}

func readJSON(path, compression string, read func(io.Reader) ([]map[string]any, error)) (rows []string, err error) {
	h, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	z, err := file.Decompress(h, compression)
	if err != nil {
		return nil, err
	}
	all, err := read(z)
	for _, v := range all {
		rows = append(rows, fmt.Sprintf("%v|%v", v["n"], v["text"]))
	}
	return rows, err
}

func readArray(r io.Reader) (out []map[string]any, err error) {
	raw, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	if !bytes.HasSuffix(raw, []byte("\n]\n")) {
		return nil, fmt.Errorf("the file ends in %q", raw[max(0, len(raw)-10):])
	}
	return out, json.Unmarshal(raw, &out)
}

func readLines(r io.Reader) (out []map[string]any, err error) {
	s := bufio.NewScanner(r)
	for s.Scan() {
		var v map[string]any
		if err := json.Unmarshal(s.Bytes(), &v); err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, s.Err()
}

// TestJoinArraysDamaged: a part that is no array of ours is refused.
func TestJoinArraysDamaged(t *testing.T) {
	f, err := jsonl.NewArrayFormat(jsonl.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"", "[]", "[\n{}]\n", "{\"a\":1}\n"} {
		parts := []dataset.JoinPart{{ReaderAt: strings.NewReader(text), Size: int64(len(text))}}
		if err := f.Join(t.Context(), io.Discard, parts); err == nil || !strings.Contains(err.Error(), "part 0") {
			t.Errorf("%q: error %v", text, err)
		}
	}
}
