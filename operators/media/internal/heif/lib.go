package heif

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"
)

// ErrUnavailable is returned on a machine without the library.
var ErrUnavailable = errors.New("libheif is not available")

// Codec is what a picture is compressed with, numbered as heif_compression_format in heif.h.
type Codec int

// The codecs that are asked for.
const (
	HEVC Codec = 1
	AV1  Codec = 4
)

// sonames are tried in order; the versioned name is the one that run-time packages install.
var sonames = []string{"libheif.so.1", "libheif.so", "libheif.1.dylib", "libheif.dylib"}

// status is struct heif_error.
type status struct {
	Code, Subcode uint32
	Message       unsafe.Pointer
}

// library is the opened library. Functions that return a status are bound with their types, since the status comes back in two registers; the
// others are plain addresses.
type library struct {
	name, version string
	codecs        map[Codec]bool
	err           error

	read    func(ctx, data uintptr, size uintptr, options uintptr) status
	primary func(ctx, handle uintptr) status
	decode  func(handle, image uintptr, space, chroma int32, options uintptr) status

	sym struct {
		alloc, free, threads, limit, releaseHandle, releaseImage uintptr
		options, freeOptions                                     uintptr
		plane, width, height, depth                              uintptr
	}
}

var load = sync.OnceValue(openLibrary)

func openLibrary() (lib *library) {
	if v := os.Getenv("SLUICE_NO_HEIF"); v != "" && v != "0" {
		return &library{err: fmt.Errorf("%w: switched off by SLUICE_NO_HEIF=%s", ErrUnavailable, v)}
	}
	if runtime.GOOS != "linux" && runtime.GOOS != "darwin" || runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		return &library{err: fmt.Errorf("%w: not supported on %s/%s", ErrUnavailable, runtime.GOOS, runtime.GOARCH)}
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

// resolve looks up the entry points, all of which are in version 1.13 and later.
func (l *library) resolve(handle uintptr) error {
	var version, have, begin uintptr
	var read, primary, decode uintptr
	for _, s := range []struct {
		name string
		fn   *uintptr
	}{
		{"heif_get_version", &version},
		{"heif_init", &begin},
		{"heif_have_decoder_for_format", &have},
		{"heif_context_alloc", &l.sym.alloc},
		{"heif_context_free", &l.sym.free},
		{"heif_context_set_max_decoding_threads", &l.sym.threads},
		{"heif_context_set_maximum_image_size_limit", &l.sym.limit},
		{"heif_context_read_from_memory_without_copy", &read},
		{"heif_context_get_primary_image_handle", &primary},
		{"heif_image_handle_release", &l.sym.releaseHandle},
		{"heif_decoding_options_alloc", &l.sym.options},
		{"heif_decoding_options_free", &l.sym.freeOptions},
		{"heif_decode_image", &decode},
		{"heif_image_release", &l.sym.releaseImage},
		{"heif_image_get_plane_readonly", &l.sym.plane},
		{"heif_image_get_width", &l.sym.width},
		{"heif_image_get_height", &l.sym.height},
		{"heif_image_get_bits_per_pixel_range", &l.sym.depth},
	} {
		fn, err := purego.Dlsym(handle, s.name)
		if err != nil {
			return fmt.Errorf("resolve %s in %s: %w", s.name, l.name, err)
		}
		*s.fn = fn
	}
	purego.RegisterFunc(&l.read, read)
	purego.RegisterFunc(&l.primary, primary)
	purego.RegisterFunc(&l.decode, decode)
	var initialise func(params uintptr) status
	purego.RegisterFunc(&initialise, begin)
	if s := initialise(0); s.Code != 0 {
		return fmt.Errorf("start %s: %w", l.name, s.err())
	}
	v, _, _ := purego.SyscallN(version)
	l.version = text(*(*unsafe.Pointer)(unsafe.Pointer(&v)))
	l.codecs = map[Codec]bool{}
	for _, c := range []Codec{HEVC, AV1} {
		yes, _, _ := purego.SyscallN(have, uintptr(c))
		l.codecs[c] = int32(yes) != 0
	}
	return nil
}

// Has reports whether the library was found and decodes a codec. The first call opens it.
func Has(c Codec) bool { return load().codecs[c] }

// Describe names the library in use and its codecs, or says why there is none.
func Describe() string {
	lib := load()
	if lib.err != nil {
		return lib.err.Error()
	}
	var can []string
	for _, c := range []struct {
		codec Codec
		name  string
	}{{HEVC, "HEVC"}, {AV1, "AV1"}} {
		if lib.codecs[c.codec] {
			can = append(can, c.name)
		}
	}
	if len(can) == 0 {
		can = []string{"no decoder"}
	}
	return fmt.Sprintf("libheif %s (%s; %s)", lib.version, lib.name, strings.Join(can, ", "))
}

// Available reports whether the library was found, whatever it decodes.
func Available() bool { return load().err == nil }

// text copies a string out of C memory.
func text(p unsafe.Pointer) string {
	const limit = 400
	if p == nil {
		return ""
	}
	n := 0
	for n < limit && *(*byte)(unsafe.Add(p, n)) != 0 {
		n++
	}
	return strings.Clone(unsafe.String((*byte)(p), n))
}
