package commit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/sluice-data/sluice/dataset"
)

// Manifests returns all manifests of a target, oldest first.
func Manifests(ctx context.Context, store dataset.Storage) ([]*Manifest, error) {
	chain, err := ReadChain(ctx, store)
	if err != nil || chain.Last == nil {
		return nil, err
	}
	out := []*Manifest{chain.Last}
	for m := chain.Last; m.Previous > 0; out = append(out, m) {
		if m.Previous >= m.Number {
			return nil, fmt.Errorf("read manifest %d: it names %d as its predecessor", m.Number, m.Previous)
		}
		if m, err = readManifest(ctx, store, m.Previous); err != nil {
			return nil, err
		}
	}
	slices.Reverse(out)
	return out, nil
}

// Begun is what a run was begun to do, as its log says.
type Begun struct {
	Mode    DecisionKind
	Retries string // the run whose failed rows it tries again
	Command string
	Dir     string // the folder that paths in Command are relative to
	Plan    json.RawMessage
	Owner   string
	Sources []uint32        // what identities call the sources, by their number in the log; nil: the same
	NoRetry string          // why failed rows of it cannot be tried again by themselves
	Options dataset.Options // that the plan does not hold, as asked for: policies, sizes, and what to do with the target
}

var errEnoughRead = errors.New("enough")

// ReadBegun reads how a run began. A log that has no such record gives an error that is fs.ErrNotExist or says so.
func ReadBegun(ctx context.Context, store dataset.Storage, run string) (*Begun, error) {
	var out *Begun
	_, _, err := readLog(ctx, store, run, func(k kind, payload []byte) error {
		if k != kindBegin {
			return nil
		}
		var b beginRecord
		if err := json.Unmarshal(payload, &b); err != nil {
			return fmt.Errorf("read begin record: %w", err)
		}
		out = &Begun{DecisionKind(b.Mode), b.Retries, b.Command, b.Dir, b.Plan, b.Owner, b.Sources, b.NoRetry, b.options()}
		return errEnoughRead
	})
	if err != nil && !errors.Is(err, errEnoughRead) {
		return nil, err
	}
	if out == nil {
		return nil, fmt.Errorf("read log of run %s: it does not say how the run began", run)
	}
	return out, nil
}

// replaces says whether a run began the result anew.
func (m *Manifest) replaces() bool {
	if m.Kind == "" {
		return m.Mode != string(dataset.TargetAppend)
	}
	return m.Kind == Fresh || m.Kind == Overwrite
}

// inputsRun is the run whose log has the files that Inputs sums up.
func (m *Manifest) inputsRun() string {
	if m.InputsRun != "" {
		return m.InputsRun
	}
	return m.Run
}

// ReadDead reads the dead letters of segments.
func ReadDead(ctx context.Context, store dataset.Storage, segments []DeadSegment) iter.Seq2[*DeadLetter, error] {
	return func(yield func(*DeadLetter, error) bool) {
		for _, s := range segments {
			data, err := store.Read(ctx, s.Name)
			if err == nil && int64(len(data)) != s.Bytes {
				err = fmt.Errorf("it has %d bytes, not the %d that were committed", len(data), s.Bytes)
			}
			if err != nil {
				yield(nil, fmt.Errorf("read dead letters %s: %w", s.Name, err))
				return
			}
			for line := range bytes.Lines(data) {
				l := &DeadLetter{}
				if err := json.Unmarshal(line, l); err != nil {
					yield(nil, fmt.Errorf("read dead letters %s: %w", s.Name, err))
					return
				}
				if !yield(l, nil) {
					return
				}
			}
		}
	}
}

// DoneRange is a set of positions that a run committed: [First, End) in each of the files [Ordinal, Ordinal+Files) of a source.
type DoneRange struct {
	Source         uint32
	Ordinal, Files uint64
	First, End     uint64
}

// ReadRanges returns which ranges of input the committed generations of a run hold.
func ReadRanges(ctx context.Context, store dataset.Storage, run string) ([]DoneRange, error) {
	var all spans
	_, _, err := readLog(ctx, store, run, func(k kind, payload []byte) error {
		if k != kindGeneration && k != kindSnapshot {
			return nil
		}
		g, err := decodeGeneration(payload)
		if err != nil {
			return err
		}
		for _, s := range g.done.list {
			all.add(s)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	all.compact()
	out := make([]DoneRange, len(all.list))
	for i, s := range all.list {
		out[i] = DoneRange{s.source, s.ordinal, s.files, s.first, s.end}
	}
	return out, nil
}

// ReadJournal calls visit with each range of a file that a run was to read: its source, the file's ordinal in the target, and the file as
// it was listed.
func ReadJournal(ctx context.Context, store dataset.Storage, run string, visit func(source uint32, ordinal uint64, r dataset.SplitRange) error) error {
	_, _, err := readLog(ctx, store, run, func(k kind, payload []byte) error {
		if k != kindSplits {
			return nil
		}
		return decodeSplits(payload, func(j journaled) error {
			for i, r := range j.split.Ranges {
				if err := visit(j.source, j.ordinals[i], r); err != nil {
					return err
				}
			}
			return nil
		})
	})
	return err
}
