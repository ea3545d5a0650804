package hf

import (
	"context"
	"fmt"
	"strings"

	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/dataset"
)

// Name is the name of the source, and the scheme of its paths: hf:folder.
const Name = "hf"

// Options of reading such a folder.
type Options struct {
	Split   string           `json:"split,omitempty" doc:"train, validation, test or another split; all reads every one (train, or the only one)"`
	Config  string           `json:"config,omitempty" doc:"one of the configs of README.md (the default one)"`
	MaxFile dataset.ByteSize `json:"max_file,omitempty" doc:"largest picture or other media file that is read; larger ones are row errors (256MiB)"`
}

// Register adds the source to a registry, whose other sources read the data files.
func Register(reg *dataset.Registry) error {
	return reg.AddSources(dataset.SourceDef{
		Name: Name,
		Doc:  "Folders laid out for the datasets library of Hugging Face",
		Help: "hf:folder split=train reads the data files of a split, by the configs of README.md or by the names of files and folders. Where metadata.jsonl, .csv or .parquet lies beside media, its rows are joined with the files that file_name names. Media without a table give path and image, audio or video, and label where their folders name classes (train/cat/1.jpg).",
		Zero: func() any { return &Options{} },
		Open: func(ctx context.Context, in []dataset.Pattern, params any) (dataset.Source, error) {
			opt, ok := params.(*Options)
			if !ok {
				return nil, fmt.Errorf("hf: parameters are %T, want %T", params, opt)
			}
			if len(in) != 1 || in[0].Text == file.StdinPath {
				return nil, dataset.Usagef("read hf: it reads one folder, as hf:path/to/folder")
			}
			return open(ctx, reg, strings.TrimPrefix(in[0].Text, Name+":"), *opt)
		},
	})
}

// open finds the files of the split and makes the source that reads them.
func open(ctx context.Context, reg *dataset.Registry, root string, opt Options) (dataset.Source, error) {
	root = strings.TrimSuffix(root, "/")
	f := &folder{root: root, place: file.NewSet(file.Local{}, []dataset.Pattern{{Text: root, Literal: true}}), readers: file.NewTable(reg)}
	if err := f.look(ctx); err != nil {
		return nil, err
	}
	found, err := f.split(ctx, opt)
	if err != nil {
		return nil, err
	}
	inner, err := found.source(ctx, opt)
	if err != nil {
		return nil, err
	}
	if found.kind != "" {
		return &filesSource{inner: inner, kind: found.kind, labels: found.labels, params: sourceParams{root, opt}}, nil
	}
	if !found.media {
		return &source{Source: inner, params: sourceParams{root, opt}}, nil
	}
	kind, err := f.kindOf(found)
	if err != nil {
		return nil, err
	}
	limit := int64(opt.MaxFile)
	if limit <= 0 {
		limit = defaultMaxFile
	}
	return &mediaSource{inner: inner, fs: f.place.FS(), root: root, kind: kind, limit: limit, params: sourceParams{root, opt}}, nil
}

// sourceParams are what identifies the source in a plan.
type sourceParams struct {
	Path    string  `json:"path"`
	Options Options `json:"options"`
}

// source reads data files through the connector of their kind.
type source struct {
	dataset.Source
	params sourceParams
}

var (
	_ dataset.Projectable = (*source)(nil)
	_ dataset.Prunable    = (*source)(nil)
	_ dataset.Skipper     = (*source)(nil)
	_ dataset.LimitHint   = (*source)(nil)
)

// Name implements dataset.Source.
func (*source) Name() string { return Name }

// Version implements dataset.Source.
func (*source) Version() int { return 1 }

// Params implements dataset.Source.
func (s *source) Params() any { return s.params }

// Project implements dataset.Projectable.
func (s *source) Project(columns []string) (dataset.Source, error) {
	p, ok := s.Source.(dataset.Projectable)
	if !ok {
		return nil, fmt.Errorf("read hf: the reader %s cannot leave columns out", s.Source.Name())
	}
	inner, err := p.Project(columns)
	return &source{inner, s.params}, err
}

// Prune implements dataset.Prunable.
func (s *source) Prune(e *predicate) dataset.Source {
	if p, ok := s.Source.(dataset.Prunable); ok {
		return &source{p.Prune(e), s.params}
	}
	return s
}

// LimitHint implements dataset.LimitHint.
func (s *source) LimitHint(n int64) dataset.Source {
	if h, ok := s.Source.(dataset.LimitHint); ok {
		return &source{h.LimitHint(n), s.params}
	}
	return s
}

// Skipped implements dataset.Skipper.
func (s *source) Skipped() string {
	if k, ok := s.Source.(dataset.Skipper); ok {
		return k.Skipped()
	}
	return ""
}
