package main

import (
	"context"
	"fmt"
	"io"
	"iter"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
)

// Params are the options of the source.
type Params struct {
	Split uint64 `json:"split,omitempty" doc:"numbers a split"`
}

// Def makes the source known by its name, which is also a scheme: "numbers:1000" in Read and in pipeline strings.
var Def = dataset.SourceDef{
	Name: "numbers",
	Doc:  "the numbers from 0 on: numbers:1000",
	Zero: func() any { return &Params{Split: 1000} },
	Open: func(_ context.Context, in []dataset.Pattern, params any) (dataset.Source, error) {
		p, ok := params.(*Params)
		if !ok || p.Split < 1 {
			return nil, dataset.Usagef("numbers: split is %v, want 1 or more", params)
		}
		s := &numbers{split: p.Split}
		for _, pattern := range in {
			n, err := strconv.ParseUint(strings.TrimPrefix(pattern.Text, "numbers:"), 10, 32)
			if err != nil {
				return nil, dataset.Usagef("numbers: %q is no count of numbers, such as numbers:1000", pattern.Text)
			}
			s.counts = append(s.counts, n)
		}
		return s, nil
	},
}

// numbers is the Source: immutable and shared.
type numbers struct {
	counts []uint64 // one a path
	split  uint64
}

var schema = arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Uint64}}, nil)

func (*numbers) Name() string { return "numbers" }
func (*numbers) Version() int { return 1 } // raise it when the same paths would give other rows

// Params are part of what makes two runs the same command. How the work is divided is not.
func (s *numbers) Params() any { return s.counts }

func (*numbers) Schema(context.Context) (*arrow.Schema, error) { return schema, nil }

// Splits lists the work in an order that never changes, beginning after the cursor. Each split is plain data from which any machine can read it.
func (s *numbers) Splits(_ context.Context, after dataset.Cursor) iter.Seq2[dataset.Split, error] {
	return func(yield func(dataset.Split, error) bool) {
		skipping := after.Path != ""
		for i, count := range s.counts {
			file := dataset.FileRef{Path: fmt.Sprintf("numbers:%d#%d", count, i), Size: int64(count) * 8}
			start := uint64(0)
			if skipping {
				if file.Path != after.Path {
					continue
				}
				skipping, start = false, after.End
			}
			for ; start < count; start += s.split {
				end := min(start+s.split, count)
				split := dataset.Split{Ranges: []dataset.SplitRange{{File: file, Start: start, End: end}}, Bytes: int64(end-start) * 8}
				if !yield(split, nil) {
					return
				}
			}
		}
	}
}

// Open reads one split. Positions below offset were read before and are passed over.
func (*numbers) Open(_ context.Context, rt dataset.Runtime, split dataset.Split, offset uint64) (dataset.Reader, error) {
	r := split.Ranges[0]
	return &reader{rt: rt, file: r.ID, next: max(r.Start, offset), end: r.End}, nil
}

// reader gives the blocks of a split. Its calls never overlap.
type reader struct {
	rt        dataset.Runtime
	file      *block.File
	next, end uint64
}

// Next makes a block of the size that the engine wants, from the memory that it gives. The run names each row for good: the number at position
// p of the file is row p, whatever the splits.
func (r *reader) Next(ctx context.Context) (*block.Block, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if r.next >= r.end {
		return nil, io.EOF
	}
	n := min(r.end-r.next, uint64(max(1, r.rt.BlockRows())), uint64(max(1, r.rt.BlockBytes()/8)))
	b := array.NewUint64Builder(r.rt.Allocator())
	defer b.Release()
	b.Reserve(int(n))
	for i := range n {
		b.UnsafeAppend(r.next + i)
	}
	column := b.NewArray()
	defer column.Release()
	run := block.Run{File: r.file, First: r.next, N: uint32(n), Stride: 1}
	r.next += n
	return block.New(block.FromColumns(schema, []arrow.Array{column}, int(n)), block.FromRuns(run)), nil
}

func (*reader) Close() error { return nil }
