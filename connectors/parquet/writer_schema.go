package parquet

import (
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/parquet-go/parquet-go/format"

	"github.com/sluice-data/sluice/connectors/parquet/internal/meta"
	"github.com/sluice-data/sluice/connectors/parquet/internal/schema"
	"github.com/sluice-data/sluice/connectors/parquet/internal/write"
)

// CheckSchema returns an error naming the first column that cannot be written.
func CheckSchema(s *arrow.Schema) error {
	if _, err := schema.FromArrow(s); err != nil {
		return err
	}
	_, err := schema.Serialize(s)
	return err
}

// newFooter describes a file without rows.
func newFooter(s *arrow.Schema, createdBy string) (*meta.FileMetaData, error) {
	elements, err := schema.FromArrow(s)
	if err != nil {
		return nil, err
	}
	stored, err := schema.Serialize(s)
	if err != nil {
		return nil, err
	}
	m := &meta.FileMetaData{Version: 2, Schema: elements, CreatedBy: createdBy, RowGroups: []meta.RowGroup{}}
	md := s.Metadata()
	for i, k := range md.Keys() {
		if k != schema.ArrowKey {
			m.KeyValueMetadata = append(m.KeyValueMetadata, format.KeyValue{Key: k, Value: md.Values()[i]})
		}
	}
	m.KeyValueMetadata = append(m.KeyValueMetadata, format.KeyValue{Key: schema.ArrowKey, Value: stored})
	return m, nil
}

func (w *Writer) openColumns() error {
	s, err := schema.FromFile(&w.meta.FileMetaData)
	if err != nil {
		return err
	}
	c, err := compression(w.opts.Compression)
	if err != nil {
		return err
	}
	w.meta.ColumnOrders = meta.ColumnOrders(len(s.Columns))
	opts := write.Options{Codec: c, Statistics: !w.opts.NoStatistics, PageBytes: int(w.opts.PageBytes), PageRows: int(min(w.opts.PageRows, DefaultRowGroupRows))}
	for i, f := range s.Fields {
		var leaves []*write.Leaf
		for _, lf := range leafFields(f, w.stored.Field(i).Type, nil) {
			l, err := write.NewLeaf(lf.Column, strings.Split(lf.path(), "\x00"), lf.dt, opts, w.opts.Allocator)
			if err != nil {
				return fmt.Errorf("column %q: %w", lf.Column.Path, err)
			}
			if slices.Contains(w.opts.Bloom, f.Arrow.Name) {
				if err := l.WantBloom(); err != nil {
					return err
				}
			}
			leaves = append(leaves, l)
		}
		w.columns = append(w.columns, write.NewColumn(f, leaves))
	}
	return nil
}
