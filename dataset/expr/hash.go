package expr

import (
	"encoding/binary"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/zeebo/xxh3"
)

func hashFunctions() []*function {
	return []*function{
		{name: "hash", sig: "hash(x)", doc: "the 64-bit xxh3 hash: of the bytes of texts, of the 8 little-endian bytes of numbers and times", example: `hash(id) % 100 < 10`, min: 1, max: 1, check: checkHash},
	}
}

func checkHash(_ *checker, n *node, args []*tnode) (*tnode, error) {
	if err := want(n, args, 0, kindString, kindBinary, kindBool, kindInt, kindUint, kindFloat, kindTimestamp, kindDate, kindDuration); err != nil {
		return nil, err
	}
	return strict(n, typeUint, hashImpl, args...), nil
}

func hashWord(v uint64) uint64 {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], v)
	return xxh3.Hash(b[:])
}

// floatWord gives equal floats equal bits: one zero, one NaN.
func floatWord(v float64) uint64 {
	switch {
	case v == 0:
		return 0
	case v != v:
		return math.Float64bits(math.NaN())
	}
	return math.Float64bits(v)
}

var hashImpl = &impl{
	eval: func(c *evalCtx, t *tnode, args []value, mask []uint64) (arrow.Array, error) {
		valid, words := c.validity(args...)
		buf := c.buffer(c.n * 8)
		out := view[uint64](buf)
		switch t.args[0].kind {
		case kindString, kindBinary:
			a := newTexts(args[0])
			for i := range out {
				if words == nil || bit(words, i) {
					out[i] = xxh3.Hash(a.at(i))
				} else {
					out[i] = 0
				}
			}
		case kindBool:
			b := c.loadTri(args[0])
			for i := range out {
				out[i] = hashWord(b.truth[i>>6] >> (i & 63) & 1)
			}
		case kindFloat:
			mapNumbers(c, newReader[float64](args[0]), out, func(v float64) uint64 { return hashWord(floatWord(v)) })
		case kindUint:
			mapNumbers(c, newReader[uint64](args[0]), out, hashWord)
		default:
			mapNumbers(c, newReader[int64](args[0]), out, func(v int64) uint64 { return hashWord(uint64(v)) })
		}
		return build(typeUint, c.n, valid, buf), nil
	},
	ref: func(_ *tnode, args []any) (any, error) {
		switch v := args[0].(type) {
		case string:
			return xxh3.HashString(v), nil
		case []byte:
			return xxh3.Hash(v), nil
		case bool:
			if v {
				return hashWord(1), nil
			}
			return hashWord(0), nil
		case float64:
			return hashWord(floatWord(v)), nil
		case uint64:
			return hashWord(v), nil
		case instant:
			return hashWord(uint64(v.v)), nil
		}
		return hashWord(uint64(args[0].(int64))), nil
	},
}
