package commit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sluice-data/sluice/dataset"
)

// memStorage is dataset.Storage in memory.
type memStorage map[string][]byte

func (s memStorage) Read(_ context.Context, name string) ([]byte, error) {
	if p, ok := s[name]; ok {
		return p, nil
	}
	return nil, fmt.Errorf("read %s: %w", name, fs.ErrNotExist)
}

func (s memStorage) Create(ctx context.Context, name string, data []byte) error {
	if _, ok := s[name]; ok {
		return fmt.Errorf("create %s: %w", name, fs.ErrExist)
	}
	return s.Replace(ctx, name, data)
}

func (s memStorage) Replace(_ context.Context, name string, data []byte) error {
	s[name] = bytes.Clone(data)
	return nil
}

func (s memStorage) List(_ context.Context, prefix string) ([]string, error) {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(s)), func(n string) bool { return prefix != "" && !strings.HasPrefix(n, prefix+"/") }), nil
}

func (s memStorage) Remove(_ context.Context, name string) error {
	delete(s, name)
	return nil
}

func (s memStorage) Append(_ context.Context, name string) (dataset.Log, error) {
	return &memLog{s: s, name: name}, nil
}

func (s memStorage) Lock(context.Context, string, []byte) (func() error, error) {
	return func() error { return nil }, nil
}

type memLog struct {
	s      memStorage
	name   string
	failed error // what Sync gives
}

func (l *memLog) Append(p []byte) error {
	l.s[l.name] = append(l.s[l.name], p...)
	return nil
}
func (l *memLog) Sync() error  { return l.failed }
func (l *memLog) Close() error { return nil }

type seen struct {
	k kind
	p string
}

func readAll(s memStorage, run string) (out []seen, last int, end logPoint, err error) {
	last, end, err = readLog(context.Background(), s, run, func(k kind, p []byte) error {
		out = append(out, seen{k, string(p)})
		return nil
	})
	return out, last, end, err
}

func logOf(t *testing.T, n int) (memStorage, []seen) {
	t.Helper()
	s := memStorage{}
	l, err := openRunLog(t.Context(), s, "r1", 1, 0, logPoint{})
	if err != nil {
		t.Fatal(err)
	}
	var want []seen
	for i := range n {
		p := strings.Repeat("x", i*3)
		if err := l.append(kindGeneration, []byte(p)); err != nil {
			t.Fatal(err)
		}
		want = append(want, seen{kindGeneration, p})
	}
	if err := errors.Join(l.sync(t.Context()), l.close()); err != nil {
		t.Fatal(err)
	}
	return s, want
}

// TestTornTail cuts a log at every byte: what is read is a prefix of what was written, and never an error.
func TestTornTail(t *testing.T) {
	s, want := logOf(t, 12)
	name := segmentName("r1", 1)
	whole := s[name]
	for n := range len(whole) + 1 {
		for _, tail := range [][]byte{nil, make([]byte, 64), []byte("garbage that an older file left")} {
			s[name] = append(bytes.Clone(whole[:n]), tail...)
			got, _, end, err := readAll(s, "r1")
			if err != nil {
				t.Fatalf("cut at %d: %v", n, err)
			}
			if len(got) > len(want) || !slices.Equal(got, want[:len(got)]) {
				t.Fatalf("cut at %d: read %d records that are no prefix", n, len(got))
			}
			if n == len(whole) && len(got) != len(want) {
				t.Fatalf("whole log: %d records, want %d", len(got), len(want))
			}
			if end.Bytes > int64(n) {
				t.Fatalf("cut at %d: valid up to %d", n, end.Bytes)
			}
		}
	}
}

// TestFlippedBits: a damaged record is never read as another one.
func TestFlippedBits(t *testing.T) {
	s, want := logOf(t, 6)
	name := segmentName("r1", 1)
	whole := s[name]
	for i := range whole {
		s[name] = bytes.Clone(whole)
		s[name][i] ^= 0x10
		got, _, _, err := readAll(s, "r1")
		if err == nil && !slices.Equal(got, want[:len(got)]) {
			t.Fatalf("byte %d flipped: wrong records", i)
		}
		if err == nil && len(got) == len(want) {
			t.Fatalf("byte %d flipped: not noticed", i)
		}
	}
}

// TestSegments: a second attempt goes on in a segment of its own, and notices when the first has lost something since.
func TestSegments(t *testing.T) {
	s, want := logOf(t, 4)
	first := segmentName("r1", 1)
	s[first] = append(s[first], "torn"...)
	_, last, end, err := readAll(s, "r1")
	if err != nil || last != 1 {
		t.Fatal(last, err)
	}
	l, err := openRunLog(t.Context(), s, "r1", 2, last, end)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(l.append(kindFinish, []byte("f")), l.sync(t.Context()), l.close()); err != nil {
		t.Fatal(err)
	}
	got, _, _, err := readAll(s, "r1")
	if err != nil || !slices.Equal(got, append(want, seen{kindFinish, "f"})) {
		t.Fatal(got, err)
	}
	s[first] = s[first][:len(s[first])/2]
	if _, _, _, err := readAll(s, "r1"); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("a segment that lost records: %v", err)
	}
	delete(s, first)
	if _, _, _, err := readAll(s, "r1"); err == nil || !strings.Contains(err.Error(), "missing") {
		t.Errorf("a missing segment: %v", err)
	}
}

// TestRotation: a log of many segments reads as one, from each of which something is left out in turn.
func TestRotation(t *testing.T) {
	s := memStorage{}
	l, err := openRunLog(t.Context(), s, "r1", 1, 0, logPoint{})
	if err != nil {
		t.Fatal(err)
	}
	l.limit = 200
	var want []seen
	for i := range 40 {
		p := fmt.Sprintf("record %d of a log with segments", i)
		if err := errors.Join(l.append(kindGeneration, []byte(p)), l.sync(t.Context())); err != nil {
			t.Fatal(err)
		}
		want = append(want, seen{kindGeneration, p})
	}
	if err := l.close(); err != nil {
		t.Fatal(err)
	}
	got, last, _, err := readAll(s, "r1")
	if err != nil || last < 5 || !slices.Equal(got, want) {
		t.Fatalf("%d segments, %d records, %v", last, len(got), err)
	}
	for i := 1; i < last; i++ { // all but the last, whose end may be torn
		cut := maps.Clone(s)
		cut[segmentName("r1", i)] = cut[segmentName("r1", i)][:150]
		if _, _, _, err := readAll(cut, "r1"); err == nil {
			t.Errorf("segment %d lost its end unnoticed", i)
		}
	}
}

// TestFailedSync: after a failed sync nothing counts as durable any more.
func TestFailedSync(t *testing.T) {
	s := memStorage{}
	l, err := openRunLog(t.Context(), s, "r1", 1, 0, logPoint{})
	if err != nil {
		t.Fatal(err)
	}
	l.mu.log.(*memLog).failed = errors.New("fsync: input/output error")
	if err := l.sync(t.Context()); err == nil {
		t.Fatal("the failure is lost")
	}
	l.mu.log.(*memLog).failed = nil
	if err := l.sync(t.Context()); err == nil {
		t.Error("a later sync succeeds as if nothing had happened")
	}
	if err := l.append(kindFinish, nil); err == nil {
		t.Error("the log can still be written")
	}
}

func genSplits(rt *rapid.T) ([]journaled, []byte) {
	var e splitsEncoder
	var out []journaled
	ordinal := rapid.Uint64Range(0, 1<<40).Draw(rt, "ordinal")
	for range rapid.IntRange(0, 20).Draw(rt, "splits") {
		j := journaled{source: rapid.Uint32().Draw(rt, "source")}
		j.split.Bytes = rapid.Int64().Draw(rt, "bytes")
		for range rapid.IntRange(0, 4).Draw(rt, "ranges") {
			r := dataset.SplitRange{Start: rapid.Uint64().Draw(rt, "start"), End: rapid.Uint64().Draw(rt, "end")}
			r.File.Path = rapid.StringMatching(`(a/|b/)?[ab]{0,3}\.x?`).Draw(rt, "path")
			r.File.Size = rapid.Int64().Draw(rt, "size")
			r.File.ETag = rapid.SampledFrom([]string{"", "\"x\""}).Draw(rt, "etag")
			if rapid.Bool().Draw(rt, "timed") {
				r.File.ModTime = time.Unix(rapid.Int64Range(-1<<40, 1<<40).Draw(rt, "seconds"), rapid.Int64Range(0, 999_999_999).Draw(rt, "nanos")).UTC()
			}
			if rapid.Bool().Draw(rt, "whole") {
				r.Start, r.End = 0, 1
			}
			if k := len(j.split.Ranges); k > 0 && rapid.Bool().Draw(rt, "same file") {
				r.File = j.split.Ranges[k-1].File
			} else {
				ordinal += rapid.SampledFrom([]uint64{1, 1, 1, 7}).Draw(rt, "step")
			}
			j.split.Ranges = append(j.split.Ranges, r)
			j.ordinals = append(j.ordinals, ordinal)
		}
		e.add(j.source, &j.split, j.ordinals)
		out = append(out, j)
	}
	return out, bytes.Clone(e.take())
}

func TestSplitsRoundTrip(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		want, raw := genSplits(rt)
		var got []journaled
		if err := decodeSplits(raw, func(j journaled) error { got = append(got, j); return nil }); err != nil {
			rt.Fatal(err)
		}
		if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
			rt.Fatalf("read %+v, want %+v", got, want)
		}
	})
}

// TestSplitBytes keeps the promise of 500 MB for 10M splits of one small file.
func TestSplitBytes(t *testing.T) {
	s := memStorage{}
	l, err := openRunLog(t.Context(), s, "r1", 1, 0, logPoint{})
	if err != nil {
		t.Fatal(err)
	}
	const n = 20_000
	for i := range n {
		split := dataset.Split{Bytes: 140_000, Ranges: []dataset.SplitRange{{End: 1, File: dataset.FileRef{
			Path: fmt.Sprintf("/data/photos/2026/%02d/%02d/IMG_%08d.jpg", i/6000, i/200%30, i*7919%n), Size: 140_000 + int64(i),
			ModTime: time.Unix(1_700_000_000+int64(i)*37, int64(i)*7_654_321%1e9)}}}}
		if err := l.split(0, &split, []uint64{uint64(i)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	per := float64(len(s[segmentName("r1", 1)])) / n
	t.Logf("%.1f bytes a split", per)
	if per > 50 {
		t.Errorf("%.1f bytes a split, want at most 50", per)
	}
}

func TestSpans(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		type pos struct {
			s    uint32
			f, p uint64
		}
		var set spans
		want := map[pos]bool{}
		for range rapid.IntRange(0, 60).Draw(rt, "n") {
			n := span{source: rapid.Uint32Range(0, 1).Draw(rt, "s"), ordinal: rapid.Uint64Range(0, 6).Draw(rt, "f"), files: 1,
				first: rapid.Uint64Range(0, 9).Draw(rt, "first")}
			n.end = n.first + rapid.Uint64Range(0, 3).Draw(rt, "len")
			set.add(n)
			for p := n.first; p < n.end; p++ {
				want[pos{n.source, n.ordinal, p}] = true
			}
		}
		list, err := decodeSpans(set.encode(nil))
		if err != nil {
			rt.Fatal(err)
		}
		got := map[pos]bool{}
		for _, n := range list {
			for f := n.ordinal; f < n.ordinal+n.files; f++ {
				for p := n.first; p < n.end; p++ {
					got[pos{n.source, f, p}] = true
				}
			}
		}
		if !maps.Equal(got, want) {
			rt.Fatalf("set %v, want %v", got, want)
		}
	})
}

// TestSpansStaySmall: what a run normally records takes a handful of bytes.
func TestSpansStaySmall(t *testing.T) {
	var images, text spans
	for i := range uint64(100_000) {
		j := (i &^ 7) | (7 - i&7) // drained a little out of order
		images.add(span{ordinal: j, files: 1, end: 1})
		text.add(span{ordinal: 3, files: 1, first: j * 100, end: j*100 + 100})
	}
	if n := len(images.encode(nil)) + len(text.encode(nil)); n > 64 {
		t.Errorf("%d bytes for two dense sets", n)
	}
}

func FuzzDecode(f *testing.F) {
	var e splitsEncoder
	e.add(1, &dataset.Split{Bytes: 9, Ranges: []dataset.SplitRange{{File: dataset.FileRef{Path: "a/b"}, Start: 3, End: 9}}}, []uint64{4})
	f.Add(bytes.Clone(e.take()))
	g := generationRecord{Generations: []uint64{1}}
	g.done.add(span{ordinal: 1, files: 1, end: 5})
	raw, _ := g.encode()
	f.Add(raw)
	seg, chain, _ := appendRecord(nil, 0, kindHeader, []byte(`{"format":1,"run":"r","segment":1}`))
	seg, _, _ = appendRecord(seg, chain, kindGeneration, raw)
	f.Add(seg)
	f.Fuzz(func(t *testing.T, p []byte) {
		_ = decodeSplits(p, func(journaled) error { return nil })
		_, _ = decodeGeneration(p)
		_, _ = decodeSpans(p)
		_, _ = readSegment(p, wantedHeader{run: "r", segment: 1}, func(kind, []byte) error { return nil })
	})
}
