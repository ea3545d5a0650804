package avro

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/big"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/twmb/avro"
)

// schemaText is the Avro schema of columns.
func schemaText(in *arrow.Schema) (string, error) {
	root, err := recordNode("row", in.Fields(), "row", 0)
	if err == nil {
		var s *avro.Schema
		if s, err = root.Schema(); err == nil {
			return s.String(), nil
		}
	}
	return "", fmt.Errorf("write avro: %w", err)
}

func recordNode(name string, fields []arrow.Field, path string, depth int) (*avro.SchemaNode, error) {
	n := &avro.SchemaNode{Type: "record", Name: name}
	seen := map[string]bool{}
	for _, f := range fields {
		switch {
		case !validName(f.Name):
			return nil, fmt.Errorf("column %q: Avro takes only letters, digits and _ in names; rename it", f.Name)
		case seen[f.Name]:
			return nil, fmt.Errorf("two columns are named %q; rename one", f.Name)
		}
		seen[f.Name] = true
		t, err := nodeOf(f, path+"_"+f.Name, depth+1)
		if err != nil {
			return nil, fmt.Errorf("column %q: %w", f.Name, err)
		}
		n.Fields = append(n.Fields, avro.SchemaField{Name: f.Name, Type: *t})
	}
	return n, nil
}

func storage(dt arrow.DataType) arrow.DataType {
	for {
		switch t := dt.(type) {
		case arrow.ExtensionType:
			dt = t.StorageType()
		case *arrow.DictionaryType:
			dt = t.ValueType
		default:
			return dt
		}
	}
}

// nodeOf is the schema of a field; path names records and fixed types, which must all be named apart.
func nodeOf(f arrow.Field, path string, depth int) (*avro.SchemaNode, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("types nest deeper than %d levels", maxDepth)
	}
	n, err := bareNode(storage(f.Type), path, depth)
	if err != nil || !f.Nullable || n.Type == "null" {
		return n, err
	}
	return &avro.SchemaNode{Type: "union", Branches: []avro.SchemaNode{{Type: "null"}, *n}}, nil
}

func bareNode(dt arrow.DataType, path string, depth int) (n *avro.SchemaNode, err error) {
	plain := func(typ, logical string) (*avro.SchemaNode, error) {
		return &avro.SchemaNode{Type: typ, LogicalType: logical}, nil
	}
	switch t := dt.(type) {
	case *arrow.NullType:
		return plain("null", "")
	case *arrow.BooleanType:
		return plain("boolean", "")
	case *arrow.Int8Type, *arrow.Int16Type, *arrow.Int32Type, *arrow.Uint8Type, *arrow.Uint16Type:
		return plain("int", "")
	case *arrow.Int64Type, *arrow.Uint32Type, *arrow.Uint64Type:
		return plain("long", "")
	case *arrow.Float16Type, *arrow.Float32Type:
		return plain("float", "")
	case *arrow.Float64Type:
		return plain("double", "")
	case *arrow.StringType, *arrow.LargeStringType:
		return plain("string", "")
	case *arrow.BinaryType, *arrow.LargeBinaryType:
		return plain("bytes", "")
	case *arrow.FixedSizeBinaryType:
		return &avro.SchemaNode{Type: "fixed", Name: path, Size: t.ByteWidth}, nil
	case *arrow.Date32Type:
		return plain("int", "date")
	case *arrow.Time32Type:
		return plain("int", "time-millis")
	case *arrow.Time64Type:
		return plain("long", "time-micros")
	case *arrow.TimestampType:
		local := ""
		if t.TimeZone == "" {
			local = "local-"
		}
		return plain("long", local+map[arrow.TimeUnit]string{arrow.Second: "timestamp-millis", arrow.Millisecond: "timestamp-millis",
			arrow.Microsecond: "timestamp-micros", arrow.Nanosecond: "timestamp-nanos"}[t.Unit])
	case arrow.DecimalType:
		if t.GetScale() < 0 || t.GetScale() > t.GetPrecision() {
			return nil, fmt.Errorf("%s: Avro's scale is from 0 to the precision; cast it", dt)
		}
		return &avro.SchemaNode{Type: "bytes", LogicalType: "decimal", Precision: int(t.GetPrecision()), Scale: int(t.GetScale())}, nil
	case *arrow.StructType:
		return recordNode(path, t.Fields(), path, depth)
	case *arrow.MapType:
		if id := storage(t.KeyType()).ID(); id != arrow.STRING && id != arrow.LARGE_STRING {
			return nil, fmt.Errorf("%s: the keys of Avro's maps are text; cast it", dt)
		}
		n, err = nodeOf(t.ItemField(), path+"_v", depth+1)
		return &avro.SchemaNode{Type: "map", Values: n}, err
	case arrow.ListLikeType:
		n, err = nodeOf(t.ElemField(), path+"_i", depth+1)
		return &avro.SchemaNode{Type: "array", Items: n}, err
	}
	return nil, fmt.Errorf("type %s has no form in Avro; cast it", dt)
}

// appender appends one value.
type appender func(dst []byte, row int) ([]byte, error)

var errNull = errors.New("a value is null where the schema says that none can be")

// writes makes the appender of an array.
func writes(a arrow.Array, nullable bool) appender {
	for {
		x, ok := a.(array.ExtensionArray)
		if !ok {
			break
		}
		a = x.Storage()
	}
	if a.DataType().ID() == arrow.NULL {
		return func(dst []byte, _ int) ([]byte, error) { return dst, nil }
	}
	value := bare(a)
	return func(dst []byte, row int) ([]byte, error) {
		switch {
		case !nullable && a.IsNull(row):
			return dst, errNull
		case !nullable:
			return value(dst, row)
		case a.IsNull(row):
			return append(dst, 0), nil
		}
		return value(append(dst, 2), row)
	}
}

func bare(a arrow.Array) appender {
	switch a := a.(type) {
	case *array.Dictionary:
		return dictionary(a)
	case *array.Struct:
		fields := make([]appender, a.NumField())
		for i := range fields {
			fields[i] = writes(a.Field(i), a.DataType().(*arrow.StructType).Field(i).Nullable)
		}
		return func(dst []byte, row int) (_ []byte, err error) {
			for _, f := range fields {
				if dst, err = f(dst, row); err != nil {
					return dst, err
				}
			}
			return dst, nil
		}
	case *array.Map:
		keys, items := bare(a.Keys()), writes(a.Items(), a.DataType().(*arrow.MapType).ItemField().Nullable)
		return items2(a, func(dst []byte, i int) ([]byte, error) {
			dst, err := keys(dst, i)
			if err != nil {
				return dst, err
			}
			return items(dst, i)
		})
	case array.ListLike:
		return items2(a, writes(a.ListValues(), a.DataType().(arrow.ListLikeType).ElemField().Nullable))
	case *array.Boolean:
		return func(dst []byte, row int) ([]byte, error) {
			if a.Value(row) {
				return append(dst, 1), nil
			}
			return append(dst, 0), nil
		}
	case *array.Float16:
		return func(dst []byte, row int) ([]byte, error) {
			return binary.LittleEndian.AppendUint32(dst, math.Float32bits(a.Value(row).Float32())), nil
		}
	case *array.Float32:
		return func(dst []byte, row int) ([]byte, error) {
			return binary.LittleEndian.AppendUint32(dst, math.Float32bits(a.Value(row))), nil
		}
	case *array.Float64:
		return func(dst []byte, row int) ([]byte, error) {
			return binary.LittleEndian.AppendUint64(dst, math.Float64bits(a.Value(row))), nil
		}
	case *array.FixedSizeBinary:
		return func(dst []byte, row int) ([]byte, error) { return append(dst, a.Value(row)...), nil }
	case *array.Decimal128:
		return func(dst []byte, row int) ([]byte, error) { return appendBig(dst, a.Value(row).BigInt()), nil }
	case *array.Decimal256:
		return func(dst []byte, row int) ([]byte, error) { return appendBig(dst, a.Value(row).BigInt()), nil }
	}
	if v := texts(a); v != nil {
		return v
	}
	return integers(a)
}

func dictionary(a *array.Dictionary) appender {
	values := bare(a.Dictionary())
	return func(dst []byte, row int) ([]byte, error) {
		i := a.GetValueIndex(row)
		if a.Dictionary().IsNull(i) {
			return dst, errNull
		}
		return values(dst, i)
	}
}

// items2 writes the elements of lists and maps: one block of items and the end.
func items2(a array.ListLike, item appender) appender {
	return func(dst []byte, row int) (_ []byte, err error) {
		from, to := a.ValueOffsets(row)
		if from < to {
			dst = binary.AppendVarint(dst, to-from)
		}
		for i := from; i < to; i++ {
			if dst, err = item(dst, int(i)); err != nil {
				return dst, err
			}
		}
		return append(dst, 0), nil
	}
}

// appendBig appends a number as big-endian two's complement of the fewest bytes.
func appendBig(dst []byte, v *big.Int) []byte {
	n := v.BitLen()/8 + 1
	if v.Sign() < 0 {
		v = new(big.Int).Add(v, new(big.Int).Lsh(big.NewInt(1), uint(8*n)))
	}
	dst = binary.AppendVarint(dst, int64(n))
	at := len(dst)
	dst = append(dst, make([]byte, n)...)
	v.FillBytes(dst[at:])
	return dst
}

func texts(a arrow.Array) appender {
	var value func(int) []byte
	text := false
	switch a := a.(type) {
	case *array.Binary:
		value = a.Value
	case *array.LargeBinary:
		value = a.Value
	case *array.String:
		value, text = func(i int) []byte { return []byte(a.Value(i)) }, true
	case *array.LargeString:
		value, text = func(i int) []byte { return []byte(a.Value(i)) }, true
	default:
		return nil
	}
	return func(dst []byte, row int) ([]byte, error) {
		v := value(row)
		if text && !utf8.Valid(v) {
			return dst, errText
		}
		return append(binary.AppendVarint(dst, int64(len(v))), v...), nil
	}
}

func integers(a arrow.Array) appender {
	var value func(int) int64
	mul := int64(1)
	switch a := a.(type) {
	case *array.Int8:
		value = func(i int) int64 { return int64(a.Value(i)) }
	case *array.Int16:
		value = func(i int) int64 { return int64(a.Value(i)) }
	case *array.Int32:
		value = func(i int) int64 { return int64(a.Value(i)) }
	case *array.Int64:
		value = a.Value
	case *array.Uint8:
		value = func(i int) int64 { return int64(a.Value(i)) }
	case *array.Uint16:
		value = func(i int) int64 { return int64(a.Value(i)) }
	case *array.Uint32:
		value = func(i int) int64 { return int64(a.Value(i)) }
	case *array.Uint64:
		return func(dst []byte, row int) ([]byte, error) {
			if v := a.Value(row); v <= math.MaxInt64 {
				return binary.AppendVarint(dst, int64(v)), nil
			}
			return dst, errRange
		}
	case *array.Date32:
		value = func(i int) int64 { return int64(a.Value(i)) }
	case *array.Time32:
		value = func(i int) int64 { return int64(a.Value(i)) }
		if a.DataType().(*arrow.Time32Type).Unit == arrow.Second {
			mul = 1000
		}
	case *array.Time64:
		value = func(i int) int64 { return int64(a.Value(i)) }
		if a.DataType().(*arrow.Time64Type).Unit == arrow.Nanosecond {
			return func(dst []byte, row int) ([]byte, error) {
				v := value(row)
				if v%1000 != 0 {
					return dst, fmt.Errorf("the time of day has nanoseconds, which Avro does not; cast it to microseconds")
				}
				return binary.AppendVarint(dst, v/1000), nil
			}
		}
	case *array.Timestamp:
		value = func(i int) int64 { return int64(a.Value(i)) }
		if a.DataType().(*arrow.TimestampType).Unit == arrow.Second {
			mul = 1000
		}
	}
	return func(dst []byte, row int) ([]byte, error) {
		v := value(row)
		if mul > 1 && (v > math.MaxInt64/mul || v < math.MinInt64/mul) {
			return dst, errRange
		}
		return binary.AppendVarint(dst, v*mul), nil
	}
}
