package sluice

import (
	"context"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/pipeline"
)

// Write writes to a path. The extension chooses the writer; a path that ends in a slash is a folder of Parquet files; "-" is standard output, as
// JSON lines. Options are name=value as in pipeline strings: Write("out/", "by=lang", "compression=zstd").
func (d Dataset) Write(path string, options ...string) Output {
	return d.WriteWith("", path, options...)
}

// WriteParquet writes Parquet: one file, or a folder if the path ends in a slash.
func (d Dataset) WriteParquet(path string, options ...string) Output {
	return d.WriteWith("parquet", path, options...)
}

// WriteJSONL writes JSON lines: one file, a folder if the path ends in a slash, or standard output for "-".
func (d Dataset) WriteJSONL(path string, options ...string) Output {
	return d.WriteWith("jsonl", path, options...)
}

// WriteCSV writes comma-separated values. Nested and binary columns are refused.
func (d Dataset) WriteCSV(path string, options ...string) Output {
	return d.WriteWith("csv", path, options...)
}

// WriteWith writes with the named writer; "" lets the extension choose.
func (d Dataset) WriteWith(writer, path string, options ...string) Output {
	if d.d.Err() != nil {
		return d.To(nil)
	}
	sink, err := d.s.sink(writer, path, options)
	if err != nil {
		return d.failed(err).To(nil)
	}
	return d.To(sink)
}

// To ends the dataset in a sink of your own.
func (d Dataset) To(sink dataset.Sink) Output { return Output{d.s, d.d.To(sink)} }

// sink opens a sink by the rules of pipelines. Their builder wants a source too; it is never opened.
func (s *Session) sink(writer, path string, options []string) (dataset.Sink, error) {
	to := pipeline.Sink{Path: path, To: writer}
	var err error
	if to.Options, err = keyValues("write "+path, options); err != nil {
		return nil, err
	}
	reg := dataset.NewRegistry()
	nothing := dataset.SourceDef{Name: "nothing", Open: func(context.Context, []dataset.Pattern, any) (dataset.Source, error) { return nil, nil }}
	if err := reg.AddSources(nothing); err != nil {
		return nil, err
	}
	if err := reg.AddSinks(s.reg.Sinks()...); err != nil {
		return nil, err
	}
	built, err := s.env(reg).Build(context.Background(), &pipeline.Pipeline{Source: pipeline.Source{From: "nothing"}, Sink: &to})
	if err != nil {
		return nil, unplaced(err)
	}
	return built.Sink, nil
}
