package file

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/sluice-data/sluice/dataset"
)

// Scheme is a kind of place other than this machine, chosen by the scheme of a URL.
type Scheme struct {
	// FS reads. The paths that it takes and gives are whole URLs.
	FS FS
	// Disk opens the place of a result for writing, and gives the path of the result in it. Nil: the scheme cannot be written.
	// Opening connects to nothing.
	Disk func(url string) (RemoteDisk, string, error)
	// Plain is set where a path has no folders and no wildcards: every character of it stands for itself.
	Plain bool
}

// RemoteDisk is a Disk on another machine: folders need not be made, and what an operation costs is mostly waiting.
type RemoteDisk interface {
	Disk
	// URL is a path as a person writes it.
	URL(path string) string
	// Storage keeps small objects below a folder.
	Storage(root string) dataset.Storage
	// Parallel is how many operations on different paths are worth having under way at once.
	Parallel() int
}

var schemes struct {
	sync.RWMutex
	named map[string]Scheme
}

// RegisterScheme makes URLs of a scheme ("s3") readable, and writable, by every connector that reads and writes files. Registering a
// name again replaces it.
func RegisterScheme(name string, s Scheme) {
	schemes.Lock()
	defer schemes.Unlock()
	if schemes.named == nil {
		schemes.named = map[string]Scheme{}
	}
	schemes.named[name] = s
}

// SplitURL divides a URL into what names the place ("s3://bucket") and the path in it. Of any other path the place is "".
func SplitURL(p string) (place, rest string) {
	i := strings.Index(p, "://")
	if i <= 0 {
		return "", p
	}
	for _, c := range []byte(p[:i]) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return "", p
		}
	}
	if j := strings.IndexByte(p[i+3:], '/'); j >= 0 {
		return p[:i+3+j], p[i+3+j:]
	}
	return p, ""
}

// IsURL tells whether a path names a place other than this machine.
func IsURL(p string) bool {
	place, _ := SplitURL(p)
	return place != ""
}

// isPlain tells whether every character of a path stands for itself.
func isPlain(p string) bool {
	return strings.HasPrefix(p, "http://") || strings.HasPrefix(p, "https://")
}

// schemeOf finds the scheme of a URL.
func schemeOf(url string) (Scheme, error) {
	name, _, _ := strings.Cut(url, "://")
	schemes.RLock()
	defer schemes.RUnlock()
	s, ok := schemes.named[name]
	if !ok {
		known := slices.Sorted(maps.Keys(schemes.named))
		return s, dataset.Usagef("open %s: nothing reads the scheme %s://%s", url, name, dataset.DidYouMean(name, known))
	}
	return s, nil
}

// everywhere reads this machine and every registered scheme.
type everywhere struct{ local FS }

var _ FS = everywhere{}

// placeOf is the file system that reads all of the patterns.
func placeOf(local FS, patterns []dataset.Pattern) FS {
	if _, ok := local.(Local); !ok {
		return local
	}
	for _, p := range patterns {
		if IsURL(p.Text) {
			return everywhere{local}
		}
	}
	return local
}

func (e everywhere) at(path string) (FS, error) {
	if !IsURL(path) {
		return e.local, nil
	}
	s, err := schemeOf(path)
	return s.FS, err
}

// Stat implements FS.
func (e everywhere) Stat(ctx context.Context, path string) (Info, error) {
	fs, err := e.at(path)
	if err != nil {
		return Info{}, err
	}
	return fs.Stat(ctx, path)
}

// List implements FS.
func (e everywhere) List(ctx context.Context, m *Matcher, after string) iter.Seq2[dataset.FileRef, error] {
	fs, err := e.at(m.Root())
	if err != nil {
		return func(yield func(dataset.FileRef, error) bool) { yield(dataset.FileRef{}, err) }
	}
	return fs.List(ctx, m, after)
}

// Open implements FS.
func (e everywhere) Open(ctx context.Context, ref dataset.FileRef) (Handle, error) {
	fs, err := e.at(ref.Path)
	if err != nil {
		return nil, err
	}
	return fs.Open(ctx, ref)
}

// openRemote makes the sink for a URL.
func openRemote(url string, format dataset.Format, layout Layout) (*Sink, error) {
	s, err := schemeOf(url)
	if err != nil {
		return nil, err
	}
	if s.Disk == nil {
		name, _, _ := strings.Cut(url, "://")
		return nil, dataset.Usagef("open sink %s: %s:// is read, not written", url, name)
	}
	disk, path, err := s.Disk(url)
	if err != nil {
		return nil, fmt.Errorf("open sink %s: %w", url, err)
	}
	return newSink(disk, path, url, format, layout)
}
