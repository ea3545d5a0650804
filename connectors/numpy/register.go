package numpy

import (
	"fmt"

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
		Open:       openSink,
	})
}

func openSink(path string, params any) (dataset.Sink, error) {
	opt, ok := params.(*SinkOptions)
	if !ok {
		return nil, fmt.Errorf("numpy: parameters are %T, want %T", params, opt)
	}
	if file.Compression(path) != "" {
		return nil, dataset.Usagef("write %s: .npy files are not compressed; leave out the last extension", path)
	}
	format, err := NewFormat(opt.WriteOptions)
	if err != nil {
		return nil, err
	}
	return file.OpenSink(path, format, opt.Layout)
}
