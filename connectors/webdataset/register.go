package webdataset

import (
	"fmt"
	"strings"

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
		Open:       openSink,
	})
}

func openSink(path string, params any) (dataset.Sink, error) {
	opt, ok := params.(*SinkOptions)
	if !ok {
		return nil, fmt.Errorf("webdataset: parameters are %T, want %T", params, opt)
	}
	write := opt.WriteOptions
	if write.Compression == "" {
		write.Compression = file.Compression(strings.TrimSuffix(path, "/"))
	}
	format, err := NewFormat(write)
	if err != nil {
		return nil, err
	}
	return file.OpenSink(path, format, opt.Layout)
}
