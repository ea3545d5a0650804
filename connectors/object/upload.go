package object

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"syscall"
	"time"

	"gocloud.dev/blob"

	"github.com/sluice-data/sluice/connectors/file"
)

// Create implements file.Disk. The object appears, whole and durable, with Sync; closing without it leaves nothing.
func (d *disk) Create(p string) (f file.DiskFile, err error) {
	err = d.with(requestTime, func(_ context.Context, b *bucket) error {
		f, err = b.upload(keyOf(p), map[string]string{writtenKey: strconv.FormatInt(time.Now().UnixNano(), 10)})
		return err
	})
	return f, err
}

// upload begins to write an object.
func (b *bucket) upload(key string, meta map[string]string) (*upload, error) {
	ctx, cancel := context.WithCancel(context.Background())
	w, err := b.NewWriter(ctx, key, &blob.WriterOptions{
		BufferSize: int(b.cfg.UploadPart), MaxConcurrency: b.cfg.UploadMany, Metadata: meta,
		ContentType: "application/octet-stream", DisableContentTypeDetection: true,
	})
	if err != nil {
		cancel()
		return nil, b.fail("write", key, err)
	}
	return &upload{b: b, key: key, w: w, cancel: cancel}, nil
}

// upload is an object that is being written. It is used by one goroutine.
type upload struct {
	b      *bucket
	key    string
	w      *blob.Writer
	cancel context.CancelFunc
	size   int64
	done   bool
	err    error
}

var _ file.DiskFile = (*upload)(nil)

var errComplete = errors.New("the object is complete")

// Write implements io.Writer.
func (u *upload) Write(p []byte) (int, error) {
	if u.done && u.err == nil {
		return 0, u.b.fail("write", u.key, errComplete)
	}
	if u.err != nil {
		return 0, u.err
	}
	n, err := u.w.Write(p)
	u.size += int64(n)
	if err != nil {
		u.err = u.b.fail("write", u.key, err)
	}
	return n, u.err
}

// Sync implements file.DiskFile: it completes the object.
func (u *upload) Sync() error {
	if u.done || u.err != nil {
		return u.err
	}
	u.done = true
	u.err = u.b.fail("write", u.key, u.w.Close())
	u.cancel()
	return u.err
}

// Size implements file.DiskFile.
func (u *upload) Size() (int64, error) { return u.size, nil }

// ReadAt implements file.DiskFile.
func (u *upload) ReadAt([]byte, int64) (int, error) {
	return 0, fmt.Errorf("read %s: it is being written", u.b.url(u.key))
}

// Close implements file.DiskFile. An object that was not synced is given up.
func (u *upload) Close() error {
	if u.done {
		return nil
	}
	u.done = true
	u.cancel()
	_ = u.w.Close() // it fails, as it was cancelled
	return nil
}

// Append implements file.Disk: only an empty object can be made this way.
func (d *disk) Append(p string) (file.DiskFile, error) {
	if err := d.guard(); err != nil {
		return nil, err
	}
	err := d.with(requestTime, func(ctx context.Context, b *bucket) error {
		if _, err := b.attributes(ctx, keyOf(p)); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return b.fail("write", keyOf(p), b.WriteAll(ctx, keyOf(p), nil, nil))
	})
	if err != nil {
		return nil, err
	}
	return emptyFile(d.URL(p)), nil
}

// emptyFile is an object that exists and cannot be added to.
type emptyFile string

func (f emptyFile) Write([]byte) (int, error) {
	return 0, &fs.PathError{Op: "append to", Path: string(f), Err: syscall.ENOTSUP}
}
func (f emptyFile) ReadAt([]byte, int64) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: string(f), Err: syscall.ENOTSUP}
}
func (f emptyFile) Sync() error          { return nil }
func (f emptyFile) Size() (int64, error) { return 0, nil }
func (f emptyFile) Close() error         { return nil }

// Open implements file.Disk.
func (d *disk) Open(p string) (f file.DiskFile, err error) {
	err = d.with(requestTime, func(ctx context.Context, b *bucket) error {
		key := keyOf(p)
		a, err := b.attributes(ctx, key)
		if err != nil {
			return err
		}
		tag := b.store.drv.tag(a.As)
		f = readFile{newHandle(context.Background(), b.cfg, b.ref(key, tag, a.Size, a.ModTime), &objectBody{b, key, tag}, b.store.ahead)}
		return nil
	})
	return f, err
}

// readFile is an object that is read.
type readFile struct{ *handle }

func (f readFile) Write([]byte) (int, error) {
	return 0, &fs.PathError{Op: "write", Path: f.ref.Path, Err: fs.ErrPermission}
}
func (f readFile) Sync() error          { return nil }
func (f readFile) Size() (int64, error) { return f.ref.Size, nil }
