package all

import (
	"github.com/sluice-data/sluice/connectors/arrowipc"
	"github.com/sluice-data/sluice/connectors/avro"
	"github.com/sluice-data/sluice/connectors/binary"
	"github.com/sluice-data/sluice/connectors/csv"
	"github.com/sluice-data/sluice/connectors/hf"
	"github.com/sluice-data/sluice/connectors/images"
	"github.com/sluice-data/sluice/connectors/jsonl"
	"github.com/sluice-data/sluice/connectors/numpy"
	"github.com/sluice-data/sluice/connectors/object"
	"github.com/sluice-data/sluice/connectors/parquet"
	"github.com/sluice-data/sluice/connectors/sql"
	"github.com/sluice-data/sluice/connectors/text"
	"github.com/sluice-data/sluice/connectors/tfrecord"
	"github.com/sluice-data/sluice/connectors/webdataset"
	"github.com/sluice-data/sluice/dataset"
)

var connectors = []func(*dataset.Registry) error{
	arrowipc.Register,
	avro.Register,
	binary.Register,
	csv.Register,
	hf.Register,
	images.Register,
	jsonl.Register,
	numpy.Register,
	object.Register,
	parquet.Register,
	sql.Register,
	text.Register,
	tfrecord.Register,
	webdataset.Register,
}

// Register adds every connector to a registry. A name that is taken is an error.
func Register(reg *dataset.Registry) error {
	for _, register := range connectors {
		if err := register(reg); err != nil {
			return err
		}
	}
	return nil
}
