package connectortest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
)

// SinkConfig describes a file format to the sink suite.
type SinkConfig struct {
	Format dataset.Format
	Schema *arrow.Schema
	// Rows makes n rows, of which the first is row number first; the same number gives the same row. Some values should be null.
	Rows func(mem memory.Allocator, first, n int) arrow.RecordBatch
	// Read returns the rows of a whole file, each as text, in order; an error if it is not whole.
	Read func(path string) ([]string, error)
	// Text is how Read shows a row.
	Text func(row int) string
	// Bad is a schema that Check refuses, nil if there is none.
	Bad *arrow.Schema
	// New makes a sink on a place other than this machine's disk, for a result whose path ends in name. Nil: the disk.
	New func(t *testing.T, name string) (*file.Sink, Place)
}

// RunSink checks what the contracts of dataset.Format, Encoder, Sink, Writer and Joiner promise. It writes through the file sink.
func RunSink(t *testing.T, c SinkConfig) {
	t.Run("rows", c.rows)
	t.Run("empty", c.empty)
	t.Run("bytes", c.bytes)
	t.Run("abort", c.abort)
	t.Run("invisible", c.invisible)
	t.Run("publish", c.publish)
	t.Run("join", c.join)
	if c.New == nil {
		t.Run("faults", c.faults)
	}
	t.Run("check", c.check)
}

// suiteSink is a sink on a folder of the test.
func (c SinkConfig) sink(t *testing.T, disk file.Disk, name string) (*file.Sink, Place) {
	t.Helper()
	var s *file.Sink
	var at Place
	if c.New != nil {
		s, at = c.New(t, name)
	} else {
		var err error
		at = onDisk(filepath.Join(t.TempDir(), "result") + name)
		if s, err = file.NewSinkOn(disk, at.Path, c.Format, file.Layout{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Check(c.Schema); err != nil {
		t.Fatal(err)
	}
	return s, at
}

func part(seq uint64) dataset.Part { return dataset.Part{Seq: seq, Run: "run1", Attempt: 1} }

// write writes rows [first, first+n) in blocks of the given sizes, over and over, and commits.
func (c SinkConfig) write(ctx context.Context, rt dataset.Runtime, s dataset.Sink, p dataset.Part, first, n int, sizes ...int) (dataset.Receipt, error) {
	w, err := s.NewWriter(ctx, rt, p, c.Schema)
	if err != nil {
		return dataset.Receipt{}, err
	}
	if err := c.fill(ctx, rt.Allocator(), w, first, n, sizes...); err != nil {
		return dataset.Receipt{}, errors.Join(err, w.Abort(ctx))
	}
	return w.Commit(ctx)
}

func (c SinkConfig) fill(ctx context.Context, mem memory.Allocator, w dataset.Writer, first, n int, sizes ...int) error {
	for i, at := 0, 0; at < n; i++ {
		k := min(n-at, max(1, sizes[i%len(sizes)]))
		b := block.New(c.Rows(mem, first+at, k), block.Identity{})
		if i%2 == 1 && k > 2 { // a slice, whose offsets are not zero
			whole := b
			wide := block.New(c.Rows(mem, first+at-1, k+1), block.Identity{})
			b = wide.Slice(1, k)
			wide.Release()
			whole.Release()
		}
		err := w.Write(ctx, b)
		if refs := b.Refs(); err == nil && refs < 1 {
			err = fmt.Errorf("the writer released a block that it borrowed")
		}
		b.Release()
		if err != nil {
			return err
		}
		if w.Bytes() < 0 || w.Buffered() < 0 {
			return fmt.Errorf("%d bytes, %d buffered", w.Bytes(), w.Buffered())
		}
		at += k
	}
	return nil
}

// rows writes blocks of many sizes and reads the file.
func (c SinkConfig) rows(t *testing.T) {
	for _, sizes := range [][]int{{1}, {1000}, {7, 64, 1, 300}} {
		rt := NewRuntime(t)
		s, at := c.sink(t, file.OSDisk{}, "/")
		r, err := c.write(t.Context(), rt, s, part(0), 5, 777, sizes...)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Finish(t.Context(), []dataset.Receipt{r}); err != nil {
			t.Fatal(err)
		}
		if r.Rows != 777 || r.Hash == "" {
			t.Errorf("receipt %+v", r)
		}
		c.want(t, at, r.Name, 5, 777)
		if st, err := os.Stat(filepath.Join(at.Path, r.Name)); err != nil || st.Size() != r.Bytes {
			t.Errorf("the receipt says %d bytes: %v, %v", r.Bytes, st, err)
		}
	}
}

// empty: a file of no rows is a file that reads as no rows.
func (c SinkConfig) empty(t *testing.T) {
	rt := NewRuntime(t)
	s, at := c.sink(t, file.OSDisk{}, "/")
	r, err := c.write(t.Context(), rt, s, part(0), 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Finish(t.Context(), []dataset.Receipt{r}); err != nil {
		t.Fatal(err)
	}
	c.want(t, at, r.Name, 0, 0)
}

// bytes: the file depends on the rows, not on how they were cut into blocks.
func (c SinkConfig) bytes(t *testing.T) {
	hash := ""
	for i := range 4 {
		rt := NewRuntime(t)
		s, _ := c.sink(t, file.OSDisk{}, "/")
		rnd := rand.New(rand.NewPCG(uint64(i), 7))
		r, err := c.write(t.Context(), rt, s, part(0), 0, 2500, 1+rnd.IntN(50), 1+rnd.IntN(900), 1+rnd.IntN(9))
		if err != nil {
			t.Fatal(err)
		}
		if hash == "" {
			hash = r.Hash
		}
		if r.Hash != hash {
			t.Fatalf("other blocks of the same rows give other bytes")
		}
	}
}

// abort leaves neither a file nor memory, whenever it comes.
func (c SinkConfig) abort(t *testing.T) {
	for _, n := range []int{0, 1, 500} {
		rt := NewRuntime(t)
		s, at := c.sink(t, file.OSDisk{}, "/")
		w, err := s.NewWriter(t.Context(), rt, part(0), c.Schema)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.fill(t.Context(), rt.Allocator(), w, 0, n, 100); err != nil {
			t.Fatal(err)
		}
		if err := w.Abort(t.Context()); err != nil {
			t.Fatal(err)
		}
		at.Fetch(t)
		err = filepath.WalkDir(at.Path, func(p string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err == nil && !d.IsDir() {
				t.Errorf("%s is left", p)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// invisible: before Finish no reader sees anything, also of a writer that was killed between its last write and its commit.
func (c SinkConfig) invisible(t *testing.T) {
	rt := NewRuntime(t)
	s, at := c.sink(t, file.OSDisk{}, "/")
	w, err := s.NewWriter(t.Context(), rt, part(1), c.Schema)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.fill(t.Context(), rt.Allocator(), w, 0, 300, 100); err != nil {
		t.Fatal(err)
	}
	r, err := c.write(t.Context(), rt, s, part(0), 0, 100, 50)
	if err != nil {
		t.Fatal(err)
	}
	if got := dataFiles(t, at); len(got) > 0 {
		t.Errorf("visible before Finish: %q", got)
	}
	if err := s.Finish(t.Context(), []dataset.Receipt{r}); err != nil {
		t.Fatal(err)
	}
	if got := dataFiles(t, at); len(got) != 1 {
		t.Errorf("visible: %q, want the committed part alone", got)
	}
	if err := s.Discard(t.Context(), "run1"); err != nil {
		t.Fatal(err)
	}
	if err := w.Abort(t.Context()); err != nil {
		t.Errorf("abort of a discarded part: %v", err)
	}
}

// publish: Finish is idempotent, Verify sees what was lost or changed, Remove removes.
func (c SinkConfig) publish(t *testing.T) {
	ctx := t.Context()
	s, at := c.sink(t, file.OSDisk{}, "/")
	var rs []dataset.Receipt
	for i := range 3 {
		r, err := c.write(ctx, NewRuntime(t), s, part(uint64(i)), i*100, 100, 30)
		if err != nil {
			t.Fatal(err)
		}
		rs = append(rs, r)
	}
	for range 2 {
		if err := s.Finish(ctx, rs); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Seal(ctx, rs); err != nil {
		t.Fatal(err)
	}
	for i, p := range dataFiles(t, at) {
		c.wantIn(t, p, i*100, 100) // names sort in output order
	}
	at.Remove(t, rs[0].Name)
	at.Write(t, rs[1].Name, []byte("x"))
	missing, differ, err := s.Verify(ctx, rs)
	if err != nil || len(missing) != 1 || len(differ) != 1 || missing[0].Name != rs[0].Name || differ[0].Name != rs[1].Name {
		t.Errorf("verify: missing %v, differ %v, %v", missing, differ, err)
	}
	if err := s.Finish(ctx, rs); err == nil {
		t.Error("Finish of parts that are neither staged nor whole succeeds")
	}
	for range 2 {
		if err := s.Remove(ctx, rs, nil); err != nil {
			t.Fatal(err)
		}
	}
	if got := dataFiles(t, at); len(got) > 0 {
		t.Errorf("left after Remove: %q", got)
	}
}

// join makes one file of several parts.
func (c SinkConfig) join(t *testing.T) {
	ctx := t.Context()
	for _, counts := range [][]int{{40}, {40, 1, 0, 300}, {0, 0}} {
		s, at := c.sink(t, file.OSDisk{}, "."+c.Format.Extension())
		var rs []dataset.Receipt
		total := 0
		for i, n := range counts {
			r, err := c.write(ctx, NewRuntime(t), s, part(uint64(i)), total, n, 16)
			if err != nil {
				t.Fatal(err)
			}
			rs = append(rs, r)
			total += n
		}
		final, replaces, err := s.Join(ctx, part(9), nil, rs, 1<<40)
		if err != nil || replaces || len(final) != 1 {
			t.Fatal(len(final), replaces, err)
		}
		if err := s.Finish(ctx, final); err != nil {
			t.Fatal(err)
		}
		c.want(t, at, "", 0, total)
		// appended rows make a new file of all
		r, err := c.write(ctx, NewRuntime(t), s, dataset.Part{Run: "run2", Attempt: 1}, total, 25, 10)
		if err != nil {
			t.Fatal(err)
		}
		both, replaces, err := s.Join(ctx, dataset.Part{Run: "run2", Attempt: 1, Seq: 1}, final, []dataset.Receipt{r}, 1<<40)
		if err != nil || !replaces {
			t.Fatal(replaces, err)
		}
		c.want(t, at, "", 0, total)
		if err := s.Finish(ctx, both); err != nil {
			t.Fatal(err)
		}
		c.want(t, at, "", 0, total+25)
	}
}

func (c SinkConfig) check(t *testing.T) {
	if c.Bad != nil {
		if err := c.Format.Check(c.Bad); err == nil {
			t.Errorf("Check takes %s", c.Bad)
		}
	}
	if c.Format.Name() == "" || c.Format.Extension() == "" || strings.HasPrefix(c.Format.Extension(), ".") || c.Format.Version() < 1 {
		t.Errorf("name %q, extension %q, version %d", c.Format.Name(), c.Format.Extension(), c.Format.Version())
	}
}

// faults fails the disk under the encoder at many places: there is an error each time, no memory is lost, nothing stays.
func (c SinkConfig) faults(t *testing.T) {
	for at := int64(0); ; at = at*3/2 + 1 {
		rt := NewRuntime(t)
		d := &fullDisk{left: at}
		s, place := c.sink(t, d, "/")
		_, err := c.write(t.Context(), rt, s, part(0), 0, 2500, 170, 3)
		if err == nil {
			if d.left < 0 {
				t.Fatalf("full after %d bytes: no error", at)
			}
			return
		}
		if !errors.Is(err, errFull) || !strings.Contains(err.Error(), "the disk is full") {
			t.Fatalf("full after %d bytes: %v", at, err)
		}
		if left := slices.Concat(dataFiles(t, place), dataFilesIn(t, filepath.Join(place.Path, "_sluice", "run1", "stage"))); len(left) > 0 {
			t.Fatalf("full after %d bytes: %q is left", at, left)
		}
	}
}
