package object

import (
	"context"
	"net"
	"net/http"
	"strconv"
	"time"
)

const (
	// attempts is how often a request other than a read is tried, with pauses that grow from firstPause to longestPause: about a minute and a half.
	attempts     = 10
	firstPause   = 200 * time.Millisecond
	longestPause = 20 * time.Second
)

// dialTime bounds how long a connection may take.
const dialTime = 10 * time.Second

// newTransport makes connections for the client of a cloud.
func newTransport() *http.Transport {
	t := &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: dialTime, KeepAlive: 30 * time.Second}).DialContext,
		ForceAttemptHTTP2: true, IdleConnTimeout: 90 * time.Second, TLSHandshakeTimeout: 10 * time.Second,
	}
	tune(t)
	return t
}

// tune keeps connections for the ranges and uploads of all workers, and takes bodies as they are stored.
func tune(t *http.Transport) {
	t.MaxIdleConns, t.MaxIdleConnsPerHost = 512, 256
	t.ResponseHeaderTimeout, t.DisableCompression = time.Minute, true
}

// readingKey marks the context of a read of one range.
type readingKey struct{}

// isReading tells whether a request reads a range, which the package itself repeats.
func isReading(ctx context.Context) bool { return ctx.Value(readingKey{}) != nil }

// retryAfter is the pause that an answer asks for, at most five minutes.
func retryAfter(h http.Header) time.Duration {
	v := h.Get("Retry-After")
	if v == "" {
		return 0
	}
	pause := time.Duration(0)
	if n, err := strconv.Atoi(v); err == nil {
		pause = time.Duration(min(max(n, 0), 3600)) * time.Second
	} else if at, err := http.ParseTime(v); err == nil {
		pause = time.Until(at)
	}
	return min(max(pause, 0), 5*time.Minute)
}
