package images_test

import (
	"os"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/connectors/binary"
	"github.com/sluice-data/sluice/connectors/connectortest"
	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/connectors/images"
	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
)

func TestConformance(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a.jpg", "b.png", "c.webp", "broken.gif"} {
		if err := os.WriteFile(dir+"/"+name, []byte(strings.Repeat(name, 200)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	open := func(tb testing.TB, fs file.FS) dataset.Source {
		src, err := images.NewSource(file.NewSet(fs, []dataset.Pattern{{Text: dir + "/*.{jpg,png,webp,gif}"}}), binary.Options{})
		if err != nil {
			tb.Fatal(err)
		}
		return src
	}
	connectortest.RunSource(t, connectortest.SourceConfig{New: open, Rows: 4})
}

func TestSchema(t *testing.T) {
	reg := dataset.NewRegistry()
	if err := images.Register(reg); err != nil {
		t.Fatal(err)
	}
	def, err := reg.Source("images")
	if err != nil {
		t.Fatal(err)
	}
	src, err := def.Open(t.Context(), []dataset.Pattern{{Text: "x.jpg"}}, def.Zero())
	if err != nil {
		t.Fatal(err)
	}
	schema, err := src.Schema(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if schema.Field(0).Name != "path" || schema.Field(1).Name != "image" || !arrow.TypeEqual(schema.Field(1).Type, block.Image) {
		t.Fatalf("got %s", schema)
	}
}
