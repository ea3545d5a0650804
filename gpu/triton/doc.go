// Package triton is the client of model servers that speak the open inference protocol (KServe v2) over gRPC: NVIDIA Triton foremost, and MLServer and
// KServe, which offer less of it.
//
// What it promises:
//
//   - Tensors go to a Triton on the same machine through shared memory (dataset/store), else inline; which it was, and why, is in Info.Notes. Both give
//     the same bits.
//   - A slot of shared memory has one owner. When a caller gives up on a request, the request goes on without it, and its slots stay aside
//     until the server has answered: a server may write to them after a cancel. After a lost connection they stay aside until the model is closed.
//   - A server that was restarted is given its segments again, once a request, and the request is repeated.
//   - Errors are classed as gpu.Model says. The protocol's INTERNAL is often the caller's mistake; errors.go knows which.
//   - Message limits are set; the 4 MiB that gRPC allows by default are not enough for one picture.
//
// Addresses are triton://HOST:PORT/MODEL[?version=N] or grpc://…, the port being that of gRPC (8001). A token is refused over plain text beyond
// this machine.
//
// Read model.go first, then infer.go and shm.go. Pipelines, batches and windows are none of its business: operators/infer.
package triton
