package expr

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
)

// kind groups Arrow types that evaluate alike.
type kind uint8

const (
	kindNull      kind = iota
	kindBool           // bool
	kindInt            // int8..int64, uint8..uint32: computed in int64
	kindUint           // uint64
	kindFloat          // float16..float64: computed in float64
	kindString         // string, large_string
	kindBinary         // binary, large_binary, fixed_size_binary
	kindTimestamp      // timestamp of any unit and zone
	kindDate           // date32, date64
	kindDuration       // duration of any unit
	kindTime           // time32, time64: compare only
	kindDecimal        // decimal32..decimal256: compare and cast only
	kindList           // list, large_list, fixed_size_list
	kindStruct         // struct
	kindOther          // everything else: can be read, tested for null and passed on
)

var kindNames = [...]string{"null", "bool", "integer", "uint64", "float", "string", "binary", "timestamp", "date", "duration", "time of day", "decimal", "list", "struct", "other"}

func (k kind) String() string { return kindNames[k] }

func (k kind) numeric() bool { return k == kindInt || k == kindUint || k == kindFloat }

func (k kind) temporal() bool { return k == kindTimestamp || k == kindDate }

// Types that results use.
var (
	typeNull   = arrow.Null
	typeBool   = arrow.FixedWidthTypes.Boolean
	typeInt    = arrow.PrimitiveTypes.Int64
	typeUint   = arrow.PrimitiveTypes.Uint64
	typeFloat  = arrow.PrimitiveTypes.Float64
	typeString = arrow.DataType(arrow.BinaryTypes.String)
	typeBinary = arrow.DataType(arrow.BinaryTypes.Binary)
	typeDate   = arrow.FixedWidthTypes.Date32
)

// logicalType strips what only says how values are stored: dictionaries and extensions.
func logicalType(t arrow.DataType) arrow.DataType {
	switch t := t.(type) {
	case *arrow.DictionaryType:
		return logicalType(t.ValueType)
	case arrow.ExtensionType:
		return logicalType(t.StorageType())
	}
	return t
}

func kindOf(t arrow.DataType) kind {
	switch t.ID() {
	case arrow.NULL:
		return kindNull
	case arrow.BOOL:
		return kindBool
	case arrow.INT8, arrow.INT16, arrow.INT32, arrow.INT64, arrow.UINT8, arrow.UINT16, arrow.UINT32:
		return kindInt
	case arrow.UINT64:
		return kindUint
	case arrow.FLOAT16, arrow.FLOAT32, arrow.FLOAT64:
		return kindFloat
	case arrow.STRING, arrow.LARGE_STRING:
		return kindString
	case arrow.BINARY, arrow.LARGE_BINARY, arrow.FIXED_SIZE_BINARY:
		return kindBinary
	case arrow.TIMESTAMP:
		return kindTimestamp
	case arrow.DATE32, arrow.DATE64:
		return kindDate
	case arrow.DURATION:
		return kindDuration
	case arrow.TIME32, arrow.TIME64:
		return kindTime
	case arrow.DECIMAL32, arrow.DECIMAL64, arrow.DECIMAL128, arrow.DECIMAL256:
		return kindDecimal
	case arrow.LIST, arrow.LARGE_LIST, arrow.FIXED_SIZE_LIST:
		return kindList
	case arrow.STRUCT:
		return kindStruct
	case arrow.DICTIONARY, arrow.EXTENSION:
		return kindOf(logicalType(t))
	}
	return kindOther
}

// ticks is the length in nanoseconds of one unit of a temporal type.
func ticks(t arrow.DataType) int64 {
	unit := arrow.Nanosecond
	switch t := t.(type) {
	case *arrow.Date32Type:
		return 86400e9
	case *arrow.Date64Type:
		unit = arrow.Millisecond
	case *arrow.TimestampType:
		unit = t.Unit
	case *arrow.DurationType:
		unit = t.Unit
	case *arrow.Time32Type:
		unit = t.Unit
	case *arrow.Time64Type:
		unit = t.Unit
	}
	return unitTicks(unit)
}

func unitTicks(u arrow.TimeUnit) int64 {
	switch u {
	case arrow.Second:
		return 1e9
	case arrow.Millisecond:
		return 1e6
	case arrow.Microsecond:
		return 1e3
	}
	return 1
}

// typeName writes a type the way cast accepts it.
func typeName(t arrow.DataType) string {
	switch t := t.(type) {
	case *arrow.StringType:
		return "string"
	case *arrow.LargeStringType:
		return "large_string"
	case *arrow.DictionaryType:
		return typeName(t.ValueType)
	case *arrow.ListType:
		return fmt.Sprintf("list of %s", typeName(t.Elem()))
	}
	return t.String()
}
