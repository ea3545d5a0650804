// Package isolate runs steps in child processes: copies of this program that do nothing else. What a decoder does to its process, be it a fault, a
// hang or all the memory there is, then costs one row, whose error names the file and the signal, and the step goes on in another child.
//
// Wrap makes a Spec that runs elsewhere of one that says how it can be built there again (dataset.Isolable). Each instance of it has a child of its
// own, started when there is a block, and asks it for stretches of rows: the block crosses in shared memory, the results come back there and are
// viewed in place. The child marks each row before it works on it, in shared memory too, so that it is known which one a child died of. That row is
// tried once more, alone, before it is blamed: a child may be killed for reasons of its own. Rows whose results had come back are not computed again.
//
// The child's reservations are made here, in the budget of the run; its base size is measured when the plan is checked and reserved for each
// instance, and what it takes beyond both is charged as it grows.
//
// A program that runs isolated steps calls Serve first of all, in an init function; it does nothing unless the program was started as a child.
//
// Read spec.go for plan time, op.go and call.go for an instance, serve.go and runtime.go for the child, message.go for what they say to each other.
package isolate
