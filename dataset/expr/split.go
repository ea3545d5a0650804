package expr

import (
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

var splitImpl = &impl{slow: true,
	eval: func(c *evalCtx, t *tnode, args []value, mask []uint64) (arrow.Array, error) {
		a, sep := newTexts(args[0]), newTexts(args[1])
		_, valid := c.scratchValidity(args...)
		b := array.NewListBuilder(c.mem, arrow.BinaryTypes.String)
		defer b.Release()
		parts := b.ValueBuilder().(*array.StringBuilder)
		for i := range c.n {
			if valid != nil && !bit(valid, i) || mask != nil && !bit(mask, i) {
				b.AppendNull()
				continue
			}
			b.Append(true)
			s, by := str(a.at(i)), str(sep.at(i))
			if by == "" {
				for len(s) > 0 {
					n := points([]byte(s[:min(4, len(s))]), 1)
					parts.Append(s[:n])
					s = s[n:]
				}
				continue
			}
			for {
				head, tail, more := strings.Cut(s, by)
				parts.Append(head)
				if !more {
					break
				}
				s = tail
			}
		}
		return b.NewArray(), nil
	},
	ref: func(_ *tnode, args []any) (any, error) {
		s, by := args[0].(string), args[1].(string)
		parts := splitPoints(s)
		if by != "" {
			parts = strings.Split(s, by)
		}
		out := make([]any, len(parts))
		for i, p := range parts {
			out[i] = p
		}
		return out, nil
	},
}
