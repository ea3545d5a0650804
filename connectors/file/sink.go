package file

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/dataset"
)

// Layout are the options of a file sink that do not depend on the format. Connectors embed it in their parameters.
type Layout struct {
	By []string `json:"by,omitempty" doc:"columns whose values become key=value folders"`
}

// Sink writes blocks as files of one format: a folder of parts, or one file. It is a dataset.Joiner.
//
// A folder keeps its state in _sluice/ inside, a file name.ext in .name.ext.sluice/ beside it. Parts are written below
// RUN/stage/ of the state folder, under names that no reader takes for data, and get their final names by rename.
type Sink struct {
	format dataset.Format
	layout Layout
	disk   Disk
	typed  string // as a person wrote it
	base   string // what receipt names are relative to
	state  string // the state folder
	single string // name of the one file in base; "" if the result is always a folder
}

var (
	_ dataset.Joiner      = (*Sink)(nil)
	_ dataset.Partitioned = (*Sink)(nil)
)

// NewSink makes the sink for a local path: a folder if it ends in a slash, else one file.
func NewSink(path string, format dataset.Format, layout Layout) (*Sink, error) {
	return NewSinkOn(OSDisk{}, path, format, layout)
}

// NewSinkOn is NewSink on another Disk.
func NewSinkOn(disk Disk, path string, format dataset.Format, layout Layout) (*Sink, error) {
	return newSink(disk, path, path, format, layout)
}

func newSink(disk Disk, path, typed string, format dataset.Format, layout Layout) (*Sink, error) {
	if path == "" {
		return nil, dataset.Usagef("open sink: the path is empty")
	}
	s := &Sink{format: format, layout: layout, disk: disk, typed: typed}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("open sink %s: %w", typed, err)
	}
	if _, remote := disk.(RemoteDisk); !remote {
		if real, err := filepath.EvalSymlinks(abs); err == nil {
			abs = real // a link to the result is followed, not replaced
		}
	}
	if strings.HasSuffix(path, "/") || filepath.Base(path) == "." || filepath.Base(path) == ".." {
		s.base, s.state = abs, filepath.Join(abs, "_sluice")
	} else {
		s.base, s.single = filepath.Split(abs)
		s.state = filepath.Join(s.base, "."+s.single+".sluice")
		if len(layout.By) > 0 {
			return nil, dataset.Usagef("open sink %s: by= makes folders: end the path in a slash (%s/)", typed, strings.TrimSuffix(typed, filepath.Ext(typed)))
		}
	}
	return s, nil
}

// Name implements dataset.Sink.
func (s *Sink) Name() string { return s.format.Name() }

// Version implements dataset.Sink.
func (s *Sink) Version() int { return s.format.Version() }

// Params implements dataset.Sink.
func (s *Sink) Params() any {
	return struct {
		Format any      `json:"format,omitempty"`
		By     []string `json:"by,omitempty"`
	}{s.format.Params(), s.layout.By}
}

// Locator implements dataset.Target.
func (s *Sink) Locator() string { return s.typed }

// PartitionBy implements dataset.Partitioned.
func (s *Sink) PartitionBy() []string { return s.layout.By }

// Check implements dataset.Sink: the columns of by= must exist and be of a kind that a folder name can hold.
func (s *Sink) Check(in *arrow.Schema) error {
	for i, name := range s.layout.By {
		ix, err := dataset.FieldIndex(in, name)
		if err != nil {
			return fmt.Errorf("by=%s: %w", name, err)
		}
		if slices.Index(s.layout.By, name) != i {
			return fmt.Errorf("by=: column %q is named twice", name)
		}
		t := in.Field(ix).Type
		if d, ok := t.(*arrow.DictionaryType); ok {
			t = d.ValueType
		}
		switch id := t.ID(); {
		case arrow.IsInteger(id), id == arrow.STRING, id == arrow.LARGE_STRING, id == arrow.BOOL, id == arrow.DATE32:
		default:
			return fmt.Errorf("by=%s: a column of type %s makes no folder names; use text, integers, booleans or dates", name, t)
		}
	}
	written := s.written(in)
	if written.NumFields() == 0 && in.NumFields() > 0 {
		return errors.New("by=: no column is left for the files")
	}
	return s.format.Check(written)
}

// written is the schema of the files: that of the rows without the columns that are in folder names.
func (s *Sink) written(in *arrow.Schema) *arrow.Schema {
	if len(s.layout.By) == 0 {
		return in
	}
	fields := slices.DeleteFunc(in.Fields(), func(f arrow.Field) bool { return slices.Contains(s.layout.By, f.Name) })
	meta := in.Metadata()
	return arrow.NewSchema(fields, &meta)
}

// State implements dataset.Target.
func (s *Sink) State(context.Context) (dataset.Storage, error) {
	if r, ok := s.disk.(RemoteDisk); ok {
		return r.Storage(s.state), nil
	}
	return NewStorage(s.disk, s.state), nil
}
