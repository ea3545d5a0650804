package pipeline

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/sluice-data/sluice/dataset"
)

func build(t *testing.T, env Env, text string) (*Built, error) {
	t.Helper()
	p, err := Parse(text, names)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return env.Build(t.Context(), p)
}

func TestBuildChoosesReaderAndWriter(t *testing.T) {
	env := fakeEnv()
	tests := []struct{ text, from, to, reader, writer, path string }{
		{text: "a.csv", reader: "csv"},
		{text: "a.CSV.gz | out.jsonl.zst", reader: "csv", writer: "jsonl", path: "out.jsonl.zst"},
		{text: "p/**/*.{jpg,jpeg,png} | out/", reader: "images", writer: "parquet", path: "out/"},
		{text: "p/*.[jJ][pP][gG] | -", from: "images", reader: "images", writer: "jsonl", path: "-"},
		{text: `a.csv | "-" to=csv`, reader: "csv", writer: "csv", path: "./-"},
		{text: `a.csv | "out" to=parquet`, to: "jsonl", reader: "csv", writer: "jsonl", path: "out"},
		{text: "a.xyz from=csv", reader: "csv"},
		{text: "a.csv from=csv", from: "binary", reader: "binary"},
		{text: "a.csv", from: "PNG", reader: "images"},
		{text: "https://h/a.csv?x=1.jpg", reader: "csv"},
		{text: "a.tsv + b.csv | s3://b/out.parquet", reader: "csv", writer: "parquet", path: "s3://b/out.parquet"},
		{text: "- | -", reader: "jsonl", writer: "jsonl", path: "-"},
		{text: "csv:whatever | parquet:whatever", reader: "csv", writer: "parquet", path: "parquet:whatever"},
	}
	for _, tt := range tests {
		env.From, env.To = tt.from, tt.to
		b, err := build(t, env, tt.text)
		if err != nil {
			t.Errorf("%s: %v", tt.text, err)
			continue
		}
		got := ""
		if b.Sink != nil {
			got = b.Sink.(*fakeSink).path
		}
		if b.Reader != tt.reader || b.Writer != tt.writer || got != tt.path {
			t.Errorf("%s: %s %s %s, want %s %s %s", tt.text, b.Reader, b.Writer, got, tt.reader, tt.writer, tt.path)
		}
	}
}

func TestBuildPassesEverythingOn(t *testing.T) {
	b, err := build(t, fakeEnv(), `x/*.csv + "-" from=csv delim=";" null="N A" | where id > 1 or "a|b" == text | select id, text | decode | out.csv null=x`)
	if err != nil {
		t.Fatal(err)
	}
	var seen []any
	dataset.Walk(func(n *dataset.Node) {
		if n.Source != nil {
			s := n.Source.(*fakeSource)
			seen = append(seen, s.patterns, *s.params.(*csvParams))
			return
		}
		seen = append(seen, n.Spec.Params())
	}, b.Dataset.Node())
	want := []any{[]dataset.Pattern{{Text: "x/*.csv"}, {Text: "./-", Literal: true}}, csvParams{";", "N A"},
		whereParams{`id > 1 or "a|b" == text`}, selectParams{[]string{"id", "text"}}, nil}
	if !reflect.DeepEqual(seen, want) {
		t.Errorf("got  %#v\nwant %#v", seen, want)
	}
	if s := b.Sink.(*fakeSink); s.path != "out.csv" || *s.params.(*csvParams) != (csvParams{Null: "x"}) {
		t.Errorf("sink %+v", s)
	}
	if err := b.Check(t.Context()); err != nil {
		t.Error(err)
	}
	if b.Output().Sink != b.Sink {
		t.Error("the output has another sink")
	}
}

func TestBuildErrors(t *testing.T) {
	tests := []struct {
		text   string
		offset int
		want   string
	}{
		{"a.csv | lmit 5", 8, `unknown step "lmit" (did you mean "limit"?)`},
		{"a.csv | limit x", 14, `limit: n: "x" is no whole number`},
		{"a.csv | limit 5 6", 16, "limit: unexpected 6: it takes n"},
		{"a.csv | resize 1x1 mod=fit", 19, `resize: unknown option "mod" (did you mean "mode"?)`},
		{"a.csv | decode fast", 15, "decode takes no arguments"},
		{`a.csv delm=";"`, 6, `csv: unknown option "delm" (did you mean "delim"?)`},
		{`a.csv | out.csv delm=";"`, 16, `csv: unknown option "delm" (did you mean "delim"?)`},
		{`a.csv from=cvs`, 0, `unknown source "cvs" (did you mean "csv"?)`},
		{`a.csv | ./out to=cvs`, 8, `unknown sink "cvs" (did you mean "csv"?)`},
		{"a.cvs", 0, `a.cvs has the unknown extension .cvs (did you mean "csv"?); name its reader with --from (binary, csv, images`},
		{"a.csv + b.jpg", 8, "a.csv is read by csv and b.jpg by images"},
		{"a.{csv,jpg}", 0, "a.csv is read by csv and a.jpg by images"},
		{"a.ndjson", 0, ".ndjson is read by jsonl and by other; choose one with --from"},
		{"- + a.jsonl", 0, "standard input cannot be joined"},
		{"a.csv | ./out.jpg", 8, "has the extension .jpg, which is read but not written; name its writer with --to (csv, jsonl, parquet)"},
		{"a.csv | ./out.xyz", 8, "has the unknown extension .xyz"},
		{"a.csv | ./out", 8, "./out has no extension; name its writer with --to"},
		{"s3://bucket/", 0, "name the reader with --from"},
	}
	for _, tt := range tests {
		_, err := build(t, fakeEnv(), tt.text)
		e, ok := errors.AsType[*Error](err)
		if !ok {
			t.Errorf("%s: %v", tt.text, err)
			continue
		}
		if e.Pos.Offset != tt.offset || !strings.Contains(e.Err.Error(), tt.want) {
			t.Errorf("%s:\n got %d %v\nwant %d … %s", tt.text, e.Pos.Offset, e.Err, tt.offset, tt.want)
		}
		if _, ok := errors.AsType[*dataset.UsageError](err); !ok {
			t.Errorf("%s: %v is no mistake of usage", tt.text, err)
		}
	}
}

func TestCheckPlacesErrors(t *testing.T) {
	tests := []struct {
		text   string
		offset int
		want   string
	}{
		{"a.csv | where x | limit -1", 18, "n is -1"},
		{"a.csv | select id, txt", 8, `select: no column "txt" (did you mean "text"?)`},
		{"a.parquet | limit 1 | out.csv", 22, `csv: column "bad" cannot be written`},
	}
	for _, tt := range tests {
		b, err := build(t, fakeEnv(), tt.text)
		if err != nil {
			t.Errorf("%s: %v", tt.text, err)
			continue
		}
		e, ok := errors.AsType[*Error](b.Check(t.Context()))
		if !ok || e.Pos.Offset != tt.offset || !strings.Contains(e.Err.Error(), tt.want) {
			t.Errorf("%s: %v, want %d … %s", tt.text, e, tt.offset, tt.want)
		}
	}
}

func TestFoldersTellTheirReader(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for _, f := range []string{"pics/a.jpg", "pics/sub/b.PNG", "pics/_x/c.csv", "pics/.hidden", "mixed/a.jpg", "mixed/b.csv", "odd/a.jpg",
		"odd/README", "empty/.x", "out.parquet/p.parquet", "plain", "dotted.v1/a.csv", "-"} {
		must(os.MkdirAll(filepath.Dir(f), 0o755))
		must(os.WriteFile(f, nil, 0o600))
	}
	tests := []struct{ text, reader, want string }{
		{"pics", "images", ""},
		{"pics/", "images", ""},
		{"pics/*", "images", ""},
		{"pics/**", "images", ""},
		{`"pics"`, "images", ""},
		{"pics/*.[jJ][pP][gG]", "images", ""},
		{dir + "/pics/**", "images", ""},
		{"out.parquet", "parquet", ""},
		{"out.parquet/", "parquet", ""},
		{"dotted.v1", "csv", ""},
		{"mixed/", "", "mixed/a.jpg is read by images and mixed/b.csv by csv"},
		{"odd/", "", "odd/README has no extension; name its reader with --from"},
		{"empty/", "", "empty/ has no files"},
		{"none/*", "", "none/* has no files"},
		{"none/", "", "open source none/: no such file or directory"},
		{"plain", "", "plain has no extension; name its reader with --from"},
		{`"-"`, "", "name its reader with --from"},
	}
	for _, tt := range tests {
		b, err := build(t, fakeEnv(), tt.text)
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%s: %v", tt.text, err)
		case tt.want == "" && b.Reader != tt.reader:
			t.Errorf("%s: reader %s, want %s", tt.text, b.Reader, tt.reader)
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: %v, want %s", tt.text, err, tt.want)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(dataset.ErrCanceled)
	p, err := Parse("pics/", names)
	must(err)
	if _, err := fakeEnv().Build(ctx, p); !errors.Is(err, dataset.ErrCanceled) {
		t.Errorf("a canceled listing gives %v", err)
	}
}

func TestStdinIsSniffed(t *testing.T) {
	tests := []struct{ head, reader, want string }{
		{"", "jsonl", ""},
		{`{"a":1}`, "jsonl", ""},
		{"PAR1....", "parquet", ""},
		{"\xff\xd8\xff\xe0", "images", ""},
		{"RIFF....WEBP", "images", ""}, {"\x00\x00\x00\x1cftypavif", "images", ""},
		{"\x1f\x8b\x08", "", "compressed with gzip"},
		{"GIF89a", "", "standard input looks like .gif, which nothing reads"},
	}
	for _, tt := range tests {
		env := fakeEnv()
		env.Stdin = func(context.Context) ([]byte, error) { return []byte(tt.head), nil }
		b, err := build(t, env, "-")
		if tt.want != "" {
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%q: %v, want %s", tt.head, err, tt.want)
			}
		} else if err != nil || b.Reader != tt.reader {
			t.Errorf("%q: %v %v, want %s", tt.head, b, err, tt.reader)
		}
	}
	env := fakeEnv()
	env.Stdin = func(context.Context) ([]byte, error) { return nil, os.ErrClosed }
	if _, err := build(t, env, "-"); !errors.Is(err, os.ErrClosed) {
		t.Errorf("unreadable input gives %v", err)
	}
}

func TestStdoutSink(t *testing.T) {
	s, err := fakeEnv().Stdout()
	if err != nil || s.(*fakeSink).name != "jsonl" || s.(*fakeSink).path != "-" {
		t.Errorf("%+v, %v", s, err)
	}
	if _, err := (Env{Registry: dataset.NewRegistry()}).Stdout(); err == nil || !strings.Contains(err.Error(), `unknown sink "jsonl"`) {
		t.Errorf("without a writer: %v", err)
	}
}

func TestExpandBraces(t *testing.T) {
	tests := []struct {
		in   string
		want []string
	}{
		{"a", []string{"a"}},
		{"a.{b,c}", []string{"a.b", "a.c"}},
		{"{a,b{1,2}}x", []string{"ax", "b1x", "b2x"}},
		{"{a", []string{"{a"}},
		{"a}", []string{"a}"}},
		{"{}", []string{""}},
		{strings.Repeat("{a,b}", 20), []string{strings.Repeat("{a,b}", 20)}},
	}
	for _, tt := range tests {
		if got := expandBraces(tt.in); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: %q", tt.in, got)
		}
	}
}
