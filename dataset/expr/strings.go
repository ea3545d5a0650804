package expr

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
)

func stringFunctions() []*function {
	return []*function{
		{name: "length", sig: "length(x)", doc: "code points of a string, bytes of a binary, elements of a list; also len(x)", example: `length(text) > 200`, min: 1, max: 1, check: checkLength},
		{name: "lower", sig: "lower(s)", doc: "the string in lower case", example: `lower(lang) == "de"`, min: 1, max: 1, check: textFunction(mapText(appendLower, strings.ToLower), 1)},
		{name: "upper", sig: "upper(s)", doc: "the string in upper case", example: `upper(code)`, min: 1, max: 1, check: textFunction(mapText(appendUpper, strings.ToUpper), 1)},
		{name: "trim", sig: "trim(s)", doc: "the string without white space at its ends", example: `trim(title) != ""`, min: 1, max: 1, check: textFunction(mapText(appendTrimmed, strings.TrimSpace), 1)},
		{name: "contains", sig: "contains(s, part)", doc: "whether a string holds part, or a list holds a value; also s contains part", example: `contains(url, "/wiki/")`, min: 2, max: 2, check: checkContains},
		{name: "starts_with", sig: "starts_with(s, prefix)", doc: "whether the string starts with prefix; also s startsWith prefix", example: `starts_with(url, "https://")`, min: 2, max: 2, check: testText(bytes.HasPrefix, strings.HasPrefix)},
		{name: "ends_with", sig: "ends_with(s, suffix)", doc: "whether the string ends with suffix; also s endsWith suffix", example: `ends_with(path, ".jpg")`, min: 2, max: 2, check: testText(bytes.HasSuffix, strings.HasSuffix)},
		{name: "replace", sig: "replace(s, old, new)", doc: "the string with every old replaced by new", example: `replace(text, "\t", " ")`, min: 3, max: 3, check: textFunction(replaceImpl, 3)},
		{name: "substr", sig: "substr(s, start[, n])", doc: "n code points from start (0 is the first, -1 the last), or all that follow", example: `substr(id, 0, 8)`, min: 2, max: 3, check: checkSubstr},
		{name: "concat", sig: "concat(a, b, ...)", doc: "the strings one after the other; also a + b", example: `concat(host, "/", path)`, min: 1, max: -1, check: checkConcat},
		{name: "split", sig: "split(s, separator)", doc: "the list of parts between separators", example: `split(path, "/")[-1]`, min: 2, max: 2, check: checkSplit},
	}
}

// textFunction checks a function of n strings that yields one.
func textFunction(im *impl, count int) func(*checker, *node, []*tnode) (*tnode, error) {
	return func(_ *checker, n *node, args []*tnode) (*tnode, error) {
		for i := range count {
			if err := want(n, args, i, kindString); err != nil {
				return nil, err
			}
		}
		return strict(n, textType(args[0]), im, args...), nil
	}
}

// textType keeps large offsets; null gives a string.
func textType(args ...*tnode) arrow.DataType {
	typ := typeString
	for _, a := range args {
		switch {
		case a.typ.ID() == arrow.LARGE_STRING || a.typ.ID() == arrow.LARGE_BINARY:
			return a.typ
		case a.kind == kindBinary:
			typ = typeBinary
		}
	}
	return typ
}

// mapTexts builds a text column row by row; f appends to the scratch that it gets and returns it. Null and masked
// rows are skipped.
func (c *evalCtx) mapTexts(t *tnode, args []value, mask []uint64, f func(dst []byte, i int) (out []byte, ok bool)) (arrow.Array, error) {
	return c.tryTexts(t, args, mask, func(dst []byte, i int) ([]byte, bool, error) {
		s, ok := f(dst, i)
		return s, ok, nil
	})
}

// tryTexts is mapTexts for functions that may fail as a whole, because a text grows too long.
func (c *evalCtx) tryTexts(t *tnode, args []value, mask []uint64, f func(dst []byte, i int) (out []byte, ok bool, err error)) (arrow.Array, error) {
	out, err := c.newTextOut(t.typ, c.n)
	if err != nil {
		return nil, err
	}
	valid, words := c.ownValidity(args...)
	var scratch []byte
	for i := range c.n {
		var s []byte
		if bit(words, i) && (mask == nil || bit(mask, i)) {
			var ok bool
			if s, ok, err = f(scratch[:0], i); !ok {
				clearBit(words, i)
				s = nil
			} else if cap(s) > cap(scratch) {
				scratch = s
			}
		}
		if err == nil {
			err = out.append(s)
		}
		if err != nil {
			out.release()
			valid.Release()
			return nil, err
		}
	}
	return out.build(valid), nil
}

// mapText is an impl of one string to one string; f appends to dst.
func mapText(f func(dst, s []byte) []byte, ref func(string) string) *impl {
	return &impl{slow: true,
		eval: func(c *evalCtx, t *tnode, args []value, mask []uint64) (arrow.Array, error) {
			a := newTexts(args[0])
			return c.mapTexts(t, args, mask, func(dst []byte, i int) ([]byte, bool) { return f(dst, a.at(i)), true })
		},
		ref: func(_ *tnode, args []any) (any, error) { return ref(args[0].(string)), nil },
	}
}

func appendTrimmed(dst, s []byte) []byte { return append(dst, bytes.TrimSpace(s)...) }

func appendLower(dst, s []byte) []byte {
	for _, b := range s {
		if b >= utf8.RuneSelf {
			return append(dst[:0], bytes.ToLower(s)...)
		}
		if 'A' <= b && b <= 'Z' {
			b += 'a' - 'A'
		}
		dst = append(dst, b)
	}
	return dst
}

func appendUpper(dst, s []byte) []byte {
	for _, b := range s {
		if b >= utf8.RuneSelf {
			return append(dst[:0], bytes.ToUpper(s)...)
		}
		if 'a' <= b && b <= 'z' {
			b -= 'a' - 'A'
		}
		dst = append(dst, b)
	}
	return dst
}

// testText checks a function of two strings that yields a boolean.
func testText(f func(s, part []byte) bool, ref func(s, part string) bool) func(*checker, *node, []*tnode) (*tnode, error) {
	im := testTextImpl(f, ref)
	return func(_ *checker, n *node, args []*tnode) (*tnode, error) {
		for i := range args {
			if err := want(n, args, i, kindString); err != nil {
				return nil, err
			}
		}
		return strict(n, typeBool, im, args...), nil
	}
}

func testTextImpl(f func(s, part []byte) bool, ref func(s, part string) bool) *impl {
	return &impl{slow: true, lift: true,
		eval: func(c *evalCtx, _ *tnode, args []value, mask []uint64) (arrow.Array, error) {
			a, b := newTexts(args[0]), newTexts(args[1])
			return c.testRows(args, mask, func(i int) bool { return f(a.at(i), b.at(i)) }), nil
		},
		ref: func(_ *tnode, args []any) (any, error) { return ref(args[0].(string), args[1].(string)), nil },
	}
}

// testRows sets the rows for which f holds; null and masked rows are skipped.
func (c *evalCtx) testRows(args []value, mask []uint64, f func(i int) bool) arrow.Array {
	valid, known := c.validity(args...)
	buf, words := c.bitmap(c.n)
	for w := range words {
		todo := ^uint64(0)
		if mask != nil {
			todo = mask[w]
		}
		if known != nil {
			todo &= known[w]
		}
		if todo == 0 {
			continue
		}
		var x uint64
		for j := range min(64, c.n-w<<6) {
			if todo>>j&1 != 0 && f(w<<6+j) {
				x |= 1 << j
			}
		}
		words[w] = x
	}
	return build(typeBool, c.n, valid, buf)
}

var containsImpl = testTextImpl(bytes.Contains, strings.Contains)

func checkContains(_ *checker, n *node, args []*tnode) (*tnode, error) {
	if args[0].kind == kindList {
		return listContains(n, args[0], args[1])
	}
	if err := want(n, args, 0, kindString, kindList); err != nil {
		return nil, err
	}
	if err := want(n, args, 1, kindString); err != nil {
		return nil, err
	}
	return strict(n, typeBool, containsImpl, args...), nil
}

var replaceImpl = &impl{slow: true,
	eval: func(c *evalCtx, t *tnode, args []value, mask []uint64) (arrow.Array, error) {
		a, from, to := newTexts(args[0]), newTexts(args[1]), newTexts(args[2])
		return c.tryTexts(t, args, mask, func(dst []byte, i int) ([]byte, bool, error) {
			s, old, repl := a.at(i), from.at(i), to.at(i)
			if grow := len(repl) - len(old); grow > 0 && len(s)+(len(s)+1)*grow > c.limit {
				if size := len(s) + bytes.Count(s, old)*grow; size > c.limit {
					return nil, false, c.tooLong("replace", size)
				}
			}
			if len(old) == 0 { // between all code points, as the standard library has it
				return append(dst, bytes.ReplaceAll(s, old, repl)...), true, nil
			}
			for {
				j := bytes.Index(s, old)
				if j < 0 {
					return append(dst, s...), true, nil
				}
				dst = append(append(dst, s[:j]...), repl...)
				s = s[j+len(old):]
			}
		})
	},
	ref: func(_ *tnode, args []any) (any, error) {
		return strings.ReplaceAll(args[0].(string), args[1].(string), args[2].(string)), nil
	},
}

func checkConcat(_ *checker, n *node, args []*tnode) (*tnode, error) {
	k := kindString
	for _, a := range args {
		if a.kind == kindBinary {
			k = kindBinary
		}
	}
	for i := range args {
		if err := want(n, args, i, k); err != nil {
			return nil, err
		}
	}
	t := strict(n, textType(args...), concatImpl, args...)
	t.fails, t.masked = false, true
	return t, nil
}

var concatImpl = &impl{slow: true,
	eval: func(c *evalCtx, t *tnode, args []value, mask []uint64) (arrow.Array, error) {
		parts := make([]*texts, len(args))
		for i, a := range args {
			parts[i] = newTexts(a)
		}
		return c.tryTexts(t, args, mask, func(dst []byte, i int) ([]byte, bool, error) {
			for _, p := range parts {
				if dst = append(dst, p.at(i)...); len(dst) > c.limit {
					return nil, false, c.tooLong("concat", len(dst))
				}
			}
			return dst, true, nil
		})
	},
	ref: func(_ *tnode, args []any) (any, error) {
		if _, ok := args[0].([]byte); ok {
			var out []byte
			for _, a := range args {
				out = append(out, a.([]byte)...)
			}
			return out, nil
		}
		var out strings.Builder
		for _, a := range args {
			out.WriteString(a.(string))
		}
		return out.String(), nil
	},
}

func checkSubstr(_ *checker, n *node, args []*tnode) (*tnode, error) {
	if err := want(n, args, 0, kindString); err != nil {
		return nil, err
	}
	for i := 1; i < len(args); i++ {
		if err := want(n, args, i, kindInt); err != nil {
			return nil, err
		}
	}
	return strict(n, textType(args[0]), substrImpl, args...), nil
}

var substrImpl = &impl{slow: true,
	eval: func(c *evalCtx, t *tnode, args []value, mask []uint64) (arrow.Array, error) {
		a, from := newTexts(args[0]), newReader[int64](args[1])
		var count *reader[int64]
		if len(args) == 3 {
			count = newReader[int64](args[2])
		}
		return c.mapTexts(t, args, mask, func(dst []byte, i int) ([]byte, bool) {
			n := int64(1<<63 - 1)
			if count != nil {
				n = row(count, i)
			}
			return append(dst, substr(a.at(i), row(from, i), n)...), true
		})
	},
	ref: func(_ *tnode, args []any) (any, error) {
		points := splitPoints(args[0].(string))
		start := args[1].(int64)
		if start < 0 {
			start = max(0, start+int64(len(points)))
		}
		out := ""
		for i, p := range points {
			if int64(i) >= start && (len(args) < 3 || int64(i)-start < args[2].(int64)) {
				out += p
			}
		}
		return out, nil
	},
}

// row reads one row of a reader.
func row[D number](r *reader[D], i int) D {
	if r.direct != nil {
		return r.direct[i]
	}
	return r.at(i, 1)[0]
}

// splitPoints cuts a string into code points; a byte that is not UTF-8 is one of its own.
func splitPoints(s string) []string {
	var out []string
	for len(s) > 0 {
		_, n := utf8.DecodeRuneInString(s)
		out = append(out, s[:n])
		s = s[n:]
	}
	return out
}

// substr returns up to n code points from start; a negative start counts from the end.
func substr(s []byte, start, n int64) []byte {
	if start < 0 {
		start = max(0, start+int64(utf8.RuneCount(s)))
	}
	from := points(s, start)
	if n <= 0 {
		return nil
	}
	return s[from : from+points(s[from:], n)]
}

// points returns how many bytes the first n code points of s take, or all.
func points(s []byte, n int64) int {
	at := 0
	for ; n > 0 && at < len(s); n-- {
		if s[at] < utf8.RuneSelf {
			at++
			continue
		}
		_, size := utf8.DecodeRune(s[at:])
		at += size
	}
	return at
}

func checkLength(_ *checker, n *node, args []*tnode) (*tnode, error) {
	if err := want(n, args, 0, kindString, kindBinary, kindList); err != nil {
		return nil, err
	}
	im := lengthImpl
	if args[0].kind == kindList {
		im = listLengthImpl
	}
	return strict(n, typeInt, im, args...), nil
}

var lengthImpl = &impl{
	eval: func(c *evalCtx, t *tnode, args []value, mask []uint64) (arrow.Array, error) {
		a := newTexts(args[0])
		valid, words := c.validity(args...)
		buf := c.buffer(c.n * 8)
		out := view[int64](buf)
		for i := range out {
			switch {
			case words != nil && !bit(words, i):
				out[i] = 0
			case t.args[0].kind == kindString:
				out[i] = int64(utf8.RuneCount(a.at(i)))
			default:
				out[i] = int64(len(a.at(i)))
			}
		}
		return build(typeInt, c.n, valid, buf), nil
	},
	ref: func(_ *tnode, args []any) (any, error) {
		switch v := args[0].(type) {
		case []byte:
			return int64(len(v)), nil
		case []any:
			return int64(len(v)), nil
		}
		return int64(len(splitPoints(args[0].(string)))), nil
	},
}
