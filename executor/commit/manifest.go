package commit

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluice-data/sluice/dataset"
)

// manifestFormat is the version of manifests.
const manifestFormat = 1

// fullEvery is after how many manifests one lists every live part again, so that reading the truth takes a bounded number of reads.
const fullEvery = 32

// Manifest is the record of one finished run on a target. The highest one is the truth: a part that it, or the chain of its
// predecessors down to the nearest full one, does not list is no data.
type Manifest struct {
	Format      int             `json:"format"`
	Number      uint64          `json:"number"`
	Previous    uint64          `json:"previous,omitempty"` // 0: none
	Epoch       uint64          `json:"epoch"`              // one higher with each run that took the lock and got here
	Run         string          `json:"run"`
	Attempt     int             `json:"attempt"`
	Mode        string          `json:"mode,omitempty"` // "overwrite", "append" or ""
	Created     time.Time       `json:"created"`
	Owner       string          `json:"owner,omitempty"` // process that made it, for people
	Command     string          `json:"command,omitempty"`
	Fingerprint string          `json:"fingerprint"`
	Plan        json.RawMessage `json:"plan,omitempty"`
	Schema      []string        `json:"schema"`
	Inputs      []SourceInputs  `json:"inputs,omitempty"`
	NextOrdinal uint64          `json:"next_ordinal"` // first file ordinal that the chain has not used
	NextSeq     uint64          `json:"next_seq"`     // first part number that the chain has not used
	Rows        int64           `json:"rows"`         // of this run
	Bytes       int64           `json:"bytes"`
	Kind        DecisionKind    `json:"kind,omitempty"`       // what the run did to the result
	Read        int64           `json:"read,omitempty"`       // rows that readers gave
	Retries     string          `json:"retries,omitempty"`    // the run whose failed rows it tried again: they count as set aside no more
	InputsRun   string          `json:"inputs_run,omitempty"` // whose log lists Inputs, if not this one's
	Failed      int64           `json:"failed,omitempty"`     // rows that failed
	Dead        []DeadSegment   `json:"dead,omitempty"`       // where those that were set aside are
	// Full is set where Kept lists all older parts that are live, so that no predecessor need be read. It is set and Kept is empty
	// where the run replaced the result.
	Full  bool              `json:"full,omitempty"`
	Kept  []dataset.Receipt `json:"kept,omitempty"`
	Parts []dataset.Receipt `json:"parts"`
}

// SourceInputs says which files a run read from one source, in the order of its listing.
type SourceInputs struct {
	Source   uint32 `json:"source"`
	Files    int64  `json:"files"`
	Bytes    int64  `json:"bytes"`
	Hash     string `json:"hash"`               // xxh3-128 over the pinned files in order
	Listed   bool   `json:"listed"`             // the listing was read to its end; a limit stops it earlier
	Unpinned bool   `json:"unpinned,omitempty"` // some file has neither time nor tag, so it cannot be told from another version
}

// Chain is the truth about a target.
type Chain struct {
	Last *Manifest         // nil: no run has finished
	Live []dataset.Receipt // all live parts, oldest first
}

func manifestName(n uint64) string { return fmt.Sprintf("manifest/%020d.json", n) }

// manifestNumber is the inverse of manifestName.
func manifestNumber(name string) (n uint64, ok bool) {
	_, err := fmt.Sscanf(strings.TrimPrefix(name, "manifest/"), "%020d.json", &n)
	return n, err == nil && manifestName(n) == name
}

// ReadChain reads the highest manifest and the parts that are live.
func ReadChain(ctx context.Context, store dataset.Storage) (Chain, error) {
	names, err := store.List(ctx, "manifest")
	if err != nil {
		return Chain{}, fmt.Errorf("list manifests: %w", err)
	}
	var last uint64
	for _, n := range slices.Backward(names) {
		if number, ok := manifestNumber(n); ok {
			last = number
			break
		}
	}
	if last == 0 {
		return Chain{}, nil
	}
	var c Chain
	var runs [][]dataset.Receipt
	for n := last; n > 0; {
		m, err := readManifest(ctx, store, n)
		if err != nil {
			return Chain{}, err
		}
		if c.Last == nil {
			c.Last = m
		}
		runs = append(runs, m.Parts)
		if m.Full {
			runs = append(runs, m.Kept)
			break
		}
		if m.Previous >= n {
			return Chain{}, fmt.Errorf("read manifest %d: it names %d as its predecessor", n, m.Previous)
		}
		n = m.Previous
	}
	for _, r := range slices.Backward(runs) {
		c.Live = append(c.Live, r...)
	}
	return c, nil
}

func readManifest(ctx context.Context, store dataset.Storage, n uint64) (*Manifest, error) {
	raw, err := store.Read(ctx, manifestName(n))
	if err != nil {
		return nil, fmt.Errorf("read manifest %d: %w", n, err)
	}
	m := &Manifest{}
	if err := json.Unmarshal(raw, m); err != nil {
		return nil, fmt.Errorf("read manifest %d: %w", n, err)
	}
	if m.Format != manifestFormat {
		return nil, fmt.Errorf("read manifest %d: it has format %d, this version of Sluice reads %d", n, m.Format, manifestFormat)
	}
	if m.Number != n {
		return nil, fmt.Errorf("read manifest %d: it says it is number %d", n, m.Number)
	}
	return m, nil
}

// full decides whether the next manifest lists everything.
func (c Chain) full(replaces bool) (full bool, kept []dataset.Receipt) {
	switch {
	case c.Last == nil || replaces:
		return true, nil
	case (c.Last.Number+1)%fullEvery == 0:
		return true, c.Live
	}
	return false, nil
}
