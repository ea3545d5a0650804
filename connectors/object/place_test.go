//go:build objects

package object

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/connectors/object/objecttest"
)

// servers are the real servers, one of each cloud that is compiled in.
var servers []*objecttest.Server

func init() { manyObjects = 1_000_000 }

func TestMain(m *testing.M) {
	var stop func() error
	var err error
	if servers, stop, err = objecttest.StartAll("../..", slices.Sorted(maps.Keys(drivers))...); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	if err := stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// everyCloud runs a test on each server.
func everyCloud(t *testing.T, f func(t *testing.T, s *objecttest.Server)) {
	for _, s := range servers {
		t.Run(s.Scheme, func(t *testing.T) { f(t, s) })
	}
}

// serverOf is the server of a scheme.
func serverOf(t *testing.T, scheme string) *objecttest.Server {
	t.Helper()
	for _, s := range servers {
		if s.Scheme == scheme {
			return s
		}
	}
	t.Fatalf("there is no server of %s; build with its tag", scheme)
	return nil
}

// place is a bucket of a server behind a proxy, as a test sees it.
type place struct {
	*objecttest.Proxy
	server *objecttest.Server
	store  *store
	name   string
}

// newPlace makes a bucket. change may alter the configuration.
func newPlace(t *testing.T, server *objecttest.Server, change func(*Config)) *place {
	t.Helper()
	name, err := server.Bucket()
	if err != nil {
		t.Fatal(err)
	}
	p := &place{Proxy: objecttest.NewProxy(t, server.Address), server: server, name: name}
	cfg := envOf(t, server.Environ(p.Listener.Addr().String()))
	cfg.Patience, cfg.Stall = 5*time.Second, 200*time.Millisecond
	if change != nil {
		change(&cfg)
	}
	get := func() (Config, error) { return cfg, nil }
	p.store = &store{scheme: server.Scheme, drv: drivers[server.Scheme], cfg: get, ahead: newBudget(get)}
	return p
}

// envOf is the configuration that an environment says.
func envOf(t *testing.T, environ []string) Config {
	t.Helper()
	vars := map[string]string{}
	for _, e := range environ {
		k, v, _ := strings.Cut(e, "=")
		vars[k] = v
	}
	cfg, err := fromEnv(func(name string) string { return vars[name] }, nil)
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

func (p *place) url(path string) string { return p.server.URL(p.name, path) }

// put writes files into the bucket past Sluice: they have no metadata, as files that came in another way.
func (p *place) put(t *testing.T, files map[string]string) {
	t.Helper()
	for name, text := range files {
		if err := p.server.Write(p.name, name, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
}

// remove takes a file away, past Sluice.
func (p *place) remove(t *testing.T, name string) {
	t.Helper()
	if err := p.server.Remove(p.name, name); err != nil {
		t.Fatal(err)
	}
}

// read reads a file past Sluice.
func (p *place) read(t *testing.T, name string) []byte {
	t.Helper()
	raw, err := p.server.Read(p.name, name)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// disk opens a path in the bucket for writing.
func (p *place) disk(t *testing.T, path string) (*disk, string) {
	t.Helper()
	d, at, err := p.store.disk(p.url(path))
	if err != nil {
		t.Fatal(err)
	}
	return d.(*disk), at
}

// copyOf makes a copy of what lies below a path of the bucket, as a local folder that is one when it is called and later too.
func (p *place) copyOf(t *testing.T, path, dir string) {
	t.Helper()
	if err := p.server.Copy(p.name, path, filepath.Join(dir, filepath.FromSlash(path))); err != nil {
		t.Fatal(err)
	}
}

var _ file.FS = storeFS{}
