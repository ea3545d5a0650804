// Package turbo calls libjpeg-turbo when the machine has it, without cgo.
//
// The shared library is opened once, at the first call of [Available], through
// purego's dlopen, so that one binary (also one built with CGO_ENABLED=0) runs with
// and without it. Set SLUICE_NO_TURBO=1 to pretend that it is absent.
//
// The package is a thin binding: it knows planes, strides and flags, and nothing of
// rows, limits or orientation. Callers bound the size of a picture from its header
// before they call [Decoder.YUV] or [Decoder.Packed]; both write only into buffers
// whose lengths were checked against what the library will write.
//
// Memory handed to C is pinned for the length of the call. A [Decoder] or [Encoder]
// belongs to one goroutine at a time and must be closed.
//
// Read lib.go first.
package turbo
