//go:build !onnx || !cgo

package onnx

import (
	"errors"
	"os"

	"github.com/sluice-data/sluice/gpu"
)

// built says that this program cannot.
func built() error {
	return errors.New("this program was built without ONNX models: build it with CGO_ENABLED=1 go build -tags onnx ./cmd/sluice " +
		"(make build does so where there is a C compiler)")
}

// open is not reached: built fails first.
func open(string, os.FileInfo, gpu.Options) gpu.Model { return nil }

// loadedVersion is not reached either.
func loadedVersion() (string, error) { return "", built() }
