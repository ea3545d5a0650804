package object

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"strings"
	"time"

	"gocloud.dev/blob"

	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/dataset"
)

// storeFS reads the buckets of one cloud. Paths are whole URLs.
type storeFS struct{ store *store }

var (
	_ file.FS   = storeFS{}
	_ file.Keys = storeFS{}
)

// at opens the bucket that a URL names.
func (f storeFS) at(ctx context.Context, url string) (*bucket, string, error) {
	place, rest := file.SplitURL(url)
	name, ours := strings.CutPrefix(place, f.store.scheme+"://")
	if !ours {
		return nil, "", fmt.Errorf("open %s: it is not of %s://", url, f.store.scheme)
	}
	b, err := f.store.bucket(ctx, name)
	return b, strings.TrimPrefix(rest, "/"), err
}

// ref pins an object. The time that a store lists differs from the one it tells of a single object, so the version alone pins it,
// unless there is none.
func (b *bucket) ref(key, tag string, size int64, mod time.Time) dataset.FileRef {
	out := dataset.FileRef{Path: b.url(key), Size: size, ETag: tag}
	if tag == "" {
		out.ModTime = mod.UTC().Truncate(time.Second)
	}
	return out
}

// Stat implements file.FS.
func (f storeFS) Stat(ctx context.Context, url string) (file.Info, error) {
	b, key, err := f.at(ctx, url)
	if err != nil {
		return file.Info{}, err
	}
	dir := strings.TrimSuffix(key, "/")
	if key == dir && key != "" {
		a, err := b.attributes(ctx, key)
		if err == nil {
			return file.Info{FileRef: b.ref(key, b.store.drv.tag(a.As), a.Size, a.ModTime)}, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return file.Info{}, err
		}
	}
	prefix := dir + "/"
	if dir == "" {
		prefix = ""
	}
	there, err := b.exists(ctx, prefix)
	if err != nil {
		return file.Info{}, err
	}
	if !there && dir != "" {
		return file.Info{}, &fs.PathError{Op: "look at", Path: url, Err: fs.ErrNotExist}
	}
	return file.Info{FileRef: dataset.FileRef{Path: url}, Dir: true}, nil
}

// List implements file.FS.
func (f storeFS) List(ctx context.Context, m *file.Matcher, after string) iter.Seq2[dataset.FileRef, error] {
	return file.ListKeys(ctx, f, m, after)
}

// Keys implements file.Keys.
func (f storeFS) Keys(ctx context.Context, prefix, after string, folders bool) iter.Seq2[dataset.FileRef, error] {
	return func(yield func(dataset.FileRef, error) bool) {
		b, key, err := f.at(ctx, prefix)
		if err != nil {
			yield(dataset.FileRef{}, err)
			return
		}
		behind := strings.TrimPrefix(after, b.url(""))
		opt := &blob.ListOptions{Prefix: key}
		if folders {
			opt.Delimiter = "/"
		}
		if listed := f.store.drv.listed; listed != nil {
			from := behind
			opt.BeforeList = func(as func(any) bool) error {
				defer func() { from = "" }() // later pages go on by their token
				return listed(as, from)
			}
		}
		it := b.List(opt)
		for {
			o, err := it.Next(ctx)
			if err == io.EOF {
				return
			}
			if err != nil {
				if ctx.Err() != nil {
					err = context.Cause(ctx)
				} else {
					err = b.fail("list", key, err)
				}
				yield(dataset.FileRef{}, err)
				return
			}
			if o.Key <= behind && behind != "" {
				continue
			}
			if !yield(b.ref(o.Key, f.store.drv.tag(o.As), o.Size, o.ModTime), nil) {
				return
			}
		}
	}
}

// Open implements file.FS. It asks nothing of the store yet, but for a small file of a reading.
func (f storeFS) Open(ctx context.Context, ref dataset.FileRef) (file.Handle, error) {
	h, err := f.handle(ctx, ref)
	if err != nil {
		return nil, err
	}
	if w := whole(h, f.store, f.handle); w != nil {
		return w, h.Close()
	}
	return h, nil
}

func (f storeFS) handle(ctx context.Context, ref dataset.FileRef) (*handle, error) {
	b, key, err := f.at(ctx, ref.Path)
	if err != nil {
		return nil, err
	}
	return newHandle(ctx, b.cfg, ref, &objectBody{b, key, ref.ETag}, b.store.ahead), nil
}

// objectBody reads one version of one object.
type objectBody struct {
	b   *bucket
	key string
	tag string
}

var (
	_ remote = (*objectBody)(nil)
	_ looker = (*objectBody)(nil)
)

func (o *objectBody) body(ctx context.Context, off, n int64) (io.ReadCloser, error) {
	ctx = context.WithValue(ctx, readingKey{}, true)
	if reading := o.b.store.drv.reading; reading != nil {
		ctx = reading(ctx)
	}
	return o.b.NewRangeReader(ctx, o.key, off, n, &blob.ReaderOptions{
		BeforeRead: func(as func(any) bool) error { return o.b.store.drv.pinned(as, o.tag) },
	})
}

func (o *objectBody) judge(err error) (int, time.Duration, bool) {
	code, pause := o.b.store.drv.status(err)
	drv := o.b.store.drv
	return code, pause, code == 416 || drv.taken(err) || drv.missing(err) && !errors.Is(err, context.Canceled)
}

func (o *objectBody) now(ctx context.Context) (tag string, there bool) {
	a, err := o.b.attributes(ctx, o.key)
	if errors.Is(err, fs.ErrNotExist) {
		return "", false
	}
	if err != nil {
		return "another", true
	}
	return o.b.store.drv.tag(a.As), true
}

func (o *objectBody) explain(off int64, err error) error {
	return o.b.fail(fmt.Sprintf("read from byte %d of", off), o.key, err)
}
