package datasettest

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/dataset/block"
	"github.com/sluice-data/sluice/dataset/datasettest/arraytest"
)

// Input is what one port receives.
type Input struct {
	Schema *arrow.Schema
	Blocks []*block.Block
}

func (in Input) release() {
	for _, b := range in.Blocks {
		b.Release()
	}
}

// FromRecord makes an input of one block that takes over rec. Row i is at position i of a file of the given ordinal.
func FromRecord(rec arrow.RecordBatch, ordinal uint64) Input {
	file := &block.File{Ordinal: ordinal, Path: "test.jsonl"}
	id := block.FromRuns(block.Run{File: file, First: 0, N: uint32(rec.NumRows()), Stride: 1})
	return Input{rec.Schema(), []*block.Block{block.New(rec, id)}}
}

// FromJSON makes an input of one block from rows in JSON.
func FromJSON(tb testing.TB, mem *arraytest.Memory, schema *arrow.Schema, rows string) Input {
	tb.Helper()
	return FromRecord(arraytest.FromJSON(tb, mem, schema, rows), 1)
}

// Schema makes a schema of nullable columns from name, type, name, type, ….
func Schema(namesAndTypes ...any) *arrow.Schema {
	var f []arrow.Field
	for i := 0; i < len(namesAndTypes); i += 2 {
		f = append(f, arrow.Field{Name: namesAndTypes[i].(string), Type: namesAndTypes[i+1].(arrow.DataType), Nullable: true})
	}
	return arrow.NewSchema(f, nil)
}

// book counts rows: a token for each input block, as an engine would make them.
type book struct {
	tb     testing.TB
	tokens []*block.Token
}

// newBook binds every input block to a token of its own.
func newBook(tb testing.TB, ports []Input) *book {
	bk := &book{tb: tb}
	for _, p := range ports {
		for i, b := range p.Blocks {
			if b.Identity().Len() == 0 {
				continue
			}
			t := block.NewToken(nil, nil)
			p.Blocks[i] = b.WithIdentity(b.Identity().WithToken(t))
			b.Release()
			t.Settle()
			bk.tokens = append(bk.tokens, t)
		}
	}
	return bk
}

// check compares the live rows of all tokens, once the inputs are released, with the rows that came out.
func (bk *book) check(r *Result) {
	held := map[*block.Token]int64{}
	for _, b := range r.Blocks {
		b.Tokens(func(t *block.Token, n int64) { held[t] += n })
	}
	for i, t := range bk.tokens {
		if t.Live() != held[t] {
			bk.tb.Errorf("input block %d has %d live rows, its token should count %d: a block leaked or was dropped early", i, t.Live(), held[t])
		}
	}
}
