package tfrecord

import (
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
		Open:       file.OpenSinkAs("tfrecord", formatOf),
	})
}

// formatOf makes the format for a path.
func formatOf(path string, opt SinkOptions) (*Format, error) {
	if opt.Compression == "" {
		opt.Compression = file.TargetCompression(path)
	}
	return NewFormat(opt.WriteOptions)
}
