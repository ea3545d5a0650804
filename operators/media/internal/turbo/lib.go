package turbo

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"

	"github.com/ebitengine/purego"
)

// ErrUnavailable is returned by every constructor on a machine without the library.
var ErrUnavailable = errors.New("libjpeg-turbo is not available")

// sonames are tried in order; the versioned name is the one that run-time packages
// install, the others come with development packages or macOS.
var sonames = []string{"libturbojpeg.so.0", "libturbojpeg.so", "libturbojpeg.0.dylib", "libturbojpeg.dylib"}

type symbols struct {
	initDecompress, initCompress, destroy uintptr
	header, toYUV, toPacked               uintptr
	fromYUV, fromPacked                   uintptr
	errorString, errorCode                uintptr
}

type library struct {
	name string
	sym  symbols
	err  error
}

var load = sync.OnceValue(openLibrary)

func openLibrary() *library {
	if v := os.Getenv("SLUICE_NO_TURBO"); v != "" && v != "0" {
		return &library{err: fmt.Errorf("%w: switched off by SLUICE_NO_TURBO=%s", ErrUnavailable, v)}
	}
	if runtime.GOOS != "linux" && runtime.GOOS != "darwin" {
		return &library{err: fmt.Errorf("%w: not supported on %s", ErrUnavailable, runtime.GOOS)}
	}
	var errs []error
	for _, name := range sonames {
		handle, err := purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_LOCAL)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		lib := &library{name: name}
		if err := lib.resolve(handle); err != nil {
			errs = append(errs, err)
			continue
		}
		return lib
	}
	return &library{err: fmt.Errorf("%w: %w", ErrUnavailable, errors.Join(errs...))}
}

// resolve looks up the entry points of the TurboJPEG 2.0 interface, which version 3
// of the library still exports.
func (l *library) resolve(handle uintptr) error {
	for _, s := range []struct {
		name string
		fn   *uintptr
	}{
		{"tjInitDecompress", &l.sym.initDecompress},
		{"tjInitCompress", &l.sym.initCompress},
		{"tjDestroy", &l.sym.destroy},
		{"tjDecompressHeader3", &l.sym.header},
		{"tjDecompressToYUVPlanes", &l.sym.toYUV},
		{"tjDecompress2", &l.sym.toPacked},
		{"tjCompressFromYUVPlanes", &l.sym.fromYUV},
		{"tjCompress2", &l.sym.fromPacked},
		{"tjGetErrorStr2", &l.sym.errorString},
		{"tjGetErrorCode", &l.sym.errorCode},
	} {
		fn, err := purego.Dlsym(handle, s.name)
		if err != nil {
			return fmt.Errorf("resolve %s in %s: %w", s.name, l.name, err)
		}
		*s.fn = fn
	}
	return nil
}

// Available reports whether the library was found. The first call opens it.
func Available() bool { return load().err == nil }

// Describe names the library in use, or says why there is none.
func Describe() string {
	if lib := load(); lib.err != nil {
		return lib.err.Error()
	}
	return "libjpeg-turbo (" + load().name + ")"
}
