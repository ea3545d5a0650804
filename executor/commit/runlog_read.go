package commit

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-data/sluice/dataset"
)

// segment is one segment of a run's log.
type segment struct {
	name   string
	number int
	alone  bool // the one before it was given up, so its end is not known
}

// segments returns the segments of a run's log that are read, in order: all of them apart from those that a snapshot stands for.
func segments(ctx context.Context, store dataset.Storage, run string, dropped []int) ([]segment, error) {
	names, err := store.List(ctx, run+"/log")
	if err != nil {
		return nil, fmt.Errorf("list log of run %s: %w", run, err)
	}
	there := map[string]bool{}
	for _, n := range names {
		there[n] = true
	}
	var out []segment
	alone := false
	for n, left := 1, len(there); left > 0; n++ {
		s := segment{name: segmentName(run, n), number: n, alone: alone}
		alone = slices.Contains(dropped, n)
		switch {
		case there[s.name] && !alone:
			out = append(out, s)
		case !there[s.name] && !alone:
			return nil, fmt.Errorf("read log of run %s: segment %d is missing; use --overwrite to begin anew", run, n)
		}
		if there[s.name] {
			left--
		}
	}
	return out, nil
}

// readLog calls visit with the records of a run's log, headers left out, up to the last one that is whole. It returns the number of
// the last segment and the point where the last one ends. A segment that ends before the point that its successor knows is an error.
func readLog(ctx context.Context, store dataset.Storage, run string, visit func(k kind, payload []byte) error) (last int, end logPoint, err error) {
	return readLogAll(ctx, store, run, func(_ recordAt, k kind, payload []byte) error {
		if k == kindHeader {
			return nil
		}
		return visit(k, payload)
	})
}

// recordAt is where a record's payload lies.
type recordAt struct {
	segment int
	offset  int64
}

// readLogAll is readLog with the headers, and with the place of each record.
func readLogAll(ctx context.Context, store dataset.Storage, run string, visit func(at recordAt, k kind, payload []byte) error) (last int, end logPoint, err error) {
	dropped, err := droppedSegments(ctx, store, run)
	if err != nil {
		return 0, logPoint{}, err
	}
	return readSegments(ctx, store, run, dropped, visit)
}

func readSegments(ctx context.Context, store dataset.Storage, run string, dropped []int, visit func(at recordAt, k kind, payload []byte) error) (last int, end logPoint, err error) {
	list, err := segments(ctx, store, run, dropped)
	if err != nil {
		return 0, logPoint{}, err
	}
	for _, s := range list {
		data, err := store.Read(ctx, s.name)
		if err != nil {
			return 0, logPoint{}, fmt.Errorf("read log of run %s: %w", run, err)
		}
		at := recordAt{segment: s.number}
		want := wantedHeader{run: run, segment: s.number, before: end, alone: s.alone}
		if end, err = walkSegment(data, want, func(offset int64, k kind, payload []byte) error {
			at.offset = offset
			return visit(at, k, payload)
		}); err != nil {
			return 0, logPoint{}, fmt.Errorf("read log of run %s, segment %d: %w", run, s.number, err)
		}
		last = s.number
	}
	return last, end, nil
}

// wantedHeader is what the header of a segment must say.
type wantedHeader struct {
	run     string
	segment int
	before  logPoint
	alone   bool // before is not known
}

// readSegment visits the valid records of one segment, its header first. want is what its header must say.
func readSegment(data []byte, want wantedHeader, visit func(k kind, payload []byte) error) (logPoint, error) {
	return walkSegment(data, want, func(_ int64, k kind, payload []byte) error { return visit(k, payload) })
}

// walkSegment is readSegment with the offsets of the payloads.
func walkSegment(data []byte, want wantedHeader, visit func(offset int64, k kind, payload []byte) error) (logPoint, error) {
	var at logPoint
	for {
		k, payload, n, next, ok := nextRecord(data[at.Bytes:], at.Chain)
		if !ok {
			return at, nil
		}
		if at.Bytes == 0 {
			if err := checkHeader(k, payload, want); err != nil {
				return at, err
			}
		}
		if err := visit(at.Bytes+int64(n-len(payload)), k, payload); err != nil {
			return at, err
		}
		at.Bytes += int64(n)
		at.Chain = next
	}
}

func checkHeader(k kind, payload []byte, want wantedHeader) error {
	var h segmentHeader
	if k != kindHeader {
		return fmt.Errorf("it begins with a record of kind %d, not a header", k)
	}
	if err := json.Unmarshal(payload, &h); err != nil {
		return fmt.Errorf("read header: %w", err)
	}
	if h.Format != logFormat {
		return fmt.Errorf("it has format %d, this version of Sluice reads %d", h.Format, logFormat)
	}
	if h.Run != want.run || h.Segment != want.segment {
		return fmt.Errorf("it belongs to run %s, segment %d", h.Run, h.Segment)
	}
	if h.Before != want.before && !want.alone {
		return fmt.Errorf("the segment before it is valid for %d bytes, it had %d: the log is damaged, use --overwrite to begin anew",
			want.before.Bytes, h.Before.Bytes)
	}
	return nil
}

// removeLog deletes a run's log, its first segment last.
func removeLog(ctx context.Context, store dataset.Storage, run string) error {
	names, err := store.List(ctx, run)
	if err != nil {
		return err
	}
	for i := len(names) - 1; i >= 0; i-- {
		if !strings.HasPrefix(names[i], run+"/stage/") {
			if err := store.Remove(ctx, names[i]); err != nil {
				return fmt.Errorf("remove log of run %s: %w", run, err)
			}
		}
	}
	return nil
}
