package arrowipc

import (
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
		Open:       file.OpenSinkAs("arrow", formatOf),
	})
}

// formatOf makes the format for a path.
func formatOf(path string, opt SinkOptions) (*Format, error) {
	if file.Compression(path) != "" {
		return nil, dataset.Usagef("write %s: Arrow files are compressed inside; leave out the last extension and pass compression=zstd", path)
	}
	if path == file.StdinPath || file.Extension(path) == "arrows" {
		opt.Stream = true
	}
	return NewFormat(opt.WriteOptions)
}
