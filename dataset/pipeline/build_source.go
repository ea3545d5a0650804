package pipeline

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/sluice-data/sluice/dataset"
)

// source opens the source with the reader that its paths ask for.
func (e Env) source(ctx context.Context, s *Source, b *Built) (dataset.Source, error) {
	def, err := e.reader(ctx, s)
	if err != nil {
		return nil, err
	}
	b.Reader = def.Name
	params, err := fill(def.Name, def.Zero, s.Options, s.Params, s.places, s.Pos)
	if err != nil {
		return nil, err
	}
	patterns := make([]dataset.Pattern, len(s.Paths))
	for i, p := range s.Paths {
		patterns[i] = p.pattern()
		if isStdin(p) && len(s.Paths) > 1 {
			return nil, usage(p.Pos, "standard input cannot be joined with other sources")
		}
	}
	src, err := def.Open(ctx, patterns, params)
	if err != nil {
		return nil, openError(s.Pos, err)
	}
	return src, nil
}

// openError keeps failures apart from mistakes.
func openError(pos Pos, err error) error {
	if s, ok := errors.AsType[*dataset.SyntaxError](err); ok {
		return &Error{pos, &dataset.UsageError{Err: &messageError{s.Msg, err}}}
	}
	return &Error{pos, err}
}

func isStdin(p Path) bool { return p.Text == "-" && !p.Literal }

// pattern is the path as readers take it. A file whose name is - is told from standard input by its folder.
func (p Path) pattern() dataset.Pattern {
	if p.Literal && p.Text == "-" {
		return dataset.Pattern{Text: "./-", Literal: true}
	}
	return dataset.Pattern{Text: p.Text, Literal: p.Literal}
}

// choice is a reader and a file that asked for it.
type choice struct {
	def  dataset.SourceDef
	file string
	pos  Pos
}

// reader chooses the one source that reads all paths.
func (e Env) reader(ctx context.Context, s *Source) (dataset.SourceDef, error) {
	for _, name := range []string{e.From, s.From} {
		if name != "" {
			def, err := e.readerNamed(name)
			if err != nil {
				err = &Error{s.Pos, err}
			}
			return def, err
		}
	}
	var chosen *choice
	for _, p := range s.Paths {
		found, err := e.readersOf(ctx, p)
		if err != nil {
			return dataset.SourceDef{}, err
		}
		for _, c := range found {
			if chosen != nil && chosen.def.Name != c.def.Name {
				return dataset.SourceDef{}, usage(c.pos, "%s is read by %s and %s by %s; give a pattern for one of them, or name the reader with --from",
					chosen.file, chosen.def.Name, c.file, c.def.Name)
			}
			chosen = &c
		}
	}
	if chosen == nil {
		return dataset.SourceDef{}, usage(s.Pos, "the source has no path")
	}
	return chosen.def, nil
}

// readerNamed finds a source by its name, or else by an extension.
func (e Env) readerNamed(name string) (dataset.SourceDef, error) {
	def, err := e.Registry.Source(name)
	if err == nil {
		return def, nil
	}
	if found := e.byExtension(strings.ToLower(name)); len(found) == 1 {
		return found[0], nil
	}
	return def, fmt.Errorf("%w; readers are %s", err, e.readerNames())
}

func (e Env) byExtension(ext string) []dataset.SourceDef {
	var out []dataset.SourceDef
	for _, d := range e.Registry.Sources() {
		if slices.Contains(d.Extensions, ext) {
			out = append(out, d)
		}
	}
	return out
}

func (e Env) readerNames() string {
	var names []string
	for _, d := range e.Registry.Sources() {
		names = append(names, d.Name)
	}
	return strings.Join(names, ", ")
}

// readersOf gives the readers that one path asks for, each with an example.
func (e Env) readersOf(ctx context.Context, p Path) ([]choice, error) {
	if isStdin(p) {
		return e.stdinReader(ctx, p)
	}
	if scheme, _, ok := strings.Cut(p.Text, ":"); ok && ValidName(scheme) {
		if def, err := e.Registry.Source(scheme); err == nil {
			return []choice{{def, p.Text, p.Pos}}, nil
		}
	}
	names := []string{p.Text}
	if !p.Literal {
		names = expandBraces(p.Text)
	}
	var out []choice
	for _, n := range names {
		ext := extension(n)
		if ext == "" || !p.Literal && hasMeta(ext) {
			return e.readersInside(ctx, p)
		}
		c, err := e.readerOf(n, ext, p)
		if err != nil {
			if e.isFolder(p) {
				return e.readersInside(ctx, p)
			}
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

// readerOf finds the reader of one extension.
func (e Env) readerOf(file, ext string, p Path) (choice, error) {
	found := e.byExtension(ext)
	switch len(found) {
	case 1:
		return choice{found[0], file, p.Pos}, nil
	case 0:
		return choice{}, e.unknown(file, ext, p)
	}
	return choice{}, usage(p.Pos, ".%s is read by %s and by %s; choose one with --from", ext, found[0].Name, found[1].Name)
}

func (e Env) unknown(file, ext string, p Path) error {
	what := "has no extension"
	if ext != "" {
		what = "has the unknown extension ." + ext
	}
	var all []string
	for _, d := range e.Registry.Sources() {
		all = append(all, d.Extensions...)
	}
	return usage(p.Pos, "%s %s%s; name its reader with --from (%s)", path.Clean(file), what, dataset.DidYouMean(ext, all), e.readerNames())
}

// magics are the first bytes of formats that standard input is sniffed for, and an extension of each.
var magics = []struct {
	at    int
	bytes string
	ext   string
}{
	{0, "PAR1", "parquet"}, {0, "ARROW1", "arrow"}, {0, "\xff\xd8\xff", "jpg"}, {0, "\x89PNG\r\n\x1a\n", "png"}, {0, "GIF8", "gif"},
	{8, "WEBP", "webp"}, {0, "II*\x00", "tiff"}, {0, "MM\x00*", "tiff"}, {0, "BM", "bmp"}, {0, "Obj\x01", "avro"},
	{4, "ftypavif", "avif"}, {4, "ftypavis", "avif"}, {4, "ftypheic", "heic"}, {4, "ftypheix", "heic"}, {4, "ftypmif1", "heif"}, {4, "ftypmsf1", "heif"},
}

// SniffBytes is how many first bytes of standard input Sniff wants.
const SniffBytes = 16

// Sniff gives the extension of the format that data begins with; jsonl if none is recognised.
func Sniff(data []byte) string {
	for _, m := range magics {
		if len(data) >= m.at+len(m.bytes) && string(data[m.at:m.at+len(m.bytes)]) == m.bytes {
			return m.ext
		}
	}
	return "jsonl"
}

func (e Env) stdinReader(ctx context.Context, p Path) ([]choice, error) {
	var head []byte
	if e.Stdin != nil {
		var err error
		if head, err = e.Stdin(ctx); err != nil {
			return nil, &Error{p.Pos, fmt.Errorf("read standard input: %w", err)}
		}
	}
	for _, c := range []struct{ magic, name string }{{"\x1f\x8b", "gzip"}, {"\x28\xb5\x2f\xfd", "zstd"}} {
		if strings.HasPrefix(string(head), c.magic) {
			return nil, usage(p.Pos, "standard input is compressed with %s; decompress it first: %s -dc FILE | sluice …", c.name, c.name)
		}
	}
	ext := Sniff(head)
	found := e.byExtension(ext)
	if len(found) == 0 {
		return nil, usage(p.Pos, "standard input looks like .%s, which nothing reads; name its reader with --from (%s)", ext, e.readerNames())
	}
	return []choice{{found[0], "standard input", p.Pos}}, nil
}
