package commit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"github.com/sluice-data/sluice/dataset"
)

// finishRecord says that every row of the run is in durable parts, and what to do to make them the result. Once it is in the log,
// the run is going to be published, by whoever holds the lock.
type finishRecord struct {
	Manifest *Manifest `json:"manifest"`
	// Replaces: the manifest comes first, then old parts are removed and new ones named, so that readers of ours see one result or
	// the other. Else the parts come first.
	Replaces bool              `json:"replaces,omitempty"`
	Remove   []dataset.Receipt `json:"remove,omitempty"`
}

// publish carries a finish record out. Every step may have been done before.
func publish(ctx context.Context, target dataset.Target, store dataset.Storage, f *finishRecord) error {
	m := f.Manifest
	if m == nil {
		return errors.New("publish run: the finish record has no manifest")
	}
	if f.Replaces {
		if err := createManifest(ctx, store, m); err != nil {
			return err
		}
		crashpoint("manifest created")
		if err := target.Remove(ctx, f.Remove, m.Parts); err != nil {
			return err
		}
		crashpoint("old parts removed")
	}
	if err := target.Finish(ctx, m.Parts); err != nil {
		return err
	}
	crashpoint("parts published")
	if !f.Replaces {
		if err := createManifest(ctx, store, m); err != nil {
			return err
		}
		crashpoint("manifest created")
	}
	chain, err := ReadChain(ctx, store)
	if err != nil {
		return err
	}
	if chain.Last == nil || chain.Last.Number < m.Number {
		return fmt.Errorf("write manifest %d: it did not arrive", m.Number)
	}
	if err := target.Seal(ctx, chain.Live); err != nil {
		return err
	}
	crashpoint("target sealed")
	if err := target.Discard(ctx, m.Run); err != nil {
		return err
	}
	crashpoint("stage removed")
	if err := store.Replace(ctx, m.Run+"/published", fmt.Appendf(nil, "%d\n", m.Number)); err != nil {
		return err
	}
	crashpoint("run marked")
	return nil
}

func createManifest(ctx context.Context, store dataset.Storage, m *Manifest) error {
	raw, err := json.MarshalIndent(m, "", " ")
	if err != nil {
		return fmt.Errorf("write manifest %d: %w", m.Number, err)
	}
	err = store.Create(ctx, manifestName(m.Number), append(raw, '\n'))
	if !errors.Is(err, fs.ErrExist) {
		if err != nil {
			return fmt.Errorf("write manifest %d: %w", m.Number, err)
		}
		return nil
	}
	there, rerr := readManifest(ctx, store, m.Number)
	if rerr != nil {
		return rerr
	}
	if there.Run != m.Run {
		return fmt.Errorf("write manifest %d: run %s made it meanwhile, so the lock did not hold; this run's result is not published", m.Number, there.Run)
	}
	return nil
}
