package commit

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/zeebo/xxh3"

	"github.com/sluice-data/sluice/dataset"
)

// planFormat is the version of the canonical plan.
const planFormat = 1

// canonicalPlan is what two commands must have in common to be the same. Memory, parallelism, batch size, error policy and part size
// are not in it: they change no row.
type canonicalPlan struct {
	Format  int             `json:"format"`
	Steps   []canonicalStep `json:"steps"`
	Sink    canonicalStep   `json:"sink"`
	Ordered bool            `json:"ordered,omitempty"`
	Seed    *uint64         `json:"seed,omitempty"`
}

type canonicalStep struct {
	Source  string   `json:"source,omitempty"`
	Step    string   `json:"step,omitempty"`
	Sink    string   `json:"sink,omitempty"`
	Version int      `json:"version"`
	Params  any      `json:"params,omitempty"`
	Schema  []string `json:"schema,omitempty"` // pinned, of sources
	Inputs  []int    `json:"inputs,omitempty"` // steps that feed this one
}

// Plan returns the canonical JSON of what out computes: names, versions and parameters of the unoptimised steps, the pinned schemas
// of the sources, the sink, the order and the seed. Keys are sorted, so equal plans give equal bytes.
func Plan(ctx context.Context, out dataset.Output, schemas *dataset.Schemas, opts dataset.Options) ([]byte, error) {
	p := canonicalPlan{Format: planFormat, Ordered: opts.Ordered}
	if opts.SeedSet {
		p.Seed = &opts.Seed
	}
	number := map[*dataset.Node]int{}
	var err error
	dataset.Walk(func(n *dataset.Node) {
		if err != nil {
			return
		}
		step := canonicalStep{}
		if n.Source != nil {
			var schema *arrow.Schema
			if schema, err = schemas.Of(ctx, n); err != nil {
				return
			}
			step = canonicalStep{Source: n.Source.Name(), Version: n.Source.Version(), Params: n.Source.Params(), Schema: schemaLines(schema)}
		} else {
			step = canonicalStep{Step: n.Spec.Name(), Version: n.Spec.Version(), Params: n.Spec.Params()}
		}
		for _, in := range n.Inputs {
			step.Inputs = append(step.Inputs, number[in])
		}
		number[n] = len(p.Steps)
		p.Steps = append(p.Steps, step)
	}, out.Node)
	if err != nil {
		return nil, err
	}
	if out.Sink != nil {
		p.Sink = canonicalStep{Sink: out.Sink.Name(), Version: out.Sink.Version(), Params: out.Sink.Params()}
	}
	return Canonical(p)
}

// Canonical returns v as JSON with sorted keys, no HTML escapes and numbers as they were written.
func Canonical(v any) ([]byte, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("fingerprint plan: %w", err)
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var any any
	if err := dec.Decode(&any); err != nil {
		return nil, fmt.Errorf("fingerprint plan: %w", err)
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(any); err != nil {
		return nil, fmt.Errorf("fingerprint plan: %w", err)
	}
	return bytes.TrimRight(out.Bytes(), "\n"), nil
}

// Fingerprint is the short form of a canonical plan.
func Fingerprint(plan []byte) string {
	sum := xxh3.Hash128(plan).Bytes()
	return hex.EncodeToString(sum[:])
}

// schemaLines lists the columns of a schema, one a line, for comparison and for people.
func schemaLines(s *arrow.Schema) []string {
	out := make([]string, s.NumFields())
	for i, f := range s.Fields() {
		out[i] = f.Name + " " + f.Type.String()
		if !f.Nullable {
			out[i] += " not null"
		}
	}
	return out
}
