package schema

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/sluice-data/sluice/connectors/parquet/internal/meta"
)

// FromArrow flattens an Arrow schema into Parquet schema elements, the root
// first. Lists take the three-level form with "list" and "element", maps
// "key_value" with "key" and "value".
func FromArrow(s *arrow.Schema) ([]meta.SchemaElement, error) {
	root := meta.SchemaElement{Name: "schema", NumChildren: thrift.New(int32(s.NumFields()))}
	root.RepetitionType = thrift.New(format.Required)
	out := []meta.SchemaElement{root}
	if s.NumFields() == 0 {
		return nil, fmt.Errorf("write schema: it has no columns, which Parquet cannot hold")
	}
	for _, f := range s.Fields() {
		var err error
		if out, err = appendField(out, f, f.Name, 0); err != nil {
			return nil, fmt.Errorf("write schema: column %q: %w", f.Name, err)
		}
	}
	return out, nil
}

func appendField(out []meta.SchemaElement, f arrow.Field, name string, depth int) ([]meta.SchemaElement, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("nests deeper than %d levels", maxDepth)
	}
	el := meta.SchemaElement{Name: name, RepetitionType: thrift.New(format.Required)}
	if f.Nullable {
		el.RepetitionType = thrift.New(format.Optional)
	}
	dt := f.Type
	for {
		if ext, ok := dt.(arrow.ExtensionType); ok {
			dt = ext.StorageType()
			continue
		}
		if dict, ok := dt.(*arrow.DictionaryType); ok {
			dt = dict.ValueType
			continue
		}
		break
	}
	switch t := dt.(type) {
	case *arrow.StructType:
		return appendStruct(out, el, t, depth)
	case *arrow.MapType:
		return appendMap(out, el, t, depth)
	case *arrow.ListType:
		return appendList(out, el, t.ElemField(), depth)
	case *arrow.LargeListType:
		return appendList(out, el, t.ElemField(), depth)
	case *arrow.FixedSizeListType:
		return appendList(out, el, t.ElemField(), depth)
	}
	if err := describeLeaf(&el, dt); err != nil {
		return nil, err
	}
	return append(out, el), nil
}

func appendStruct(out []meta.SchemaElement, el meta.SchemaElement, t *arrow.StructType, depth int) ([]meta.SchemaElement, error) {
	if t.NumFields() == 0 {
		return nil, fmt.Errorf("a struct without fields cannot be written to Parquet: give it one or drop it")
	}
	el.NumChildren = thrift.New(int32(t.NumFields()))
	out = append(out, el)
	for _, c := range t.Fields() {
		var err error
		if out, err = appendField(out, c, c.Name, depth+1); err != nil {
			return nil, fmt.Errorf("field %q: %w", c.Name, err)
		}
	}
	return out, nil
}

func appendList(out []meta.SchemaElement, el meta.SchemaElement, elem arrow.Field, depth int) ([]meta.SchemaElement, error) {
	el.NumChildren = thrift.New(int32(1))
	el.LogicalType.Value = new(format.ListType)
	el.ConvertedType = thrift.New(deprecated.List)
	group := meta.SchemaElement{Name: "list", RepetitionType: thrift.New(format.Repeated), NumChildren: thrift.New(int32(1))}
	return appendField(append(out, el, group), elem, "element", depth+1)
}

func appendMap(out []meta.SchemaElement, el meta.SchemaElement, t *arrow.MapType, depth int) ([]meta.SchemaElement, error) {
	el.NumChildren = thrift.New(int32(1))
	el.LogicalType.Value = new(format.MapType)
	el.ConvertedType = thrift.New(deprecated.Map)
	group := meta.SchemaElement{Name: "key_value", RepetitionType: thrift.New(format.Repeated), NumChildren: thrift.New(int32(2))}
	key := t.KeyField()
	key.Nullable = false
	out, err := appendField(append(out, el, group), key, "key", depth+1)
	if err != nil {
		return nil, err
	}
	return appendField(out, t.ItemField(), "value", depth+1)
}
