package infer

import "github.com/sluice-data/sluice/dataset"

func init() {
	table = append(table, func(d Deps) dataset.Def {
		return dataset.Define(dataset.Def{
			Name: "embed",
			Doc:  "turn texts or pictures into vectors",
			Help: "Gives a column to a model and adds the vector that its card calls the embedding, as column embedding unless another is named after ->. Everything else is as in " +
				"infer. Texts or pictures that are alike have vectors that point the same way.",
			Example: "embed onnx:minilm text",
		}, Params{Running: runningDefaults}, func(p Params) (dataset.Spec, error) { return Embed(d, p) })
	})
}

// Embed makes the embed operator: infer with the output that the card calls the embedding.
func Embed(d Deps, p Params) (dataset.Spec, error) { return newSpec("embed", d, p, true) }
