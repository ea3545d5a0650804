package cli

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/spf13/pflag"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/executor/metrics"
)

// metricsFlags say where metrics are served.
type metricsFlags struct{ address, cert, key, token string }

func (f *metricsFlags) register(fs *pflag.FlagSet) {
	fs.StringVar(&f.address, "metrics", "", "serve metrics for Prometheus at `HOST:PORT`, such as 127.0.0.1:9090, while it runs")
	fs.StringVar(&f.cert, "metrics-cert", "", "certificate for --metrics, `FILE` in PEM; with --metrics-key it is served over TLS")
	fs.StringVar(&f.key, "metrics-key", "", "key of the certificate, `FILE` in PEM")
	fs.StringVar(&f.token, "metrics-token-file", "", "`FILE` with the bearer token that --metrics asks for")
}

func (f *metricsFlags) given() bool { return *f != metricsFlags{} }

// leastToken is how long a token must be.
const leastToken = 16

// check refuses what would be open to others.
func (f *metricsFlags) check() error {
	host, _, err := net.SplitHostPort(f.address)
	switch {
	case f.address == "":
		return dataset.Usagef("--metrics-cert, --metrics-key and --metrics-token-file go with --metrics HOST:PORT")
	case err != nil:
		return dataset.Usagef("--metrics is %q, want HOST:PORT such as 127.0.0.1:9090", f.address)
	case (f.cert == "") != (f.key == ""):
		return dataset.Usagef("--metrics-cert and --metrics-key go together")
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) && (f.cert == "" || f.token == "") {
		return dataset.Usagef("--metrics %s is open to other machines: give --metrics-cert, --metrics-key and --metrics-token-file, or listen on 127.0.0.1", f.address)
	}
	return nil
}

// metricsServer serves metrics of one run.
type metricsServer struct {
	srv *http.Server
	wg  sync.WaitGroup
}

func (j *job) serveMetrics(ctx context.Context, _ dataset.Sink) (observer, error) {
	f := &j.flags.see.metrics
	if err := f.check(); err != nil {
		return nil, err
	}
	reg, err := metrics.Registry(metrics.NewCollector(j.Version, j.settings.Options.Command, j.look.snapshot))
	if err != nil {
		return nil, fmt.Errorf("serve metrics: %w", err)
	}
	handler, err := f.guard(promhttp.HandlerFor(reg, promhttp.HandlerOpts{}))
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", handler)
	ln, scheme, err := f.listen(ctx)
	if err != nil {
		return nil, err
	}
	s := &metricsServer{srv: &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 16 << 10}}
	s.wg.Go(func() {
		if err := s.srv.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
			j.say(fmt.Sprintf("warning: metrics are not served any more: %v\n", err))
		}
	})
	if !j.flags.quiet {
		j.say(fmt.Sprintf("sluice: metrics at %s://%s/metrics\n", scheme, ln.Addr()))
	}
	return s, nil
}

// listen opens the port, over TLS if there is a certificate.
func (f *metricsFlags) listen(ctx context.Context) (ln net.Listener, scheme string, err error) {
	var cfg *tls.Config
	if f.cert != "" {
		cert, err := tls.LoadX509KeyPair(f.cert, f.key)
		if err != nil {
			return nil, "", dataset.Usagef("--metrics-cert %s: %w", f.cert, err)
		}
		cfg = &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}
	}
	var lc net.ListenConfig
	if ln, err = lc.Listen(ctx, "tcp", f.address); err != nil {
		return nil, "", dataset.Usagef("--metrics: %w", err)
	}
	if tcp, ok := ln.Addr().(*net.TCPAddr); (!ok || !tcp.IP.IsLoopback()) && (cfg == nil || f.token == "") { // localhost may be told to be elsewhere
		return nil, "", errors.Join(dataset.Usagef("--metrics %s listens at %s, which is open to other machines: give --metrics-cert, --metrics-key and --metrics-token-file", f.address, ln.Addr()), ln.Close())
	}
	if cfg == nil {
		return ln, "http", nil
	}
	return tls.NewListener(ln, cfg), "https", nil
}

// guard asks for the token, if there is one.
func (f *metricsFlags) guard(next http.Handler) (http.Handler, error) {
	if f.token == "" {
		return next, nil
	}
	raw, err := os.ReadFile(f.token)
	if err != nil {
		return nil, dataset.Usagef("--metrics-token-file: %w", err)
	}
	token := strings.TrimSpace(string(raw))
	if len(token) < leastToken {
		return nil, dataset.Usagef("--metrics-token-file %s holds %d characters, want %d or more", f.token, len(token), leastToken)
	}
	want := sha256.Sum256([]byte("Bearer " + token))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got := sha256.Sum256([]byte(r.Header.Get("Authorization")))
		if subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "a token is needed", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	}), nil
}

// end implements observer.
func (s *metricsServer) end(*dataset.Report, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if s.srv.Shutdown(ctx) != nil {
		_ = s.srv.Close() // a scrape hangs
	}
	s.wg.Wait()
}
