package onnx

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// LibraryEnv is the environment variable that names the library.
const LibraryEnv = "SLUICE_ONNXRUNTIME"

// The versions of the library that the binding works with.
const (
	oldest = "1.24"
	newest = "1.32"
)

// Library finds ONNX Runtime: what SLUICE_ONNXRUNTIME names, else the newest that fits in .cache of the working folder (where make models puts
// it), in the user's cache folder, in a virtual environment that is active or in .venv, in the system's library folders, and in Python packages of the system and the user.
var Library = sync.OnceValues(func() (string, error) { return find(os.Getenv(LibraryEnv), places()) })

// places are the patterns that are looked at, in their order.
func places() []string {
	var out []string
	const file = "libonnxruntime.so*"
	python := filepath.Join("lib", "python3*", "site-packages", "onnxruntime", "capi", file)
	user, _ := os.UserCacheDir()
	home, _ := os.UserHomeDir()
	for _, cache := range []string{".cache", filepath.Join(user, "sluice")} {
		out = append(out, filepath.Join(cache, "onnxruntime", file), filepath.Join(cache, "models", "venv", python))
	}
	for _, env := range []string{os.Getenv("VIRTUAL_ENV"), ".venv"} {
		if env != "" {
			out = append(out, filepath.Join(env, python))
		}
	}
	for _, dir := range filepath.SplitList(os.Getenv("LD_LIBRARY_PATH")) {
		out = append(out, filepath.Join(dir, file))
	}
	for _, dir := range []string{"/usr/local/lib", "/usr/lib", "/usr/lib64", "/usr/lib/*-linux-gnu", "/opt/onnxruntime/lib", "/opt/homebrew/lib"} {
		out = append(out, filepath.Join(dir, file))
	}
	for _, prefix := range []string{"/usr/local", "/usr", filepath.Join(home, ".local")} {
		out = append(out, filepath.Join(prefix, python), filepath.Join(prefix, "lib", "python3*", "dist-packages", "onnxruntime", "capi", file))
	}
	return out
}

// find returns the library by its name, or the newest that fits of the first place that has one.
func find(named string, places []string) (string, error) {
	if named != "" {
		if _, err := os.Stat(named); err != nil {
			return "", fmt.Errorf("%s: %w", LibraryEnv, err)
		}
		return named, nil
	}
	var unfit []string
	for _, p := range places {
		files, err := filepath.Glob(p)
		if err != nil {
			continue
		}
		var fit []string
		for _, f := range files {
			if v := versionOf(f); v == nil || compare(v, parseVersion(oldest)) >= 0 && compare(v, parseVersion(newest)) <= 0 {
				fit = append(fit, f)
			} else {
				unfit = append(unfit, f)
			}
		}
		if len(fit) > 0 {
			return slices.MaxFunc(fit, func(a, b string) int { return compare(versionOf(a), versionOf(b)) }), nil
		}
	}
	if len(unfit) > 0 {
		return "", fmt.Errorf("ONNX Runtime %s to %s is needed, and there is only %s: pip install onnxruntime==1.24.4, or name a library in %s",
			oldest, newest, strings.Join(unfit, ", "), LibraryEnv)
	}
	return "", fmt.Errorf("there is no ONNX Runtime (libonnxruntime.so): make models fetches it, or pip install onnxruntime==1.24.4, or name a library in %s", LibraryEnv)
}

// versionOf reads the version behind .so; nil if there is none, as in plain names that system packages link.
func versionOf(file string) []int {
	_, v, ok := strings.Cut(filepath.Base(file), ".so.")
	if !ok || !strings.Contains(v, ".") {
		return nil
	}
	return parseVersion(v)
}

func parseVersion(s string) []int {
	var out []int
	for p := range strings.SplitSeq(s, ".") {
		n, err := strconv.Atoi(p)
		if err != nil {
			break
		}
		out = append(out, n)
	}
	return out
}

// compare compares the first two numbers, which decide what the binding works with, and then the rest where both have it.
func compare(a, b []int) int {
	return slices.Compare(a[:min(len(a), max(2, len(b)))], b)
}
