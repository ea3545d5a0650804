package file

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/sluice-data/sluice/dataset"
)

func TestSniff(t *testing.T) {
	for head, want := range map[string]string{
		"PAR1....": "parquet", "ARROW1\x00\x00": "arrow", "\xff\xd8\xff\xe0": "jpeg", "\x89PNG\r\n\x1a\n": "png", "GIF89a": "gif",
		"II*\x00": "tiff", "RIFF....WEBPVP8 ": "webp", "\x00\x00\x00\x1cftypavif": "avif", "\x00\x00\x00\x18ftypheic": "heic", "\x00\x00\x00\x18ftypmif1": "heif", "\x00\x00\x00\x18ftypisom": "jsonl", "RIFF....WAVEfmt ": "wav", "....xxxxWEBP": "jsonl", "\x1f\x8b\x08": "gzip",
		"\x28\xb5\x2f\xfd": "zstd", `{"a": 1}`: "jsonl", "": "jsonl", "%PDF-1.7": "pdf", "a,b\n1,2": "jsonl",
	} {
		if got := Sniff([]byte(head)); got != want {
			t.Errorf("%q: %s, want %s", head, got, want)
		}
	}
}

// pipe makes a stream of a pipe that holds data.
func pipe(t *testing.T, data string) *Stream {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	go func() {
		_, _ = w.WriteString(data)
		_ = w.Close()
	}()
	return NewStream(r)
}

func TestStream(t *testing.T) {
	data := strings.Repeat("0123456789", 30000)
	s := pipe(t, data)
	head, whole, err := s.Peek(t.Context(), 100)
	if err != nil || whole || string(head) != data[:100] {
		t.Fatalf("peek: %q, %v, %v", head, whole, err)
	}
	r, err := s.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(r)
	if err != nil || string(got) != data {
		t.Fatalf("read %d bytes, %v", len(got), err)
	}
	if _, err := s.Open(t.Context()); err == nil || !strings.Contains(err.Error(), "cannot be read again") {
		t.Fatal(err)
	}
}

func TestStreamShorterThanPeek(t *testing.T) {
	s := pipe(t, "short")
	if head, whole, err := s.Peek(t.Context(), 100); err != nil || !whole || string(head) != "short" {
		t.Fatalf("peek: %q, %v, %v", head, whole, err)
	}
}

// TestStreamCancel: input that never comes does not hold up a cancelled run.
func TestStreamCancel(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = w.Close(), r.Close() }()
	ctx, stop := context.WithCancelCause(t.Context())
	cause := errors.New("enough")
	stop(cause)
	if _, _, err := NewStream(r).Peek(ctx, 1); !errors.Is(err, cause) {
		t.Fatal(err)
	}
}

// stdin makes a stream standard input for the length of a test.
func stdin(t *testing.T, data string) {
	old := Stdin
	Stdin = pipe(t, data)
	t.Cleanup(func() { Stdin = old })
}

func TestStdinText(t *testing.T) {
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	if _, err := w.Write([]byte("hello stdin")); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string]string{"plain": "hello stdin", "gzip": z.String()} {
		t.Run(name, func(t *testing.T) {
			stdin(t, data)
			set := NewSet(Local{}, globs("-"))
			head, _, err := set.Sample(t.Context(), dataset.FileRef{Path: StdinPath}, 5)
			if err != nil || string(head) != "hello" {
				t.Fatalf("sample %q, %v", head, err)
			}
			var ref dataset.FileRef
			for f, err := range set.Files(t.Context(), "") {
				if err != nil {
					t.Fatal(err)
				}
				ref = f
			}
			text, err := set.OpenText(t.Context(), ref, 6)
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(text)
			if err != nil || string(got) != "stdin" {
				t.Fatalf("read %q, %v", got, err)
			}
			if err := text.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestBrokenCompression(t *testing.T) {
	files(t, "a.gz", "b.zst")
	for _, name := range []string{"a.gz", "b.zst"} {
		_, _, err := NewSet(Local{}, globs(name)).Sample(t.Context(), mustStat(t, name), 100)
		if err == nil || !strings.Contains(err.Error(), "decompress "+name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func mustStat(t *testing.T, p string) dataset.FileRef {
	t.Helper()
	info, err := Local{}.Stat(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	return info.FileRef
}

func TestChoose(t *testing.T) {
	files(t, "a/1.jpg", "a/2.png", "b/1.jsonl", "b/2.jsonl.gz", "c/1.jsonl", "c/2.jpg", "d/x.foo", "e/noext")
	reg := dataset.NewRegistry()
	if err := reg.AddSources(dataset.SourceDef{Name: "images", Extensions: []string{"jpg", "png"}}, dataset.SourceDef{Name: "jsonl", Extensions: []string{"jsonl"}}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ pattern, from, want, err string }{
		{"a", "", "images", ""},
		{"b/*", "", "jsonl", ""},
		{"c", "", "", "c/1.jsonl is read by jsonl and c/2.jpg by images"},
		{"d", "", "", "cannot tell how to read d/x.foo: its extension is not known; name the reader with --from (images, jsonl)"},
		{"e", "", "", "it has no extension"},
		{"d", "jsonl", "jsonl", ""},
		{"d", "jsnol", "", `did you mean "jsonl"?`},
		{"nope/*.jpg", "", "", "matches no file"},
	} {
		d, err := Choose(t.Context(), reg, Local{}, globs(c.pattern), c.from)
		if c.err == "" && (err != nil || d.Name != c.want) || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%s from %q: %q, %v; want %q %q", c.pattern, c.from, d.Name, err, c.want, c.err)
		}
	}
	stdin(t, "{}\n")
	if d, err := Choose(t.Context(), reg, Local{}, globs("-"), ""); err != nil || d.Name != "jsonl" {
		t.Error(d.Name, err)
	}
	stdin(t, "PAR1")
	if _, err := Choose(t.Context(), reg, Local{}, globs("-"), ""); err == nil || !strings.Contains(err.Error(), "looks like parquet") {
		t.Error(err)
	}
}

func TestFoldersOnly(t *testing.T) {
	files(t, "a/1.jpg", "a/README.md", "b/x.md")
	var got []string
	for f, err := range NewSet(Local{}, globs("a", "a/*.md")).FoldersOnly([]string{"jpg"}).Files(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, f.Path)
	}
	if strings.Join(got, " ") != "a/1.jpg a/README.md" {
		t.Fatal(got)
	}
	for _, err := range NewSet(Local{}, globs("b")).FoldersOnly([]string{"jpg"}).Files(t.Context(), "") {
		if err == nil || !strings.Contains(err.Error(), "holds no files of the extensions jpg") {
			t.Fatal(err)
		}
	}
}
