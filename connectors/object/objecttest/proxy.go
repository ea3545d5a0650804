package objecttest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Fault is what a Proxy does to one request. The zero value passes it on.
type Fault struct {
	Status int    // answer with it and do not pass the request on
	After  string // Retry-After, with Status
	Cut    bool   // break the connection after Keep bytes of the answer's body
	Stall  bool   // stop sending after Keep bytes and wait for the client to go away
	Lost   bool   // pass the request on, then break the connection instead of answering
	Keep   int64
	Delay  time.Duration // before the request is passed on
}

// Proxy is a reverse proxy that injects faults.
type Proxy struct {
	*httptest.Server
	Requests atomic.Int64
	Faults   atomic.Int64
	backend  string
	mu       struct {
		sync.Mutex
		rule func(r *http.Request) Fault
	}
}

// proxyTransport reaches the server behind a proxy.
var proxyTransport = &http.Transport{MaxIdleConnsPerHost: 64}

// NewProxy starts a proxy in front of the server at an address.
func NewProxy(tb testing.TB, backend string) *Proxy {
	p := &Proxy{backend: backend}
	p.Server = httptest.NewServer(http.HandlerFunc(p.serve))
	tb.Cleanup(func() {
		p.CloseClientConnections()
		p.Close()
		proxyTransport.CloseIdleConnections()
	})
	return p
}

// Set makes rule decide about every request from now on; nil injects nothing.
func (p *Proxy) Set(rule func(r *http.Request) Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.rule = rule
}

func (p *Proxy) decide(r *http.Request) (f Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.Requests.Add(1)
	if p.mu.rule != nil {
		f = p.mu.rule(r)
	}
	if f != (Fault{}) {
		p.Faults.Add(1)
	}
	return f
}

func (p *Proxy) serve(w http.ResponseWriter, r *http.Request) {
	f := p.decide(r)
	if f.Status != 0 {
		if f.After != "" {
			w.Header().Set("Retry-After", f.After)
		}
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(f.Status)
		return
	}
	if f.Delay > 0 {
		t := time.NewTimer(f.Delay)
		defer t.Stop()
		select {
		case <-t.C:
		case <-r.Context().Done():
			return
		}
	}
	out := r.Clone(r.Context())
	out.RequestURI, out.URL.Scheme, out.URL.Host = "", "http", p.backend // Host stays: it is signed
	resp, err := proxyTransport.RoundTrip(out)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer resp.Body.Close()
	if f.Lost {
		_, _ = io.Copy(io.Discard, resp.Body)
		panic(http.ErrAbortHandler)
	}
	for k, v := range resp.Header {
		w.Header()[k] = v
	}
	if at := resp.Header.Get("Location"); at != "" { // of an upload that goes on there: through the proxy too
		w.Header().Set("Location", strings.Replace(at, p.backend, r.Host, 1))
	}
	w.WriteHeader(resp.StatusCode)
	if !f.Cut && !f.Stall {
		_, _ = io.Copy(w, resp.Body)
		return
	}
	if n, err := io.CopyN(w, resp.Body, f.Keep); n < f.Keep && err == io.EOF {
		return // it was whole by then
	}
	w.(http.Flusher).Flush()
	if f.Stall {
		<-r.Context().Done()
	}
	panic(http.ErrAbortHandler)
}
