package binary

import (
	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/dataset"
)

// Register adds the connector to a registry.
func Register(reg *dataset.Registry) error {
	return reg.AddSources(Def(func(set *file.Set, opt Options) (*Source, error) { return NewSource(Default, set, opt) }, dataset.SourceDef{
		Name:       Default.Name,
		Doc:        "whole files as bytes, one row each",
		Help:       "Gives the columns path and data. Choose it with --from binary for files of any extension.",
		Extensions: []string{"bin"},
	}))
}

// Def completes the definition of a connector whose rows are files.
func Def(newSource func(*file.Set, Options) (*Source, error), d dataset.SourceDef) dataset.SourceDef {
	d.Zero = func() any { return &Options{} }
	d.Open = file.OpenSource(d.Name, newSource)
	return d
}
