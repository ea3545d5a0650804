package text

import (
	"fmt"
	"strings"

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
		Open:       openSink,
	})
}

func openSink(path string, params any) (dataset.Sink, error) {
	opt, ok := params.(*SinkOptions)
	if !ok {
		return nil, fmt.Errorf("text: parameters are %T, want %T", params, opt)
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
