// Package pb is generated: Triton's superset of the open inference protocol (KServe v2), from the descriptors that Triton's own client ships.
// `make proto` makes it again. The protocol is NVIDIA's and under the licence in this folder. It is the only copy of these messages in the program: a
// second one, under whatever Go package, would have the same protobuf names and stop the program at start.
package pb
