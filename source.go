package sluice

import (
	"context"
	"errors"
	"strings"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/pipeline"
)

// Read reads files. Paths are files, folders or patterns with *, ** and {a,b}; "-" is standard input. The extension chooses the reader, which
// must be one for all.
func (s *Session) Read(paths ...string) Dataset { return s.ReadWith("", paths) }

// ReadImages reads picture files, one row each, into the columns path and image. Follow it with Decode. Options are name=value as in
// pipeline strings; "sluice ops images" lists them.
func (s *Session) ReadImages(path string, options ...string) Dataset {
	return s.ReadWith("images", []string{path}, options...)
}

// ReadParquet reads Parquet files: ReadParquet("in/*.parquet", "with_path=true").
func (s *Session) ReadParquet(path string, options ...string) Dataset {
	return s.ReadWith("parquet", []string{path}, options...)
}

// ReadJSONL reads JSON lines: ReadJSONL("events.jsonl", "schema=id:int64").
func (s *Session) ReadJSONL(path string, options ...string) Dataset {
	return s.ReadWith("jsonl", []string{path}, options...)
}

// ReadCSV reads comma-separated values: ReadCSV("*.csv", "delim=;", "null=NA").
func (s *Session) ReadCSV(path string, options ...string) Dataset {
	return s.ReadWith("csv", []string{path}, options...)
}

// ReadBinary reads whole files, one row each, into the columns path and data.
func (s *Session) ReadBinary(path string, options ...string) Dataset {
	return s.ReadWith("binary", []string{path}, options...)
}

// ReadWith reads paths with the named reader; "" lets the extension choose.
func (s *Session) ReadWith(reader string, paths []string, options ...string) Dataset {
	src := pipeline.Source{From: reader}
	for _, p := range paths {
		src.Paths = append(src.Paths, pipeline.Path{Text: p})
	}
	var err error
	if src.Options, err = keyValues("read "+reader, options); err != nil {
		return s.failed(err)
	}
	built, err := s.env(s.reg).Build(context.Background(), &pipeline.Pipeline{Source: src})
	if err != nil {
		return s.failed(unplaced(err))
	}
	return Dataset{s: s, d: built.Dataset}
}

// From reads a source of your own.
func (s *Session) From(src dataset.Source) Dataset {
	if src == nil {
		return s.failed(dataset.Usagef("from: the source is nil; look at the error of the function that made it"))
	}
	return Dataset{s: s, d: dataset.From(src, s.local)}
}

func (s *Session) env(reg *dataset.Registry) pipeline.Env {
	return pipeline.Env{Registry: reg, Runner: s.local}
}

// keyValues divides options at the first =.
func keyValues(what string, options []string) ([]pipeline.Option, error) {
	var out []pipeline.Option
	for _, o := range options {
		name, value, ok := strings.Cut(o, "=")
		if !ok {
			return nil, dataset.Usagef("%s: %q is no option; options are name=value, and several paths are one pattern or go into Read or ReadWith",
				strings.TrimSpace(what), o)
		}
		out = append(out, pipeline.Option{Name: name, Value: value})
	}
	return out, nil
}

// unplaced takes the byte offset from an error about a pipeline that nobody typed.
func unplaced(err error) error {
	if e, ok := errors.AsType[*pipeline.Error](err); ok {
		return e.Err
	}
	return err
}
