package commit

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/sluice-data/sluice/dataset"
)

// Input is one file that a source lists.
type Input struct {
	Source uint32
	File   dataset.FileRef
}

// NumberedSource is a source under the id that its files have as block.File.Source.
type NumberedSource struct {
	ID     uint32
	Source dataset.Source
}

// ListInputs lists the files of sources one after the other, with their indices as ids.
func ListInputs(ctx context.Context, sources []dataset.Source) iter.Seq2[Input, error] {
	numbered := make([]NumberedSource, len(sources))
	for i, s := range sources {
		numbered[i] = NumberedSource{uint32(i), s}
	}
	return ListNumbered(ctx, numbered)
}

// ListNumbered lists the files of sources one after the other. They must be the sources that the run reads (after projection and
// pruning), under the ids that the run gives to Split.
func ListNumbered(ctx context.Context, sources []NumberedSource) iter.Seq2[Input, error] {
	return func(yield func(Input, error) bool) {
		for _, src := range sources {
			if !listFiles(ctx, src, yield) {
				return
			}
		}
	}
}

func listFiles(ctx context.Context, src NumberedSource, yield func(Input, error) bool) bool {
	var last dataset.FileRef
	for s, err := range src.Source.Splits(ctx, dataset.Cursor{}) {
		if err != nil {
			yield(Input{}, err)
			return false
		}
		for _, r := range s.Ranges {
			if sameRef(r.File, last) {
				continue
			}
			last = r.File
			if !yield(Input{src.ID, r.File}, nil) {
				return false
			}
		}
	}
	return true
}

func sameRef(a, b dataset.FileRef) bool {
	return a.Path == b.Path && a.Size == b.Size && a.ETag == b.ETag && a.ModTime.Equal(b.ModTime)
}

// inputDigest sums up the files of one source in order.
type inputDigest struct {
	SourceInputs
	hash   *xxh3.Hasher128
	buf    []byte
	sumBuf []byte
}

func newDigest(source uint32) *inputDigest {
	return &inputDigest{SourceInputs: SourceInputs{Source: source}, hash: xxh3.New128()}
}

func (d *inputDigest) add(f dataset.FileRef) {
	d.buf = append(d.buf[:0], f.Path...)
	seconds, nano := f.ModTime.Unix(), int64(f.ModTime.Nanosecond())
	d.addView(&fileView{path: d.buf, etag: []byte(f.ETag), size: f.Size, timed: !f.ModTime.IsZero(), seconds: seconds, nano: nano})
}

func (d *inputDigest) addView(f *fileView) {
	d.Files++
	d.Bytes += f.size
	d.Unpinned = d.Unpinned || len(f.etag) == 0 && !f.timed
	b := binary.AppendUvarint(d.sumBuf[:0], uint64(len(f.path)))
	b = append(b, f.path...)
	b = binary.AppendVarint(b, f.size)
	if f.timed {
		b = binary.AppendVarint(b, f.seconds)
		b = binary.AppendVarint(b, f.nano)
	}
	d.sumBuf = append(b, f.etag...)
	_, _ = d.hash.Write(d.sumBuf)
}

func (d *inputDigest) sum() SourceInputs {
	s := d.hash.Sum128().Bytes()
	d.Hash = hex.EncodeToString(s[:])
	return d.SourceInputs
}

// sameInputs tells whether the sources still list what a run read. Where the run stopped early (a limit), what it had not listed
// does not matter.
func sameInputs(was []SourceInputs, now iter.Seq2[Input, error]) (same bool, err error) {
	old := map[uint32]SourceInputs{}
	for _, s := range was {
		if s.Unpinned {
			return false, nil
		}
		old[s.Source] = s
	}
	digests := map[uint32]*inputDigest{}
	for in, err := range now {
		if err != nil {
			return false, fmt.Errorf("list inputs: %w", err)
		}
		d := digests[in.Source]
		if d == nil {
			d = newDigest(in.Source)
			digests[in.Source] = d
		}
		if o, ok := old[in.Source]; ok && d.Files >= o.Files {
			if o.Listed {
				return false, nil
			}
			continue
		} else if !ok {
			return false, nil
		}
		d.add(in.File)
	}
	for id, o := range old {
		d := digests[id]
		if d == nil {
			d = newDigest(id)
		}
		if s := d.sum(); s.Files != o.Files || s.Hash != o.Hash || s.Unpinned {
			return false, nil
		}
	}
	return true, nil
}

// mostCompared bounds the memory of a diff of inputs.
const mostCompared = 1 << 20

// diffInputs says in lines what differs between the files that a run journaled and those that are listed now.
func diffInputs(ctx context.Context, store dataset.Storage, run string, now iter.Seq2[Input, error]) ([]string, error) {
	type key struct {
		source uint32
		path   string
	}
	was := map[key]dataset.FileRef{}
	_, _, err := readLog(ctx, store, run, func(k kind, p []byte) error {
		if k != kindSplits {
			return nil
		}
		return decodeSplits(p, func(j journaled) error {
			for _, r := range j.split.Ranges {
				if len(was) < mostCompared {
					was[key{j.source, r.File.Path}] = r.File
				}
			}
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	if len(was) == mostCompared {
		return []string{"the input files changed"}, nil
	}
	var added, changed tally
	seen := 0
	for in, err := range now {
		if err != nil {
			return nil, fmt.Errorf("list inputs: %w", err)
		}
		k := key{in.Source, in.File.Path}
		old, ok := was[k]
		switch {
		case !ok:
			added.note(in.File.Path)
		case !sameRef(old, in.File):
			changed.note(in.File.Path)
		case old.ETag == "" && old.ModTime.IsZero():
			changed.note(in.File.Path + " (it cannot be told from another version)")
		}
		delete(was, k)
		if seen++; seen == mostCompared {
			break
		}
	}
	var removed tally
	for _, p := range slices.SortedFunc(maps.Keys(was), func(a, b key) int { return strings.Compare(a.path, b.path) }) {
		removed.note(p.path)
	}
	lines := slices.Concat(added.lines("new"), changed.lines("changed"), removed.lines("gone"))
	if len(lines) == 0 {
		lines = []string{"the input files are listed in another order"}
	}
	return lines, nil
}

// tally counts paths and keeps the first three.
type tally struct {
	n     int
	first []string
}

func (t *tally) note(path string) {
	if t.n++; len(t.first) < 3 {
		t.first = append(t.first, path)
	}
}

func (t *tally) lines(what string) []string {
	if t.n == 0 {
		return nil
	}
	out := fmt.Sprintf("inputs: %d %s: ", t.n, what)
	for i, p := range t.first {
		if i > 0 {
			out += ", "
		}
		out += p
	}
	if t.n > len(t.first) {
		out += ", …"
	}
	return []string{out}
}
