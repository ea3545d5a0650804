package object

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/connectors/object/objecttest"
	"github.com/sluice-data/sluice/dataset"
)

func newWeb(change func(*Config)) *webFS {
	cfg := testConfig()
	cfg.Patience = 2 * time.Second
	if change != nil {
		change(&cfg)
	}
	get := func() (Config, error) { return cfg, nil }
	return &webFS{cfg: get, ahead: newBudget(get)}
}

func read(t *testing.T, f file.FS, address string) ([]byte, error) {
	t.Helper()
	info, err := f.Stat(t.Context(), address)
	if err != nil {
		return nil, err
	}
	h, err := f.Open(t.Context(), info.FileRef)
	if err != nil {
		return nil, err
	}
	defer h.Close()
	return io.ReadAll(io.NewSectionReader(h, 0, info.Size))
}

// TestWeb reads from servers of all manners.
func TestWeb(t *testing.T) {
	data := noise(50_000)
	for name, serve := range map[string]http.HandlerFunc{
		"ranges and etag": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Etag", `"v1"`)
			http.ServeContent(w, r, "x", time.Time{}, bytes.NewReader(data))
		},
		"ranges and time": func(w http.ResponseWriter, r *http.Request) {
			http.ServeContent(w, r, "x", time.Unix(1_700_000_000, 0), bytes.NewReader(data))
		},
		"no ranges": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "50000")
			_, _ = w.Write(data)
		},
	} {
		t.Run(name, func(t *testing.T) {
			srv := httptest.NewServer(serve)
			defer webClient.CloseIdleConnections()
			defer srv.Close()
			got, err := read(t, newWeb(nil), srv.URL+"/x.bin?version=3")
			if err != nil || !bytes.Equal(got, data) {
				t.Errorf("%d bytes, %v", len(got), err)
			}
			p := objecttest.NewProxy(t, strings.TrimPrefix(srv.URL, "http://"))
			rnd := rand.New(rand.NewPCG(8, 8))
			p.Set(func(*http.Request) objecttest.Fault {
				switch rnd.IntN(6) {
				case 0:
					return objecttest.Fault{Status: 503, After: "0"}
				case 1:
					return objecttest.Fault{Cut: true, Keep: rnd.Int64N(2000)}
				}
				return objecttest.Fault{}
			})
			got, err = read(t, newWeb(nil), p.URL+"/x.bin")
			if err != nil || !bytes.Equal(got, data) {
				t.Errorf("flaky: %d bytes, %v", len(got), err)
			}
		})
	}
}

// TestWebErrors: what cannot be read says why.
func TestWebErrors(t *testing.T) {
	var version atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/forbidden":
			w.WriteHeader(http.StatusForbidden)
		case "/endless":
			for range 3 {
				_, _ = w.Write(make([]byte, 100))
				w.(http.Flusher).Flush()
			}
		case "/empty":
			http.ServeContent(w, r, "x", time.Time{}, bytes.NewReader(nil))
		case "/changes":
			w.Header().Set("Etag", `"v`+string(rune('0'+version.Add(1)))+`"`)
			http.ServeContent(w, r, "x", time.Time{}, bytes.NewReader(make([]byte, 1000)))
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer webClient.CloseIdleConnections()
	defer srv.Close()
	f := newWeb(nil)
	if got, err := read(t, f, srv.URL+"/empty"); err != nil || len(got) > 0 {
		t.Errorf("empty: %q, %v", got, err)
	}
	if _, err := read(t, f, srv.URL+"/none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("none: %v", err)
	}
	if _, err := read(t, f, srv.URL+"/changes"); !errors.Is(err, file.ErrChanged) {
		t.Errorf("changes: %v", err)
	}
	for address, want := range map[string]string{
		srv.URL + "/forbidden":                           "403 Forbidden",
		srv.URL + "/endless":                             "does not tell the size",
		"http://me:geheim@example.com/x":                 "user name or password",
		"https://b.example.com/x?X-Amz-Signature=geheim": "carries a credential (X-Amz-Signature)",
		"https://b.example.com/x?sig=geheim&sv=1":        "carries a credential (sig)",
		"http:///x":                       "no host",
		"http://exa mple.com/?sig=geheim": "cannot be read",
	} {
		_, err := read(t, f, address)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", address, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "geheim") {
			t.Errorf("the error shows a credential: %v", err)
		}
	}
	for _, err := range file.NewSet(f, []dataset.Pattern{{Text: srv.URL + "/dir/*.jsonl"}}).Files(t.Context(), "") {
		if err == nil {
			t.Error("the web was listed")
		}
	}
}

// TestWebAuthorization: the header goes to the host that is named, and to no other.
func TestWebAuthorization(t *testing.T) {
	var got atomic.Value
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got.Store(r.Header.Get("Authorization"))
		http.ServeContent(w, r, "x", time.Unix(1_700_000_000, 0), strings.NewReader("hello"))
	}))
	defer webClient.CloseIdleConnections()
	defer srv.Close()
	t.Setenv("SLUICE_HTTP_AUTHORIZATION", "Bearer geheim")
	for host, want := range map[string]string{strings.TrimPrefix(srv.URL, "http://"): "Bearer geheim", "example.com": "", "": ""} {
		t.Setenv("SLUICE_HTTP_AUTHORIZATION_HOST", host)
		if _, err := read(t, newWeb(nil), srv.URL+"/x"); err != nil || got.Load() != want {
			t.Errorf("host %q: sent %q, %v", host, got.Load(), err)
		}
	}
}
