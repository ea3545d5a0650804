package avro

import (
	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/dataset"
)

var extensions = []string{"avro"}

// SinkOptions are the parameters of the sink.
type SinkOptions struct {
	WriteOptions
	file.Layout
}

// Register adds the source and the sink to a registry.
func Register(reg *dataset.Registry) error {
	err := reg.AddSources(dataset.SourceDef{
		Name:       "avro",
		Doc:        "Avro object container files",
		Help:       "A record gives a column a field. Unions with null are nullable; unions of several types are structs of member0, member1, …, of which one has a value. Files are divided at sync markers.",
		Extensions: extensions,
		Zero:       func() any { return &Options{} },
		Open:       file.OpenSource("avro", NewSource),
	})
	if err != nil {
		return err
	}
	return reg.AddSinks(dataset.SinkDef{
		Name:       "avro",
		Doc:        "Avro object container files",
		Help:       "Writes a record a row. Names must be letters, digits and _.",
		Extensions: extensions,
		Zero:       func() any { return &SinkOptions{} },
		Open:       file.OpenSinkAs("avro", formatOf),
	})
}

// formatOf makes the format for a path.
func formatOf(path string, opt SinkOptions) (*Format, error) {
	if file.Compression(path) != "" {
		return nil, dataset.Usagef("write %s: Avro files are compressed inside; leave out the last extension and pass compression=zstandard", path)
	}
	return NewFormat(opt.WriteOptions)
}
