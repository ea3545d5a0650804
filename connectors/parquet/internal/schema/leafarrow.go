package schema

import (
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/sluice-data/sluice/connectors/parquet/internal/meta"
)

// describeLeaf fills in the physical and logical type of a leaf.
func describeLeaf(el *meta.SchemaElement, dt arrow.DataType) error {
	phys, logical, converted, err := leafOf(dt)
	if err != nil {
		return err
	}
	el.Type = thrift.New(phys)
	el.LogicalType.Value = logical
	if converted >= 0 {
		el.ConvertedType = thrift.New(converted)
	}
	switch t := dt.(type) {
	case *arrow.FixedSizeBinaryType:
		if t.ByteWidth <= 0 || t.ByteWidth > maxFixedLength {
			return fmt.Errorf("%s cannot be written: the width must be within 1..%d bytes", dt, maxFixedLength)
		}
		el.TypeLength = thrift.New(int32(t.ByteWidth))
	case *arrow.Float16Type:
		el.TypeLength = thrift.New(int32(2))
	case arrow.DecimalType:
		if t.GetScale() < 0 || t.GetScale() > t.GetPrecision() {
			return fmt.Errorf("%s cannot be written: Parquet wants a scale within 0..precision", dt)
		}
		el.TypeLength = thrift.New(int32(DecimalWidth(t.GetPrecision())))
		el.Precision, el.Scale = thrift.New(t.GetPrecision()), thrift.New(t.GetScale())
	case *arrow.NullType:
		el.RepetitionType = thrift.New(format.Optional)
	}
	return nil
}

// none stands for the absence of a converted type, whose zero value is UTF8.
const none = deprecated.ConvertedType(-1)

func leafOf(dt arrow.DataType) (format.Type, format.LogicalTypeValue, deprecated.ConvertedType, error) {
	integer := func(phys format.Type, width int8, signed bool, c deprecated.ConvertedType) (format.Type, format.LogicalTypeValue, deprecated.ConvertedType, error) {
		return phys, &format.IntType{BitWidth: width, IsSigned: signed}, c, nil
	}
	switch t := dt.(type) {
	case *arrow.NullType:
		return format.Int32, new(format.NullType), none, nil
	case *arrow.BooleanType:
		return format.Boolean, nil, none, nil
	case *arrow.Int8Type:
		return integer(format.Int32, 8, true, deprecated.Int8)
	case *arrow.Int16Type:
		return integer(format.Int32, 16, true, deprecated.Int16)
	case *arrow.Int32Type:
		return format.Int32, nil, none, nil
	case *arrow.Int64Type, *arrow.DurationType:
		return format.Int64, nil, none, nil
	case *arrow.Uint8Type:
		return integer(format.Int32, 8, false, deprecated.Uint8)
	case *arrow.Uint16Type:
		return integer(format.Int32, 16, false, deprecated.Uint16)
	case *arrow.Uint32Type:
		return integer(format.Int32, 32, false, deprecated.Uint32)
	case *arrow.Uint64Type:
		return integer(format.Int64, 64, false, deprecated.Uint64)
	case *arrow.Float16Type:
		return format.FixedLenByteArray, new(format.Float16Type), none, nil
	case *arrow.Float32Type:
		return format.Float, nil, none, nil
	case *arrow.Float64Type:
		return format.Double, nil, none, nil
	case *arrow.StringType, *arrow.LargeStringType:
		return format.ByteArray, new(format.StringType), deprecated.UTF8, nil
	case *arrow.BinaryType, *arrow.LargeBinaryType:
		return format.ByteArray, nil, none, nil
	case *arrow.FixedSizeBinaryType:
		return format.FixedLenByteArray, nil, none, nil
	case *arrow.Date32Type, *arrow.Date64Type:
		return format.Int32, new(format.DateType), deprecated.Date, nil
	case *arrow.Time32Type:
		return format.Int32, &format.TimeType{IsAdjustedToUTC: true, Unit: format.TimeUnit{Value: new(format.MilliSeconds)}}, deprecated.TimeMillis, nil
	case *arrow.Time64Type:
		if t.Unit == arrow.Nanosecond {
			return format.Int64, &format.TimeType{IsAdjustedToUTC: true, Unit: format.TimeUnit{Value: new(format.NanoSeconds)}}, none, nil
		}
		return format.Int64, &format.TimeType{IsAdjustedToUTC: true, Unit: format.TimeUnit{Value: new(format.MicroSeconds)}}, deprecated.TimeMicros, nil
	case *arrow.TimestampType:
		return timestampOf(t)
	case arrow.DecimalType:
		return format.FixedLenByteArray, &format.DecimalType{Precision: t.GetPrecision(), Scale: t.GetScale()}, deprecated.Decimal, nil
	}
	return 0, nil, none, fmt.Errorf("type %s cannot be written to Parquet: cast or drop the column", dt)
}

// timestampOf writes seconds as milliseconds, the coarsest unit of Parquet.
// The converted types, which mean UTC, go only on timestamps with a zone.
func timestampOf(t *arrow.TimestampType) (format.Type, format.LogicalTypeValue, deprecated.ConvertedType, error) {
	lt := &format.TimestampType{IsAdjustedToUTC: t.TimeZone != ""}
	conv := none
	switch t.Unit {
	case arrow.Nanosecond:
		lt.Unit.Value = new(format.NanoSeconds)
	case arrow.Microsecond:
		lt.Unit.Value = new(format.MicroSeconds)
		conv = deprecated.TimestampMicros
	default:
		lt.Unit.Value = new(format.MilliSeconds)
		conv = deprecated.TimestampMillis
	}
	if t.TimeZone == "" {
		conv = none
	}
	return format.Int64, lt, conv, nil
}

// DecimalWidth returns the bytes that hold any decimal of the precision.
func DecimalWidth(precision int32) int {
	return int(math.Ceil((float64(precision)*math.Log2(10) + 1) / 8))
}
