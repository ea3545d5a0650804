// Package infer holds the operators that run models: infer and embed. They are handed openers of models by the scheme of their
// addresses, and never import an engine.
//
// Rows are gathered into requests, which the engine's asynchronous calls carry to the replicas of the model (internal/pool: windows, routing,
// retries, ejection); the request's tensors are made beside the operator (internal/prep) and its answers become columns there
// (internal/post). Answers arrive in any order; rows leave in the order in which they came, with their identities. What a row's inputs
// are, what is made of the answers, or both, may be declared in a card (card). Equal inputs in flight are asked once, and a folder may keep
// answers for later runs (internal/cache).
//
// A failing request is divided until the rows at fault are found; they are row errors, with the replica and the tries. A request lost with its
// replica is asked elsewhere. Only when no replica is healthy for long, or too many rows fail, the run ends.
//
// Read params.go first, then spec.go, operator.go (rows), request.go (requests), emit.go (order).
package infer
