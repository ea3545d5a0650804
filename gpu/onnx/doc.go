// Package onnx runs ONNX models in this process, on ONNX Runtime. The library is found when the first model is opened, never linked; the code
// that calls it needs cgo and the build tag onnx. A program built without either refuses addresses of this engine and says how to build one that takes them.
//
// Sessions of one file and thread count are shared by all who open it. Runs are concurrent, each on Options.Threads threads, and end when
// their context does. On machines with a CUDA provider beside the library, and a device, models run there; why not is in Info.Notes.
//
// Read open.go first, then session.go.
package onnx
