//go:build onnx && cgo && !linux

package onnx

// allocated is not known here.
func allocated() (n int64, ok bool) { return 0, false }
