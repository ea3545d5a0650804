package object

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"
	"golang.org/x/sync/errgroup"

	"github.com/sluice-data/sluice/dataset"
)

const (
	// pieceMark stands between the name of a log and the number of one of the objects that it is made of.
	pieceMark = ".seg-"
	// leaseFolder ends the name of the folder of a lock's lease objects.
	leaseFolder = ".lease"
)

// storage is dataset.Storage below a prefix of a bucket. Logs are numbered objects, which List shows as one name and Read joins.
type storage struct {
	d    *disk
	root string
}

var _ dataset.Storage = (*storage)(nil)

// key is the key of a name.
func (s *storage) key(name string) (string, error) {
	if !fs.ValidPath(name) || name == "." {
		return "", fmt.Errorf("storage %s: invalid name %q", s.d.URL(s.root), name)
	}
	return path.Join(s.root, name), nil
}

// open returns the bucket and the key of a name.
func (s *storage) open(ctx context.Context, name string) (*bucket, string, error) {
	key, err := s.key(name)
	if err != nil {
		return nil, "", err
	}
	b, err := s.d.bucket(ctx)
	return b, key, err
}

// readAll reads one small object. It may be replaced meanwhile; what comes is one version of it.
func (b *bucket) readAll(ctx context.Context, key string) ([]byte, error) {
	pace := newPatience(b.cfg.Patience)
	for {
		data, err := b.ReadAll(ctx, key)
		if err == nil {
			return data, nil
		}
		code, pause := b.store.drv.status(err)
		if b.store.drv.missing(err) || !transient(err, code) {
			return nil, b.fail("read", key, err)
		}
		if werr := pace.wait(ctx, err, pause); werr != nil {
			return nil, b.fail("read", key, werr)
		}
	}
}

// Read implements dataset.Storage.
func (s *storage) Read(ctx context.Context, name string) ([]byte, error) {
	b, key, err := s.open(ctx, name)
	if err != nil {
		return nil, err
	}
	data, err := b.readAll(ctx, key)
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return data, err
	}
	pieces, perr := b.pieces(ctx, key)
	if perr != nil {
		return nil, perr
	}
	if len(pieces) == 0 {
		return nil, err
	}
	return b.join(ctx, key, pieces)
}

// pieces lists the objects that a log is made of.
func (b *bucket) pieces(ctx context.Context, key string) ([]string, error) {
	var out []string
	err := b.each(ctx, key+pieceMark, func(k string) { out = append(out, k) })
	return out, err
}

// each calls f with the keys below a prefix, in order.
func (b *bucket) each(ctx context.Context, prefix string, f func(key string)) error {
	it := b.List(&blob.ListOptions{Prefix: prefix})
	for {
		o, err := it.Next(ctx)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return b.fail("list", prefix, err)
		}
		f(o.Key)
	}
}

// join reads the pieces of a log, several at a time. Pieces are made one after the other and deleted from the end, so none is missing
// in the middle unless somebody else took it away.
func (b *bucket) join(ctx context.Context, key string, pieces []string) ([]byte, error) {
	data := make([][]byte, len(pieces))
	eg, ctx := errgroup.WithContext(ctx)
	eg.SetLimit(parallel)
	for i, p := range pieces {
		if p != pieceKey(key, i+1) {
			return nil, fmt.Errorf("read %s: there is %s where piece %d should be: a piece is missing", b.url(key), b.url(p), i+1)
		}
		eg.Go(func() (err error) {
			data[i], err = b.readAll(ctx, p)
			return err
		})
	}
	if err := eg.Wait(); err != nil {
		return nil, err
	}
	return bytes.Join(data, nil), nil
}

func pieceKey(key string, n int) string { return fmt.Sprintf("%s%s%08d", key, pieceMark, n) }

// Create implements dataset.Storage. An answer that was lost on the way may hide that the object was made: what is there is compared.
func (s *storage) Create(ctx context.Context, name string, data []byte) error {
	b, key, err := s.open(ctx, name)
	if err != nil {
		return err
	}
	if err := s.d.guard(); err != nil {
		return err
	}
	return b.create(ctx, key, data)
}

func (b *bucket) create(ctx context.Context, key string, data []byte) error {
	err := b.put(ctx, key, data, true)
	if !b.store.drv.taken(err) {
		return b.fail("create", key, err)
	}
	there, rerr := b.readAll(ctx, key)
	switch {
	case errors.Is(rerr, fs.ErrNotExist):
		return b.fail("create", key, errors.Join(err, fs.ErrExist)) // somebody made it and took it away
	case rerr != nil:
		return rerr
	case bytes.Equal(there, data):
		return nil
	}
	return &fs.PathError{Op: "create", Path: b.url(key), Err: fs.ErrExist}
}

// put writes an object in one request.
func (b *bucket) put(ctx context.Context, key string, data []byte, ifAbsent bool) error {
	return b.WriteAll(ctx, key, data, &blob.WriterOptions{
		IfNotExist: ifAbsent, BufferSize: max(len(data)+1, 5<<20), ContentType: "application/octet-stream", DisableContentTypeDetection: true,
	})
}

// Replace implements dataset.Storage.
func (s *storage) Replace(ctx context.Context, name string, data []byte) error {
	b, key, err := s.open(ctx, name)
	if err != nil {
		return err
	}
	if err := s.d.guard(); err != nil {
		return err
	}
	return b.fail("write", key, b.put(ctx, key, data, false))
}

// List implements dataset.Storage. The pieces of a log are one name; lease objects are left out.
func (s *storage) List(ctx context.Context, prefix string) ([]string, error) {
	b, err := s.d.bucket(ctx)
	if err != nil {
		return nil, err
	}
	below := path.Join(s.root, prefix) + "/"
	if below == "/" {
		below = ""
	}
	base := s.root + "/"
	if s.root == "" {
		base = ""
	}
	var out []string
	err = b.each(ctx, below, func(key string) {
		name := strings.TrimPrefix(key, base)
		if log, n, ok := strings.Cut(name, pieceMark); ok && isNumber(n) {
			name = log
		}
		if name != "" && !strings.HasSuffix(name, "/") && !strings.HasSuffix(path.Dir(name), leaseFolder) {
			out = append(out, name)
		}
	})
	if err != nil && gcerrors.Code(err) == gcerrors.NotFound && !b.store.drv.noBucket(err) {
		err = nil
	}
	slices.Sort(out)
	return slices.Compact(out), err
}

func isNumber(s string) bool {
	_, err := strconv.ParseUint(s, 10, 64)
	return err == nil
}

// Remove implements dataset.Storage. A log goes piece by piece from its end.
func (s *storage) Remove(ctx context.Context, name string) error {
	b, key, err := s.open(ctx, name)
	if err != nil {
		return err
	}
	if err := s.d.guard(); err != nil {
		return err
	}
	pieces, err := b.pieces(ctx, key)
	if err != nil {
		return err
	}
	for _, p := range slices.Backward(pieces) {
		if err := b.delete(ctx, p); err != nil {
			return err
		}
	}
	return b.delete(ctx, key)
}

// logBytes is how much a log gathers before it makes an object without being asked to.
const logBytes = 8 << 20

// objectLog is a dataset.Log of numbered objects. It is used by one goroutine at a time.
type objectLog struct {
	s    *storage
	b    *bucket
	ctx  context.Context // of Append, without its end: a run that is cancelled still records what it has
	key  string
	next int
	mu   struct {
		sync.Mutex
		buf []byte
		err error // the first failure: what the store has is unknown from then on
	}
}

var errLogClosed = errors.New("the log is closed")

// Append implements dataset.Storage.
func (s *storage) Append(ctx context.Context, name string) (dataset.Log, error) {
	b, key, err := s.open(ctx, name)
	if err != nil {
		return nil, err
	}
	pieces, err := b.pieces(ctx, key)
	if err != nil {
		return nil, err
	}
	return &objectLog{s: s, b: b, ctx: context.WithoutCancel(ctx), key: key, next: len(pieces) + 1}, nil
}

// Append implements dataset.Log.
func (l *objectLog) Append(p []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.err != nil {
		return l.mu.err
	}
	if l.mu.buf = append(l.mu.buf, p...); len(l.mu.buf) >= logBytes {
		return l.flush()
	}
	return nil
}

// flush makes the next object. The lock is held.
func (l *objectLog) flush() error {
	if len(l.mu.buf) == 0 || l.mu.err != nil {
		return l.mu.err
	}
	if l.mu.err = l.s.d.guard(); l.mu.err != nil {
		return l.mu.err
	}
	if l.mu.err = l.b.create(l.ctx, pieceKey(l.key, l.next), l.mu.buf); l.mu.err == nil {
		l.next++
		l.mu.buf = l.mu.buf[:0]
	}
	return l.mu.err
}

// Sync implements dataset.Log.
func (l *objectLog) Sync() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.flush()
}

// Close implements dataset.Log. What was not synced is lost.
func (l *objectLog) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.err = errLogClosed
	return nil
}
