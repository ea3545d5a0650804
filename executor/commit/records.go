package commit

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/sluice-data/sluice/dataset"
)

// beginRecord is the first record of a run: what it is to do, for whoever resumes it.
type beginRecord struct {
	Mode         string          `json:"mode"`
	Fingerprint  string          `json:"fingerprint"`
	Plan         json.RawMessage `json:"plan,omitempty"`
	Schema       []string        `json:"schema"`
	Previous     uint64          `json:"previous,omitempty"` // number of the manifest that was the truth
	FirstOrdinal uint64          `json:"first_ordinal"`
	FirstSeq     uint64          `json:"first_seq"`
	Owner        string          `json:"owner,omitempty"`
	Command      string          `json:"command,omitempty"`
	Dir          string          `json:"dir,omitempty"`      // the folder that paths in Command are relative to
	NoRetry      string          `json:"no_retry,omitempty"` // why failed rows cannot be tried again by themselves
	Retries      string          `json:"retries,omitempty"`  // the run whose failed rows are tried again
	Backends     string          `json:"backends,omitempty"`
	Target       string          `json:"target,omitempty"`  // as asked for: "overwrite", "append", "incremental" or ""
	Sources      []uint32        `json:"sources,omitempty"` // what identities call the sources, by their number here
	Started      time.Time       `json:"started,omitzero"`
	Asked        askedOptions    `json:"asked,omitzero"`
}

// askedOptions are the options that no plan holds and no row depends on, so that a run can go on from its log alone as it was begun.
type askedOptions struct {
	OnError      dataset.ErrorPolicy   `json:"on_error,omitempty"`
	MaxErrors    int64                 `json:"max_errors,omitempty"`
	MaxErrorRate float64               `json:"max_error_rate,omitempty"`
	PartBytes    int64                 `json:"part_bytes,omitempty"`
	CommitEvery  time.Duration         `json:"commit_every,omitempty"` // nanoseconds
	Changed      dataset.ChangedPolicy `json:"changed,omitempty"`
	Grown        dataset.GrownPolicy   `json:"grown,omitempty"`
}

// options are those that the record holds.
func (b *beginRecord) options() dataset.Options {
	a := b.Asked
	o := dataset.Options{OnError: a.OnError, MaxErrors: a.MaxErrors, MaxErrorRate: a.MaxErrorRate, PartBytes: a.PartBytes,
		CommitEvery: a.CommitEvery, Changed: a.Changed, Grown: a.Grown, Command: b.Command}
	if o.Incremental = b.Target == string(Incremental); !o.Incremental {
		o.Target = dataset.TargetMode(b.Target)
	}
	return o
}

// attemptRecord follows the header of the first segment that a later attempt writes.
type attemptRecord struct {
	Attempt  int       `json:"attempt"`
	Owner    string    `json:"owner,omitempty"`
	Command  string    `json:"command,omitempty"`
	Backends string    `json:"backends,omitempty"`
	Started  time.Time `json:"started"`
}

func (m *Manager) beginRecord(kind DecisionKind) beginRecord {
	r := beginRecord{Mode: string(kind), Fingerprint: m.cfg.fingerprint(), Plan: m.cfg.Plan,
		Schema: schemaLines(m.cfg.Schema), Previous: m.number - 1, FirstOrdinal: m.in.base, FirstSeq: m.seq.Load(),
		Owner: m.cfg.owner(), Command: m.cfg.Options.Command, Backends: m.cfg.Backends, NoRetry: m.cfg.NoRetry,
		Target: asked(m.cfg.Options), Sources: m.cfg.Sources, Started: m.cfg.Now().UTC()}
	o := m.cfg.Options
	r.Asked = askedOptions{o.OnError, o.MaxErrors, o.MaxErrorRate, o.PartBytes, o.CommitEvery, o.Changed, o.Grown}
	r.Dir, _ = os.Getwd() // without it the command is still there to be read
	if m.cfg.Retry != nil {
		r.Retries = m.cfg.Retry.Run
	}
	return r
}

// generationRecord is the commit point of generations: from the moment it is durable their rows count.
type generationRecord struct {
	Generations []uint64          `json:"generations,omitempty"`
	Count       int               `json:"count,omitempty"` // of a snapshot: the generations it stands for
	Parts       []dataset.Receipt `json:"parts,omitempty"`
	Deferred    bool              `json:"deferred,omitempty"` // all rows of the run are in durable parts with it
	Read        int64             `json:"read,omitempty"`     // rows that readers gave of the ranges
	Failed      int64             `json:"failed,omitempty"`   // rows that failed among what was made of them
	Dead        []DeadSegment     `json:"dead,omitempty"`     // that hold those set aside
	done        spans
}

// encode is the length of the JSON, the JSON, and the ranges.
func (g *generationRecord) encode() ([]byte, error) {
	head, err := json.Marshal(g)
	if err != nil {
		return nil, err
	}
	b := binary.AppendUvarint(nil, uint64(len(head)))
	return g.done.encode(append(b, head...)), nil
}

func decodeGeneration(p []byte) (*generationRecord, error) {
	n, size := binary.Uvarint(p)
	if size <= 0 || n > uint64(len(p)-size) {
		return nil, errors.New("a record of a generation ends early")
	}
	g := &generationRecord{}
	if err := json.Unmarshal(p[size:size+int(n)], g); err != nil {
		return nil, fmt.Errorf("read record of a generation: %w", err)
	}
	var err error
	if g.done.list, err = decodeSpans(p[size+int(n):]); err != nil {
		return nil, err
	}
	return g, nil
}

// append writes a JSON record, without waiting for the disk.
func (m *Manager) append(k kind, v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return m.log.append(k, raw)
}
