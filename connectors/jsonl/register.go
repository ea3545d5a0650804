package jsonl

import (
	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/dataset"
)

// extensions are those of JSON lines.
var extensions = []string{"jsonl", "ndjson", "jsonlines"}

// SinkOptions are the parameters of the sink.
type SinkOptions struct {
	WriteOptions
	file.Layout
}

// Register adds the source and the sink to a registry.
func Register(reg *dataset.Registry) error {
	err := reg.AddSources(dataset.SourceDef{
		Name:       "jsonl",
		Doc:        "JSON: one object a line, the objects of an array, or objects over several lines",
		Help:       "Column types are inferred from the start of at most eight files; a later value of another type is a row error that names the schema= option. A file whose name does not end in jsonl, ndjson or jsonlines may hold one array of objects, or objects over several lines: its start tells. Compressed files are decompressed.",
		Extensions: append([]string{"json"}, extensions...),
		Zero:       func() any { return &Options{} },
		Open:       file.OpenSource("jsonl", NewSource),
	})
	if err != nil {
		return err
	}
	const help = "Binary is written as base64, pixels as {width, height, channels}, NaN as null with a warning, times as RFC 3339, decimals as strings."
	return reg.AddSinks(dataset.SinkDef{
		Name:       "jsonl",
		Doc:        "JSON lines: one object a row",
		Help:       help,
		Extensions: extensions,
		Zero:       func() any { return &SinkOptions{} },
		Open:       file.OpenSinkAs("jsonl", formatAs(NewFormat)),
	}, dataset.SinkDef{
		Name:       "json",
		Doc:        "One JSON array of objects, one a row",
		Help:       "The objects stand one a line, streamed like JSON lines. " + help + " JSON lines are read on several cores, an array is not.",
		Extensions: []string{"json"},
		Zero:       func() any { return &SinkOptions{} },
		Open:       file.OpenSinkAs("json", formatAs(NewArrayFormat)),
	})
}

// formatAs makes the format for a path.
func formatAs(newFormat func(WriteOptions) (*Format, error)) func(string, SinkOptions) (*Format, error) {
	return func(path string, opt SinkOptions) (*Format, error) {
		if opt.Compression == "" {
			opt.Compression = file.TargetCompression(path)
		}
		return newFormat(opt.WriteOptions)
	}
}
