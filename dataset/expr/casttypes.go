package expr

import (
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
)

// castTypes are the names that cast accepts besides timestamp[unit, zone] and duration[unit].
var castTypes = map[string]arrow.DataType{
	"int": typeInt, "int8": arrow.PrimitiveTypes.Int8, "int16": arrow.PrimitiveTypes.Int16, "int32": arrow.PrimitiveTypes.Int32, "int64": typeInt,
	"uint": typeUint, "uint8": arrow.PrimitiveTypes.Uint8, "uint16": arrow.PrimitiveTypes.Uint16, "uint32": arrow.PrimitiveTypes.Uint32, "uint64": typeUint,
	"float": typeFloat, "float32": arrow.PrimitiveTypes.Float32, "float64": typeFloat, "double": typeFloat,
	"bool": typeBool, "string": typeString, "large_string": arrow.BinaryTypes.LargeString, "binary": typeBinary, "large_binary": arrow.BinaryTypes.LargeBinary,
	"date": typeDate, "date32": typeDate, "date64": arrow.FixedWidthTypes.Date64,
	"timestamp": &arrow.TimestampType{Unit: arrow.Microsecond}, "duration": &arrow.DurationType{Unit: arrow.Microsecond},
}

var unitNames = map[string]arrow.TimeUnit{"s": arrow.Second, "ms": arrow.Millisecond, "us": arrow.Microsecond, "ns": arrow.Nanosecond}

// parseType reads the name of a type as cast takes it.
func parseType(s string) (arrow.DataType, error) {
	name := strings.ToLower(strings.TrimSpace(s))
	if t, ok := castTypes[name]; ok {
		return t, nil
	}
	if head, rest, ok := strings.Cut(strings.TrimSpace(s), "["); ok && strings.HasSuffix(rest, "]") {
		unit, zone, _ := strings.Cut(strings.TrimSuffix(rest, "]"), ",")
		zone = strings.TrimPrefix(strings.TrimSpace(zone), "tz=")
		if u, ok := unitNames[strings.TrimSpace(unit)]; ok {
			switch strings.ToLower(strings.TrimSpace(head)) {
			case "timestamp":
				t := &arrow.TimestampType{Unit: u, TimeZone: strings.TrimSpace(zone)}
				_, err := location(t)
				return t, err
			case "duration":
				if zone == "" {
					return &arrow.DurationType{Unit: u}, nil
				}
			}
		}
	}
	names := make([]string, 0, len(castTypes))
	for n := range castTypes {
		names = append(names, n)
	}
	slices.Sort(names)
	if near := nearest(name, names); near != "" {
		return nil, fmt.Errorf("unknown type %q; did you mean %q?", s, near)
	}
	return nil, fmt.Errorf("unknown type %q; the types are %s, timestamp[s|ms|us|ns, zone] and duration[unit]", s, strings.Join(names, ", "))
}

// castable reports whether any value of one type may convert to the other.
func castable(from, to arrow.DataType) bool {
	a, b := kindOf(from), kindOf(to)
	number := a.numeric() || a == kindDecimal
	switch b {
	case kindInt, kindUint, kindFloat, kindBool:
		return number || a == kindString || a == kindBool
	case kindString:
		switch a {
		case kindList, kindStruct, kindOther, kindTime:
			return false
		}
		return true
	case kindBinary:
		return a == kindString || a == kindBinary
	case kindDate:
		return a == kindString || a.temporal()
	case kindTimestamp:
		return a == kindString || a.temporal() || a == kindInt
	case kindDuration:
		return a == kindDuration || a == kindInt
	}
	return false
}
