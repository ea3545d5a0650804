package infer

import (
	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/gpu"
)

// Deps are what the operators work with; the program that assembles the engine hands it in.
type Deps struct {
	// Open opens models by the scheme of their address: "onnx", "triton".
	Open map[string]gpu.Opener
	// Ready says what keeps an engine from running in this program at all; an engine that is not in it always can.
	Ready map[string]func() error
}

// table makes the definitions of this package's operators; each file of one adds itself.
var table []func(Deps) dataset.Def

// Register adds the operators of this package to a registry.
func Register(reg *dataset.Registry, deps Deps) error {
	for _, def := range table {
		if err := reg.AddOperators(def(deps)); err != nil {
			return err
		}
	}
	return nil
}
