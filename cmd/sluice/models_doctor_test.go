//go:build onnx && models

package main

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestDoctorFindsONNXRuntime has doctor find the library that make models fetched, by its version and place, and say what is wrong with one that is not there.
func TestDoctorFindsONNXRuntime(t *testing.T) {
	lib := os.Getenv("SLUICE_ONNXRUNTIME")
	if lib == "" {
		t.Fatal("make models sets SLUICE_ONNXRUNTIME")
	}
	out, errs, code := run(t, t.TempDir(), "", "doctor")
	line := regexp.MustCompile(`(?m)^.*ONNX Runtime.*$`)
	if want := regexp.MustCompile(`^ *ok +ONNX Runtime +1\.\d+\.\d+, ` + regexp.QuoteMeta(lib) + `; for models in this process \(onnx:\)$`); code != 0 || !want.MatchString(line.FindString(out)) {
		t.Errorf("exit code %d, %s\n%s", code, errs, out)
	}
	t.Setenv("SLUICE_ONNXRUNTIME", "/nowhere/libonnxruntime.so")
	out, errs, code = run(t, t.TempDir(), "", "doctor")
	if l := line.FindString(out); code != 0 || !strings.HasPrefix(strings.TrimSpace(l), "missing  ONNX Runtime") || !strings.Contains(l, "/nowhere/libonnxruntime.so") {
		t.Errorf("exit code %d, %s\n%s", code, errs, out)
	}
}
