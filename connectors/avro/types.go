package avro

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/twmb/avro"
)

const maxDepth = 64

// ValueColumn is the column of files whose schema is not a record.
const ValueColumn = "value"

// parseSchema parses a schema and gives the fields of its rows.
func parseSchema(text string) (_ *avro.SchemaNode, fields []arrow.Field, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("parse the schema: %v", p)
		}
	}()
	s, err := avro.Parse(text, avro.WithLaxNames(nil))
	if err != nil {
		if named, ok := nameRoot(text); ok {
			s, err = avro.Parse(named, avro.WithLaxNames(nil))
		}
	}
	if err != nil {
		return nil, nil, fmt.Errorf("parse the schema: %w", err)
	}
	root := s.Root().ExpandReferences()
	if root.Type != "record" {
		root = &avro.SchemaNode{Type: "record", Fields: []avro.SchemaField{{Name: ValueColumn, Type: *root}}}
	}
	for _, f := range root.Fields {
		dt, null, err := arrowType(&f.Type, 0)
		if err != nil {
			return nil, nil, fmt.Errorf("column %q: %w", f.Name, err)
		}
		fields = append(fields, arrow.Field{Name: f.Name, Type: dt, Nullable: null})
	}
	return root, fields, nil
}

// nameRoot gives a record at the root a name that has none, as Polars writes it: nothing refers to it.
func nameRoot(text string) (string, bool) {
	var root map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &root); err != nil || string(root["type"]) != `"record"` || string(root["name"]) != `""` {
		return "", false
	}
	root["name"] = json.RawMessage(`"record"`)
	out, err := json.Marshal(root)
	return string(out), err == nil
}

var primitives = map[string]arrow.DataType{
	"null": arrow.Null, "boolean": arrow.FixedWidthTypes.Boolean, "int": arrow.PrimitiveTypes.Int32, "long": arrow.PrimitiveTypes.Int64,
	"float": arrow.PrimitiveTypes.Float32, "double": arrow.PrimitiveTypes.Float64, "bytes": arrow.BinaryTypes.Binary,
	"string": arrow.BinaryTypes.String, "enum": arrow.BinaryTypes.String,
}

var logicals = map[string]arrow.DataType{
	"int date": arrow.FixedWidthTypes.Date32, "int time-millis": arrow.FixedWidthTypes.Time32ms, "long time-micros": arrow.FixedWidthTypes.Time64us,
	"long timestamp-millis": arrow.FixedWidthTypes.Timestamp_ms, "long timestamp-micros": arrow.FixedWidthTypes.Timestamp_us,
	"long timestamp-nanos":        arrow.FixedWidthTypes.Timestamp_ns,
	"long local-timestamp-millis": &arrow.TimestampType{Unit: arrow.Millisecond}, "long local-timestamp-micros": &arrow.TimestampType{Unit: arrow.Microsecond},
	"long local-timestamp-nanos": &arrow.TimestampType{Unit: arrow.Nanosecond},
}

// arrowType is what a schema is read as, and whether it can be null.
func arrowType(n *avro.SchemaNode, depth int) (dt arrow.DataType, null bool, err error) {
	if depth > maxDepth {
		return nil, false, fmt.Errorf("types nest deeper than %d levels", maxDepth)
	}
	if t, ok := logicals[n.Type+" "+n.LogicalType]; ok {
		return t, false, nil
	}
	if n.LogicalType == "decimal" && n.Precision > 0 && n.Precision <= 76 {
		if n.Precision <= 38 {
			return &arrow.Decimal128Type{Precision: int32(n.Precision), Scale: int32(n.Scale)}, false, nil
		}
		return &arrow.Decimal256Type{Precision: int32(n.Precision), Scale: int32(n.Scale)}, false, nil
	}
	if t, ok := primitives[n.Type]; ok {
		return t, n.Type == "null", nil
	}
	switch n.Type {
	case "fixed":
		if n.Size <= 0 {
			return nil, false, fmt.Errorf("fixed %q has %d bytes", n.Name, n.Size)
		}
		return &arrow.FixedSizeBinaryType{ByteWidth: n.Size}, false, nil
	case "array":
		elem, null, err := arrowType(n.Items, depth+1)
		if err != nil {
			return nil, false, err
		}
		return arrow.ListOfField(arrow.Field{Name: "item", Type: elem, Nullable: null}), false, nil
	case "map":
		item, null, err := arrowType(n.Values, depth+1)
		if err != nil {
			return nil, false, err
		}
		return arrow.MapOfFields(arrow.Field{Name: "key", Type: arrow.BinaryTypes.String}, arrow.Field{Name: "value", Type: item, Nullable: null}), false, nil
	case "record", "error":
		var fields []arrow.Field
		for _, f := range n.Fields {
			dt, null, err := arrowType(&f.Type, depth+1)
			if err != nil {
				return nil, false, fmt.Errorf("%s: %w", f.Name, err)
			}
			fields = append(fields, arrow.Field{Name: f.Name, Type: dt, Nullable: null})
		}
		return arrow.StructOf(fields...), false, nil
	case "union":
		return unionType(n, depth)
	}
	return nil, false, fmt.Errorf("type %q refers to itself; recursive types have no columns", n.Type)
}

// unionType is the one type besides null, or a struct of all.
func unionType(n *avro.SchemaNode, depth int) (dt arrow.DataType, null bool, err error) {
	var fields []arrow.Field
	for i := range n.Branches {
		b := &n.Branches[i]
		if b.Type == "null" {
			null = true
			continue
		}
		dt, _, err := arrowType(b, depth+1)
		if err != nil {
			return nil, false, err
		}
		fields = append(fields, arrow.Field{Name: fmt.Sprintf("member%d", len(fields)), Type: dt, Nullable: true})
	}
	switch len(fields) {
	case 0:
		return arrow.Null, true, nil
	case 1:
		return fields[0].Type, null, nil
	}
	return arrow.StructOf(fields...), null, nil
}

// validName tells names that Avro takes.
func validName(s string) bool {
	for i, c := range s {
		if c != '_' && (c|0x20 < 'a' || c|0x20 > 'z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != "" && !strings.Contains(s, "\x00")
}
