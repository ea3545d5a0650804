package schema

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"
)

// leafType gives the Arrow type of a leaf from its physical and logical type.
func leafType(n *node) (arrow.DataType, error) {
	el := n.el
	if dt, err := logicalType(n); dt != nil || err != nil {
		return dt, err
	}
	if dt, err := convertedType(n); dt != nil || err != nil {
		return dt, err
	}
	switch el.Type.V {
	case format.Boolean:
		return arrow.FixedWidthTypes.Boolean, nil
	case format.Int32:
		return arrow.PrimitiveTypes.Int32, nil
	case format.Int64:
		return arrow.PrimitiveTypes.Int64, nil
	case format.Int96:
		return &arrow.TimestampType{Unit: arrow.Nanosecond}, nil
	case format.Float:
		return arrow.PrimitiveTypes.Float32, nil
	case format.Double:
		return arrow.PrimitiveTypes.Float64, nil
	case format.ByteArray:
		return arrow.BinaryTypes.Binary, nil
	case format.FixedLenByteArray:
		return &arrow.FixedSizeBinaryType{ByteWidth: int(el.TypeLength.V)}, nil
	}
	return nil, fmt.Errorf("unknown physical type %d", int32(el.Type.V))
}

func logicalType(n *node) (arrow.DataType, error) {
	phys := n.el.Type.V
	switch t := n.el.LogicalType.Value.(type) {
	case *format.StringType, *format.EnumType, *format.JsonType:
		if phys == format.ByteArray {
			return arrow.BinaryTypes.String, nil
		}
	case *format.DecimalType:
		return decimalType(phys, t.Precision, t.Scale)
	case *format.DateType:
		if phys == format.Int32 {
			return arrow.FixedWidthTypes.Date32, nil
		}
	case *format.TimeType:
		return timeType(phys, &t.Unit)
	case *format.TimestampType:
		if phys == format.Int64 {
			return timestampType(&t.Unit, t.IsAdjustedToUTC), nil
		}
	case *format.IntType:
		return intType(phys, int(t.BitWidth), t.IsSigned)
	case *format.NullType:
		return arrow.Null, nil
	case *format.Float16Type:
		if phys == format.FixedLenByteArray && n.el.TypeLength.V == 2 {
			return arrow.FixedWidthTypes.Float16, nil
		}
	}
	return nil, nil
}

func convertedType(n *node) (arrow.DataType, error) {
	if !n.el.ConvertedType.Valid {
		return nil, nil
	}
	phys := n.el.Type.V
	micros, millis := &format.TimeUnit{Value: new(format.MicroSeconds)}, &format.TimeUnit{Value: new(format.MilliSeconds)}
	switch t := n.el.ConvertedType.V; t {
	case deprecated.UTF8, deprecated.Enum, deprecated.Json:
		if phys == format.ByteArray {
			return arrow.BinaryTypes.String, nil
		}
	case deprecated.Decimal:
		return decimalType(phys, n.el.Precision.V, n.el.Scale.V)
	case deprecated.Date:
		if phys == format.Int32 {
			return arrow.FixedWidthTypes.Date32, nil
		}
	case deprecated.TimeMillis:
		return timeType(phys, millis)
	case deprecated.TimeMicros:
		return timeType(phys, micros)
	case deprecated.TimestampMillis:
		return timestampType(millis, true), nil
	case deprecated.TimestampMicros:
		return timestampType(micros, true), nil
	case deprecated.Uint8, deprecated.Uint16, deprecated.Uint32, deprecated.Uint64:
		return intType(phys, 8<<(t-deprecated.Uint8), false)
	case deprecated.Int8, deprecated.Int16, deprecated.Int32, deprecated.Int64:
		return intType(phys, 8<<(t-deprecated.Int8), true)
	}
	return nil, nil
}

func intType(phys format.Type, width int, signed bool) (arrow.DataType, error) {
	types := map[int][2]arrow.DataType{
		8:  {arrow.PrimitiveTypes.Uint8, arrow.PrimitiveTypes.Int8},
		16: {arrow.PrimitiveTypes.Uint16, arrow.PrimitiveTypes.Int16},
		32: {arrow.PrimitiveTypes.Uint32, arrow.PrimitiveTypes.Int32},
		64: {arrow.PrimitiveTypes.Uint64, arrow.PrimitiveTypes.Int64},
	}
	pair, ok := types[width]
	if want := format.Int32; !ok || (width == 64) != (phys == format.Int64) || (width < 64 && phys != want) {
		return nil, fmt.Errorf("integer of %d bits on physical type %s", width, phys)
	}
	if signed {
		return pair[1], nil
	}
	return pair[0], nil
}

func decimalType(phys format.Type, precision, scale int32) (arrow.DataType, error) {
	switch phys {
	case format.Int32, format.Int64, format.ByteArray, format.FixedLenByteArray:
	default:
		return nil, fmt.Errorf("decimal on physical type %s", phys)
	}
	switch {
	case precision >= 1 && precision <= 38 && scale >= 0 && scale <= precision:
		return &arrow.Decimal128Type{Precision: precision, Scale: scale}, nil
	case precision > 38 && precision <= 76 && scale >= 0 && scale <= precision:
		return &arrow.Decimal256Type{Precision: precision, Scale: scale}, nil
	}
	return nil, fmt.Errorf("decimal has precision %d and scale %d", precision, scale)
}

func timeType(phys format.Type, unit *format.TimeUnit) (arrow.DataType, error) {
	switch unit.Value.(type) {
	case *format.MilliSeconds:
		if phys == format.Int32 {
			return arrow.FixedWidthTypes.Time32ms, nil
		}
	case *format.MicroSeconds:
		if phys == format.Int64 {
			return arrow.FixedWidthTypes.Time64us, nil
		}
	case *format.NanoSeconds:
		if phys == format.Int64 {
			return arrow.FixedWidthTypes.Time64ns, nil
		}
	}
	return nil, fmt.Errorf("time of unit %q on physical type %s", unit.String(), phys)
}

func timestampType(unit *format.TimeUnit, utc bool) arrow.DataType {
	t := &arrow.TimestampType{Unit: arrow.Microsecond}
	switch unit.Value.(type) {
	case *format.MilliSeconds:
		t.Unit = arrow.Millisecond
	case *format.NanoSeconds:
		t.Unit = arrow.Nanosecond
	}
	if utc {
		t.TimeZone = "UTC"
	}
	return t
}
