package onnx

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/sluice-data/sluice/gpu"
)

// Scheme begins the addresses of this engine.
const Scheme = "onnx"

// Model is the address of a model file, or the name of a model that a card knows: Model("resnet18.onnx"), Model("minilm").
func Model(fileOrName string) string { return Scheme + ":" + fileOrName }

// Open is the gpu.Opener of this engine. It says at once what would keep a model from running: how the program was built, the library, the file.
func Open(address string, opts gpu.Options) (gpu.Model, error) {
	path, ok := strings.CutPrefix(address, Scheme+":")
	if !ok || path == "" {
		return nil, fmt.Errorf("%q is no address of an ONNX model; write onnx:FILE", address)
	}
	if err := Available(); err != nil {
		return nil, err
	}
	st, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("there is no file %s", path)
	}
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no file", path)
	}
	return open(path, st, opts), nil
}

// Available says what keeps ONNX models from running in this program, or nil.
func Available() error {
	if err := built(); err != nil {
		return err
	}
	_, err := Library()
	return err
}
