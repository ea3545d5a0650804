package parquet

import (
	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/dataset"
)

// Options of reading Parquet files.
type Options struct {
	WithPath bool `json:"with_path,omitempty" doc:"add the column path, the file of each row"`
	file.Hive
}

// PathColumn is the column that Options.WithPath adds.
const PathColumn = "path"

// SinkOptions are the parameters of the sink.
type SinkOptions struct {
	FormatOptions
	file.Layout
}

// FormatOptions say how files are encoded. The zero value stands for the
// defaults.
type FormatOptions struct {
	Compression   string           `json:"compression,omitempty" doc:"snappy, zstd, gzip, lz4raw or none (snappy)"`
	RowGroupBytes dataset.ByteSize `json:"row_group_bytes,omitempty" doc:"size before encoding at which a row group ends (64MiB)"`
	RowGroupRows  int64            `json:"row_group_rows,omitempty" doc:"rows at which a row group ends (1048576)"`
	PageBytes     dataset.ByteSize `json:"page_bytes,omitempty" doc:"size before compression at which a page ends: filters leave out whole pages (256KiB)"`
	PageRows      int64            `json:"page_rows,omitempty" doc:"rows at which a page ends (131072)"`
	Bloom         []string         `json:"bloom,omitempty" doc:"columns that get a Bloom filter in each row group, for filters on single values"`
	Sort          []string         `json:"sort,omitempty" doc:"columns that the rows come sorted by (\"day, score desc\"; nulls last), to be told to readers; rows that are not are an error"`
	Layout        string           `json:"layout,omitempty" doc:"of tensors of one shape: binary or list (binary)"`
	NoStatistics  bool             `json:"no_statistics,omitempty" doc:"leave out minimum, maximum and null counts, of row groups and pages"`
}
