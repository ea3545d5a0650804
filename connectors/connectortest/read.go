package connectortest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
)

// Row is one row as text, with its identity.
type Row struct {
	Path     string
	Position uint64
	Values   string // one column a line: name, equals sign, value
}

// Splits lists the splits of a source behind a cursor and gives each range its identity.
func Splits(tb testing.TB, src dataset.Source, after dataset.Cursor) []dataset.Split {
	tb.Helper()
	var out []dataset.Split
	files := map[string]*block.File{}
	for s, err := range src.Splits(tb.Context(), after) {
		if err != nil {
			tb.Fatalf("list splits: %v", err)
		}
		for i := range s.Ranges {
			p := s.Ranges[i].File.Path
			if files[p] == nil {
				files[p] = &block.File{Ordinal: uint64(len(files)), Path: p}
			}
			s.Ranges[i].ID = files[p]
		}
		out = append(out, s)
	}
	return out
}

// ReadSplit reads one split from an offset on.
func ReadSplit(ctx context.Context, src dataset.Source, rt dataset.Runtime, s dataset.Split, offset uint64) (rows []Row, err error) {
	r, err := src.Open(ctx, rt, s, offset)
	if err != nil {
		return nil, err
	}
	defer func() {
		if cerr := r.Close(); err == nil {
			err = cerr
		}
	}()
	schema, err := src.Schema(ctx)
	if err != nil {
		return nil, err
	}
	for {
		b, err := r.Next(ctx)
		if err == io.EOF {
			return rows, nil
		}
		if err != nil {
			return rows, err
		}
		if !b.Schema().Equal(schema) {
			defer b.Release()
			return rows, fmt.Errorf("a block has schema %s, the source says %s", b.Schema(), schema)
		}
		if b.NumRows() == 0 {
			defer b.Release()
			return rows, fmt.Errorf("a reader gave an empty block")
		}
		rows = append(rows, Rows(b)...)
		b.Release()
	}
}

// Rows writes the rows of a block as text.
func Rows(b *block.Block) []Row {
	out := make([]Row, b.NumRows())
	for i := range out {
		var s strings.Builder
		for c := range b.NumCols() {
			fmt.Fprintf(&s, "%s=", b.Schema().Field(c).Name)
			if col := b.Column(c); col.IsNull(i) {
				s.WriteString("null\n")
			} else {
				fmt.Fprintf(&s, "%q\n", storage(col).ValueStr(i))
			}
		}
		id := b.Identity().At(i)
		out[i] = Row{id.File.Path, id.Position, s.String()}
	}
	return out
}

// storage is what an extension array is made of; extension types of ours have no text form.
func storage(a arrow.Array) arrow.Array {
	if x, ok := a.(array.ExtensionArray); ok {
		return x.Storage()
	}
	return a
}

// ReadAll reads a whole source in listing order.
func ReadAll(tb testing.TB, src dataset.Source, rt dataset.Runtime) []Row {
	tb.Helper()
	var out []Row
	for _, s := range Splits(tb, src, dataset.Cursor{}) {
		rows, err := ReadSplit(tb.Context(), src, rt, s, 0)
		if err != nil {
			tb.Fatalf("read split: %v", err)
		}
		out = append(out, rows...)
	}
	return out
}

// Count reads one split and counts its rows, for benchmarks.
func Count(ctx context.Context, src dataset.Source, rt dataset.Runtime, s dataset.Split) (rows int, err error) {
	r, err := src.Open(ctx, rt, s, 0)
	if err != nil {
		return 0, err
	}
	for {
		b, err := r.Next(ctx)
		if err == io.EOF {
			return rows, r.Close()
		}
		if err != nil {
			return rows, errors.Join(err, r.Close())
		}
		rows += b.NumRows()
		b.Release()
	}
}
