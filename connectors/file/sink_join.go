package file

import (
	"context"
	"errors"
	"fmt"
	"path"

	"github.com/sluice-data/sluice/dataset"
)

// Join implements dataset.Joiner. A result that was one file stays one when rows are appended to it; one that became a folder stays
// a folder.
func (s *Sink) Join(ctx context.Context, at dataset.Part, kept, parts []dataset.Receipt, limit int64) (final []dataset.Receipt, replaces bool, err error) {
	if s.single == "" || len(parts) == 0 {
		return parts, false, nil
	}
	appending := len(kept) == 1 && s.isSingle(kept[0])
	if len(kept) > 0 && !appending {
		return parts, false, nil
	}
	total := int64(0)
	for _, p := range parts {
		total += p.Bytes
	}
	switch {
	case appending:
	case len(parts) == 1:
		one := parts[0]
		one.Name = s.single
		return []dataset.Receipt{one}, false, nil
	case limit > 0 && total > limit:
		return parts, false, nil
	}
	one, err := s.join(ctx, at, kept, parts)
	if err != nil {
		return nil, false, fmt.Errorf("join %d parts into %s: %w", len(parts), s.typed, err)
	}
	return []dataset.Receipt{one}, appending, nil
}

func (s *Sink) join(ctx context.Context, at dataset.Part, kept, parts []dataset.Receipt) (one dataset.Receipt, err error) {
	one = dataset.Receipt{Part: at, Name: s.single}
	var in []dataset.JoinPart
	defer func() {
		for _, p := range in {
			err = errors.Join(err, p.ReaderAt.(DiskFile).Close())
		}
	}()
	for i, r := range append(append([]dataset.Receipt{}, kept...), parts...) {
		p, perr := s.finalPath(r)
		if i >= len(kept) {
			var d sinkData
			if d, perr = receiptData(r); perr == nil {
				p = s.stagePath(d.Staged)
			}
		}
		if perr != nil {
			return one, perr
		}
		f, err := s.disk.Open(p)
		if err != nil {
			return one, err
		}
		in = append(in, dataset.JoinPart{ReaderAt: f, Size: r.Bytes})
		one.Rows += r.Rows
	}
	stage := path.Join(at.Run, "stage", fmt.Sprintf("joined-%d%s", at.Attempt, stageExtension))
	if err := s.removeQuiet(s.stagePath(stage)); err != nil {
		return one, err
	}
	out, err := createStaged(s.disk, s.stagePath(stage))
	if err != nil {
		return one, err
	}
	if err := s.format.Join(ctx, out, in); err != nil {
		return one, errors.Join(err, out.abort())
	}
	hash, mtime, err := out.commit()
	if err != nil {
		return one, err
	}
	one.Bytes, one.Hash = out.bytes, hash
	one.Data, err = sinkData{Staged: stage, ModTime: mtime}.encode()
	return one, err
}
