package object

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/dataset"
)

// webFS reads files of web servers.
type webFS struct {
	cfg   func() (Config, error)
	ahead *budget
}

var _ file.FS = (*webFS)(nil)

// webClient follows redirects as any client does; the signed addresses that they lead to are never shown.
var webClient = &http.Client{Transport: &http.Transport{
	Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: 64, IdleConnTimeout: 90 * time.Second, TLSHandshakeTimeout: 10 * time.Second,
	ResponseHeaderTimeout: time.Minute, ForceAttemptHTTP2: true, DisableCompression: true,
}}

// signatures are parameters of signed addresses.
var signatures = []string{"x-amz-signature", "x-goog-signature", "signature", "sig", "token", "access_token", "api_key", "apikey", "key"}

// checkWeb refuses addresses that carry credentials: plans and logs would keep them.
func checkWeb(address string) error {
	u, err := url.Parse(address)
	if err != nil {
		place, _ := file.SplitURL(address)
		return dataset.Usagef("read %s: the address cannot be read", place)
	}
	plain := u.Scheme + "://" + u.Host + u.EscapedPath()
	if u.Host == "" {
		return dataset.Usagef("read %s: the address has no host", plain)
	}
	if u.User != nil {
		return dataset.Usagef("read %s: the address carries a user name or password, which plans and logs would keep; set SLUICE_HTTP_AUTHORIZATION_HOST and SLUICE_HTTP_AUTHORIZATION instead", plain)
	}
	for name := range u.Query() {
		for _, s := range signatures {
			if strings.EqualFold(name, s) {
				return dataset.Usagef("read %s: the address carries a credential (%s), which plans and logs would keep; read it through its scheme (s3://, gs://, az://), or set SLUICE_HTTP_AUTHORIZATION_HOST and SLUICE_HTTP_AUTHORIZATION", plain, name)
			}
		}
	}
	return nil
}

// webError is an answer that is not the file.
type webError struct {
	code  int
	pause time.Duration
}

func (e *webError) Error() string {
	return fmt.Sprintf("the server answers %d %s", e.code, http.StatusText(e.code))
}

// do sends a request. Errors of the client carry the address, redirects included; only their cause is kept.
func do(ctx context.Context, method, address string, header map[string]string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, address, http.NoBody)
	if err != nil {
		return nil, err
	}
	for k, v := range header {
		req.Header.Set(k, v)
	}
	if host := os.Getenv("SLUICE_HTTP_AUTHORIZATION_HOST"); host != "" && strings.EqualFold(host, req.URL.Host) {
		req.Header.Set("Authorization", os.Getenv("SLUICE_HTTP_AUTHORIZATION"))
	}
	resp, err := webClient.Do(req)
	if ue, ok := errors.AsType[*url.Error](err); ok {
		err = ue.Err
	}
	if err != nil {
		return nil, err
	}
	if resp.StatusCode >= 300 {
		defer resp.Body.Close()
		return nil, &webError{resp.StatusCode, retryAfter(resp.Header)}
	}
	return resp, nil
}

// Stat implements file.FS. It asks for the first byte: servers answer HEAD in too many ways.
func (f *webFS) Stat(ctx context.Context, address string) (file.Info, error) {
	if err := checkWeb(address); err != nil {
		return file.Info{}, err
	}
	cfg, err := f.cfg()
	if err != nil {
		return file.Info{}, err
	}
	pace := newPatience(cfg.Patience)
	for {
		ref, err := look(ctx, address)
		if err == nil {
			return file.Info{FileRef: ref}, nil
		}
		code, pause := webStatus(err)
		switch {
		case code == http.StatusNotFound, code == http.StatusGone:
			return file.Info{}, &fs.PathError{Op: "read", Path: address, Err: fs.ErrNotExist}
		case !transient(err, code):
			return file.Info{}, fmt.Errorf("read %s: %w", address, err)
		}
		if err := pace.wait(ctx, err, pause); err != nil {
			return file.Info{}, fmt.Errorf("read %s: %w", address, err)
		}
	}
}

func webStatus(err error) (int, time.Duration) {
	if we, ok := errors.AsType[*webError](err); ok {
		return we.code, we.pause
	}
	return 0, 0
}

// look pins the file at an address.
func look(ctx context.Context, address string) (dataset.FileRef, error) {
	ref := dataset.FileRef{Path: address}
	resp, err := do(ctx, http.MethodGet, address, map[string]string{"Range": "bytes=0-0"})
	if code, _ := webStatus(err); code == http.StatusRequestedRangeNotSatisfiable { // an empty file
		if resp, err = do(ctx, http.MethodGet, address, nil); err == nil && resp.ContentLength > 0 {
			err = errors.Join(errNoRanges, resp.Body.Close())
		}
	}
	if err != nil {
		return ref, err
	}
	defer resp.Body.Close()
	ref.ETag = webTag(resp.Header)
	if at, err := http.ParseTime(resp.Header.Get("Last-Modified")); err == nil && ref.ETag == "" {
		ref.ModTime = at.UTC()
	}
	if resp.StatusCode == http.StatusPartialContent {
		_, total, ok := strings.Cut(resp.Header.Get("Content-Range"), "/")
		if ref.Size, err = strconv.ParseInt(total, 10, 64); !ok || err != nil {
			return ref, errors.New("the server does not tell the size of the file; download it first")
		}
		return ref, nil
	}
	if ref.Size = resp.ContentLength; ref.Size < 0 {
		return ref, errors.New("the server does not tell the size of the file; download it first")
	}
	return ref, nil
}

// webTag is a strong ETag; a weak one does not pin bytes.
func webTag(h http.Header) string {
	if tag := h.Get("Etag"); !strings.HasPrefix(tag, "W/") {
		return tag
	}
	return ""
}

// List implements file.FS.
func (f *webFS) List(_ context.Context, m *file.Matcher, _ string) iter.Seq2[dataset.FileRef, error] {
	return func(yield func(dataset.FileRef, error) bool) {
		yield(dataset.FileRef{}, dataset.Usagef("read %s: files of the web cannot be listed; give their addresses", m))
	}
}

// Open implements file.FS.
func (f *webFS) Open(ctx context.Context, ref dataset.FileRef) (file.Handle, error) {
	h, err := f.handle(ctx, ref)
	if err != nil {
		return nil, err
	}
	if w := whole(h, f, f.handle); w != nil {
		return w, h.Close()
	}
	return h, nil
}

func (f *webFS) handle(ctx context.Context, ref dataset.FileRef) (*handle, error) {
	if err := checkWeb(ref.Path); err != nil {
		return nil, err
	}
	cfg, err := f.cfg()
	if err != nil {
		return nil, err
	}
	return newHandle(ctx, cfg, ref, webBody{ref}, f.ahead), nil
}

// webBody reads one version of one file.
type webBody struct{ ref dataset.FileRef }

var (
	_ remote = webBody{}

	errNoRanges = errors.New("the server gives no ranges of the file; download it first")
	errChanged  = errors.New("the server has another version of the file")
)

func (w webBody) body(ctx context.Context, off, n int64) (io.ReadCloser, error) {
	header := map[string]string{"Range": fmt.Sprintf("bytes=%d-%d", off, off+n-1)}
	if w.ref.ETag != "" {
		header["If-Range"] = w.ref.ETag
	} else if !w.ref.ModTime.IsZero() {
		header["If-Range"] = w.ref.ModTime.Format(http.TimeFormat)
	}
	resp, err := do(ctx, http.MethodGet, w.ref.Path, header)
	if err != nil {
		return nil, err
	}
	if err := w.check(resp, off); err != nil {
		return nil, errors.Join(err, resp.Body.Close())
	}
	if resp.StatusCode == http.StatusPartialContent || off == 0 {
		return resp.Body, nil
	}
	// The whole file comes: what lies before the range is read and dropped.
	if _, err := io.CopyN(io.Discard, resp.Body, off); err != nil {
		return nil, errors.Join(err, resp.Body.Close())
	}
	return resp.Body, nil
}

// mostSkipped is how much of a file is read in vain where a server gives no ranges.
const mostSkipped = 64 << 20

// check makes sure that an answer is of the pinned version.
func (w webBody) check(resp *http.Response, off int64) error {
	tag := webTag(resp.Header)
	at, err := http.ParseTime(resp.Header.Get("Last-Modified"))
	switch {
	case w.ref.ETag != "" && tag != "" && tag != w.ref.ETag:
		return errChanged
	case w.ref.ETag == "" && err == nil && !w.ref.ModTime.IsZero() && !at.Equal(w.ref.ModTime):
		return errChanged
	}
	if resp.StatusCode != http.StatusPartialContent {
		if resp.ContentLength >= 0 && resp.ContentLength != w.ref.Size {
			return errChanged
		}
		if off > mostSkipped {
			return errNoRanges
		}
		return nil
	}
	from, total, _ := strings.Cut(strings.TrimPrefix(resp.Header.Get("Content-Range"), "bytes "), "/")
	if n, err := strconv.ParseInt(total, 10, 64); err == nil && n != w.ref.Size {
		return errChanged
	}
	if first, _, _ := strings.Cut(from, "-"); first != strconv.FormatInt(off, 10) {
		return fmt.Errorf("the server answers with the range %q, not that from %d", from, off)
	}
	return nil
}

func (w webBody) judge(err error) (int, time.Duration, bool) {
	code, pause := webStatus(err)
	return code, pause, errors.Is(err, errChanged) || code == 404 || code == 410 || code == 412 || code == 416
}

func (w webBody) explain(off int64, err error) error {
	return fmt.Errorf("read %s from byte %d: %w", w.ref.Path, off, err)
}
