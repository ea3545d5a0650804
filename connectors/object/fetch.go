package object

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"gocloud.dev/gcerrors"

	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/dataset"
)

// remote is one pinned version of one file somewhere else: what the ways of reading it share.
type remote interface {
	// body opens the bytes [off, off+n) of exactly that version.
	body(ctx context.Context, off, n int64) (io.ReadCloser, error)
	// judge says what an error means: the answer of the server, if any, the pause that it asks for, and whether the file has changed.
	judge(err error) (code int, pause time.Duration, changed bool)
	// explain adds what was done to an error.
	explain(off int64, err error) error
}

// fetch fills p with the bytes at off, all of which the file has. A body that breaks is resumed where it broke; throttling and failures
// of the store are waited out until nothing has arrived for cfg.Patience.
func fetch(ctx context.Context, cfg Config, ref dataset.FileRef, r remote, p []byte, off int64) error {
	pace := newPatience(cfg.Patience)
	for got := 0; got < len(p); {
		n, err := readBody(ctx, cfg.Stall, r, p[got:], off+int64(got))
		if got += n; n > 0 {
			pace.progress()
		}
		if got == len(p) {
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		code, pause, changed := r.judge(err)
		if changed {
			return changedError(ctx, ref, r, code, err)
		}
		if !transient(err, code) {
			return r.explain(off+int64(got), err)
		}
		if n > 0 && pause == 0 {
			continue // it just broke: it goes on at once
		}
		if err := pace.wait(ctx, err, pause); err != nil {
			if ctx.Err() != nil {
				return err
			}
			return r.explain(off+int64(got), err)
		}
	}
	return nil
}

// looker is a remote that can tell what is at its place now.
type looker interface {
	// now is the version that is there now; false: there is none.
	now(ctx context.Context) (tag string, there bool)
}

// changedError says what has become of the version that is not there any more. code is what the server answered.
func changedError(ctx context.Context, ref dataset.FileRef, r remote, code int, err error) error {
	tag, there := "another", code != http.StatusNotFound && code != http.StatusGone && gcerrors.Code(err) != gcerrors.NotFound
	if l, ok := r.(looker); ok {
		tag, there = l.now(ctx)
	}
	if !there {
		return &file.ChangedError{Was: ref, Err: err}
	}
	return &file.ChangedError{Was: ref, Now: dataset.FileRef{Path: ref.Path, ETag: tag}}
}

// readBody makes one attempt. It reports io.ErrUnexpectedEOF where the body ends early, and errStalled where it stalls.
func readBody(ctx context.Context, stall time.Duration, r remote, p []byte, off int64) (n int, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watch := time.AfterFunc(stall, func() { cancel(errStalled) })
	defer watch.Stop()
	defer func() {
		if err != nil && errors.Is(context.Cause(ctx), errStalled) {
			err = fmt.Errorf("%w for %s", errStalled, stall)
		}
	}()
	body, err := r.body(ctx, off, int64(len(p)))
	if err != nil {
		return 0, err
	}
	defer body.Close()
	for n < len(p) {
		k, err := body.Read(p[n:])
		if n += k; k > 0 {
			watch.Reset(stall)
		}
		if err == io.EOF && n < len(p) {
			return n, io.ErrUnexpectedEOF
		}
		if err != nil && n < len(p) {
			return n, err
		}
	}
	return n, nil
}
