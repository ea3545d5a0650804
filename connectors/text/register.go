package text

import (
	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/dataset"
)

// extensions are those of text. Logs are text too.
var extensions = []string{"txt", "text", "log"}

// SinkOptions are the parameters of the sink.
type SinkOptions struct {
	WriteOptions
	file.Layout
}

// Register adds the source and the sink to a registry.
func Register(reg *dataset.Registry) error {
	err := reg.AddSources(dataset.SourceDef{
		Name:       "text",
		Doc:        "lines of text: columns path and text",
		Help:       "LF and CRLF end lines. Files ending in .gz or .zst are decompressed.",
		Extensions: extensions,
		Zero:       func() any { return &Options{} },
		Open:       file.OpenSource("text", NewSource),
	})
	if err != nil {
		return err
	}
	return reg.AddSinks(dataset.SinkDef{
		Name:       "text",
		Doc:        "lines of text: one a row",
		Help:       "The column is the one named by column=, else the only one, else the one named text. Null is an empty line.",
		Extensions: extensions,
		Zero:       func() any { return &SinkOptions{} },
		Open:       file.OpenSinkAs("text", formatOf),
	})
}

// formatOf makes the format for a path.
func formatOf(path string, opt SinkOptions) (*Format, error) {
	if opt.Compression == "" {
		opt.Compression = file.TargetCompression(path)
	}
	return NewFormat(opt.WriteOptions)
}
