package parquet

import (
	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/dataset"
)

var extensions = []string{"parquet", "pq", "parq"}

// Register adds the source and the sink to a registry.
func Register(reg *dataset.Registry) error {
	err := reg.AddSources(dataset.SourceDef{
		Name:       "parquet",
		Doc:        "Parquet files",
		Help:       "The schema is that of the first file; a sample of others may widen numbers. Columns that a file lacks are null. Only wanted columns are read. Row groups and pages that statistics, Bloom filters or page indexes exclude are passed over, and the other columns are decoded only where rows may satisfy the filter that follows.",
		Extensions: extensions,
		Zero:       func() any { return &Options{} },
		Open:       file.OpenSource("parquet", NewSource),
	})
	if err != nil {
		return err
	}
	return reg.AddSinks(dataset.SinkDef{
		Name:       "parquet",
		Doc:        "Parquet files",
		Help:       "Snappy compression, statistics and the Arrow schema are written unless options say otherwise; media types keep their names and read as plain binary and structs elsewhere.",
		Extensions: extensions,
		Zero:       func() any { return &SinkOptions{} },
		Open:       file.OpenSinkAs("parquet", formatOf),
	})
}

func formatOf(_ string, opt SinkOptions) (*Format, error) { return NewFormat(opt.FormatOptions) }
