// Package heif calls libheif when the machine has it, without cgo: the decoder of HEIC pictures, and the faster one of AVIF pictures.
//
// The shared library is opened once, at the first call, through purego's dlopen, so that one binary (also one built with CGO_ENABLED=0) runs with and
// without it. Which codecs it has depends on how it was built and on its plugins; [Has] asks. Set SLUICE_NO_HEIF=1 to pretend that it is absent.
//
// The package is a thin binding: it knows nothing of rows, limits or orientation. Callers read the sizes of a file and of the streams in it before they call
// [Decode]: the library allocates by them.
//
// Read lib.go first.
package heif
