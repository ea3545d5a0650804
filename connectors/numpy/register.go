package numpy

import (
	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/dataset"
)

var (
	readExtensions  = []string{"npy", "npz"}
	writeExtensions = []string{"npy"}
)

// SinkOptions are the parameters of the sink.
type SinkOptions struct {
	WriteOptions
	file.Layout
}

// Register adds the source and the sink to a registry.
func Register(reg *dataset.Registry) error {
	err := reg.AddSources(dataset.SourceDef{
		Name:       "numpy",
		Doc:        "NumPy files: rows along the first axis",
		Help:       "A .npy gives the column value, a .npz a column for each array. Further axes become fixed-size lists.",
		Extensions: readExtensions,
		Zero:       func() any { return &Options{} },
		Open:       file.OpenSource("numpy", NewSource),
	})
	if err != nil {
		return err
	}
	return reg.AddSinks(dataset.SinkDef{
		Name:       "numpy",
		Doc:        "NumPy .npy files",
		Help:       "Writes one column; fixed-size lists become further axes.",
		Extensions: writeExtensions,
		Zero:       func() any { return &SinkOptions{} },
		Open:       file.OpenSinkAs("numpy", formatOf),
	})
}

// formatOf makes the format for a path.
func formatOf(path string, opt SinkOptions) (*Format, error) {
	if file.Compression(path) != "" {
		return nil, dataset.Usagef("write %s: .npy files are not compressed; leave out the last extension", path)
	}
	return NewFormat(opt.WriteOptions)
}
