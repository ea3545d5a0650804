package parquet

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"golang.org/x/sync/errgroup"

	"github.com/sluice-data/sluice/connectors/parquet/internal/mem"
	"github.com/sluice-data/sluice/connectors/parquet/internal/meta"
	"github.com/sluice-data/sluice/connectors/parquet/internal/write"
)

// maxRowGroups is the most row groups that a file can number.
const maxRowGroups = 1<<15 - 1

// unindexedColumns is the number of columns from which on a row group of one page a column has no page index: it would say what the statistics say,
// at as many bytes as the footer has.
const unindexedColumns = 256

// parallelBytes is the least worth of rows that is spread over goroutines.
const parallelBytes = 256 << 10

func (w *Writer) append(b arrow.RecordBatch, lo, hi int) error {
	if w.opts.Parallel < 2 || len(w.columns) < 2 || batchBytes(b, lo, hi) < parallelBytes {
		for i, c := range w.columns {
			if err := w.appendColumn(c, b, i, lo, hi); err != nil {
				return err
			}
		}
		return nil
	}
	var g errgroup.Group
	g.SetLimit(w.opts.Parallel)
	for i, c := range w.columns {
		g.Go(func() (err error) {
			defer func() {
				if p := recover(); p != nil {
					err = fmt.Errorf("column %q: %w", w.schema.Field(i).Name, mem.Panicked(p, "malformed batch"))
				}
			}()
			return w.appendColumn(c, b, i, lo, hi)
		})
	}
	return g.Wait()
}

func (w *Writer) appendColumn(c *write.Column, b arrow.RecordBatch, i, lo, hi int) error {
	if err := c.Append(b.Column(i), lo, hi); err != nil {
		return fmt.Errorf("column %q: rows %d to %d of the batch: %w", w.schema.Field(i).Name, lo, hi-1, err)
	}
	return nil
}

// flush ends the row group.
func (w *Writer) flush() error {
	if w.rows == 0 {
		return nil
	}
	if w.meta.Groups() == maxRowGroups {
		return fmt.Errorf("file has %d row groups, the most there can be: raise RowGroupBytes or split the file", maxRowGroups)
	}
	if err := w.start(); err != nil {
		return err
	}
	rg := meta.RowGroup{NumRows: w.rows, FileOffset: thrift.New(w.written), Ordinal: thrift.New(int16(w.meta.Groups()))}
	indexes, err := w.writeChunks(&rg)
	if err != nil {
		return fmt.Errorf("write row group: %w", err)
	}
	rg.SortingColumns = w.order.columns()
	w.order.restart()
	if err := w.meta.Add(&rg, indexes); err != nil {
		return err
	}
	w.rows, w.bytes = 0, 0
	return nil
}

// writeChunks writes the columns of a row group, then their Bloom filters, and returns their page indexes.
func (w *Writer) writeChunks(rg *meta.RowGroup) (indexes []meta.Index, err error) {
	compressed := int64(0)
	var filters [][]byte
	pages := 0
	for _, c := range w.columns {
		for _, l := range c.Leaves() {
			out, err := l.WriteChunk(w.w, w.written)
			if err != nil {
				return nil, err
			}
			md := &out.Chunk.MetaData.V
			w.written += md.TotalCompressedSize
			compressed += md.TotalCompressedSize
			rg.TotalByteSize += md.TotalUncompressedSize
			rg.Columns = append(rg.Columns, out.Chunk)
			filters = append(filters, out.Bloom)
			indexes = append(indexes, out.Index)
			pages = max(pages, out.Pages)
		}
	}
	if pages <= 1 && len(indexes) > unindexedColumns {
		indexes = nil
	}
	rg.TotalCompressedSize = thrift.New(compressed)
	for i, b := range filters {
		if b == nil {
			continue
		}
		md := &rg.Columns[i].MetaData.V
		md.BloomFilterOffset, md.BloomFilterLength = thrift.New(w.written), thrift.New(int32(len(b)))
		if _, err := w.w.Write(b); err != nil {
			return nil, err
		}
		w.written += int64(len(b))
	}
	return indexes, nil
}
