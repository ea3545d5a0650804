package relational

import "github.com/sluice-data/sluice/dataset"

// table gathers the definitions that the operator files of this package add.
var table []dataset.Def

// define adds an operator to the table; each operator file calls it once from init.
func define[P any](d dataset.Def, defaults P, build func(P) (dataset.Spec, error)) {
	table = append(table, dataset.Define(d, defaults, build))
}

// Register adds the operators of this package to a registry.
func Register(reg *dataset.Registry) error { return reg.AddOperators(table...) }
