package object

import (
	"context"
	"iter"

	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/dataset"
)

// clouds are the schemes that a build tag of the same name brings in.
var clouds = []string{"gs", "az"}

// absentFS is a cloud that this program was built without.
type absentFS struct{ scheme string }

var _ file.FS = absentFS{}

func (f absentFS) err(url string) error {
	return dataset.Usagef("open %s: this program was built without %s://, whose client is big; build it with make build CLOUDS=%s, or go build -tags %s", url, f.scheme, f.scheme, f.scheme)
}

// Stat implements file.FS.
func (f absentFS) Stat(_ context.Context, url string) (file.Info, error) {
	return file.Info{}, f.err(url)
}

// List implements file.FS.
func (f absentFS) List(_ context.Context, m *file.Matcher, _ string) iter.Seq2[dataset.FileRef, error] {
	return func(yield func(dataset.FileRef, error) bool) { yield(dataset.FileRef{}, f.err(m.Root())) }
}

// Open implements file.FS.
func (f absentFS) Open(_ context.Context, ref dataset.FileRef) (file.Handle, error) {
	return nil, f.err(ref.Path)
}

func (f absentFS) disk(url string) (file.RemoteDisk, string, error) { return nil, "", f.err(url) }
