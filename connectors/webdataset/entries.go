package webdataset

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
)

// entries walks the entries of an archive. What was not read of one is passed over, by seeking where that is possible.
type entries struct {
	tar *tar.Reader
	n   uint64
}

func newEntries(r io.Reader) *entries { return &entries{tar: tar.NewReader(r)} }

// member is one entry.
type member struct {
	at   uint64 // its ordinal
	name string
	key  string
	ext  string
	size int64
	skip bool  // a folder, a link, a name without extension
	bad  error // what is wrong with the name
}

// next goes to the next entry.
func (e *entries) next() (member, error) {
	h, err := e.tar.Next()
	if err == io.EOF {
		return member{}, io.EOF
	}
	if err != nil {
		return member{}, fmt.Errorf("tar entry %d: %s: %w", e.n, e.fault(err), err)
	}
	m := member{at: e.n, name: h.Name, size: h.Size}
	e.n++
	m.key, m.ext = split(h.Name)
	m.skip = h.Typeflag != tar.TypeReg && h.Typeflag != tar.TypeGNUSparse || m.ext == "" || strings.HasPrefix(h.Name, "__") && strings.HasSuffix(h.Name, "__")
	if !m.skip && escapes(m.key) {
		m.bad = &sampleError{"name leaves the archive", fmt.Errorf("member %q: the name is absolute or leaves the archive; rename it when writing the shard", h.Name)}
	}
	return m, nil
}

// fault says what an error of the archive means.
func (e *entries) fault(err error) string {
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF) && e.n > 0:
		return "the archive is cut off; write or copy it again"
	case errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, tar.ErrHeader) && e.n == 0:
		return "this is no tar archive"
	case errors.Is(err, tar.ErrHeader):
		return "its header is damaged, so that what follows cannot be found"
	}
	return "it cannot be read"
}

// split divides a name at the first dot of its last part, as WebDataset does; extensions are lower case.
func split(name string) (key, ext string) {
	name = strings.TrimPrefix(name, "./")
	slash := strings.LastIndexByte(name, '/') + 1
	dot := strings.IndexByte(name[slash:], '.')
	if dot <= 0 {
		return name, ""
	}
	return name[:slash+dot], strings.ToLower(name[slash+dot+1:])
}

// escapes reports whether a key as a path would lie outside the folder it is put in.
func escapes(key string) bool {
	clean := path.Clean(strings.ReplaceAll(key, `\`, "/"))
	return path.IsAbs(clean) || clean == ".." || strings.HasPrefix(clean, "../") || strings.ContainsRune(key, 0)
}

// sampleError is a failed sample with the class that it is counted under.
type sampleError struct {
	class string
	err   error
}

func (e *sampleError) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *sampleError) Unwrap() error { return e.err }

// Class implements dataset.Classed.
func (e *sampleError) Class() string { return e.class }
