package csv

import (
	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/dataset"
)

// SinkOptions are the parameters of the sink.
type SinkOptions struct {
	WriteOptions
	file.Layout
}

// kinds are the names under which CSV is known, with what separates their fields.
var kinds = []struct {
	name, doc, delim string
	extensions       []string
}{
	{"csv", "comma-separated values", ",", []string{"csv"}},
	{"tsv", "tab-separated values: csv with delim=tab", "tab", []string{"tsv", "tab"}},
}

// Register adds the sources and the sinks to a registry.
func Register(reg *dataset.Registry) error {
	for _, k := range kinds {
		err := reg.AddSources(dataset.SourceDef{
			Name: k.name,
			Doc:  k.doc,
			Help: "Column types are inferred from the start of at most eight files; a later value of another type is a row error that names the schema= option. " +
				"Empty fields without quotes are null. Files ending in .gz or .zst are decompressed.",
			Extensions: k.extensions,
			Zero:       func() any { return &Options{Delim: k.delim} },
			Open:       file.OpenSource("csv", NewSource),
		})
		if err != nil {
			return err
		}
		err = reg.AddSinks(dataset.SinkDef{
			Name:       k.name,
			Doc:        k.doc,
			Help:       "Fields are quoted only where they must be, null is an empty field (null=), times are RFC 3339, binary is base64. Nested columns are refused.",
			Extensions: k.extensions,
			Zero:       func() any { return &SinkOptions{WriteOptions: WriteOptions{Delim: k.delim, name: k.name}} },
			Open:       file.OpenSinkAs("csv", formatOf),
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// formatOf makes the format for a path.
func formatOf(path string, opt SinkOptions) (*Format, error) {
	if opt.Compression == "" {
		opt.Compression = file.TargetCompression(path)
	}
	return NewFormat(opt.WriteOptions)
}
