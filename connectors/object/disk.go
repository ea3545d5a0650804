package object

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"gocloud.dev/blob"

	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/dataset"
)

const (
	// parallel is how many objects are copied, looked at or deleted at once when a result is published.
	parallel = 16
	// requestTime bounds one request with its repetitions, where no context of the caller does.
	requestTime = 10 * time.Minute
	// copyTime bounds the copy of one object; stores copy some hundred MB a second.
	copyTime = time.Hour
	// writtenKey is the metadata that keeps the time of writing through copies, as a file keeps its own through renames.
	writtenKey = "sluice-written"
)

// disk is a bucket as the file sink sees it. There are no folders to make and no names to sync; a file appears whole when it is
// synced, and a rename is a copy on the side of the store.
type disk struct {
	store *store
	name  string
	times leaseTimes
	held  atomic.Pointer[lease] // what guards changes of the result
}

var _ file.RemoteDisk = (*disk)(nil)

// disk opens the place of a result for writing.
func (s *store) disk(url string) (file.RemoteDisk, string, error) {
	place, rest := file.SplitURL(url)
	name := strings.TrimPrefix(place, s.scheme+"://")
	if name == "" {
		return nil, "", dataset.Usagef("the name of the bucket is missing (%s://bucket/path)", s.scheme)
	}
	if rest == "" {
		rest = "/"
	}
	return &disk{store: s, name: name, times: defaultTimes}, rest, nil
}

func (d *disk) bucket(ctx context.Context) (*bucket, error) { return d.store.bucket(ctx, d.name) }

// with calls f with the bucket and a bounded context.
func (d *disk) with(most time.Duration, f func(ctx context.Context, b *bucket) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), most)
	defer cancel()
	b, err := d.bucket(ctx)
	if err != nil {
		return err
	}
	return f(ctx, b)
}

// guard refuses to change a result whose lease was lost.
func (d *disk) guard() error {
	if l := d.held.Load(); l != nil {
		return l.check()
	}
	return nil
}

// URL implements file.RemoteDisk.
func (d *disk) URL(p string) string { return d.store.scheme + "://" + d.name + "/" + keyOf(p) }

// Storage implements file.RemoteDisk.
func (d *disk) Storage(root string) dataset.Storage { return &storage{d: d, root: keyOf(root)} }

// Parallel implements file.RemoteDisk.
func (d *disk) Parallel() int { return parallel }

// Mkdir implements file.Disk: folders need not be made.
func (d *disk) Mkdir(string) error { return nil }

// SyncDir implements file.Disk: names are durable when they appear.
func (d *disk) SyncDir(string) error { return nil }

// Free implements file.Disk.
func (d *disk) Free(string) int64 { return -1 }

// Rename implements file.Disk: a copy on the side of the store, then the original is deleted.
func (d *disk) Rename(from, to string) error {
	if err := d.guard(); err != nil {
		return err
	}
	return d.with(copyTime, func(ctx context.Context, b *bucket) error {
		if err := b.copy(ctx, keyOf(from), keyOf(to)); err != nil {
			return err
		}
		return b.delete(ctx, keyOf(from))
	})
}

// copy copies an object, as bytes if it is too big for the store to do it in one request.
func (b *bucket) copy(ctx context.Context, from, to string) error {
	if limit := b.store.drv.copyLimit; limit > 0 {
		a, err := b.attributes(ctx, from)
		if err != nil {
			return err
		}
		if a.Size > limit {
			return b.copyBytes(ctx, from, to, a)
		}
	}
	return b.fail("copy", from, b.Copy(ctx, to, from, nil))
}

func (b *bucket) copyBytes(ctx context.Context, from, to string, a *blob.Attributes) (err error) {
	h := newHandle(ctx, b.cfg, b.ref(from, b.store.drv.tag(a.As), a.Size, a.ModTime), &objectBody{b, from, b.store.drv.tag(a.As)}, b.store.ahead)
	defer func() { err = errors.Join(err, h.Close()) }()
	h.Sequential(0, 0)
	up, err := b.upload(to, a.Metadata)
	if err != nil {
		return err
	}
	_, err = io.Copy(up, io.NewSectionReader(h, 0, a.Size))
	if err == nil {
		err = up.Sync()
	}
	return errors.Join(err, up.Close())
}

// delete deletes an object; that there is none is no error.
func (b *bucket) delete(ctx context.Context, key string) error {
	if err := b.Delete(ctx, key); err != nil && !b.store.drv.missing(err) {
		return b.fail("delete", key, err)
	}
	return nil
}

// Link implements file.Disk: a copy under a name that must be free. The storage of results has its own, safe way.
func (d *disk) Link(from, to string) error {
	return &fs.PathError{Op: "link", Path: d.URL(to), Err: errors.Join(syscall.ENOTSUP, fmt.Errorf("object stores have no links (from %s)", d.URL(from)))}
}

// Remove implements file.Disk.
func (d *disk) Remove(p string) error {
	if err := d.guard(); err != nil {
		return err
	}
	return d.with(requestTime, func(ctx context.Context, b *bucket) error {
		key := keyOf(p)
		if key == "" {
			return &fs.PathError{Op: "delete", Path: d.URL(p), Err: fs.ErrInvalid}
		}
		if err := b.Delete(ctx, key); err != nil {
			return b.fail("delete", key, err)
		}
		return nil
	})
}

// Lstat implements file.Disk.
func (d *disk) Lstat(p string) (info fs.FileInfo, err error) {
	err = d.with(requestTime, func(ctx context.Context, b *bucket) error {
		key := keyOf(p)
		if key != "" {
			a, err := b.attributes(ctx, key)
			if err == nil {
				info = stat{path.Base(key), a.Size, written(a), false}
				return nil
			}
			if !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			key += "/"
		}
		there, err := b.exists(ctx, key)
		if err == nil && !there {
			err = &fs.PathError{Op: "look at", Path: d.URL(p), Err: fs.ErrNotExist}
		}
		info = stat{name: path.Base(p), dir: true}
		return err
	})
	return info, err
}

// written is when the bytes of an object were written.
func written(a *blob.Attributes) time.Time {
	if n, err := strconv.ParseInt(a.Metadata[writtenKey], 10, 64); err == nil {
		return time.Unix(0, n)
	}
	return a.ModTime
}

// ReadDir implements file.Disk.
func (d *disk) ReadDir(p string) (out []fs.DirEntry, err error) {
	err = d.with(requestTime, func(ctx context.Context, b *bucket) error {
		prefix := keyOf(p) + "/"
		if prefix == "/" {
			prefix = ""
		}
		it := b.List(&blob.ListOptions{Prefix: prefix, Delimiter: "/"})
		for {
			o, err := it.Next(ctx)
			if err == io.EOF {
				break
			}
			if err != nil {
				return b.fail("list", prefix, err)
			}
			if name := strings.TrimSuffix(o.Key[len(prefix):], "/"); name != "" {
				out = append(out, fs.FileInfoToDirEntry(stat{name, o.Size, o.ModTime, o.IsDir}))
			}
		}
		if len(out) > 0 || prefix == "" {
			return nil
		}
		return &fs.PathError{Op: "list", Path: d.URL(p), Err: fs.ErrNotExist}
	})
	return out, err
}

// Lock implements file.Disk. Results on object stores are locked by their storage.
func (d *disk) Lock(p string, _ []byte) (func(bool) error, []byte, error) {
	return nil, nil, &fs.PathError{Op: "lock", Path: d.URL(p), Err: syscall.ENOTSUP}
}

// stat describes an object or a prefix.
type stat struct {
	name string
	size int64
	mod  time.Time
	dir  bool
}

func (s stat) Name() string       { return s.name }
func (s stat) Size() int64        { return s.size }
func (s stat) ModTime() time.Time { return s.mod }
func (s stat) IsDir() bool        { return s.dir }
func (s stat) Sys() any           { return nil }
func (s stat) Mode() fs.FileMode {
	if s.dir {
		return fs.ModeDir | 0o755
	}
	return 0o644
}
