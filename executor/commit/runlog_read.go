package commit

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/sluice-data/sluice/dataset"
)

// segments returns the names of the segments of a run's log, in order.
func segments(ctx context.Context, store dataset.Storage, run string) ([]string, error) {
	names, err := store.List(ctx, run+"/log")
	if err != nil {
		return nil, fmt.Errorf("list log of run %s: %w", run, err)
	}
	for i, n := range names {
		if want := segmentName(run, i+1); n != want {
			return nil, fmt.Errorf("read log of run %s: there is %s where %s should be; a segment is missing, use --overwrite to begin anew", run, n, want)
		}
	}
	return names, nil
}

// readLog calls visit with the records of a run's log, headers left out, up to the last one that is whole. It returns the number of
// segments and the point where the last one ends. A segment that ends before the point that its successor knows is an error.
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
	names, err := segments(ctx, store, run)
	if err != nil {
		return 0, logPoint{}, err
	}
	for i, name := range names {
		data, err := store.Read(ctx, name)
		if err != nil {
			return 0, logPoint{}, fmt.Errorf("read log of run %s: %w", run, err)
		}
		at := recordAt{segment: i + 1}
		if end, err = walkSegment(data, segmentHeader{Run: run, Segment: i + 1, Before: end}, func(offset int64, k kind, payload []byte) error {
			at.offset = offset
			return visit(at, k, payload)
		}); err != nil {
			return 0, logPoint{}, fmt.Errorf("read log of run %s, segment %d: %w", run, i+1, err)
		}
	}
	return len(names), end, nil
}

// readSegment visits the valid records of one segment, its header first. want is what its header must say.
func readSegment(data []byte, want segmentHeader, visit func(k kind, payload []byte) error) (logPoint, error) {
	return walkSegment(data, want, func(_ int64, k kind, payload []byte) error { return visit(k, payload) })
}

// walkSegment is readSegment with the offsets of the payloads.
func walkSegment(data []byte, want segmentHeader, visit func(offset int64, k kind, payload []byte) error) (logPoint, error) {
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

func checkHeader(k kind, payload []byte, want segmentHeader) error {
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
	if h.Run != want.Run || h.Segment != want.Segment {
		return fmt.Errorf("it belongs to run %s, segment %d", h.Run, h.Segment)
	}
	if h.Before != want.Before {
		return fmt.Errorf("the segment before it is valid for %d bytes, it had %d: the log is damaged, use --overwrite to begin anew",
			want.Before.Bytes, h.Before.Bytes)
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
