// Package gpu holds what model stages run on: one engine-neutral interface for a model on a server or in the process, and, in the
// folders below, one client an engine (triton, onnx). It knows nothing of pipelines: batching, windows, retries and the routing
// between replicas belong to operators/infer.
package gpu
