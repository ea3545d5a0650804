package csv

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/connectors/internal/charset"
	"github.com/sluice-data/sluice/dataset"
)

// The sample that inference reads.
const (
	sampleFiles = 8
	sampleBytes = 1 << 20
)

// pinned is a schema once it is known.
type pinned struct {
	fields []arrow.Field // of the columns
	given  map[string]bool
	index  map[string]int
	schema *arrow.Schema // as others see it: with the columns that options add
	notes  []note
}

// note is a warning about the sample.
type note struct{ class, example string }

// sampler gathers the columns of the sampled files.
type sampler struct {
	opt   Options
	types map[string]arrow.DataType
	order []string // names in the schema option
	names []string
	kinds map[string]kind
	notes []note
	seen  map[string][]seenKind // the first field of each kind by column; nil unless they are asked for
}

// pin infers the schema from a sample and applies the schema option to it.
func pin(ctx context.Context, set *file.Set, opt Options) (*pinned, error) {
	s := &sampler{opt: opt, types: map[string]arrow.DataType{}, kinds: map[string]kind{}}
	given, err := opt.columnTypes()
	if err != nil {
		return nil, err
	}
	for _, c := range given {
		if s.types[c.Path[0]] != nil {
			return nil, dataset.Usagef("schema=: column %q is named twice", c.Path[0])
		}
		s.types[c.Path[0]] = c.Type
		s.order = append(s.order, c.Path[0])
	}
	files, first := 0, ""
	for ref, err := range set.Files(ctx, "") {
		if err != nil {
			return nil, err
		}
		if files == 0 {
			first = ref.Path
		}
		if err := s.file(ctx, set, ref); err != nil {
			return nil, err
		}
		if files++; files == sampleFiles {
			break
		}
	}
	return s.pinned(first)
}

// file adds the start of one file to the sample. A header or first record longer than the sample is read whole, up to max_record.
func (s *sampler) file(ctx context.Context, set *file.Set, ref dataset.FileRef) error {
	for size := sampleBytes; ; size = min(8*size, int(s.opt.MaxRecord)) {
		head, whole, err := sampleText(ctx, set, ref, size, s.opt.Encoding)
		if err != nil {
			return err
		}
		enough, err := s.head(ref.Path, head, whole, size)
		if err != nil || enough {
			return err
		}
	}
}

// sampleText reads the start of a file as text without byte order mark.
func sampleText(ctx context.Context, set *file.Set, ref dataset.FileRef, n int, e Encoding) (head []byte, whole bool, err error) {
	head, whole, err = set.Sample(ctx, ref, n)
	if err != nil {
		return nil, false, err
	}
	if charset.Wide(e, head) {
		if head, err = charset.DecodeUTF16(head, e); err != nil {
			return nil, false, fmt.Errorf("read %s: %w", ref.Path, err)
		}
		return head, whole, nil
	}
	return []byte(strings.TrimPrefix(string(head), charset.Mark)), whole, nil
}

// head samples data, the start of a file; enough is false when the first record does not fit into it.
func (s *sampler) head(path string, data []byte, whole bool, size int) (enough bool, err error) {
	p, err := newParser(s.opt)
	if err != nil {
		return false, err
	}
	i := loadText(p, data, whole)
	if i < 0 {
		return whole, s.cut(path, whole, size)
	}
	fields, next := p.recordText(i, s.opt.MaxColumns)
	switch next {
	case incomplete:
		return whole, s.cut(path, whole, size)
	case failed:
		e := p.recordError(i, nil)
		e.Line = int64(bytes.Count(p.buf[:i], []byte{'\n'})) + 1
		return false, fmt.Errorf("read the columns of %s: %w", path, e)
	}
	h := placeNames(len(fields), s.order)
	if *s.opt.Header {
		h = uniqueNames(fields)
		i = next
	}
	for _, n := range h.notes {
		s.notes = append(s.notes, note{"column names", path + ": " + n})
	}
	s.oneColumn(path, h)
	kinds := make([]kind, len(h.names))
	if s.opt.Infer == InferTypes {
		p.sample(i, kinds, s.remember(p, h.names))
	}
	for k, name := range h.names {
		if _, known := s.kinds[name]; !known {
			s.names = append(s.names, name)
		}
		s.kinds[name] |= kinds[k]
	}
	return true, nil
}

// cut reports a first record that is longer than allowed.
func (s *sampler) cut(path string, whole bool, size int) error {
	if whole || size < int(s.opt.MaxRecord) {
		return nil
	}
	return dataset.Usagef("read the columns of %s: line 1: the first record is longer than max_record=%s; raise max_record, or pass quote=\"\" if quotes are ordinary text",
		path, s.opt.MaxRecord)
}

// oneColumn warns of a delimiter that is likely not the file's.
func (s *sampler) oneColumn(path string, h header) {
	if len(h.names) != 1 {
		return
	}
	for _, d := range []struct{ text, name string }{{";", ";"}, {"\t", "tab"}, {"|", "|"}, {",", ","}} {
		if d.text != s.opt.Delim && strings.Contains(h.names[0], d.text) {
			s.notes = append(s.notes, note{"delimiter", fmt.Sprintf("%s has one column, %q; pass delim=%q if that is several", path, h.names[0], d.name)})
			return
		}
	}
}

// loadText loads a whole text and returns where its first record is, -1 if it has none that is whole.
func loadText(p *parser, data []byte, whole bool) int {
	end := len(data)
	if !whole {
		for end > 0 && data[end-1] != '\n' {
			end--
		}
	}
	buf := append(make([]byte, 0, end+1+pad), data[:end]...)
	if whole && end > 0 && data[end-1] != '\n' {
		buf = append(buf, '\n')
	}
	end = len(buf)
	p.load(buf[:cap(buf)], 0, end, whole)
	for i := 0; i < end; {
		next, blank := p.blank(i)
		if !blank {
			return i
		}
		i = next
	}
	return -1
}

// pinned builds the schema that the samples showed.
func (s *sampler) pinned(first string) (*pinned, error) {
	p := &pinned{given: map[string]bool{}, index: map[string]int{}, notes: s.notes}
	if !*s.opt.Header {
		s.names = placeNames(max(len(s.names), len(s.order)), s.order).names
	}
	for _, name := range s.order {
		if _, known := s.kinds[name]; !known && *s.opt.Header && first != "" {
			return nil, dataset.Usagef("schema=: %s has no column %q%s", first, name, dataset.DidYouMean(name, append([]string(nil), s.names...)))
		}
	}
	for i, name := range s.names {
		f := arrow.Field{Name: name, Nullable: true, Type: s.types[name]}
		p.given[name] = f.Type != nil
		if f.Type == nil {
			f.Type = typeOf(s.kinds[name])
		}
		p.fields = append(p.fields, f)
		p.index[name] = i
	}
	out := append([]arrow.Field(nil), p.fields...)
	if s.opt.WithPath {
		if _, taken := p.index[PathColumn]; taken {
			return nil, dataset.Usagef("with_path adds the column %q, and the file has one of that name; leave the option out", PathColumn)
		}
		out = append(out, arrow.Field{Name: PathColumn, Type: arrow.BinaryTypes.String, Nullable: true})
	}
	p.schema = arrow.NewSchema(out, nil)
	return p, nil
}
