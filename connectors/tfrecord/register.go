package tfrecord

import (
	"fmt"
	"strings"

	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/dataset"
)

var extensions = []string{"tfrecord", "tfrecords"}

// SinkOptions are the parameters of the sink.
type SinkOptions struct {
	WriteOptions
	file.Layout
}

// Register adds the source and the sink to a registry.
func Register(reg *dataset.Registry) error {
	err := reg.AddSources(dataset.SourceDef{
		Name:       "tfrecord",
		Doc:        "TFRecord files: framed records of bytes",
		Help:       "Gives the binary column record; with features=true a column for each feature of the tf.train.Example messages in the first records. Files ending in .gz or .zst are decompressed.",
		Extensions: extensions,
		Zero:       func() any { return &Options{} },
		Open:       file.OpenSource("tfrecord", NewSource),
	})
	if err != nil {
		return err
	}
	return reg.AddSinks(dataset.SinkDef{
		Name:       "tfrecord",
		Doc:        "TFRecord files",
		Help:       "A binary column record that is alone is written as it is; other columns become the features of tf.train.Example messages.",
		Extensions: extensions,
		Zero:       func() any { return &SinkOptions{} },
		Open:       openSink,
	})
}

func openSink(path string, params any) (dataset.Sink, error) {
	opt, ok := params.(*SinkOptions)
	if !ok {
		return nil, fmt.Errorf("tfrecord: parameters are %T, want %T", params, opt)
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
