//go:build objects

package object

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluice-data/sluice/connectors/file"
)

// gateway is a real S3 server over a folder: objects are its files.
type gateway struct {
	address string // host:port
	root    string
}

var server gateway

func TestMain(m *testing.M) {
	code, err := withGateway(m.Run)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// withGateway runs the tests with the server up.
func withGateway(run func() int) (code int, err error) {
	bin, err := filepath.Abs("../../.cache/bin/versitygw")
	if err != nil {
		return 1, err
	}
	if _, err := os.Stat(bin); err != nil {
		return 1, fmt.Errorf("the S3 server for tests is missing; run make test-objects: %w", err)
	}
	if server.root, err = os.MkdirTemp("", "sluice-objects-*"); err != nil {
		return 1, err
	}
	defer os.RemoveAll(server.root)
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 1, err
	}
	server.address = free.Addr().String()
	if err := free.Close(); err != nil {
		return 1, err
	}
	cmd := exec.Command(bin, "--keep-alive", "-p", server.address, "-a", "testkey", "-s", "testsecret", "posix", server.root) //nolint:gosec
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 1, err
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		return 1, err
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	go func() { // its log is not looked at, but must not fill the pipe
		for sc := bufio.NewScanner(out); sc.Scan(); {
		}
	}()
	os.Setenv("AWS_ACCESS_KEY_ID", "testkey")
	os.Setenv("AWS_SECRET_ACCESS_KEY", "testsecret")
	os.Setenv("AWS_CONFIG_FILE", "/dev/null")
	os.Setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")
	if err := server.wait(); err != nil {
		return 1, err
	}
	return run(), nil
}

// wait returns when the server answers.
func (g gateway) wait() error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+g.address+"/", http.NoBody)
		if err != nil {
			return err
		}
		resp, err := http.DefaultClient.Do(req)
		if err == nil {
			return resp.Body.Close()
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("the S3 server for tests does not answer: %w", err)
		}
	}
}

// place is a bucket of the server behind a proxy, as a test sees it.
type place struct {
	*proxy
	store *store
	name  string
	dir   string // the bucket's folder
}

// newPlace makes a bucket. change may alter the configuration.
func newPlace(t *testing.T, change func(*Config)) *place {
	t.Helper()
	dir, err := os.MkdirTemp(server.root, "b")
	if err != nil {
		t.Fatal(err)
	}
	name := strings.ToLower(filepath.Base(dir))
	p := &place{proxy: newProxy(t, server.address), name: name, dir: dir}
	cfg, err := fromEnv(func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	cfg.S3Endpoint, cfg.S3PathStyle = p.URL, true
	cfg.Patience, cfg.Stall = 5*time.Second, 200*time.Millisecond
	if change != nil {
		change(&cfg)
	}
	get := func() (Config, error) { return cfg, nil }
	p.store = &store{scheme: "s3", drv: drivers["s3"], cfg: get, ahead: newBudget(get)}
	return p
}

func (p *place) url(path string) string { return "s3://" + p.name + "/" + path }

// put writes files into the bucket behind the server's back: they have no metadata, as files that came in another way.
func (p *place) put(t *testing.T, files map[string]string) {
	t.Helper()
	b, err := p.store.bucket(t.Context(), p.name)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := b.put(t.Context(), name, []byte(text), false); err != nil {
			t.Fatal(err)
		}
	}
}

// sink makes a sink of a path in the bucket.
func (p *place) disk(t *testing.T, path string) (*disk, string) {
	t.Helper()
	d, at, err := p.store.disk(p.url(path))
	if err != nil {
		t.Fatal(err)
	}
	return d.(*disk), at
}

var _ file.FS = storeFS{}
