package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// Config says what may be fetched and how.
type Config struct {
	MaxBytes     int64         // of one body
	Timeout      time.Duration // of one try: until the headers are there, and again for the body
	Retries      int           // tries after the first
	Redirects    int           // followed at most
	AllowPrivate bool          // addresses that are not public
	AllowFiles   string        // folder whose files may be read; empty: none
	Agent        string        // User-Agent
	FirstWait    time.Duration // before the first retry; 0 means half a second
}

// LongestWait is how long a server may ask to wait before the next try; a longer wish fails the row.
const LongestWait = time.Minute

// Client fetches. It is safe for concurrent use. Close it when done.
type Client struct {
	cfg  Config
	http *http.Client
	root *folder
}

// New makes a client. It opens the allowed folder and fails if there is none.
func New(cfg Config) (*Client, error) {
	c := &Client{cfg: cfg}
	if cfg.AllowFiles != "" {
		root, err := openFolder(cfg.AllowFiles)
		if err != nil {
			return nil, err
		}
		c.root = root
	}
	dialer := &net.Dialer{Timeout: cfg.Timeout, KeepAlive: 30 * time.Second}
	t := &http.Transport{
		DialContext:            dialer.DialContext,
		ForceAttemptHTTP2:      true,
		MaxIdleConnsPerHost:    16,
		MaxIdleConns:           256,
		IdleConnTimeout:        30 * time.Second,
		TLSHandshakeTimeout:    cfg.Timeout,
		MaxResponseHeaderBytes: 64 << 10,
		DisableCompression:     true, // bytes as served, and their number known
	}
	if cfg.AllowPrivate {
		t.Proxy = http.ProxyFromEnvironment // behind a proxy the address cannot be checked, so a proxy needs the permission
	} else {
		dialer.Control = refusePrivate
	}
	c.http = &http.Client{Transport: t, CheckRedirect: c.redirect}
	return c, nil
}

// Close drops idle connections and the folder.
func (c *Client) Close() error {
	c.http.CloseIdleConnections()
	if c.root != nil {
		return c.root.Close()
	}
	return nil
}

func (c *Client) redirect(r *http.Request, via []*http.Request) error {
	if len(via) > c.cfg.Redirects {
		return backoff.Permanent(fmt.Errorf("more than %d redirects", c.cfg.Redirects))
	}
	return checkURL(r.URL)
}

// checkURL accepts http and https URLs with a host.
func checkURL(u *url.URL) error {
	if u.Scheme != "http" && u.Scheme != "https" {
		return backoff.Permanent(fmt.Errorf("scheme %q is not supported; there are http, https and file", u.Scheme))
	}
	if u.Hostname() == "" {
		return backoff.Permanent(errors.New("the URL has no host"))
	}
	return nil
}

// Sink makes room for a body.
type Sink interface {
	// Room is called before anything is read and returns a buffer of size bytes. It may wait.
	Room(ctx context.Context, size int64) ([]byte, error)
	// Grow returns a buffer of size bytes that begins with b's, in exchange for b. It must not wait for others. If it fails, b is still the caller's.
	Grow(ctx context.Context, b []byte, size int64) ([]byte, error)
	// Drop takes back what Room or Grow gave, because the try failed.
	Drop(b []byte)
}

// Get fetches the URL. The result came from the sink.
func (c *Client) Get(ctx context.Context, raw string, sink Sink) ([]byte, error) {
	u, err := url.Parse(strings.TrimSpace(raw))
	if err != nil {
		return nil, fmt.Errorf("parse URL: %w", withoutURL(err))
	}
	if strings.EqualFold(u.Scheme, "file") {
		return c.file(ctx, u, sink)
	}
	if err := checkURL(u); err != nil {
		return nil, cause(err)
	}
	b := backoff.NewExponentialBackOff()
	b.InitialInterval = 500 * time.Millisecond
	if c.cfg.FirstWait > 0 {
		b.InitialInterval = c.cfg.FirstWait
	}
	b.MaxInterval = LongestWait
	body, err := backoff.Retry(ctx, func() ([]byte, error) { return c.try(ctx, u, sink) },
		backoff.WithBackOff(b), backoff.WithMaxTries(uint(c.cfg.Retries)+1), backoff.WithMaxElapsedTime(0))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", u.Redacted(), cause(err))
	}
	return body, nil
}

// cause strips what retrying and the HTTP client wrap around an error; the URL is named once, without its password.
func cause(err error) error {
	if p, ok := errors.AsType[*backoff.PermanentError](err); ok {
		err = p.Unwrap()
	}
	return withoutURL(err)
}

func withoutURL(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return cause(u.Err)
	}
	return err
}

// try is one try.
func (c *Client) try(ctx context.Context, u *url.URL, sink Sink) ([]byte, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	limit := time.AfterFunc(c.cfg.Timeout, func() { cancel(fmt.Errorf("no answer within %v; timeout= allows more", c.cfg.Timeout)) })
	defer limit.Stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, backoff.Permanent(withoutURL(err))
	}
	req.Header.Set("User-Agent", c.cfg.Agent)
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, classify(ctx, err)
	}
	defer resp.Body.Close() //nolint:errcheck // nothing is written
	if resp.StatusCode != http.StatusOK {
		return nil, status(resp)
	}
	limit.Stop()
	b, err := c.body(ctx, resp, sink, func() {
		limit.Reset(c.cfg.Timeout) // the wait for room was not the server's
	})
	if err != nil {
		return nil, classify(ctx, err)
	}
	return b, nil
}

// classify keeps errors that a retry does not help from being tried again.
func classify(ctx context.Context, err error) error {
	if c := context.Cause(ctx); c != nil && errors.Is(err, context.Canceled) {
		err = c
	}
	if p, ok := errors.AsType[*PrivateError](err); ok {
		return backoff.Permanent(p)
	}
	if d, ok := errors.AsType[*net.DNSError](err); ok && d.IsNotFound {
		return backoff.Permanent(fmt.Errorf("there is no host %q", d.Name))
	}
	return err
}

// StatusError is an answer that is no content.
type StatusError struct{ Code int }

func (e *StatusError) Error() string {
	return fmt.Sprintf("the server answered %d %s", e.Code, http.StatusText(e.Code))
}

// Class implements dataset.Classed.
func (e *StatusError) Class() string { return fmt.Sprintf("status %d", e.Code) }

// status turns an answer into an error that says whether and when to try again.
func status(resp *http.Response) error {
	err := &StatusError{resp.StatusCode}
	if resp.StatusCode != http.StatusTooManyRequests && resp.StatusCode < 500 || resp.StatusCode == http.StatusNotImplemented {
		return backoff.Permanent(err)
	}
	_, _ = io.CopyN(io.Discard, resp.Body, 4<<10) // lets the connection be used again
	wait, ok := retryAfter(resp.Header.Get("Retry-After"), time.Now())
	switch {
	case !ok:
		return err
	case wait > LongestWait:
		return backoff.Permanent(fmt.Errorf("%w and asks to wait %v, more than %v", err, wait, LongestWait))
	}
	jitter := time.Duration(rand.Int64N(int64(wait)/10 + 1)) // so that not all rows come back at once
	return &waitError{err, wait + jitter}
}

// waitError carries the wait that the server asked for in a form that the retry loop knows.
type waitError struct {
	err  error
	wait time.Duration
}

func (e *waitError) Error() string { return e.err.Error() }

// Unwrap returns the status, and the wait as backoff reads it.
func (e *waitError) Unwrap() []error {
	return []error{e.err, &backoff.RetryAfterError{Duration: e.wait}}
}

// retryAfter reads seconds or a date.
func retryAfter(h string, now time.Time) (time.Duration, bool) {
	if h == "" {
		return 0, false
	}
	if s, err := time.ParseDuration(h + "s"); err == nil && s >= 0 {
		return s, true
	}
	if t, err := http.ParseTime(h); err == nil {
		return max(0, t.Sub(now)), true
	}
	return 0, false
}
