package read

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/parquet-go/parquet-go/format"

	"github.com/sluice-data/sluice/connectors/parquet/internal/schema"
)

// plan chooses how the values of a leaf become slots of dt.
func (l *leaf) plan(dt arrow.DataType) error {
	l.out.shape = shapeFixed
	phys := l.col.Physical
	switch t := dt.(type) {
	case *arrow.BooleanType:
		l.out.shape = shapeBits
		return nil
	case *arrow.StringType, *arrow.BinaryType, *arrow.LargeStringType, *arrow.LargeBinaryType:
		l.out.shape = shapeBytes
		return nil
	case *arrow.DictionaryType:
		l.out.width = 4
		l.intern = &interner{mem: l.out.mem, typ: t.ValueType, values: &builder{mem: l.out.mem, shape: shapeBytes, limit: maxData}}
		return nil
	case *arrow.NullType:
		l.out.width = 4
		return nil
	case arrow.DecimalType:
		return l.planDecimal(t)
	case arrow.FixedWidthDataType:
		l.out.width = t.Bytes()
	default:
		return fmt.Errorf("type %s is not read from Parquet", dt)
	}
	if f := conversion(phys, dt); f != nil {
		l.convert = f
		return nil
	}
	if l.width != l.out.width {
		return fmt.Errorf("values of %d bytes do not become %s", l.width, dt)
	}
	return nil
}

func conversion(phys format.Type, dt arrow.DataType) func(dst, src []byte, n int) error {
	switch {
	case phys == format.Int96:
		return int96
	case dt.ID() == arrow.DATE64:
		return func(dst, src []byte, n int) error {
			d := view[int64](dst)
			for i, v := range view[int32](src)[:n] {
				d[i] = int64(v) * 86_400_000
			}
			return nil
		}
	case dt.ID() == arrow.INT8 || dt.ID() == arrow.UINT8:
		return func(dst, src []byte, n int) error {
			for i, v := range view[uint32](src)[:n] {
				dst[i] = byte(v)
			}
			return nil
		}
	case dt.ID() == arrow.INT16 || dt.ID() == arrow.UINT16:
		return func(dst, src []byte, n int) error {
			d := view[uint16](dst)
			for i, v := range view[uint32](src)[:n] {
				d[i] = uint16(v)
			}
			return nil
		}
	}
	return nil
}

// int96 reads the timestamps of old Spark, Hive and Impala: nanoseconds of the
// day, then the Julian day.
func int96(dst, src []byte, n int) error {
	const julianEpoch, day = 2440588, 86_400_000_000_000
	d := view[int64](dst)
	for i := range n {
		v := src[i*12 : i*12+12]
		nanos := binary.LittleEndian.Uint64(v)
		days := int64(binary.LittleEndian.Uint32(v[8:])) - julianEpoch
		if nanos >= 2*day || days > math.MaxInt64/day-2 || days < math.MinInt64/day+1 {
			return fmt.Errorf("INT96 timestamp of Julian day %d is outside the range of nanoseconds, years 1677 to 2262", days+julianEpoch)
		}
		d[i] = days*day + int64(nanos)
	}
	return nil
}

// planDecimal turns integers and big-endian bytes into little-endian ones of
// the width of the type.
func (l *leaf) planDecimal(t arrow.DecimalType) error {
	w := t.(arrow.FixedWidthDataType).Bytes()
	l.out.width = w
	size := l.width
	switch l.col.Physical {
	case format.Int32, format.Int64:
		if size > w {
			return fmt.Errorf("decimals of %d bytes do not fit %s", size, t)
		}
		l.convert = func(dst, src []byte, n int) error {
			for i := range n {
				extend(dst[i*w:(i+1)*w], copy(dst[i*w:(i+1)*w], src[i*size:(i+1)*size]))
			}
			return nil
		}
	case format.FixedLenByteArray:
		l.convert = func(dst, src []byte, n int) error {
			for i := range n {
				if err := bigEndian(dst[i*w:(i+1)*w], src[i*size:(i+1)*size]); err != nil {
					return err
				}
			}
			return nil
		}
	case format.ByteArray:
		l.convert = func([]byte, []byte, int) error { return nil } // see convertBytes
	default:
		return fmt.Errorf("decimals stored as %s", l.col.Physical)
	}
	return nil
}

// extend repeats the sign of the n low bytes of a little-endian number.
func extend(dst []byte, n int) {
	sign := byte(int8(dst[n-1]) >> 7)
	for i := n; i < len(dst); i++ {
		dst[i] = sign
	}
}

// bigEndian reverses a two's complement number into dst, dropping bytes that
// only repeat its sign.
func bigEndian(dst, src []byte) error {
	if len(src) == 0 {
		clear(dst)
		return nil
	}
	sign := byte(int8(src[0]) >> 7)
	for len(src) > len(dst) {
		if src[0] != sign {
			return fmt.Errorf("decimal of %d bytes does not fit %d", len(src), len(dst))
		}
		src = src[1:]
	}
	if byte(int8(src[0])>>7) != sign {
		return fmt.Errorf("decimal does not fit %d bytes", len(dst))
	}
	n := len(src)
	for i, b := range src {
		dst[n-1-i] = b
	}
	extend(dst, n)
	return nil
}

// convertBytes reads decimals stored as byte arrays, through a builder of
// their own.
func (l *leaf) convertBytes(dst []byte, n int) error {
	tmp := builder{mem: l.out.mem, shape: shapeBytes, limit: maxData}
	defer tmp.release()
	keep := l.out
	l.out = tmp
	err := l.byteArrays(n)
	tmp, l.out = l.out, keep
	if err != nil {
		return err
	}
	tmp.finish(n, n)
	w := l.out.width
	for i := range n {
		if err := bigEndian(dst[i*w:(i+1)*w], tmp.value(i)); err != nil {
			return err
		}
	}
	return nil
}

// physicalWidth returns the bytes per value in the file, 0 when they vary.
func physicalWidth(c *schema.Column) int {
	switch c.Physical {
	case format.Int32, format.Float:
		return 4
	case format.Int64, format.Double:
		return 8
	case format.Int96:
		return 12
	case format.FixedLenByteArray:
		return c.TypeLength
	}
	return 0
}
