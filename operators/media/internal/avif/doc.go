// Package avif decodes AVIF pictures and sequences where the machine has no library for it: libavif and libaom, compiled to WebAssembly.
//
// The compiled code is that of the module gen2brain/avif, whose own functions are not used: they give a picture of whatever happens to be in memory for a
// file that breaks off, hold no limits of memory or time, and take another library if they find one under a name of developers. Here each file has a sandbox of
// its own: so much linear memory as the caller reserved for it, and so much time; what breaks in it is an error of that file.
//
// Compiling takes some hundreds of milliseconds, once a process, at the first picture.
//
// The package knows nothing of rows, limits or orientation. Callers read the sizes of a file and of the streams in it first. Read decode.go first.
package avif
