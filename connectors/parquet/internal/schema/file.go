package schema

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/connectors/parquet/internal/meta"
)

// Schema is the schema of a file: Arrow's view and the fields that rebuild it.
type Schema struct {
	Arrow   *arrow.Schema
	Fields  []*Field
	Columns []*Column // in file order
	// Warnings are problems that do not keep the file from being read.
	Warnings []string
}

// FromFile maps the schema in a footer.
func FromFile(m *meta.FileMetaData) (*Schema, error) { return FromFileAs(m, nil) }

// FromFileAs maps the schema in a footer to a schema that was pinned before:
// where the bytes allow it, columns take the pinned types instead of those of
// the footer's ARROW:schema entry. A nil schema is FromFile.
func FromFileAs(m *meta.FileMetaData, pinned *arrow.Schema) (*Schema, error) {
	root, err := buildTree(m.Schema)
	if err != nil {
		return nil, fmt.Errorf("read schema: %w", err)
	}
	s := new(Schema)
	for _, n := range root.children {
		f, err := convert(n, levels{})
		if err != nil {
			return nil, fmt.Errorf("read schema: %w", err)
		}
		s.Fields = append(s.Fields, f)
		s.Columns = f.Columns(s.Columns)
	}
	original := pinned
	if original == nil {
		original, err = storedSchema(m)
	}
	if err != nil {
		s.Warnings = append(s.Warnings, fmt.Sprintf("the %s entry of the footer is ignored: %v", ArrowKey, err))
	}
	if original != nil {
		refineFields(s.Fields, original.Fields())
	}
	if pinned != nil {
		for _, f := range s.Fields {
			relax(f)
		}
	}
	for _, f := range s.Fields {
		restoreTensor(f)
	}
	for i, g := 0, 0; g < len(m.RowGroups); i++ {
		if i == len(s.Columns) {
			i, g = -1, g+1
			continue
		}
		if md := &m.RowGroups[g].Columns[i].MetaData.V; md.Type != s.Columns[i].Physical {
			return nil, fmt.Errorf("read schema: row group %d has column %q as %s, the schema says %s", g, s.Columns[i].Path, md.Type, s.Columns[i].Physical)
		}
	}
	s.Arrow = arrow.NewSchema(arrowFields(s.Fields), fileMetadata(m))
	return s, nil
}

func arrowFields(fields []*Field) []arrow.Field {
	out := make([]arrow.Field, len(fields))
	for i, f := range fields {
		out[i] = f.Arrow
	}
	return out
}

func fileMetadata(m *meta.FileMetaData) *arrow.Metadata {
	var keys, values []string
	for _, kv := range m.KeyValueMetadata {
		if kv.Key != ArrowKey {
			keys, values = append(keys, kv.Key), append(values, kv.Value)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	md := arrow.NewMetadata(keys, values)
	return &md
}
