package parquet

import (
	"bytes"
	"testing"

	pq "github.com/parquet-go/parquet-go"
)

func TestChunks(t *testing.T) {
	type row struct {
		ID   int64   `parquet:"id,delta"`
		Lang string  `parquet:"lang,dict"`
		X    *string `parquet:"x,optional"`
	}
	var file bytes.Buffer
	w := pq.NewGenericWriter[row](&file, pq.Compression(&pq.Snappy))
	if _, err := w.Write([]row{{1, "de", nil}, {2, "en", nil}}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := Open(bytes.NewReader(file.Bytes()), int64(file.Len()))
	if err != nil {
		t.Fatal(err)
	}
	got := f.Chunks(0)
	if len(got) != 3 {
		t.Fatalf("chunks are %+v", got)
	}
	if c := got[0]; c.Path != "id" || c.Type != "INT64" || c.Codec != "SNAPPY" || c.Dictionary || c.Values != 2 || c.Encodings[0] != "DELTA_BINARY_PACKED" || c.Compressed <= 0 {
		t.Errorf("id is %+v", c)
	}
	if c := got[1]; c.Path != "lang" || !c.Dictionary || c.Type != "BYTE_ARRAY" {
		t.Errorf("lang is %+v", c)
	}
	if c := got[2]; c.Nulls != 2 {
		t.Errorf("x is %+v", c)
	}
}
