package webdataset

import (
	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/dataset"
)

var extensions = []string{"tar"}

// SinkOptions are the parameters of the sink.
type SinkOptions struct {
	WriteOptions
	file.Layout
}

// Register adds the source and the sink to a registry.
func Register(reg *dataset.Registry) error {
	err := reg.AddSources(dataset.SourceDef{
		Name:       "webdataset",
		Doc:        "WebDataset tar shards: a sample a row",
		Help:       "Gives __key__ and a binary column for each extension that the first samples have. Shards ending in .tar.gz or .tar.zst are decompressed.",
		Extensions: extensions,
		Zero:       func() any { return &Options{} },
		Open:       file.OpenSource("webdataset", NewSource),
	})
	if err != nil {
		return err
	}
	return reg.AddSinks(dataset.SinkDef{
		Name:       "webdataset",
		Doc:        "WebDataset tar shards",
		Help:       "Writes a member key.column for each value that is not null. The key is the column __key__ unless key= names another. Numbers become text.",
		Extensions: extensions,
		Zero:       func() any { return &SinkOptions{} },
		Open:       file.OpenSinkAs("webdataset", formatOf),
	})
}

// formatOf makes the format for a path.
func formatOf(path string, opt SinkOptions) (*Format, error) {
	if opt.Compression == "" {
		opt.Compression = file.TargetCompression(path)
	}
	return NewFormat(opt.WriteOptions)
}
