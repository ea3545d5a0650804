// Package gputest is a model in memory for tests: it answers with a function, and does on demand what replicas do on bad days. It
// checks the contract of gpu.Model as it goes: data that belongs to it, memory given back, responses released. Serve starts a
// server in a process of its own instead, for tests that need a wire. Read model.go first.
package gputest
