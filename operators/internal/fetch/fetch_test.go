package fetch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// heap is a Sink of the Go heap that counts what is held.
type heap struct{ held int }

func (h *heap) Room(_ context.Context, n int64) ([]byte, error) {
	h.held++
	return make([]byte, n, n+7), nil
}

func (h *heap) Grow(_ context.Context, b []byte, n int64) ([]byte, error) {
	return append(make([]byte, 0, n), b...)[:n], nil
}

func (h *heap) Drop([]byte) { h.held-- }

func get(t *testing.T, cfg Config, url string) (string, error) {
	t.Helper()
	if cfg.MaxBytes == 0 {
		cfg.MaxBytes = 1 << 20
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = 10 * time.Second
	}
	cfg.Redirects, cfg.FirstWait = 3, time.Millisecond
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}()
	var h heap
	b, err := c.Get(t.Context(), url, &h)
	if want := map[bool]int{true: 1, false: 0}[err == nil]; h.held != want {
		t.Errorf("%d bodies are held, want %d", h.held, want)
	}
	return string(b), err
}

func TestHTTP(t *testing.T) {
	var flaky, busy, gone atomic.Int32
	big := bytes.Repeat([]byte("x"), 300<<10)
	mux := http.NewServeMux()
	mux.HandleFunc("/ok", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") })
	mux.HandleFunc("/empty", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("/chunked", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(big[:200<<10])
		w.(http.Flusher).Flush()
		_, _ = w.Write(big[:100<<10])
	})
	mux.HandleFunc("/missing", func(w http.ResponseWriter, _ *http.Request) { gone.Add(1); w.WriteHeader(404) })
	mux.HandleFunc("/flaky", func(w http.ResponseWriter, _ *http.Request) {
		if flaky.Add(1) < 3 {
			w.WriteHeader(503)
			return
		}
		fmt.Fprint(w, "at last")
	})
	mux.HandleFunc("/busy", func(w http.ResponseWriter, _ *http.Request) {
		if busy.Add(1) == 1 {
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(429)
			return
		}
		fmt.Fprint(w, "welcome")
	})
	mux.HandleFunc("/later", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "3600")
		w.WriteHeader(503)
	})
	mux.HandleFunc("/cut", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		fmt.Fprint(w, "short")
	})
	mux.HandleFunc("/loop", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/loop", http.StatusFound) })
	mux.HandleFunc("/there", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/ok", http.StatusFound) })
	mux.HandleFunc("/tofile", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "file:///etc/passwd")
		w.WriteHeader(302)
	})
	s := httptest.NewServer(mux)
	defer s.Close()
	host := strings.TrimPrefix(s.URL, "http://")
	for _, c := range []struct {
		path, want, err string
		cfg             Config
	}{
		{path: "/ok", want: "hello"},
		{path: "/empty", want: ""},
		{path: "/there", want: "hello"},
		{path: "/chunked", want: string(big)},
		{path: "/chunked", cfg: Config{MaxBytes: 300 << 10}, want: string(big)},
		{path: "/chunked", cfg: Config{MaxBytes: 300<<10 - 1}, err: "http://HOST/chunked: it has more than max_bytes=307199"},
		{path: "/ok", cfg: Config{MaxBytes: 4}, err: "http://HOST/ok: it has 5 bytes, more than max_bytes=4"},
		{path: "/missing", cfg: Config{Retries: 3}, err: "http://HOST/missing: the server answered 404 Not Found"},
		{path: "/flaky", cfg: Config{Retries: 3}, want: "at last"},
		{path: "/busy", cfg: Config{Retries: 3}, want: "welcome"},
		{path: "/later", cfg: Config{Retries: 3}, err: "http://HOST/later: the server answered 503 Service Unavailable and asks to wait 1h0m0s, more than 1m0s"},
		{path: "/cut", cfg: Config{Retries: 1}, err: "http://HOST/cut: the connection ended after 5 of 100 bytes"},
		{path: "/loop", err: "http://HOST/loop: more than 3 redirects"},
		{path: "/tofile", err: `http://HOST/tofile: scheme "file" is not supported; there are http, https and file`},
	} {
		t.Run(c.path, func(t *testing.T) {
			c.cfg.AllowPrivate = true
			got, err := get(t, c.cfg, s.URL+c.path)
			if c.err != "" {
				if want := strings.ReplaceAll(c.err, "HOST", host); err == nil || err.Error() != want {
					t.Errorf("error is %v, want %s", err, want)
				}
				return
			}
			if err != nil || got != c.want {
				t.Errorf("got %d bytes (%v), want %d", len(got), err, len(c.want))
			}
		})
	}
	if gone.Load() != 1 {
		t.Errorf("a missing file was asked for %d times", gone.Load())
	}
}

func TestTimeout(t *testing.T) {
	stop := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/body" {
			w.Header().Set("Content-Length", "10")
			w.(http.Flusher).Flush()
		}
		<-stop
	}))
	defer s.Close()
	defer close(stop)
	for _, path := range []string{"/headers", "/body"} {
		_, err := get(t, Config{AllowPrivate: true, Timeout: 50 * time.Millisecond}, s.URL+path)
		if err == nil || !strings.HasSuffix(err.Error(), "no answer within 50ms; timeout= allows more") {
			t.Errorf("%s: error is %v", path, err)
		}
	}
}

func TestPrivateAddressesAreRefused(t *testing.T) {
	asked := false
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true }))
	defer s.Close()
	for _, url := range []string{s.URL, strings.Replace(s.URL, "127.0.0.1", "localhost", 1), "http://[::ffff:127.0.0.1]:80/", "http://169.254.169.254/latest/meta-data"} {
		_, err := get(t, Config{Retries: 5}, url)
		if _, ok := errors.AsType[*PrivateError](err); !ok || strings.Contains(err.Error(), "dial") {
			t.Errorf("%s: error is %v", url, err)
		}
	}
	if asked {
		t.Error("the server was asked")
	}
}

func TestPublic(t *testing.T) {
	for a, want := range map[string]bool{
		"8.8.8.8": true, "1.1.1.1": true, "2606:4700::1111": true, "64:ff9b::808:808": true, "2002:808:808::1": true,
		"127.0.0.1": false, "10.1.2.3": false, "172.16.0.1": false, "192.168.1.1": false, "169.254.169.254": false, "100.100.100.200": false,
		"0.0.0.0": false, "255.255.255.255": false, "224.0.0.1": false, "::1": false, "::": false, "fe80::1%eth0": false, "fd00::1": false,
		"::ffff:10.0.0.1": false, "64:ff9b::a00:1": false, "2002:7f00:1::": false, "::127.0.0.1": false, "2001:0:1::1": false, "fec0::1": false,
	} {
		if got := public(netip.MustParseAddr(a)); got != want {
			t.Errorf("%s is public: %v, want %v", a, got, want)
		}
	}
}

func TestURLs(t *testing.T) {
	for url, want := range map[string]string{
		"":                     `scheme "" is not supported; there are http, https and file`,
		"ftp://h/x":            `scheme "ftp" is not supported; there are http, https and file`,
		"http:///x":            "the URL has no host",
		"http://h:port/":       `parse URL: invalid port ":port" after host`,
		"file:///etc/passwd":   "file URLs are read only with allow_files=FOLDER",
		"gopher://user:pw@h/x": `scheme "gopher" is not supported; there are http, https and file`,
	} {
		if _, err := get(t, Config{}, url); err == nil || err.Error() != want {
			t.Errorf("%q: error is %v, want %s", url, err, want)
		}
	}
	_, err := get(t, Config{}, "http://user:secret@127.0.0.1/x")
	if err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("error shows the password: %v", err)
	}
}

func TestFiles(t *testing.T) {
	base := t.TempDir()
	dir := filepath.Join(base, "in")
	write := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(dir, "a b.txt"), "inside")
	write(filepath.Join(dir, "sub/c.txt"), "deeper")
	write(filepath.Join(base, "secret"), "outside")
	for name, to := range map[string]string{"in": "a b.txt", "out": "../secret", "abs": filepath.Join(base, "secret")} {
		if err := os.Symlink(to, filepath.Join(dir, "link-"+name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ path, want, err string }{
		{path: dir + "/a%20b.txt", want: "inside"},
		{path: dir + "/sub/../sub/c.txt", want: "deeper"},
		{path: dir + "/link-in", want: "inside"},
		{path: dir + "/link-out", err: "open file: openat link-out: path escapes from parent"},
		{path: dir + "/link-abs", err: "open file: openat link-abs: path escapes from parent"},
		{path: dir + "/../secret", err: base + "/in/../secret is outside of allow_files=" + dir},
		{path: dir + "/%2e%2e/secret", err: base + "/in/../secret is outside of allow_files=" + dir},
		{path: "/etc/passwd", err: "/etc/passwd is outside of allow_files=" + dir},
		{path: dir + "/pipe", err: dir + "/pipe is no regular file"},
		{path: dir + "/sub", err: dir + "/sub is no regular file"},
		{path: dir + "/none", err: "open file: openat none: no such file or directory"},
	} {
		got, err := get(t, Config{AllowFiles: dir}, "file://"+c.path)
		if c.err != "" {
			if err == nil || err.Error() != c.err {
				t.Errorf("%s: error is %v, want %s", c.path, err, c.err)
			}
			continue
		}
		if err != nil || got != c.want {
			t.Errorf("%s: got %q (%v), want %q", c.path, got, err, c.want)
		}
	}
	if _, err := get(t, Config{AllowFiles: dir, MaxBytes: 3}, "file://"+dir+"/link-in"); err == nil || err.Error() != "it has 6 bytes, more than max_bytes=3" {
		t.Errorf("a large file: %v", err)
	}
	if _, err := get(t, Config{AllowFiles: dir}, "file://elsewhere"+dir+"/link-in"); err == nil || !strings.Contains(err.Error(), `names host "elsewhere"`) {
		t.Errorf("another host: %v", err)
	}
	if _, err := New(Config{AllowFiles: filepath.Join(base, "nowhere")}); err == nil {
		t.Error("a folder that is not there was accepted")
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for h, want := range map[string]time.Duration{"": -1, "7": 7 * time.Second, "Thu, 01 Jan 2026 00:00:30 GMT": 30 * time.Second,
		"Wed, 31 Dec 2025 00:00:00 GMT": 0, "soon": -1, "-3": -1} {
		d, ok := retryAfter(h, now)
		if !ok {
			d = -1
		}
		if d != want {
			t.Errorf("%q is %v, want %v", h, d, want)
		}
	}
}

func TestCanceledWhileWaiting(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "30")
		w.WriteHeader(503)
	}))
	defer s.Close()
	c, err := New(Config{AllowPrivate: true, Timeout: time.Second, MaxBytes: 1, Retries: 3, Redirects: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close() //nolint:errcheck // nothing to lose
	ctx, cancel := context.WithTimeoutCause(t.Context(), 100*time.Millisecond, errors.New("enough"))
	defer cancel()
	var h heap
	if _, err := c.Get(ctx, s.URL, &h); err == nil || !strings.HasSuffix(err.Error(), "enough") {
		t.Errorf("error is %v", err)
	}
}
