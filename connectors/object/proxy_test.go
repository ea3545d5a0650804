package object

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
)

// fault is what the proxy does to one request.
type fault struct {
	status int    // answer with it and do not pass the request on
	after  string // Retry-After, with status
	cut    bool   // break the connection after keep bytes of the answer's body
	stall  bool   // stop sending after keep bytes and wait for the client to go away
	lost   bool   // pass the request on, then break the connection instead of answering
	keep   int64
}

// proxy is a reverse proxy that injects faults.
type proxy struct {
	*httptest.Server
	backend  string
	requests atomic.Int64
	faults   atomic.Int64
	mu       struct {
		sync.Mutex
		rule func(r *http.Request) fault
	}
}

// proxyTransport reaches the server behind a proxy.
var proxyTransport = &http.Transport{MaxIdleConnsPerHost: 64}

// newProxy starts a proxy in front of the server at an address.
func newProxy(tb testing.TB, backend string) *proxy {
	p := &proxy{backend: backend}
	p.Server = httptest.NewServer(http.HandlerFunc(p.serve))
	tb.Cleanup(func() {
		p.CloseClientConnections()
		p.Close()
		proxyTransport.CloseIdleConnections()
	})
	return p
}

// set makes rule decide about every request from now on; nil injects nothing.
func (p *proxy) set(rule func(r *http.Request) fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.rule = rule
}

func (p *proxy) decide(r *http.Request) (f fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests.Add(1)
	if p.mu.rule != nil {
		f = p.mu.rule(r)
	}
	if f != (fault{}) {
		p.faults.Add(1)
	}
	return f
}

func (p *proxy) serve(w http.ResponseWriter, r *http.Request) {
	f := p.decide(r)
	if f.status != 0 {
		if f.after != "" {
			w.Header().Set("Retry-After", f.after)
		}
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(f.status)
		return
	}
	out := r.Clone(r.Context())
	out.RequestURI, out.URL.Scheme, out.URL.Host = "", "http", p.backend // Host stays: it is signed
	resp, err := proxyTransport.RoundTrip(out)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer resp.Body.Close()
	if f.lost {
		_, _ = io.Copy(io.Discard, resp.Body)
		panic(http.ErrAbortHandler)
	}
	for k, v := range resp.Header {
		w.Header()[k] = v
	}
	w.WriteHeader(resp.StatusCode)
	if !f.cut && !f.stall {
		_, _ = io.Copy(w, resp.Body)
		return
	}
	if n, err := io.CopyN(w, resp.Body, f.keep); n < f.keep && err == io.EOF {
		return // it was whole by then
	}
	w.(http.Flusher).Flush()
	if f.stall {
		<-r.Context().Done()
	}
	panic(http.ErrAbortHandler)
}
