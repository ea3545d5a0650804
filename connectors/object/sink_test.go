//go:build objects

package object

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/connectors/connectortest"
	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/connectors/object/objecttest"
	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
)

var sinkSchema = arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64}, {Name: "s", Type: arrow.BinaryTypes.String, Nullable: true}}, nil)

func sinkRows(mem memory.Allocator, first, n int) arrow.RecordBatch {
	b := array.NewRecordBuilder(mem, sinkSchema)
	defer b.Release()
	for i := range n {
		b.Field(0).(*array.Int64Builder).Append(int64(first + i))
		if (first+i)%3 == 0 {
			b.Field(1).AppendNull()
		} else {
			b.Field(1).(*array.StringBuilder).Append(fmt.Sprint("v", first+i))
		}
	}
	return b.NewRecordBatch()
}

func sinkText(row int) string {
	if row%3 == 0 {
		return fmt.Sprintf("%d\t(null)", row)
	}
	return fmt.Sprintf("%d\tv%d", row, row)
}

func (p *place) sink(t *testing.T, path string) *file.Sink {
	t.Helper()
	d, at := p.disk(t, path)
	s, err := file.NewSinkOn(d, at, connectortest.TextFormat{}, file.Layout{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestSinkConformance: what the file sink promises on a disk it promises on a store, also on one that fails now and then.
func TestSinkConformance(t *testing.T) {
	everyCloud(t, func(t *testing.T, at *objecttest.Server) {
		for name, rule := range map[string]func(*http.Request) objecttest.Fault{"sound": nil, "flaky": flakyWrites(5)} {
			t.Run(name, func(t *testing.T) {
				n := 0
				p := newPlace(t, at, nil)
				p.Set(rule)
				connectortest.RunSink(t, connectortest.SinkConfig{
					Format: connectortest.TextFormat{}, Schema: sinkSchema, Rows: sinkRows, Text: sinkText,
					Read: func(path string) ([]string, error) {
						raw, err := os.ReadFile(path)
						if err != nil {
							return nil, err
						}
						return connectortest.TextRows(raw)
					},
					New: func(t *testing.T, name string) (*file.Sink, connectortest.Place) {
						n++
						folder, dir := fmt.Sprintf("r%d/", n), t.TempDir()
						path := folder + "result" + name
						return p.sink(t, path), connectortest.Place{
							Path:   filepath.Join(dir, filepath.FromSlash(path)),
							Fetch:  func(t *testing.T) { p.copyOf(t, folder, dir) },
							Write:  func(t *testing.T, name string, data []byte) { p.put(t, map[string]string{path + name: string(data)}) },
							Remove: func(t *testing.T, name string) { p.remove(t, path+name) },
						}
					},
				})
			})
		}
	})
}

// flakyWrites fails requests of every kind in every way, also so that the request had its effect and the answer is lost.
func flakyWrites(seed uint64) func(r *http.Request) objecttest.Fault {
	rnd := rand.New(rand.NewPCG(seed, 9))
	var mu sync.Mutex
	return func(*http.Request) objecttest.Fault {
		mu.Lock()
		defer mu.Unlock()
		switch rnd.IntN(24) {
		case 0:
			return objecttest.Fault{Status: 503, After: "0"}
		case 1:
			return objecttest.Fault{Status: 500}
		case 2:
			return objecttest.Fault{Lost: true}
		}
		return objecttest.Fault{}
	}
}

func writePart(t *testing.T, s *file.Sink, seq uint64, first, n int) dataset.Receipt {
	t.Helper()
	rt := connectortest.NewRuntime(t)
	w, err := s.NewWriter(t.Context(), rt, dataset.Part{Seq: seq, Run: "run1", Attempt: 1}, sinkSchema)
	if err != nil {
		t.Fatal(err)
	}
	b := block.New(sinkRows(rt.Allocator(), first, n), block.Identity{})
	defer b.Release()
	if err := w.Write(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	r, err := w.Commit(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestBigParts: an upload of many parts keeps its bytes and its time through the copy, so that verifying it reads nothing back.
func TestBigParts(t *testing.T) {
	everyCloud(t, func(t *testing.T, at *objecttest.Server) {
		p := newPlace(t, at, func(c *Config) { c.UploadPart = 5 << 20 })
		s := p.sink(t, "out/")
		r := writePart(t, s, 0, 0, 1_000_000)
		if r.Bytes < 12<<20 {
			t.Fatalf("%d bytes are too few for this test", r.Bytes)
		}
		if err := s.Finish(t.Context(), []dataset.Receipt{r}); err != nil {
			t.Fatal(err)
		}
		gets := 0
		p.Set(func(r *http.Request) objecttest.Fault {
			if r.Method == http.MethodGet && !strings.HasPrefix(r.URL.Path, "/storage/v1/") { // where Google tells of an object without its bytes
				gets++
			}
			return objecttest.Fault{}
		})
		missing, differ, err := s.Verify(t.Context(), []dataset.Receipt{r})
		if err != nil || len(missing)+len(differ) > 0 || gets > 0 {
			t.Errorf("missing %v, differ %v, %v; %d reads", missing, differ, err, gets)
		}
		raw := p.read(t, "out/"+r.Name)
		if rows, err := connectortest.TextRows(raw); err != nil || len(rows) != 1_000_000 {
			t.Errorf("%d rows, %v", len(rows), err)
		}
		// a copy that was restored with another time is the same file
		p.put(t, map[string]string{"out/" + r.Name: string(raw)})
		if missing, differ, err = s.Verify(t.Context(), []dataset.Receipt{r}); err != nil || len(missing)+len(differ) > 0 {
			t.Errorf("restored: missing %v, differ %v, %v", missing, differ, err)
		}
	})
}

// TestBigCopy: what the store cannot copy in one request is copied as bytes, with its metadata.
func TestBigCopy(t *testing.T) {
	everyCloud(t, func(t *testing.T, at *objecttest.Server) {
		p := newPlace(t, at, nil)
		drv := *p.store.drv
		drv.copyLimit = 1000
		p.store.drv = &drv
		s := p.sink(t, "out/")
		r := writePart(t, s, 0, 0, 10_000)
		if err := s.Finish(t.Context(), []dataset.Receipt{r}); err != nil {
			t.Fatal(err)
		}
		raw := p.read(t, "out/"+r.Name)
		if rows, err := connectortest.TextRows(raw); err != nil || len(rows) != 10_000 {
			t.Errorf("%d rows, %v", len(rows), err)
		}
	})
}

// TestSweep: the next holder of the lease ends uploads that a killed run left.
func TestSweep(t *testing.T) {
	p := newPlace(t, serverOf(t, "s3"), func(c *Config) { c.UploadPart = 5 << 20 })
	d, _ := p.disk(t, "out/")
	f, err := d.Create("/out/_sluice/dead/stage/x.part")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(make([]byte, 17<<20)); err != nil {
		t.Fatal(err)
	}
	late, tick := time.After(30*time.Second), time.NewTicker(10*time.Millisecond)
	defer tick.Stop()
	for p.server.Uploads(p.name) == 0 { // it is uploaded behind its back
		select {
		case <-tick.C:
		case <-late:
			t.Fatal("nothing was uploaded")
		}
	}
	release, err := d.Storage("/out/_sluice").Lock(t.Context(), "lock", []byte("me"))
	if err != nil {
		t.Fatal(err)
	}
	if n := p.server.Uploads(p.name); n > 0 {
		t.Errorf("%d parts of uploads are left", n)
	}
	if err := errors.Join(release(), f.Close()); err != nil {
		t.Error(err)
	}
}

// TestStorage: names, conditions, logs of pieces.
func TestStorage(t *testing.T) {
	everyCloud(t, func(t *testing.T, at *objecttest.Server) {
		for name, rule := range map[string]func(*http.Request) objecttest.Fault{"sound": nil, "flaky": flakyWrites(7)} {
			t.Run(name, func(t *testing.T) {
				p := newPlace(t, at, nil)
				d, _ := p.disk(t, "out/")
				st := d.Storage("/out/_sluice")
				p.Set(rule)
				ctx := t.Context()
				if names, err := st.List(ctx, ""); err != nil || len(names) > 0 {
					t.Fatalf("an empty place: %q, %v", names, err)
				}
				if _, err := st.Read(ctx, "none"); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("read nothing: %v", err)
				}
				for i := range 20 {
					n := fmt.Sprintf("manifest/%03d", i)
					if err := st.Create(ctx, n, []byte("mine")); err != nil {
						t.Fatal(err)
					}
					if err := st.Create(ctx, n, []byte("other")); !errors.Is(err, fs.ErrExist) {
						t.Fatalf("create again: %v", err)
					}
					if raw, err := st.Read(ctx, n); err != nil || string(raw) != "mine" {
						t.Fatalf("%q, %v", raw, err)
					}
				}
				if err := st.Replace(ctx, "manifest/000", []byte("new")); err != nil {
					t.Fatal(err)
				}
				log, err := st.Append(ctx, "run1/log/00000001")
				if err != nil {
					t.Fatal(err)
				}
				want := ""
				for i := range 25 {
					if err := log.Append(fmt.Appendf(nil, "record %d\n", i)); err != nil {
						t.Fatal(err)
					}
					if err := log.Sync(); err != nil {
						t.Fatal(err)
					}
					want += fmt.Sprintf("record %d\n", i)
				}
				if err := log.Append([]byte("never synced")); err != nil {
					t.Fatal(err)
				}
				if err := log.Close(); err != nil {
					t.Fatal(err)
				}
				if raw, err := st.Read(ctx, "run1/log/00000001"); err != nil || string(raw) != want {
					t.Errorf("log: %q, %v", raw, err)
				}
				if names, err := st.List(ctx, "run1"); err != nil || !slices.Equal(names, []string{"run1/log/00000001"}) {
					t.Errorf("list: %q, %v", names, err)
				}
				p.remove(t, "out/_sluice/run1/log/00000001.seg-00000003")
				if _, err := st.Read(ctx, "run1/log/00000001"); err == nil || !strings.Contains(err.Error(), "a piece is missing") {
					t.Errorf("a log with a hole: %v", err)
				}
				for range 2 {
					if err := st.Remove(ctx, "run1/log/00000001"); err != nil {
						t.Fatal(err)
					}
				}
				if names, err := st.List(ctx, "run1"); err != nil || len(names) > 0 {
					t.Errorf("after Remove: %q, %v", names, err)
				}
			})
		}
	})
}
