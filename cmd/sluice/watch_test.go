package main

import (
	"bufio"
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"
)

func TestExplainAnalyze(t *testing.T) {
	dir := events(t, 20_000)
	out, errs, code := run(t, dir, "", "explain", "--analyze", "events.jsonl | where score > 0.5 | select id | out.parquet")
	if code != 0 {
		t.Fatal(errs)
	}
	for _, want := range []string{"Pushed down and joined", "jsonl reads 2 of 4 columns and leaves out text, lang", "memory: about ", "measured: in 20000 rows", "measured: slots held ", "CPU: ",
		"the result was written to out.parquet", "read 20000 rows"} {
		if !strings.Contains(out, want) {
			t.Errorf("it lacks %q:\n%s", want, out)
		}
	}
	if n, _, _ := run(t, dir, "", "count", "--quiet", "out.parquet"); n != "8000\n" {
		t.Errorf("the result holds %s", n)
	}
	out, _, code = run(t, dir, "", "explain", "--analyze", "events.jsonl | where score > 0.5 | select id | out.parquet")
	if code != 0 || !strings.Contains(out, "was complete already: nothing ran") {
		t.Errorf("again: %d\n%s", code, out)
	}
	out, _, code = run(t, dir, "", "explain", "--analyze", "--mermaid", "events.jsonl | sort id")
	if code != 0 || !strings.HasPrefix(out, "flowchart LR\n") || !strings.Contains(out, ":::spills") || !strings.Contains(out, `-- "20000 rows" -->`) {
		t.Errorf("as a picture: %d\n%s", code, out)
	}
	out, _, code = run(t, dir, "", "explain", "--analyze", "events.jsonl | limit 3")
	if code != 0 || !strings.Contains(out, "rows were counted and dropped") || strings.Contains(out, `{"id"`) {
		t.Errorf("without a sink: %d\n%s", code, out)
	}
	if _, errs, code = run(t, dir, "", "explain", "--analyze", "photos.jpg | decode"); code == 0 || errs == "" {
		t.Errorf("without a file: %d %s", code, errs)
	}
}

// scraped runs a pipeline on standard input, scrapes its metrics in the middle with the given client and token, and returns what it got.
func scraped(t *testing.T, client *http.Client, token string, flags ...string) (status int, body string) {
	t.Helper()
	c := command(t, t.TempDir(), append(flags, "- | where id > 0 | out.jsonl")...)
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	errs, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(in, strings.Repeat("{\"id\":1}\n", 200_000)); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	for sc := bufio.NewScanner(errs); sc.Scan(); {
		said.WriteString(sc.Text() + "\n")
		m := regexp.MustCompile(`metrics at (https?://\S+)`).FindStringSubmatch(sc.Text())
		if m == nil {
			continue
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, m[1], nil)
		if err != nil {
			t.Fatal(err)
		}
		if token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
		res, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := io.ReadAll(res.Body)
		if cerr := res.Body.Close(); err != nil || cerr != nil {
			t.Fatal(err, cerr)
		}
		status, body = res.StatusCode, string(raw)
		in.Close()
	}
	if err := c.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, said.String())
	}
	return status, body
}

func TestMetricsOfARealRun(t *testing.T) {
	status, body := scraped(t, http.DefaultClient, "", "--metrics", "127.0.0.1:0")
	if status != http.StatusOK {
		t.Fatalf("%d: %s", status, body)
	}
	for _, want := range []string{`sluice_run_info{command="`, "sluice_memory_budget_bytes ", `sluice_stage_rows_in_total{name="where",stage="2"}`, "go_goroutines", "process_open_fds"} {
		if !strings.Contains(body, want) {
			t.Errorf("it lacks %s:\n%s", want, body)
		}
	}
}

// certificate writes a certificate for this machine and its key.
func certificate(t *testing.T) (dir string, pool *x509.CertPool) {
	t.Helper()
	dir = t.TempDir()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback, net.IPv6zero}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "cert.pem"), string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	write(t, filepath.Join(dir, "key.pem"), string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: raw})))
	write(t, filepath.Join(dir, "token"), "0123456789abcdef0123\n")
	write(t, filepath.Join(dir, "short"), "0123\n")
	pool = x509.NewCertPool()
	pool.AppendCertsFromPEM(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	return dir, pool
}

func TestMetricsWithTLSAndToken(t *testing.T) {
	dir, pool := certificate(t)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}}
	flags := []string{"--metrics", "127.0.0.1:0", "--metrics-cert", dir + "/cert.pem", "--metrics-key", dir + "/key.pem", "--metrics-token-file", dir + "/token"}
	for token, want := range map[string]int{"0123456789abcdef0123": 200, "0123456789abcdef0124": 401, "": 401} {
		if status, body := scraped(t, client, token, flags...); status != want || (want == 401) == strings.Contains(body, "sluice_") {
			t.Errorf("token %q: %d, %s", token, status, body)
		}
	}
}

func TestMetricsAreNotOpenToOthers(t *testing.T) {
	dir, _ := certificate(t)
	cert := []string{"--metrics-cert", dir + "/cert.pem", "--metrics-key", dir + "/key.pem"}
	for _, tt := range []struct {
		want string
		args []string
	}{
		{"open to other machines", []string{"--metrics", "0.0.0.0:0"}},
		{"open to other machines", []string{"--metrics", ":0"}},
		{"open to other machines", []string{"--metrics", "[::]:0"}},
		{"open to other machines", []string{"--metrics", "example.org:0"}},
		{"open to other machines", append([]string{"--metrics", "0.0.0.0:0"}, cert...)},
		{"open to other machines", []string{"--metrics", "0.0.0.0:0", "--metrics-token-file", dir + "/token"}},
		{"holds 4 characters, want 16 or more", append([]string{"--metrics", "0.0.0.0:0", "--metrics-token-file", dir + "/short"}, cert...)},
		{"no such file", append([]string{"--metrics", "0.0.0.0:0", "--metrics-token-file", dir + "/none"}, cert...)},
		{"go together", []string{"--metrics", "127.0.0.1:0", "--metrics-cert", dir + "/cert.pem"}},
		{"go with --metrics", cert},
		{"--metrics-cert", []string{"--metrics", "127.0.0.1:0", "--metrics-cert", dir + "/key.pem", "--metrics-key", dir + "/key.pem"}},
		{"want HOST:PORT", []string{"--metrics", "9090"}},
		{"--metrics: listen", []string{"--metrics", "127.0.0.1:99999"}},
	} {
		home := events(t, 3)
		_, errs, code := run(t, home, "", append(tt.args, "events.jsonl | out.jsonl")...)
		if code != 2 || !strings.Contains(errs, tt.want) {
			t.Errorf("%v: %d, %s", tt.args, code, errs)
		}
		if _, err := os.Stat(filepath.Join(home, "out.jsonl")); err == nil {
			t.Errorf("%v: it ran", tt.args)
		}
	}
}

func TestTraceOfARealRun(t *testing.T) {
	var mu sync.Mutex
	names := map[string]int{}
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		var in collector.ExportTraceServiceRequest
		if err != nil || proto.Unmarshal(raw, &in) != nil {
			t.Error("what came is no trace")
		}
		mu.Lock()
		defer mu.Unlock()
		for _, rs := range in.GetResourceSpans() {
			for _, ss := range rs.GetScopeSpans() {
				for _, s := range ss.GetSpans() {
					names[s.GetName()]++
				}
			}
		}
	}))
	defer srv.Close()
	dir := events(t, 1000)
	if _, errs, code := run(t, dir, "", "--otlp", srv.URL, "events.jsonl | where id > 5 | out.parquet"); code != 0 || strings.Contains(errs, "trace") {
		t.Fatalf("%d %s", code, errs)
	}
	for _, want := range []string{"sluice run", "read jsonl", "where", "write parquet"} {
		if names[want] != 1 {
			t.Errorf("%d spans %q of %v", names[want], want, names)
		}
	}
	if _, errs, code := run(t, dir, "", "--otlp", "127.0.0.1:4318", "events.jsonl | x.parquet"); code != 2 || !strings.Contains(errs, "want the address of an OTLP receiver") {
		t.Errorf("%d %s", code, errs)
	}
	srv.Close()
	c := command(t, dir, "--otlp", srv.URL, "events.jsonl | y.parquet")
	c.Env = append(c.Env, "OTEL_EXPORTER_OTLP_TIMEOUT=300")
	var errs bytes.Buffer
	c.Stderr = &errs
	if err := c.Run(); err != nil || !strings.Contains(errs.String(), "warning: not all of the trace arrived") {
		t.Errorf("a receiver that is gone: %v %s", err, errs.String())
	}
}

func TestReportOfARealRun(t *testing.T) {
	dir := photos(t)
	_, errs, code := run(t, dir, "", "--on-error=skip", "--report", "run.html", "photos/**/*.{jpg,png,webp} | decode | resize 64x64 | out/")
	if code != 0 || !strings.Contains(errs, "report: run.html") {
		t.Fatalf("%d %s", code, errs)
	}
	raw, err := os.ReadFile(filepath.Join(dir, "run.html"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"data:image/jpeg;base64,", "photos/broken/truncated.jpg", "content looks like an HTML page", "Physical plan", "measured: ", "decode&#43;resize", "begins with <code>3c"} {
		if !strings.Contains(string(raw), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	_, errs, code = run(t, dir, "", "--report", "failed.html", "photos/**/*.jpg | decode | resize 64x64 | out2/")
	raw, err = os.ReadFile(filepath.Join(dir, "failed.html"))
	if code != 1 || err != nil || !strings.Contains(string(raw), `id="error">decode`) {
		t.Errorf("a run that fails: %d, %v, %s", code, err, errs)
	}
	if _, errs, code := run(t, dir, "", "--report", "no/such/run.html", "photos/*.jpg | out3/"); code != 2 || !strings.Contains(errs, "--report") {
		t.Errorf("no such folder: %d %s", code, errs)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".report-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
