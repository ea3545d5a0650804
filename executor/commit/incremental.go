package commit

import (
	"context"
	"fmt"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/sluice-data/sluice/dataset"
)

// seenFiles is what the runs in a target's chain have read. It keeps 128 bits of hash a file, not the names: chains of nightly jobs
// know many files. That two of ten million files share 64 bits has a probability below one in a hundred thousand, and ends in an
// error, not in a file left out.
type seenFiles struct {
	files map[uint64]seenFile // by hash of source and path
}

// seenFile is the last version of a file that was read.
type seenFile struct {
	version uint64 // hash of its size, time and tag
	size    int64
	mark    uint64
}

func pathKey(source uint32, path []byte) uint64 { return xxh3.HashSeed(path, uint64(source)+1) }

func (f *fileView) version() uint64 {
	h := xxh3.HashSeed(f.etag, uint64(f.size))
	if f.timed {
		h = xxh3.HashSeed(fmt.Appendf(nil, "%d.%d", f.seconds, f.nano), h)
	}
	return h
}

func viewOf(r dataset.FileRef) *fileView {
	return &fileView{path: []byte(r.Path), etag: []byte(r.ETag), size: r.Size, mark: r.Mark, timed: !r.ModTime.IsZero(),
		seconds: r.ModTime.Unix(), nano: int64(r.ModTime.Nanosecond())}
}

// seenInChain reads the journals of the runs whose rows are live.
func seenInChain(ctx context.Context, store dataset.Storage, last *Manifest) (*seenFiles, error) {
	var runs []string
	for m := last; m != nil; {
		runs = append(runs, m.Run)
		if m.replaces() || m.Previous == 0 {
			break
		}
		var err error
		if m, err = readManifest(ctx, store, m.Previous); err != nil {
			return nil, err
		}
	}
	s := &seenFiles{files: map[uint64]seenFile{}}
	var d splitsDecoder
	for i := len(runs) - 1; i >= 0; i-- { // a later run knows the later version
		last, _, err := readLog(ctx, store, runs[i], func(k kind, p []byte) error {
			if k != kindSplits {
				return nil
			}
			return d.walk(p, s.note)
		})
		if err != nil {
			return nil, fmt.Errorf("find out what run %s had read: %w", runs[i], err)
		}
		if last == 0 {
			return nil, fmt.Errorf("find out what run %s had read: its log is gone", runs[i])
		}
	}
	return s, nil
}

func (s *seenFiles) note(v *splitView) error {
	for i := range v.ranges {
		if f := v.ranges[i].file; i == 0 || f != v.ranges[i-1].file {
			s.files[pathKey(v.source, f.path)] = seenFile{f.version(), f.size, f.mark}
		}
	}
	return nil
}

// sight is what a run knows of a listed file.
type sight int

const (
	sightNew     sight = iota // no run has read it
	sightSame                 // this version was read
	sightChanged              // another version was read
	sightGrown                // a version was read that is perhaps the beginning of this one
)

func (s *seenFiles) look(source uint32, f dataset.FileRef) (sight, seenFile) {
	was, ok := s.files[pathKey(source, []byte(f.Path))]
	v := viewOf(f)
	switch {
	case !ok:
		return sightNew, was
	case was.version == v.version() && (v.timed || len(v.etag) > 0):
		return sightSame, was
	case f.Size > was.size && was.mark != 0:
		return sightGrown, was
	}
	return sightChanged, was
}

// compareIncremental decides about an incremental run on a target that holds a result.
func (p *preparation) compareIncremental(ctx context.Context) (DecisionKind, error) {
	last := p.chain.Last
	if last.Fingerprint != Fingerprint(p.cfg.Plan) {
		return "", dataset.Usagef("write %s: --incremental continues the command that wrote it (run %s), and this one differs:\n  %s\nadd all rows with --append, replace the result with --overwrite, or write elsewhere",
			p.target.Locator(), last.Run, strings.Join(diffPlans(last.Plan, p.cfg.Plan), "\n  "))
	}
	if p.cfg.Inputs == nil {
		return "", dataset.Usagef("write %s: --incremental needs inputs that can be listed", p.target.Locator())
	}
	if err := p.lookForSeen(ctx); err != nil {
		return "", err
	}
	fresh, err := p.anythingNew()
	if err != nil {
		return "", err
	}
	if !fresh {
		return Complete, nil
	}
	return Incremental, p.sameColumns(last)
}

// lookForSeen reads what the chain has read, for an incremental run.
func (p *preparation) lookForSeen(ctx context.Context) (err error) {
	if p.cfg.Options.Incremental && len(p.chain.Live) > 0 {
		if p.seen, err = seenInChain(ctx, p.store, p.chain.Last); err != nil {
			return p.wrap(err)
		}
	}
	return nil
}

// anythingNew lists the inputs and tells whether any is to be read. Files that changed are refused before anything is read.
func (p *preparation) anythingNew() (bool, error) {
	var altered tally
	any, skipped := false, 0
	tail := p.cfg.Options.Grown == dataset.GrownTail
	for in, err := range p.cfg.Inputs() {
		if err != nil {
			return false, p.wrap(fmt.Errorf("list inputs: %w", err))
		}
		switch is, _ := p.seen.look(in.Source, in.File); {
		case is == sightNew || is == sightGrown && tail:
			any = true
		case is == sightChanged || is == sightGrown:
			altered.note(in.File.Path)
			skipped++
		}
	}
	if altered.n == 0 {
		return any, nil
	}
	if p.cfg.Options.Changed == dataset.ChangedSkip {
		p.notes = append(p.notes, fmt.Sprintf("%s; left as they were read (--changed skip)", altered.lines("changed since they were read")[0]))
		return any, nil
	}
	return false, dataset.Usagef("write %s: %s; leave them as they were read with --changed skip%s, or begin anew with --overwrite",
		p.target.Locator(), altered.lines("changed since they were read")[0], ", read what was added to text files with --grown tail")
}

// unseen takes the files out of a listed split that every sink has read in an earlier run, and cuts those that grew.
func (f *Feed) unseen(ctx context.Context, src dataset.Source, s *dataset.Split) error {
	incremental := false
	for _, m := range f.managers {
		incremental = incremental || m.cfg.Options.Incremental
	}
	if !incremental {
		return nil
	}
	var kept []dataset.SplitRange
	for i := range s.Ranges {
		r := s.Ranges[i]
		if i > 0 && r.File.Path == s.Ranges[i-1].File.Path {
			r.File.Mark = s.Ranges[i-1].File.Mark
		} else if err := f.mark(ctx, src, &r.File); err != nil {
			return err
		}
		s.Ranges[i].File.Mark = r.File.Mark
		wanted, err := f.cut(ctx, src, &r)
		if err != nil {
			return err
		}
		if wanted {
			kept = append(kept, r)
		}
	}
	if n := len(s.Ranges); len(kept) < n && n > 0 {
		s.Bytes = s.Bytes / int64(n) * int64(len(kept))
	}
	s.Ranges = kept
	return nil
}

// mark sums up a file's content for the next run, if that is going to ask.
func (f *Feed) mark(ctx context.Context, src dataset.Source, ref *dataset.FileRef) error {
	g, ok := src.(dataset.Growing)
	if !ok || f.managers[0].cfg.Options.Grown != dataset.GrownTail {
		return nil
	}
	mark, _, ok, err := g.Mark(ctx, *ref, ref.Size)
	if err == nil && ok {
		ref.Mark = mark
	}
	return err
}

// cut tells whether a range is to be read, and moves its start behind what was read of a file that grew.
func (f *Feed) cut(ctx context.Context, src dataset.Source, r *dataset.SplitRange) (wanted bool, err error) {
	from := r.Start
	for i, m := range f.managers {
		start, err := m.readFrom(ctx, f.source, src, r)
		if err != nil {
			return false, err
		}
		if i > 0 && start != from {
			return false, dataset.Usagef("read %s: %s and %s have not read the same of it; run --incremental for each result by itself",
				r.File.Path, f.managers[0].place(), m.place())
		}
		from = start
	}
	wanted = from < r.End || from == r.Start
	r.Start = from
	return wanted, nil
}

// place is the target as a person would write it.
func (m *Manager) place() string {
	if m.target == nil {
		return m.cfg.Sink.Name()
	}
	return m.target.Locator()
}

// readFrom returns the first position of a range that no earlier run has read for this sink.
func (m *Manager) readFrom(ctx context.Context, source uint32, src dataset.Source, r *dataset.SplitRange) (uint64, error) {
	if m.seen == nil {
		return r.Start, nil
	}
	is, was := m.seen.look(m.own(source), r.File)
	if is == sightGrown && m.cfg.Options.Grown == dataset.GrownTail {
		same, err := grewOnly(ctx, src, r.File, was)
		if err != nil {
			return 0, err
		}
		if same {
			return max(r.Start, min(uint64(was.size), r.End)), nil
		}
	}
	switch {
	case is == sightNew:
		return r.Start, nil
	case is == sightSame || m.cfg.Options.Changed == dataset.ChangedSkip:
		return r.End, nil
	}
	return 0, fmt.Errorf("read %s: it changed since an earlier run read it (it had %d bytes, now %d%s); leave it as it was read with --changed skip, or begin anew with --overwrite",
		r.File.Path, was.size, r.File.Size, map[bool]string{true: ", and the old ones are not the same"}[is == sightGrown])
}

// grewOnly tells whether a file still begins with what was read of it, up to the end of a row.
func grewOnly(ctx context.Context, src dataset.Source, f dataset.FileRef, was seenFile) (bool, error) {
	g, ok := src.(dataset.Growing)
	if !ok {
		return false, nil
	}
	mark, ended, ok, err := g.Mark(ctx, f, was.size)
	return ok && ended && mark == was.mark, err
}
