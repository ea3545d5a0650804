// Package gputest is a model in memory for tests: it answers with a function, and does on demand what replicas do on bad days. It
// checks the contract of gpu.Model as it goes: data that belongs to it, memory given back, responses released.
package gputest
