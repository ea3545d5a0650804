package prep

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/float16"

	"github.com/sluice-data/sluice/gpu"
)

// same is the element type whose bytes are those of an Arrow type.
var same = map[arrow.Type]gpu.DataType{
	arrow.INT8: gpu.Int8, arrow.INT16: gpu.Int16, arrow.INT32: gpu.Int32, arrow.INT64: gpu.Int64,
	arrow.UINT8: gpu.Uint8, arrow.UINT16: gpu.Uint16, arrow.UINT32: gpu.Uint32, arrow.UINT64: gpu.Uint64,
	arrow.FLOAT16: gpu.FP16, arrow.FLOAT32: gpu.FP32, arrow.FLOAT64: gpu.FP64,
}

func numeric(dt arrow.DataType) bool {
	_, ok := same[dt.ID()]
	return ok || dt.ID() == arrow.BOOL
}

// put writes n numbers of column col into dst as elements of type t.
func (c *cells) put(dst []byte, t gpu.DataType, col arrow.Array, from, n int) error {
	vals := c.values(col)
	if vals.NullN() > 0 {
		for i := range n {
			if vals.IsNull(from + i) {
				return fmt.Errorf("value %d of the row is null, and a model takes numbers only", i)
			}
		}
	}
	if same[vals.DataType().ID()] == t {
		w := t.Size()
		d := vals.Data()
		at := (d.Offset() + from) * w
		if n > 0 {
			copy(dst, d.Buffers()[1].Bytes()[at:at+n*w])
		}
		return nil
	}
	return convert(dst, t, vals, from, n)
}

// convert writes numbers of another type; those that the type cannot hold are errors.
func convert(dst []byte, t gpu.DataType, vals arrow.Array, from, n int) error {
	switch v := vals.(type) {
	case *array.Float32:
		return each(n, func(i int) error { return gpu.PutFloat(dst, t, i, float64(v.Value(from+i))) })
	case *array.Float64:
		return each(n, func(i int) error { return gpu.PutFloat(dst, t, i, v.Value(from+i)) })
	case *array.Float16:
		return each(n, func(i int) error { return gpu.PutFloat(dst, t, i, float64(float16.Num(v.Value(from+i)).Float32())) })
	case *array.Boolean:
		return each(n, func(i int) error {
			one := int64(0)
			if v.Value(from + i) {
				one = 1
			}
			return gpu.PutInt(dst, t, i, one)
		})
	case *array.Uint64:
		return each(n, func(i int) error {
			u := v.Value(from + i)
			if u > 1<<63-1 {
				return gpu.PutFloat(dst, t, i, float64(u))
			}
			return gpu.PutInt(dst, t, i, int64(u))
		})
	}
	d := vals.Data()
	wide := same[vals.DataType().ID()]
	raw := d.Buffers()[1].Bytes()[(d.Offset()+from)*wide.Size():]
	return each(n, func(i int) error { return gpu.PutInt(dst, t, i, gpu.Int(raw, wide, i)) })
}

func each(n int, f func(i int) error) error {
	for i := range n {
		if err := f(i); err != nil {
			return err
		}
	}
	return nil
}
