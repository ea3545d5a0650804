package object

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"

	"github.com/sluice-data/sluice/dataset"
)

// asFunc gives access to what is a driver's own.
type asFunc = func(any) bool

// driver is what differs between the clouds beyond what package blob hides.
type driver struct {
	// open makes the client of a bucket. It asks nothing of the network except, at the clouds' will, for credentials.
	open func(ctx context.Context, c Config, bucket string) (*blob.Bucket, error)
	// tag is the version of a listed object or of an object's attributes.
	tag func(as asFunc) string
	// pinned makes a read fail if the object is not the version tag.
	pinned func(as asFunc, tag string) error
	// reading prepares the context of a read, which the package itself repeats. Nil: nothing needs to be done.
	reading func(ctx context.Context) context.Context
	// listed prepares a listing; it lets it begin at or behind the key after ("": at the first), if the store can. Nil: it cannot.
	listed func(as asFunc, after string) error
	// status is the answer that an error reports (0: there was none) and the pause that the store asks for.
	status func(err error) (code int, pause time.Duration)
	// brief is an error in one line. Nil: they are.
	brief func(err error) error
	// noBucket tells whether an error says that there is no such bucket.
	noBucket func(err error) bool
	// sweep ends uploads below a prefix that were never completed. Nil: the store forgets them by itself.
	sweep func(ctx context.Context, b *blob.Bucket, name, prefix string) error
	// copyLimit is the size above which the store does not copy in one request; 0: none.
	copyLimit int64
	// help tells what to set where access is refused.
	help string
}

// drivers are the clouds, by scheme. A file with a driver adds itself.
var drivers = map[string]*driver{}

// store is the buckets of one cloud. It opens each when it is first used.
type store struct {
	scheme string
	drv    *driver
	cfg    func() (Config, error)
	ahead  *budget
	mu     struct {
		sync.Mutex
		open map[string]*bucket
	}
}

// bucket is one open bucket.
type bucket struct {
	*blob.Bucket
	store *store
	cfg   Config
	name  string
}

// bucket opens a bucket, once. A failure is not remembered.
func (s *store) bucket(ctx context.Context, name string) (*bucket, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.mu.open[name]; b != nil {
		return b, nil
	}
	if name == "" {
		return nil, dataset.Usagef("open %s://: the name of the bucket is missing", s.scheme)
	}
	if strings.ContainsAny(name, "@?") {
		return nil, dataset.Usagef("open %s://: the name of a bucket has no @ or ?; credentials and endpoints come from the environment, not from the URL", s.scheme)
	}
	cfg, err := s.cfg()
	if err != nil {
		return nil, err
	}
	b, err := s.drv.open(context.WithoutCancel(ctx), cfg, name)
	if err != nil {
		return nil, fmt.Errorf("open %s://%s: %w", s.scheme, name, err)
	}
	if s.mu.open == nil {
		s.mu.open = map[string]*bucket{}
	}
	s.mu.open[name] = &bucket{Bucket: b, store: s, cfg: cfg, name: name}
	return s.mu.open[name], nil
}

// url is a key as a person writes it.
func (b *bucket) url(key string) string { return b.store.scheme + "://" + b.name + "/" + key }

// fail adds what was done and what may help to an error of the store. An object that is missing satisfies fs.ErrNotExist.
func (b *bucket) fail(op, key string, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, context.Canceled) {
		return err
	}
	code, _ := b.store.drv.status(err)
	if brief := b.store.drv.brief; brief != nil {
		err = brief(err)
	}
	switch {
	case b.store.drv.noBucket(err):
		return fmt.Errorf("%s %s: there is no bucket %s, or it is in another region, of another account or at another endpoint: %w", op, b.url(key), b.name, err)
	case b.store.drv.missing(err):
		return &fs.PathError{Op: op, Path: b.url(key), Err: fs.ErrNotExist}
	case code == http.StatusUnauthorized || code == http.StatusForbidden || code == 0 && gcerrors.Code(err) == gcerrors.PermissionDenied:
		return fmt.Errorf("%s %s: access is refused; %s: %w", op, b.url(key), b.store.drv.help, err)
	case code == 0 && strings.Contains(err.Error(), "credentials"):
		return fmt.Errorf("%s %s: there are no credentials; %s: %w", op, b.url(key), b.store.drv.help, err)
	case code == http.StatusMovedPermanently:
		return fmt.Errorf("%s %s: the bucket is in another region; set AWS_REGION: %w", op, b.url(key), err)
	}
	return fmt.Errorf("%s %s: %w", op, b.url(key), err)
}

// attributes looks at one object. The size and version are those of the store now.
func (b *bucket) attributes(ctx context.Context, key string) (*blob.Attributes, error) {
	a, err := b.Attributes(ctx, key)
	if err != nil {
		return nil, b.fail("look at", key, err)
	}
	return a, nil
}

// exists tells whether any object lies below a prefix.
func (b *bucket) exists(ctx context.Context, prefix string) (bool, error) {
	page, _, err := b.ListPage(ctx, blob.FirstPageToken, 1, &blob.ListOptions{Prefix: prefix})
	if err != nil {
		return false, b.fail("list", prefix, err)
	}
	return len(page) > 0, nil
}

// keyOf is the key of a path: what is below the root.
func keyOf(p string) string { return strings.TrimPrefix(path.Clean("/"+p), "/") }

// missing tells whether an error says that there is no such object. What the store answered decides: clients take a refusal, or an account whose name is
// wrong, for an object that is missing, and then a result would be taken for one that is not there yet.
func (d *driver) missing(err error) bool {
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return err != nil
	}
	if code, _ := d.status(err); code != 0 {
		return code == http.StatusNotFound
	}
	_, network := errors.AsType[*net.DNSError](err)
	return !network && gcerrors.Code(err) == gcerrors.NotFound
}

// taken tells whether an error says that the object exists already, or is not the version that was asked for.
func (d *driver) taken(err error) bool {
	if err == nil {
		return false
	}
	code, _ := d.status(err)
	c := gcerrors.Code(err)
	return code == http.StatusPreconditionFailed || c == gcerrors.FailedPrecondition || c == gcerrors.AlreadyExists
}
