package hf

import (
	"context"
	"fmt"
	"iter"
	"path"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
	"github.com/sluice-data/sluice/dataset/expr"
)

type predicate = expr.Expr

const (
	fileColumn     = "file_name" // of the table of metadata
	pathColumn     = "path"
	defaultMaxFile = 256 << 20
)

// kinds are the columns of bytes and the extensions of their files.
var kinds = []struct {
	column     string
	extensions []string
}{
	{"image", []string{"jpg", "jpeg", "jpe", "jfif", "png", "gif", "bmp", "tif", "tiff", "webp", "avif", "heic", "heif"}},
	{"audio", []string{"wav", "mp3", "flac", "ogg", "opus", "m4a", "aac"}},
	{"video", []string{"mp4", "mkv", "webm", "mov", "avi"}},
}

func kindByExtension(p string) string {
	ext := strings.ToLower(strings.TrimPrefix(path.Ext(p), "."))
	for _, k := range kinds {
		if slices.Contains(k.extensions, ext) {
			return k.column
		}
	}
	return ""
}

// kindOf is the column of the media beside the chosen tables: that of the first file whose extension is known.
func (f *folder) kindOf(c *chosen) (string, error) {
	for _, t := range c.paths {
		for _, p := range f.files {
			if k := kindByExtension(p); k != "" && (path.Dir(t) == "." || strings.HasPrefix(p, path.Dir(t)+"/")) {
				return k, nil
			}
		}
	}
	return "data", nil
}

// mediaSource joins the rows of tables with the files that they name.
type mediaSource struct {
	inner   dataset.Source
	fs      file.FS
	root    string
	kind    string // the column of bytes
	limit   int64
	params  sourceParams
	columns []string // wanted; nil: all
}

var (
	_ dataset.Source      = (*mediaSource)(nil)
	_ dataset.Projectable = (*mediaSource)(nil)
)

// Name implements dataset.Source.
func (*mediaSource) Name() string { return Name }

// Version implements dataset.Source.
func (*mediaSource) Version() int { return 1 }

// Params implements dataset.Source.
func (s *mediaSource) Params() any { return s.params }

// Project implements dataset.Projectable. The tables are small against the media, so they are read whole.
func (s *mediaSource) Project(columns []string) (dataset.Source, error) {
	out := *s
	out.columns = append([]string{}, columns...)
	return &out, nil
}

// Schema implements dataset.Source: path and the bytes, then the columns of the table without file_name.
func (s *mediaSource) Schema(ctx context.Context) (*arrow.Schema, error) {
	table, err := s.inner.Schema(ctx)
	if err != nil {
		return nil, err
	}
	at := table.FieldIndices(fileColumn)
	if len(at) != 1 || !arrow.IsBinaryLike(table.Field(at[0]).Type.ID()) && !arrow.IsLargeBinaryLike(table.Field(at[0]).Type.ID()) {
		return nil, dataset.Usagef("read hf:%s: the metadata beside media needs a column %q of text that names the file of each row", s.root, fileColumn)
	}
	fields := []arrow.Field{{Name: pathColumn, Type: arrow.BinaryTypes.String, Nullable: true}, {Name: s.kind, Type: s.bytesType(), Nullable: true}}
	for i, f := range table.Fields() {
		if i == at[0] {
			continue
		}
		if f.Name == pathColumn || f.Name == s.kind {
			return nil, dataset.Usagef("read hf:%s: the metadata has a column %q, which is the name that the file of each row gets; rename it", s.root, f.Name)
		}
		fields = append(fields, f)
	}
	if s.columns != nil {
		fields = slices.DeleteFunc(fields, func(f arrow.Field) bool { return !slices.Contains(s.columns, f.Name) })
	}
	return arrow.NewSchema(fields, nil), nil
}

func (s *mediaSource) bytesType() arrow.DataType {
	if s.kind == "image" {
		return block.Image
	}
	return arrow.BinaryTypes.Binary
}

// Splits implements dataset.Source.
func (s *mediaSource) Splits(ctx context.Context, after dataset.Cursor) iter.Seq2[dataset.Split, error] {
	return s.inner.Splits(ctx, after)
}

// Open implements dataset.Source.
func (s *mediaSource) Open(ctx context.Context, rt dataset.Runtime, sp dataset.Split, offset uint64) (dataset.Reader, error) {
	schema, err := s.Schema(ctx)
	if err != nil {
		return nil, err
	}
	inner, err := s.inner.Open(ctx, rt, sp, offset)
	if err != nil {
		return nil, err
	}
	return &mediaReader{src: s, rt: rt, inner: inner, schema: schema}, nil
}

// pathOf is where a file lies that a table names.
func pathOf(table, name string) (string, error) {
	if name == "" {
		return "", fmt.Errorf("file_name is empty")
	}
	if path.IsAbs(name) || strings.Contains(name, "://") || slices.Contains(strings.Split(path.Clean(name), "/"), "..") {
		return "", fmt.Errorf("file_name %q leads out of the folder of %s", name, table)
	}
	return table[:strings.LastIndexByte(table, '/')+1] + path.Clean(name), nil
}
