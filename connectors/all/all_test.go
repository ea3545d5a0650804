package all_test

import (
	"strings"
	"testing"

	"github.com/sluice-data/sluice/connectors/all"
	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/dataset"
)

func TestRegister(t *testing.T) {
	reg := dataset.NewRegistry()
	if err := all.Register(reg); err != nil {
		t.Fatal(err)
	}
	if err := all.Register(reg); err == nil || !strings.Contains(err.Error(), "taken") {
		t.Fatalf("registering twice: %v", err)
	}
	table := file.NewTable(reg)
	for path, want := range map[string]string{"a.jpg": "images", "b/c.WEBP": "images", "x.tiff": "images", "d.jsonl": "jsonl", "e.ndjson.zst": "jsonl", "f.bin": "binary",
		"a.csv": "csv", "a.tsv.gz": "tsv", "a.txt": "text"} {
		if d, ok := table.Lookup(path); !ok || d.Name != want {
			t.Errorf("%s is read by %q, want %q", path, d.Name, want)
		}
	}
	if _, ok := table.Lookup("x.unknown"); ok {
		t.Error("an unknown extension has a reader")
	}
}

// TestParameters: every parameter struct can be filled from a pipeline string.
func TestParameters(t *testing.T) {
	reg := dataset.NewRegistry()
	if err := all.Register(reg); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"jsonl": `schema="id:int64" extra=column max_line=1MiB with_path=true`, "images": "max_file=10MiB", "binary": "max_file=1KiB",
		"csv": `delim=";" quote="" header=false null=NA,NULL decimal="," encoding=latin1 ragged=skip schema="id int64, at timestamp"`, "text": "encoding=utf-16 max_line=1MiB"} {
		d, err := reg.Source(name)
		if err != nil {
			t.Fatal(err)
		}
		params := d.Zero()
		if err := dataset.ParseArgs(text, params); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, text := range map[string]string{"jsonl": "compression=zstd by=lang", "tsv": "header=false null=NA", "text": "column=text newline=space"} {
		d, err := reg.Sink(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := dataset.ParseArgs(text, d.Zero()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
