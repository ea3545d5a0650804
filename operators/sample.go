package operators

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/zeebo/xxh3"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
)

// SampleParams are the parameters of sample.
type SampleParams struct {
	Fraction float64 `json:"fraction" arg:"word" doc:"the probability of each row to stay, 0 to 1"`
	Seed     uint64  `json:"seed,omitempty" doc:"another seed gives another sample; the default is that of the run (--seed)"`
}

func init() {
	define(dataset.Def{
		Name: "sample",
		Doc:  "keep a random part of the rows, the same part every time",
		Help: "Whether a row stays is decided by a hash of the seed and of where the row came from (file, position), so the sample does not depend on " +
			"parallelism or order, and a smaller fraction with the same seed is a part of a larger one.",
		Example: "sample 0.1",
	}, SampleParams{Fraction: -1}, Sample)
}

// Sample keeps each row with a probability, decided by its identity and a seed.
func Sample(p SampleParams) (dataset.Spec, error) {
	if p.Fraction == -1 {
		return nil, errors.New("it needs a fraction from 0 to 1: sample 0.01")
	}
	if !(p.Fraction >= 0 && p.Fraction <= 1) {
		return nil, fmt.Errorf("it needs a fraction from 0 to 1; have %v", p.Fraction)
	}
	return &sample{SampleParams: p}, nil
}

type sample struct {
	rowwise
	SampleParams
}

var (
	_ dataset.Columner       = (*sample)(nil)
	_ dataset.FilterCommuter = (*sample)(nil)
	_ dataset.Seeded         = (*sample)(nil)
)

// WithSeed implements dataset.Seeded.
func (s *sample) WithSeed(seed uint64) dataset.Spec {
	if s.Seed != 0 {
		return s
	}
	c := *s
	c.Seed = seed
	return &c
}

func (*sample) Name() string { return "sample" }

func (s *sample) Params() any { return s.SampleParams }

// Columns implements dataset.Columner.
func (*sample) Columns(_ *arrow.Schema, want []string) []string { return want }

// CommutesWithFilter implements dataset.FilterCommuter: each row is decided by itself.
func (*sample) CommutesWithFilter([]string) bool { return true }

func (*sample) Check(in []*arrow.Schema) (*arrow.Schema, error) { return one(in) }

func (s *sample) New([]*arrow.Schema) (dataset.Operator, error) {
	// A hash stays if it is below the fraction of all hashes; the largest float below 2^64 keeps the product exact.
	bound := uint64(math.MaxUint64)
	if s.Fraction < 1 {
		bound = uint64(s.Fraction * (1 << 63) * 2)
	}
	return &stateless{process: func(_ context.Context, rt dataset.Runtime, b *block.Block, emit dataset.Emit) error {
		id := b.Identity()
		if id.Len() != b.NumRows() {
			return errors.New("sample rows: they have no identity")
		}
		if s.Fraction == 1 {
			return emit(b.Retain())
		}
		var keep []uint32
		h := rowHasher{seed: s.Seed}
		for i := range b.NumRows() {
			if h.hash(id.At(i)) < bound {
				keep = append(keep, uint32(i))
			}
		}
		if len(keep) == 0 {
			return nil
		}
		out, err := block.Take(rt.Allocator(), b, keep)
		if err != nil {
			return err
		}
		return emit(out)
	}}, nil
}

// rowHasher hashes identities: source, ordinal and position, and the ordinals of flat maps.
type rowHasher struct {
	seed uint64
	buf  []byte
}

func (h *rowHasher) hash(id block.RowID) uint64 {
	p := h.buf[:0]
	if id.File != nil {
		p = binary.LittleEndian.AppendUint32(p, id.File.Source)
		p = binary.LittleEndian.AppendUint64(p, id.File.Ordinal)
	}
	p = binary.LittleEndian.AppendUint64(p, id.Position)
	for _, c := range id.Child {
		p = binary.LittleEndian.AppendUint32(p, c)
	}
	h.buf = p
	return xxh3.HashSeed(p, h.seed)
}
