package executor

import (
	"context"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
)

type target struct{}

type sinkOp struct{ worker *worker }

func (*sinkOp) Open(context.Context, dataset.Runtime) error                              { return nil }
func (o *sinkOp) Process(_ context.Context, _ int, b *block.Block, _ dataset.Emit) error { return nil }
func (*sinkOp) Flush(context.Context, dataset.Emit) error                                { return nil }
func (*sinkOp) Close() error                                                             { return nil }

func (r *run) openTargets() (bool, error) { return false, nil }
func (r *run) ticker() func()             { return func() {} }
func (r *run) finish(cause error) error   { return cause }
func (r *run) journalSplit(_ context.Context, s *stage, sp *dataset.Split) error {
	for i := range sp.Ranges {
		sp.Ranges[i].ID = &block.File{Source: uint32(s.id), Ordinal: uint64(i), Path: sp.Ranges[i].File.Path}
	}
	return nil
}
func (r *run) newToken(s *stage, rs []block.Range) *block.Token { return block.NewToken(rs, nil) }
