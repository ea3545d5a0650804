package sluice

import (
	"strings"

	"github.com/sluice-data/sluice/gpu"
	"github.com/sluice-data/sluice/gpu/onnx"
	"github.com/sluice-data/sluice/gpu/triton"
	"github.com/sluice-data/sluice/operators/media"
)

// engines open models by the scheme of their address.
var engines = map[string]gpu.Opener{onnx.Scheme: onnx.Open, "triton": triton.Open, "grpc": triton.Open}

// ready says what keeps an engine from running in this program.
var ready = map[string]func() error{onnx.Scheme: onnx.Available}

// isolable are opened in child processes (WithIsolate): models of this process, and the decoder of pictures.
var isolable = map[string]gpu.Opener{onnx.Scheme: onnx.Open, media.PictureScheme: media.OpenPicture}

// Infer runs a model on columns and adds columns of what it answers: Infer("onnx:efficientnet-lite0", "image -> label, score"),
// Infer("triton://host:8001/resnet18", "image -> logits", "batch=8"). The address may name several replicas, divided by commas.
func (d Dataset) Infer(model, columns string, options ...string) Dataset {
	return d.Step("infer", join(options, quote(model), quoteEach(columns)))
}

// Embed turns texts or pictures into vectors: Embed("onnx:minilm", "text"), Embed("onnx:efficientnet-lite0", "image -> look").
func (d Dataset) Embed(model, columns string, options ...string) Dataset {
	return d.Step("embed", join(options, quote(model), quoteEach(columns)))
}

// quoteEach quotes what the steps of a pipeline would take for something else.
func quoteEach(text string) string {
	words := strings.Fields(text)
	for i, w := range words {
		words[i] = quote(w)
	}
	return strings.Join(words, " ")
}
