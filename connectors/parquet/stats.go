package parquet

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/big"
	"slices"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/parquet-go/parquet-go/format"

	"github.com/sluice-data/sluice/connectors/parquet/internal/meta"
	"github.com/sluice-data/sluice/connectors/parquet/internal/schema"
	"github.com/sluice-data/sluice/dataset/expr"
)

// Stats returns what the footer says of a column of row group g, in the form
// that expr.Expr.MayMatch takes. Only columns that are not nested have
// statistics; bounds that cannot be trusted are left out: those of the
// deprecated fields except for signed integers, of timestamps that older
// writers misordered, of NaN.
func (f *File) Stats(g int, column string) (expr.ColumnStats, bool) {
	for _, fd := range f.schema.Fields {
		if fd.Arrow.Name == column && fd.Kind == schema.Leaf {
			return f.stats(g, fd), true
		}
	}
	return expr.ColumnStats{}, false
}

func (f *File) stats(g int, fd *schema.Field) expr.ColumnStats {
	rg := &f.meta.RowGroups[g]
	out := expr.ColumnStats{Rows: rg.NumRows, NullCount: -1}
	if !fd.Arrow.Nullable {
		out.NullCount = 0
	}
	md := &rg.Columns[fd.Column.Index].MetaData.V
	if !md.Statistics.Valid {
		return out
	}
	st := &md.Statistics.V
	if st.NullCount.Valid && st.NullCount.V >= 0 && st.NullCount.V <= rg.NumRows {
		out.NullCount = st.NullCount.V
	}
	lo, hi, ok := rawBounds(st, fd)
	if !ok {
		return out
	}
	min, max := boundValue(lo, fd), boundValue(hi, fd)
	if min != nil && max != nil && ordered(min, max) {
		out.Min, out.Max = min, max
	}
	return out
}

// ordered guards against writers that got the bounds wrong.
func ordered(lo, hi any) bool {
	switch a := lo.(type) {
	case int64:
		return a <= hi.(int64)
	case uint64:
		return a <= hi.(uint64)
	case float64:
		return a <= hi.(float64)
	case string:
		return a <= hi.(string)
	case []byte:
		return bytes.Compare(a, hi.([]byte)) <= 0
	case time.Time:
		return !a.After(hi.(time.Time))
	case *big.Rat:
		return a.Cmp(hi.(*big.Rat)) <= 0
	}
	return true
}

// rawBounds picks min_value and max_value, or the deprecated pair where its
// signed comparison is the right one.
func rawBounds(st *meta.Statistics, fd *schema.Field) (lo, hi []byte, ok bool) {
	if st.MinValue.Valid && st.MaxValue.Valid {
		return st.MinValue.V, st.MaxValue.V, true
	}
	c := fd.Column
	signed := !c.Unsigned && (c.Physical == format.Int32 || c.Physical == format.Int64)
	if signed && st.Min.Valid && st.Max.Valid {
		return st.Min.V, st.Max.V, true
	}
	return nil, nil, false
}

// boundValue decodes one bound into the type that expressions compare; nil
// when it has none.
func boundValue(b []byte, fd *schema.Field) any {
	c := fd.Column
	if d, ok := fd.Storage.(arrow.DecimalType); ok {
		return decimalBound(b, c, d.GetScale())
	}
	var n int64
	switch c.Physical {
	case format.Boolean:
		if len(b) != 1 {
			return nil
		}
		return b[0] != 0
	case format.Int32:
		if len(b) != 4 {
			return nil
		}
		n = int64(int32(binary.LittleEndian.Uint32(b)))
		if c.Unsigned {
			return uint64(uint32(n))
		}
	case format.Int64:
		if len(b) != 8 {
			return nil
		}
		n = int64(binary.LittleEndian.Uint64(b))
		if c.Unsigned {
			return uint64(n)
		}
	case format.Float, format.Double:
		return floatBound(b, c.Physical)
	case format.ByteArray:
		return bytesBound(b, fd.Storage)
	default:
		return nil
	}
	return intBound(n, fd.Storage)
}

// maxScale is that of the widest decimals.
const maxScale = 76

// decimalBound reads an unscaled integer: little endian as an integer, else big endian. Byte arrays of any length have none: they may be cut.
func decimalBound(b []byte, c *schema.Column, scale int32) any {
	if scale < -maxScale || scale > maxScale {
		return nil
	}
	be := slices.Clone(b)
	switch {
	case c.Physical == format.Int32 && len(b) == 4, c.Physical == format.Int64 && len(b) == 8:
		slices.Reverse(be)
	case c.Physical == format.FixedLenByteArray && len(b) == c.TypeLength && len(b) > 0:
	default:
		return nil
	}
	n := new(big.Int).SetBytes(be)
	if be[0]&0x80 != 0 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(be))))
	}
	unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(scale, -scale))), nil)
	if scale < 0 {
		return new(big.Rat).SetInt(n.Mul(n, unit))
	}
	return new(big.Rat).SetFrac(n, unit)
}

func floatBound(b []byte, phys format.Type) any {
	var v float64
	switch {
	case phys == format.Float && len(b) == 4:
		v = float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
	case phys == format.Double && len(b) == 8:
		v = math.Float64frombits(binary.LittleEndian.Uint64(b))
	default:
		return nil
	}
	if math.IsNaN(v) {
		return nil
	}
	return v
}

func bytesBound(b []byte, dt arrow.DataType) any {
	if d, ok := dt.(*arrow.DictionaryType); ok {
		dt = d.ValueType
	}
	switch dt.ID() {
	case arrow.STRING, arrow.LARGE_STRING:
		return string(b)
	case arrow.BINARY, arrow.LARGE_BINARY:
		return b
	}
	return nil
}

func intBound(n int64, dt arrow.DataType) any {
	switch t := dt.(type) {
	case *arrow.Int8Type, *arrow.Int16Type, *arrow.Int32Type, *arrow.Int64Type:
		return n
	case *arrow.Date32Type, *arrow.Date64Type:
		return time.Unix(n*86400, 0).UTC()
	case *arrow.TimestampType:
		return arrow.Timestamp(n).ToTime(t.Unit)
	}
	return nil
}
