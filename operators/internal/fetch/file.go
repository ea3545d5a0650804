package fetch

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"syscall"
)

// folder is the folder whose files may be read.
type folder struct {
	*os.Root
	dir string // absolute
}

func openFolder(dir string) (*folder, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open folder allow_files=%s: %w", dir, err)
	}
	root, err := os.OpenRoot(abs)
	if err != nil {
		return nil, fmt.Errorf("open folder allow_files=%s: %w", dir, err)
	}
	return &folder{root, abs}, nil
}

// ErrFiles says that file URLs are refused.
var ErrFiles = errors.New("file URLs are read only with allow_files=FOLDER")

// file reads a file URL.
func (c *Client) file(ctx context.Context, u *url.URL, sink Sink) (_ []byte, err error) {
	if c.root == nil {
		return nil, ErrFiles
	}
	if u.Host != "" && u.Host != "localhost" {
		return nil, fmt.Errorf("file URL names host %q; files are read on this machine only", u.Host)
	}
	rel, err := filepath.Rel(c.root.dir, filepath.Clean("/"+u.Path))
	if err != nil || !filepath.IsLocal(rel) {
		return nil, fmt.Errorf("%s is outside of allow_files=%s", u.Path, c.root.dir)
	}
	// Without waiting: a pipe would otherwise hang until somebody writes to it.
	f, err := c.root.OpenFile(rel, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("open file: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("open file: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file", u.Path)
	}
	if info.Size() > c.cfg.MaxBytes {
		return nil, &SizeError{c.cfg.MaxBytes, info.Size()}
	}
	b, err := read(ctx, f, info.Size(), c.cfg.MaxBytes, sink, func() {})
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", u.Path, cause(err))
	}
	return b, nil
}
