package arrowipc

import (
	"fmt"

	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/dataset"
)

var extensions = []string{"arrow", "feather", "ipc", "arrows"}

// SinkOptions are the parameters of the sink.
type SinkOptions struct {
	WriteOptions
	file.Layout
}

// Register adds the source and the sink to a registry.
func Register(reg *dataset.Registry) error {
	err := reg.AddSources(dataset.SourceDef{
		Name:       "arrow",
		Doc:        "Arrow IPC files and streams, Feather version 2",
		Help:       "The columns are those of the first eight files, which must agree on types; columns that a file lacks are null. Only wanted columns are read. Files are divided at record batches.",
		Extensions: extensions,
		Zero:       func() any { return &Options{} },
		Open:       file.OpenSource("arrow", NewSource),
	})
	if err != nil {
		return err
	}
	return reg.AddSinks(dataset.SinkDef{
		Name:       "arrow",
		Doc:        "Arrow IPC files and streams",
		Help:       "Paths that end in .arrows and standard output get the stream format, others the file format, which is Feather version 2. Dictionary columns are written as their values.",
		Extensions: extensions,
		Zero:       func() any { return &SinkOptions{} },
		Open:       openSink,
	})
}

func openSink(path string, params any) (dataset.Sink, error) {
	opt, ok := params.(*SinkOptions)
	if !ok {
		return nil, fmt.Errorf("arrow: parameters are %T, want %T", params, opt)
	}
	if file.Compression(path) != "" {
		return nil, dataset.Usagef("write %s: Arrow files are compressed inside; leave out the last extension and pass compression=zstd", path)
	}
	write := opt.WriteOptions
	if path == file.StdinPath || file.Extension(path) == "arrows" {
		write.Stream = true
	}
	format, err := NewFormat(write)
	if err != nil {
		return nil, err
	}
	return file.OpenSink(path, format, opt.Layout)
}
