//go:build objects

package object

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/connectors/object/objecttest"
)

var server *objecttest.Gateway

func TestMain(m *testing.M) {
	var err error
	if server, err = objecttest.Start("../../.cache/bin/versitygw"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	if err := server.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// place is a bucket of the server behind a proxy, as a test sees it.
type place struct {
	*objecttest.Proxy
	store *store
	name  string
	dir   string // the bucket's folder
}

// newPlace makes a bucket. change may alter the configuration.
func newPlace(t *testing.T, change func(*Config)) *place {
	t.Helper()
	name, dir, err := server.Bucket()
	if err != nil {
		t.Fatal(err)
	}
	p := &place{Proxy: objecttest.NewProxy(t, server.Address), name: name, dir: dir}
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
